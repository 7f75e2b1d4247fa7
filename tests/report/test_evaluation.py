"""Sections on scores: the map, papers beside them, mistakes, cost, translations before and after, amount of text."""

from __future__ import annotations

import json
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from safetensors.numpy import save_file

from interlace.core.errors import DataError
from interlace.report import write_report
from interlace.report._run import read_runs
from interlace.report._scores import tables
from interlace.report.before_after import before_after
from interlace.report.cost import cost
from interlace.report.data_size import data_size
from interlace.report.errors import errors
from interlace.report.heat_map import heat_map
from interlace.report.published import published

CONCEPTS = [{"en": f"w{n}", "de": f"v{n}", "hi": f"u{n}"} for n in range(8)]


def words_of(section):
    """The text of a section, tags left out."""

    class Reader(HTMLParser):
        def __init__(self):
            super().__init__()
            self.found = []

        def handle_data(self, data):
            self.found.append(data.strip())

    reader = Reader()
    reader.feed(str(section.body))
    return [word for word in reader.found if word]


def change(folder, name, edit):
    path = folder / name
    data = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(edit(data)), encoding="utf-8")


def keep_words(folder, near):
    rng = np.random.default_rng(0)
    means = rng.normal(size=(len(CONCEPTS), 1, 12))
    rows = [rng.normal(size=(len(CONCEPTS), 3, 12)) + noise * means for noise in (0.0, near)]
    before, after = (each.reshape(-1, 12).astype(np.float32) for each in rows)
    save_file({"before": before, "after": after}, folder / "words.safetensors", {"concepts": json.dumps(CONCEPTS)})


def keep_mistakes(folder, seed=0, task="xnli", classes=("entailment", "neutral", "contradiction"), **samples):
    table = [[8, 2, 0, 0], [1, 6, 2, 1], [0, 5, 5, 0]]
    wrong = {"texts": ["A <b>cat</b>.", "A dog."], "gold": "neutral", "predicted": "contradiction", **samples}
    found = {"n": 30, "wrong": 11, "confusion": table if len(classes) == 3 else [], "samples": [wrong]}
    (folder / "predictions").mkdir(exist_ok=True)
    content = {"task": task, "setting": "zero-shot", "seed": seed, "classes": list(classes),
               "languages": {"en": found, "de": found, "hi": found}}  # fmt: skip
    (folder / "predictions" / f"{task}.zero-shot.{seed}.json").write_text(json.dumps(content), encoding="utf-8")


# ---- settings ----


def test_settings_stand_in_tables_of_their_own(make_run):
    folder = make_run("mlm", gain=0.0)
    change(folder, "scores.json", lambda rows: rows + [
        {**row, "setting": "translate-train", "translations": "human", "score": row["score"] + 10}
        for row in rows if row["task"] == "xnli"
    ])  # fmt: skip
    (run,) = read_runs([folder])
    found = {(table.task, table.setting): table for table in tables([run])}
    assert set(found) == {("pos", "zero-shot"), ("xnli", "zero-shot"), ("xnli", "translate-train")}
    assert found["xnli", "translate-train"].translations == "human"
    means = [found["xnli", setting].mean.cells["mlm"].mean for setting in ("zero-shot", "translate-train")]
    assert means[1] - means[0] == pytest.approx(10)
    text = write_report([folder], folder / "report.html").read_text(encoding="utf-8")
    assert "Natural language inference, translate-train" in text
    assert "Translated by people." in text


def test_rules_and_leaks_are_told_below_their_table(make_run):
    folder = make_run("mlm", gain=0.0)
    change(folder, "scores.json", lambda rows: [
        {**row, "tuning": {"rule": "mean-dev"}, "contamination": {"exact": 0.2, "ngram": 3.4, "n": 8}} for row in rows
    ])  # fmt: skip
    text = write_report([folder], folder / "report.html").read_text(encoding="utf-8")
    assert "Weights were chosen by mean-dev." in text
    assert "Of up to 3.4\u202f% of a language" in text
    assert "is not known" not in text


def test_models_in_whose_text_nobody_could_look_are_named(make_run):
    folder = make_run("mlm", gain=0.0)
    leak = {"exact": 0.0, "ngram": 0.0, "n": 8, "unknown": ["bert-base-multilingual-cased"]}
    change(folder, "scores.json", lambda rows: [{**row, "contamination": leak} for row in rows])
    text = write_report([folder], folder / "report.html").read_text(encoding="utf-8")
    assert "What bert-base-multilingual-cased read before is not known, and was not looked into." in text


# ---- the map ----


def test_the_map_gives_score_and_gap_of_every_language(make_run):
    (run,) = runs = read_runs([make_run("mlm", gain=0.0)])
    section = heat_map(runs)
    found = words_of(section)
    for table in tables(runs):
        source = next(line for line in table.lines if line.source).cells[run.label].mean
        for line in table.lines:
            mean = line.cells[run.label].mean
            assert f"{mean:.1f}" in found
            if not line.source:
                assert f"{mean - source:+.1f}".replace("-", "−") in found


def test_a_map_without_the_source_language_has_no_gaps(make_run):
    folder = make_run("mlm", gain=0.0)
    change(folder, "scores.json", lambda rows: [row for row in rows if row["language"] != "en"])
    assert not any("−" in word for word in words_of(heat_map(read_runs([folder]))))


# ---- papers ----


def test_papers_stand_below_ours_and_are_called_theirs(make_run):
    section = published(read_runs([make_run("mlm", gain=0.0)]))
    found = words_of(section)
    assert "published, another scale" in found
    ours, theirs = found.index("here"), found.index("published, another scale")
    assert ours < theirs < found.index("XLM (MLM+TLM)")
    assert "Tang et al. 2022" not in " ".join(found)  # no languages there
    row = found[found.index("mBERT+WEAM") :][:8]
    assert row[:3] == ["mBERT+WEAM", "Yang et al. 2021, table 2", "accuracy, %"]
    assert "82.6" in row
    assert "Theirs, not ours" in section.lead


def test_units_selection_and_notes_stand_beside_papers_figures(make_run):
    folder = make_run("mlm", gain=0.0)
    change(folder, "scores.json", lambda rows: [{**row, "tuning": {"rule": "source-dev"}} for row in rows])
    text = " ".join(words_of(published(read_runs([folder]))))
    assert "(xnli, accuracy): Selection: per-language-dev: the best setting of each language" in text
    assert "not in the paper; ours: source-dev. Learning rates of 5e-4 to 2e-4" in text
    assert "mlm here accuracy, %" in text


def scored(make_run, **told):
    """The words of the section for a run with one score."""
    folder = make_run("mlm", gain=0.0)
    row = {"source": "en", "seed": 0, "n": 9, **told}
    change(folder, "scores.json", lambda _: [row])
    return " ".join(words_of(published(read_runs([folder]))))


def test_papers_figures_stand_beside_our_score_of_the_same_name(make_run):
    """Of Nepali the paper's figure is likely per word; the main score is per subword."""
    both = {"perplexity": 468.0, "perplexity per subword": 468.0, "perplexity per word": 2345.6}
    text = scored(make_run, task="perplexity", metric="perplexity", unit="per subword", language="ne", score=468.0,
                  greater_is_better=False, scores=both)  # fmt: skip
    assert "mlm here perplexity per word 2\u202f345.6" in text
    assert (
        "Nepali Conneau & Lample 2019, table 4, not named: Wikipedia perplexity, not named, likely per word 157.2"
        in text
    )
    assert "468" not in text
    assert "Unit: not named, likely per word; ours: perplexity per word, which need not be the same." in text
    assert "so it is likely a word." in text


def test_a_perplexity_that_papers_have_no_like_of_stands_beside_none(make_run):
    text = scored(make_run, task="perplexity", metric="perplexity", unit="per subword", language="ne", score=468.0)
    assert "157.2" not in text


def test_the_means_of_xlm_stand_beside_ours(make_run):
    """Table 5 prints one mean a system, in other units than ours."""
    text = scored(make_run, task="word_translation", metric="p@1 csls", unit="%", language="en-de", score=40.0,
                  scores={"p@1 csls": 40.0, "mean cosine": 0.412, "mean distance": 3.5})  # fmt: skip
    assert "mlm here mean cosine, cosine 0.41" in text
    assert "mlm here mean distance, L2 3.50" in text
    assert (
        "XLM Conneau & Lample 2019, table 5, MUSE dictionaries; which of them is not named mean cosine, cosine 0.55"
        in text
    )
    assert "mean: ours is over English – German." in text
    text = scored(lambda *args, **more: make_run(*args, folder="similarity", **more), task="word_similarity",
                  metric="spearman", unit="%", language="en-de", score=60.0, scores={"pearson": 61.5})  # fmt: skip
    assert "mlm here pearson, % 61.5" in text
    assert (
        "Unit: correlation; ours: %, which need not be the same. From -1 to 1; ours are a hundred times as large."
        in text
    )


def test_what_print_has_wrong_is_told(make_run):
    text = scored(make_run, task="mlqa", metric="f1", unit="%", language="de", score=50.0, scores={"exact": 33.0})
    assert "Question answering exact" in text
    assert "Wrong in print: AVG(zero-shot) is the mean of es, de, zh and AVG(all)" in text


def test_what_a_recipe_quotes_is_shown(make_run):
    folder = make_run("mlm", gain=0.0)
    said = [
        {"where": "Yang et al. 2020, table 1, ALM", "note": "Odd."},
        {
            "where": "Yang et al. 2020, table 3, ALM (cross-lingual test)",
            "note": "Ours is less.",
        },  # stands in the table of XNLI already
        {"where": "Doe 2020, table 9, X"},  # not known here
    ]
    change(folder, "recipe.json", lambda recipe: {**recipe, "published": said})
    text = " ".join(words_of(published(read_runs([folder]))))
    assert "mlm: Yang et al. 2020, table 1, ALM, translation, WMT14 (BLEU)" in text
    assert "English – German 29.22 Odd." in text
    assert "mlm: Yang et al. 2020, table 3" not in text
    assert "Yang et al. 2020, table 3, ALM (cross-lingual test): Ours is less." in text
    assert "Doe 2020" not in text


# ---- mistakes ----


def test_mistakes_are_counted_over_seeds_and_languages(make_run):
    folder = make_run("mlm", gain=0.0)
    keep_mistakes(folder, 0)
    keep_mistakes(folder, 1)
    section = errors(read_runs([folder]))
    text = str(section.body)
    assert "16 of 20, two fine-tunings added up" in text  # English, two seeds
    assert "32 of 40, two fine-tunings added up" in text  # two other languages
    assert "Natural language inference, mlm: English, two fine-tunings added up</p>" in text
    assert "contradiction taken for neutral (45\u202f%)" in text
    assert "A &lt;b&gt;cat&lt;/b&gt;." in text
    assert "11 of 30 with a mistake, the first of two fine-tunings" in text


def test_mistakes_of_one_fine_tuning_are_not_added_up(make_run):
    folder = make_run("mlm", gain=0.0)
    keep_mistakes(folder)
    text = str(errors(read_runs([folder])).body)
    assert "8 of 10" in text
    assert "added up" not in text
    assert "the first of" not in text


def test_words_with_another_tag_are_marked(make_run):
    folder = make_run("mlm", gain=0.0)
    keep_mistakes(folder, task="ner", words=["Anna", "sleeps"],
                  wrong=[{"word": 0, "gold": "B-PER", "predicted": "O"}])  # fmt: skip
    found = words_of(errors(read_runs([folder])))
    at = found.index("Anna")
    assert found[at : at + 4] == ["Anna", "O", "B-PER", "sleeps"]


def test_a_task_without_classes_has_examples_alone(make_run):
    folder = make_run("mlm", gain=0.0)
    keep_mistakes(folder, task="mlqa", classes=())
    section = errors(read_runs([folder]))
    assert "<svg" not in str(section.body)
    assert "Question answering" in str(section.body)


def test_a_table_of_another_size_is_refused(make_run):
    folder = make_run("mlm", gain=0.0)
    keep_mistakes(folder)
    change(folder, "predictions/xnli.zero-shot.0.json", lambda data: {**data, "classes": ["a", "b"]})
    with pytest.raises(DataError, match=r"xnli.zero-shot.0.json.*2 rows and 3 columns"):
        read_runs([folder])


# ---- cost ----


def test_a_fine_tuning_that_languages_share_counts_once(make_run):
    folder = make_run("mlm", gain=0.0)
    change(folder, "scores.json", lambda rows: [
        {**row, "seconds": 1.0, "tuning": {"seconds": 60.0 + row["seed"], "learning_rate": 1e-5}} for row in rows
    ])  # fmt: skip
    found = words_of(cost(read_runs([folder])))
    assert "6 min 6 s" in found  # two tasks, three seeds: 60, 61 and 62 s each
    assert "36 s" in found  # two tasks, six languages, three seeds
    assert "4.92 million" in found
    assert "38 161" in [word.replace("\u202f", " ") for word in found]  # 4,915,200 subwords in 128.8 s


def test_a_fine_tuning_that_languages_chose_weights_of_at_several_checks_counts_once(make_run):
    """Under per-language-dev: 60 s is a part of the 90 s; another learning rate is another training."""
    folder = make_run("mlm", gain=0.0)
    told = {"de": (60.0, 1e-5), "tr": (90.0, 1e-5), "hi": (30.0, 5e-6)}
    change(folder, "scores.json", lambda rows: [
        {**row, "key": "k", "tuning": dict(zip(("seconds", "learning_rate"), told[row["language"]], strict=True))}
        for row in rows if (row["task"], row["seed"]) == ("pos", 0) and row["language"] in told
    ])  # fmt: skip
    section = cost(read_runs([folder]))
    assert "2 min 0 s" in words_of(section)
    assert section.lead.startswith("Pre-training, fine-tuning and scoring took ")
    change(folder, "scores.json", lambda rows: [{**row, "setting": "supervised"} for row in rows])
    assert "3 min 0 s" in words_of(cost(read_runs([folder])))  # a training for each language


# ---- before and after ----


def test_translations_are_drawn_before_and_after(make_run):
    folder = make_run("mlm", gain=0.0)
    keep_words(folder, near=3.0)
    (run,) = read_runs([folder])
    assert run.words.pairs[:2] == [(0, 1), (0, 2)]
    near, far = run.words.cosine(run.words.after)
    assert near > 0.7
    assert abs(far) < 0.2
    assert abs(run.words.cosine(run.words.before)[0]) < 0.2
    section = before_after([run])
    assert str(section.body).count('class="on-wide"') == 2
    assert "Cosine of translations 0.8" in str(section.body) or "Cosine of translations 0.9" in str(section.body)
    assert before_after([run]) == section


def test_a_damaged_file_of_words_is_named(make_run):
    folder = make_run("mlm", gain=0.0)
    (folder / "words.safetensors").write_bytes(b"no such thing")
    with pytest.raises(DataError, match=r"words.safetensors: damaged"):
        read_runs([folder])
    save_file({"before": np.zeros((2, 3), np.float32), "after": np.zeros((2, 3), np.float32)},
              folder / "words.safetensors", {"concepts": json.dumps(CONCEPTS)})  # fmt: skip
    with pytest.raises(DataError, match="24 words, 2 and 2 vectors"):
        read_runs([folder])


# ---- amount of text ----


def sized(make_run, rows, **settings):
    folder = make_run("mlm", folder=f"mlm-{rows}", **settings)
    data = [{"corpus": "en", "split": "train", "rows": rows}, {"corpus": "en", "split": "dev", "rows": 7}]
    change(folder, "run.json", lambda facts: {**facts, "data": data})
    return folder


def test_runs_on_more_text_make_a_line(make_run):
    runs = read_runs([sized(make_run, rows, gain=gain) for rows, gain in ((1000, 0.0), (4000, 0.4), (16000, 1.0))])
    body = str(data_size(runs).body)
    assert body.count("<svg") == 2  # a task each
    assert "1\u202f000 rows" in body
    assert "16\u202f000 rows" in body


def test_runs_that_differ_in_more_than_their_text_make_no_line(make_run):
    folders = [sized(make_run, rows, gain=0.5) for rows in (1000, 4000)]
    change(folders[1], "recipe.json", lambda recipe: {**recipe, "train": {**recipe.get("train", {}), "steps": 9}})
    assert "<svg" in str(data_size(read_runs(folders)).body)
    for key, value in (("vocab", {"size": 99}), ("train", {"learning_rate": 1.0}), ("filters", {"length": {}})):
        before = (folders[1] / "recipe.json").read_text()
        change(folders[1], "recipe.json", lambda recipe, key=key, value=value: {**recipe, key: value})
        assert "<svg" not in str(data_size(read_runs(folders)).body), key
        (folders[1] / "recipe.json").write_text(before)


def test_only_text_that_is_read_counts_and_starts_tell_systems_apart(make_run):
    folders = []
    for start in ("", "runs/before/model"):
        for rows in (1000, 4000):
            folder = make_run("mlm", folder=f"{'started' if start else 'fresh'}-{rows}", gain=rows / 4000)
            data = [{"corpus": "en", "group": "text", "split": "train", "rows": 9000}]
            data += [{"corpus": "en-de", "group": "pairs", "split": "train", "rows": rows}]
            change(folder, "run.json", lambda facts, data=data: {**facts, "data": data})
            objectives = {"translation": {"corpora": ["pairs"]}}
            more = {"objectives": objectives, "model": {"start": start} if start else {}}
            change(folder, "recipe.json", lambda recipe, more=more: {**recipe, **more})
            folders.append(folder)
    body = str(data_size(read_runs(folders)).body)
    for words in ("translation, random", "translation, before", "1\u202f000 rows", "4\u202f000 rows"):
        assert words in body
    assert "000 rows" not in body.replace("1\u202f000 rows", "").replace("4\u202f000 rows", "")


def test_runs_on_as_much_text_make_none(make_run):
    runs = read_runs([sized(make_run, 1000, gain=0.0)])
    assert "<svg" not in str(data_size(runs).body)


# ---- figures as files ----


def test_every_figure_is_a_file_that_needs_nothing_else(make_run, tmp_path):
    folder = make_run("mlm", gain=0.0)
    keep_words(folder, near=3.0)
    keep_mistakes(folder)
    stale = tmp_path / "report" / "zero-shot-99.svg"
    stale.parent.mkdir()
    stale.write_text("old")
    (tmp_path / "report" / "mine.svg").write_text("not ours")
    write_report([folder], tmp_path / "report.html")
    files = {path.name for path in (tmp_path / "report").glob("*.svg")}
    assert {"zero-shot-1.svg", "heat-map-1.svg", "errors-1.svg", "before-after-2.svg", "embedding-1.svg"} <= files
    assert "zero-shot-99.svg" not in files
    assert "mine.svg" in files
    for path in (tmp_path / "report").glob("*-*.svg"):
        text = path.read_text(encoding="utf-8")
        assert "var(--" not in text
        assert "currentColor" not in text
        root = ET.fromstring(text)  # noqa: S314 - our own
        assert root[0].tag.endswith("title")
        assert root[0].text
    assert "before-after-3.svg" not in files  # drawn twice on the page, for two widths


@pytest.mark.usefixtures("with_png")
def test_pictures_of_figures_are_drawn(make_run, tmp_path):
    pytest.importorskip("resvg_py")
    write_report([make_run("mlm", gain=0.0)], tmp_path / "report.html")
    png = (tmp_path / "report" / "zero-shot-1.png").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert len(png) > 2000


@pytest.mark.usefixtures("with_png")
def test_without_resvg_there_are_svg_files_alone_and_that_is_said(make_run, tmp_path, monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    write_report([make_run("mlm", gain=0.0)], tmp_path / "report.html")
    assert not list((tmp_path / "report").glob("*.png"))
    assert list((tmp_path / "report").glob("*.svg"))
    assert "pip install resvg_py" in caplog.text
