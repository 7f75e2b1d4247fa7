"""The sections of the page."""

import json
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from interlace.report.page import cautions, title_of
from interlace.report.runs import ReportedRun, read_runs
from interlace.report.sections.scores import scores
from interlace.report.sections.settings import compute, mixture, recipe
from interlace.report.sections.training import evaluation, losses, training_examples
from interlace.report.sections.words import word_maps
from interlace.scores import ScoreTable
from interlace.scores.examples import Examples
from interlace.training.predictions import outcomes_file, write_outcomes
from report_runs import bare_run, score, write_words

DASH = "\N{EN DASH}"


def text_of(section):
    words = [unescape(part).strip() for part in re.split(r"<[^>]*>", section.body)]
    return " ".join(filter(None, words))


def rows_of(section):
    """By label the cells of the rows of all tables."""
    rows = {}
    for row in re.findall(r"<tr.*?</tr>", section.body, re.DOTALL):
        cells = [re.sub(r"<[^>]*>", "", cell) for cell in re.split(r"</t[hd]>", row)[:-1]]
        label, *values = (unescape(cell).strip() for cell in cells)
        rows[label] = values
    return rows


def titles(section):
    return re.findall(r'class="title"[^>]*>([^<]*)<', section.body)


# ---- scores ----


def test_scores_are_drawn_and_in_tables(tmp_path):
    values = {"a": [50.0, 54.0], "b": [60.0, 61.0]}
    folders = []
    for name, (first_score, second_score) in values.items():
        rows = [score("en", 90.0), score("de", first_score), score("de", second_score, 1)]
        folders.append(bare_run(tmp_path / name, name, rows))
    section = scores(read_runs(folders))
    assert "a: 52.0 (50.0 to 54.0), b: 60.5 (60.0 to 61.0)" in section.figures[0].label
    assert "English *" in text_of(section)
    assert rows_of(section)["a"] == ["1", "90.0", "52.0 50.0–54.0"]
    assert title_of(read_runs(folders)[0].scores) == "Zero-shot transfer from English"
    assert scores(read_runs([bare_run(tmp_path / "c", "c", [])])) is None
    assert title_of(ScoreTable()) == "Cross-lingual language models"


def store_outcomes(folder, language, right):
    """Store outcomes of test examples for the score of a run, as `evaluate` does."""
    outcomes = Examples(np.array(right, float), np.ones(len(right)), "same")
    write_outcomes(outcomes_file(folder, "pos", 0, language), outcomes, "")


def test_runs_are_compared_over_paired_examples(tmp_path):
    before = bare_run(tmp_path / "before", "before", [score("de", 50.0)])
    after = bare_run(tmp_path / "after", "after", [score("de", 60.0)])
    assert "over examples" not in scores(read_runs([before, after])).body, "nothing is stored"
    half = [1, 0] * 500
    store_outcomes(before, "de", half)
    store_outcomes(after, "de", [1] * 200 + half[200:])
    section = scores(read_runs([before, after]))
    n, difference = rows_of(section)["after \N{MINUS SIGN} before, over examples"]
    assert n == "1,000"
    assert re.match(r"\+10\.0 \+8\.\d to \+1\d\.\d, p < 0\.001", difference)
    again = bare_run(tmp_path / "again", "before", [score("de", 52.0)], seed=2)
    store_outcomes(again, "de", [1] * 40 + half[40:])
    section = scores(read_runs([before, after, again]))
    # the baseline is the mean of its runs
    _, difference = rows_of(section)["after \N{MINUS SIGN} before, over examples"]
    assert difference.startswith("+9.0 ")


INV_ROW = "Tang et al. 2022, table 3, ALIGN-MLM, Trans + Inv"
OF_EACH_PAPER = [  # the row that must stand below, score, figure
    ("Yang et al. 2020, table 1, ALM (mt, BLEU)", "mt", "bleu", "en-de", "29.22"),
    ("Yang et al. 2021, table 1, mBERT+WEAM (mlqa, zero-shot, F1, %)", "mlqa", "f1", "de", "64.3"),
    ("Conneau & Lample 2019, table 2, encoder and decoder MLM (mt, BLEU)", "mt", "tokenized bleu", "en-fr", "33.4"),
    (f"{INV_ROW} (xnli, accuracy, %, dev)", "xnli", "accuracy", "en_x", "68.8"),
]  # fmt: skip


@pytest.mark.parametrize(("label", "task", "metric", "language", "figure"), OF_EACH_PAPER)
def test_a_run_shows_the_row_of_each_paper(label, task, metric, language, figure, tmp_path):
    """Rows of a condition of pre-training only if the recipe names them; unknown rows are left out."""
    places = [{"where": INV_ROW, "note": "Ours is less."}, {"where": "Doe 2020, table 9, X"}]
    row = score(language, 50.0, task=task, metric=metric)
    named = bare_run(tmp_path / "named", "mlm", [row], published=places)
    section = scores(read_runs([named]))
    assert figure in rows_of(section)[label]
    assert (f"{INV_ROW}: Ours is less." in text_of(section)) is (INV_ROW in label)
    plain = scores(read_runs([bare_run(tmp_path / "plain", "mlm", [row])]))
    assert (label in rows_of(plain)) is (INV_ROW not in label)


def test_published_figures_are_below_our_metric_of_the_same_name(tmp_path):
    """The paper's figure for Nepali is likely per word; our main metric is per subword."""
    row = score("ne", 468.0, task="perplexity", metric="perplexity", unit="per subword")
    folder = bare_run(tmp_path / "b", "mlm", [row])
    assert "157.2" not in text_of(scores(read_runs([folder])))
    row["scores"] = {"perplexity": 468.0, "perplexity per word": 2345.6}
    text = text_of(scores(read_runs([bare_run(tmp_path / "a", "mlm", [row])])))
    assert "unit: not named, likely per word (ours: perplexity per word)." in text
    assert "157.2" in text


def test_cautions_name_unfinished_and_single_runs(make_run, caplog):
    folders = [make_run("a", folder=f"a-{seed}", gain=0.0, seed=seed) for seed in (1, 2)]
    (folders[0] / "run.json").unlink()
    assert cautions(read_runs(folders)) == ["Training not finished: a-1."]
    assert "a-1: training is not finished" in caplog.text
    b = make_run("b", gain=1.0)
    (b / "metrics.jsonl").write_text('{"kind": "step", "step": 7, "objective": "mlm"}\n')
    notes = cautions(read_runs([*folders, b]))
    assert notes[1] == "Records of training are lost: b, after step 7 of 1,200."
    assert notes[2].startswith("Single pre-training run: b;")


# ---- training ----

LOGGED = {
    "alignment/en-de": 10.0, "alignment/mean": 10.0, "perplexity/de": 9.0, "perplexity/geometric": 1.0,
    "retrieval/en-de": 40.0, "retrieval/de-en": 60.0, "align_mlm/train/p@1": 90.0,
}  # fmt: skip


def test_evaluation_has_a_panel_per_language_or_pair():
    logged = {}
    for step in (1, 2):
        logged[step] = {name: value * step for name, value in LOGGED.items()}
    section = evaluation([ReportedRun(Path("a"), {}, {}, "a", evaluations=logged)])
    german = f"English {DASH} German"
    expected = [german, "Mean of all", "German", german, f"German {DASH} English", "train/p@1"]
    assert titles(section) == expected
    assert section.figures[0].label.endswith("at the last step a 20.0")


def test_losses_leave_out_what_is_not_finite(make_run):
    folder = make_run("mlm", gain=0.0)
    lines = [
        {"kind": "step", "step": 1, "objective": "mlm", "losses": {"mlm": None}},
        {"kind": "step", "step": 2, "objective": "mlm", "losses": {"mlm": float("nan")}},
        {"kind": "step", "step": 3, "objective": "alm", "losses": {"a": 0.0, "b": -1.0}},
        {"kind": "step", "step": 3, "objective": "alm", "losses": {"a_share": 0.5}},
        {"kind": "evaluation", "step": 3, "scores": {"perplexity/en": float("inf")}},
    ]
    (folder / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)))
    runs = read_runs([folder])
    assert titles(losses(runs)) == ["alm: a", "alm: b", "alm: a_share"]
    assert not re.search(r'="[^"]*\b(nan|inf)\b', losses(runs).body)
    assert evaluation(runs) is None


def test_other_metrics_are_means_over_runs_and_languages_but_the_source(tmp_path):
    folders = []
    for seed, german, french in ((1, 10.0, 20.0), (2, 30.0, 60.0)):
        rows = []
        for language, f1 in (("en", 99.0), ("de", german), ("fr", french)):
            rows += [score(language, 50.0), score(language, f1, metric="f1", main=False)]
        folders.append(bare_run(tmp_path / str(seed), "mine", rows, seed=seed))
    body = scores(read_runs(folders)).body
    table = body[body.index("means of other metrics") :]
    assert re.findall(r"<td>([0-9.]+)", table) == ["30.00"]


def test_words_are_drawn_by_both_methods_before_and_after_training(make_run):
    folders = [write_words(make_run(name, gain=0.0)) for name in ("good", "second", "broken")]
    runs = read_runs(folders)
    runs[2].words.after[0] = np.nan
    section = word_maps(runs)
    captions = re.findall(r'<figcaption class="over">(.*?)</figcaption>', section.body)
    assert captions == [
        "good, before training, t-SNE",
        "good, before training, PCA",
        "good, after training, t-SNE",
        "good, after training, PCA",
        "second, after training, t-SNE",
        "second, after training, PCA",
    ]
    assert "dog (English)" in section.body
    assert section.body.count('class="links"') == len(section.figures) == 6
    assert word_maps(runs[2:]) is None


# ---- examples ----


def test_examples_have_the_lines_of_the_preview(make_run):
    section = training_examples(read_runs([make_run("tlm", gain=0.0, tlm=True)]))
    assert f"English {DASH} German" in section.body
    assert "<i>reads</i><i>predicts</i>" in section.body
    assert '<i class="mask">[M]</i><i>dog</i>' in section.body


# ---- settings ----


def test_mixture_is_by_objective_and_corpus():
    facts = {"shares": {"mlm/de": 0.75, "tlm/en-de": 0.25}}
    rows = rows_of(mixture([ReportedRun(Path("a"), {}, facts, "a")]))
    assert rows["mlm, German"] == ["75.0\u202f%"]
    assert rows[f"tlm, English {DASH} German"] == ["25.0\u202f%"]


def test_compute_is_of_pretraining(make_run):
    row = rows_of(compute(read_runs([make_run("mlm", gain=0.0)])))["mlm"]
    assert row == ["cpu", "1", "1.38 million", "4.92 million", "2 min 9 s", "38\u202f161"]


def test_settings_are_those_that_a_run_was_scored_by(two_runs, tmp_path):
    used = json.loads((two_runs[0] / "recipe.json").read_text())
    used["evaluate"]["source"] = "de"
    (two_runs[0] / "evaluate.json").write_text(json.dumps(used))
    rows = rows_of(recipe(read_runs(two_runs)))
    assert rows["evaluate.source"] == ["de", "en"]
    assert "seed" not in rows
    checkpoint = bare_run(tmp_path / "xlmr", "", [score("de", 50.0)])
    assert recipe(read_runs([checkpoint])) is None
