"""The page as a whole: in one file, safe, complete, and calm where parts are missing."""

import re
from html.parser import HTMLParser

import pytest

from interlace.core.display import visible
from interlace.core.errors import DataError
from interlace.report import write_report
from interlace.report.page import sections_of
from interlace.report.runs import read_runs
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
    text = " ".join(found.words).lower()
    for expected in ("transfer from english", "hindi", "objectives.tlm.weight", "katze"):
        assert expected in text, expected
    assert found.ids == [
        *("scores-by-language", "transfer-gap", "words-and-their-translations"),
        *("evaluation-during-training", "training-losses", "mixture", "training-examples"),
        *("recipe", "compute"),
    ]
    links = [value for tag, name, value in found.attributes if tag == "a" and name == "href"]
    assert links == [f"#{anchor}" for anchor in found.ids]
    for tag, name, value in found.attributes:
        if name in {"src", "href", "xlink:href", "data", "poster", "action", "srcset"}:
            assert value.startswith("#"), f"<{tag} {name}={value!r}>"
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"url\(|@import|<script|<link|<iframe|//[\w.-]+\.\w", text)
    assert write_report(two_runs, tmp_path / "b.html").read_bytes() == page.read_bytes()


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;"),
        (r"a\u001b[31m\u202eb\u0007", r"a\x1b[31m\u202eb\x07"),
    ],
    ids=["markup", "control characters"],
)
def test_text_from_data_is_escaped(make_run, tmp_path, hostile, shown):
    folder = make_run("mlm", gain=0.0)
    for part in ("recipe", "run", "samples", "scores"):
        path = folder / f"{part}.json"
        content = path.read_text(encoding="utf-8")
        for word in ("dog", '"mlm"', "cpu", '"pos"', '"hi"', "accuracy", "world"):
            content = content.replace(word, word.replace(word.strip('"'), hostile))
        path.write_text(content, encoding="utf-8")
    page = write_report([folder], tmp_path / "report.html")
    for file in (page, *tmp_path.glob("report-figures/*.svg")):
        text = file.read_text(encoding="utf-8")
        assert "<script" not in text
        assert visible(text) == text
    assert page.read_text(encoding="utf-8").count(shown) > 10


PARTS = ["run.json", "metrics.jsonl", "samples.json", "scores.json"]


@pytest.mark.parametrize("missing", [*([part] for part in PARTS), PARTS])
def test_leaves_out_empty_sections(two_runs, tmp_path, missing):
    for folder in two_runs:
        for part in missing:
            (folder / part).unlink()
    ids = Outline(write_report(two_runs, tmp_path / "report.html")).ids
    assert ids == [found.anchor for found in sections_of(read_runs(two_runs))]
    assert ("training-losses" in ids) is ("metrics.jsonl" not in missing)
    assert ("scores-by-language" in ids) is ("scores.json" not in missing)


def test_replaces_an_old_page_and_its_figures(two_runs, tmp_path):
    page = tmp_path / "pages" / "report.html"
    first = write_report(two_runs, page).read_text(encoding="utf-8")
    second = write_report(two_runs[:1], page).read_text(encoding="utf-8")
    assert first != second
    assert {path.name for path in page.parent.iterdir()} == {"report-figures", "report.html"}
    assert len(list((page.parent / "report-figures").glob("scores-by-language-*.svg"))) == 1


def test_rejects_a_folder_and_damaged_runs(two_runs, tmp_path):
    with pytest.raises(DataError, match="is a folder"):
        write_report(two_runs, tmp_path)
    (two_runs[1] / "scores.json").write_text("[")
    with pytest.raises(DataError):
        write_report(two_runs, tmp_path / "new" / "report.html")
    assert not (tmp_path / "new").exists()
