"""The page as a whole: in one file, safe, complete, and calm where parts are missing."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import interlace.report
from interlace.core.display import visible
from interlace.core.errors import DataError
from interlace.report import write_report
from interlace.report.runs import read_runs
from interlace.report.sections import sections_of
from report_runs import write_words


class Outline(HTMLParser):
    """Checks that elements close in order, and collects attributes and text."""

    def __init__(self, page):
        super().__init__()
        self.open = []
        self.attributes = []
        self.words = []
        self.feed(page.read_text(encoding="utf-8"))
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in {"meta", "br", "hr", "img", "input", "link", "wbr"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def ids(self):
        return [value for _, name, value in self.attributes if name == "id"]


def test_has_all_results_and_loads_nothing_from_elsewhere(two_runs, tmp_path):
    write_words(two_runs[0])
    page = write_report(two_runs, tmp_path / "report.html")
    found = Outline(page)
    text = " ".join(" ".join(found.words).split())
    for expected in ("Zero-shot transfer from English", "Mean of others", "Turkish", "difference",
                     "objectives.tlm.weight",
                     "kleine", "Katze", "English \N{EN DASH} Hindi", "perplexity per masked subword", "2.13.0",
                     "interlace evaluate again/mlm --tasks pos,xnli --seeds 3"):  # fmt: skip
        assert expected.lower() in text.lower(), expected
    assert found.ids == [
        *(
            "scores-by-language",
            "differences",
            "transfer-gap",
            "published-results",
            "words-and-their-translations",
        ),
        *("perplexity-during-training", "training-losses", "mixture", "training-examples"),
        *("recipe", "compute", "reproduction"),
    ]
    links = [value for tag, name, value in found.attributes if tag == "a" and name == "href"]
    assert links == [f"#{anchor}" for anchor in found.ids]
    for tag, name, value in found.attributes:
        if name in {"src", "href", "xlink:href", "data", "poster", "action", "srcset"}:
            assert value.startswith("#"), f"<{tag} {name}={value!r}>"
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"url\(|@import|<script|<link|<iframe|//[\w.-]+\.\w", text)
    assert write_report(two_runs, tmp_path / "b.html").read_bytes() == page.read_bytes()


def test_escapes_text_from_data(make_run, tmp_path):
    evil = "<script>alert(1)</script>"
    folder = make_run("mlm", gain=0.0)
    for part in ("recipe", "run", "samples", "scores"):
        path = folder / f"{part}.json"
        content = path.read_text(encoding="utf-8")
        for word in ("dog", '"mlm"', "cpu", '"xnli"', '"tr"', "accuracy", "world"):
            content = content.replace(word, word.replace(word.strip('"'), evil))
        path.write_text(content, encoding="utf-8")
    page = write_report([folder], tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert page.count("&lt;script&gt;") > 10


def test_control_characters_of_data_are_visible(make_run, tmp_path):
    folder = make_run("mlm", gain=0.0)
    for part in ("recipe", "run", "samples", "scores"):
        path = folder / f"{part}.json"
        content = path.read_text(encoding="utf-8")
        for word in ("dog", '"mlm"', "cpu", '"xnli"', '"tr"', "accuracy", "world"):
            content = content.replace(
                word, word.replace(word.strip('"'), r"a\u001b[31m\u202eb\u0007")
            )
        path.write_text(content, encoding="utf-8")
    page = write_report([folder], tmp_path / "report.html")
    for file in (page, *tmp_path.glob("report-figures/*.svg")):
        text = file.read_text(encoding="utf-8")
        assert visible(text) == text, file
    assert page.read_text(encoding="utf-8").count(r"a\x1b[31m\u202eb\x07") > 10


PARTS = ["run.json", "metrics.jsonl", "samples.json", "scores.json"]


@pytest.mark.parametrize("missing", [*([part] for part in PARTS), PARTS])
def test_leaves_out_empty_sections(two_runs, tmp_path, missing):
    for folder in two_runs:
        for part in missing:
            (folder / part).unlink()
    ids = Outline(write_report(two_runs, tmp_path / "report.html")).ids
    assert ids == [found.anchor for found in sections_of(read_runs(two_runs))]
    assert ("training-losses" in ids) is ("metrics.jsonl" not in missing)
    assert "scores-by-language" in ids
    assert "translation" not in ids


def test_parts_may_be_missing_in_one_run(two_runs, tmp_path):
    for part in PARTS:
        (two_runs[0] / part).unlink()
    Outline(write_report(two_runs, tmp_path / "report.html"))


def test_every_class_of_a_template_has_a_style_rule():
    folder = Path(interlace.report.__file__).parent / "templates"
    ruled = set(
        re.findall(r"\.([a-z][\w-]*)", "".join(path.read_text() for path in folder.glob("*.css")))
    )
    for path in folder.glob("*.jinja"):
        for names in re.findall(r'class="([^"]*)"', path.read_text()):
            assert set(re.sub(r"{%.*?%}|{{.*?}}", " ", names).split()) <= ruled, path.name


def test_skips_losses_that_are_not_finite(make_run, tmp_path):
    folder = make_run("mlm", gain=0.0)
    lines = [
        {"kind": "step", "step": 1, "objective": "mlm", "losses": {"mlm": None}},
        {"kind": "step", "step": 2, "objective": "mlm", "losses": {"mlm": float("nan")}},
        {"kind": "step", "step": 3, "objective": "alm", "losses": {"a": 0.0, "b": -1.0}},
        {
            "kind": "evaluation",
            "step": 3,
            "scores": {"perplexity/en": float("inf"), "perplexity/de": 7.0},
        },
    ]
    (folder / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)))
    text = write_report([folder], tmp_path / "report.html").read_text(encoding="utf-8")
    assert "alm: b" in text
    assert not re.search(r'="[^"]*\b(nan|inf)\b', text)


def test_replaces_an_old_page_and_its_figures(two_runs, tmp_path):
    page = tmp_path / "pages" / "report.html"
    first = write_report(two_runs, page).read_text(encoding="utf-8")
    second = write_report(two_runs[:1], page).read_text(encoding="utf-8")
    assert first != second
    assert {path.name for path in page.parent.iterdir()} == {"report-figures", "report.html"}
    assert len(list((page.parent / "report-figures").glob("transfer-gap-*.svg"))) == 1


def test_rejects_a_folder_and_damaged_runs(two_runs, tmp_path):
    with pytest.raises(DataError, match="is a folder"):
        write_report(two_runs, tmp_path)
    (two_runs[1] / "scores.json").write_text("[")
    with pytest.raises(DataError):
        write_report(two_runs, tmp_path / "new" / "report.html")
    assert not (tmp_path / "new").exists()
