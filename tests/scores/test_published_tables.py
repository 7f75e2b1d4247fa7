"""Published tables: their own sums are done again, so that a slip of ours is found and print's are known."""

from __future__ import annotations

import math
from statistics import fmean

import numpy as np
import pytest

from interlace.core.errors import DataError
from interlace.scores.published import PublishedTable, paper, papers, rows, tables
from interlace.tasks import TASKS
from interlace.tasks.mlqa import AnswerNormalizer, compare_all
from interlace.tasks.word_similarity import correlations

ROUNDING = 0.054  # figures are rounded, and so is their mean
EVERY = [row for name in papers() for row in paper(name).rows()]
WRONG_MEANS = {  # requirements: every AVG(zero-shot) of WEAM's table 1, and one AVG(all)
    *(("1", metric, system, setting, "mean zero-shot") for metric in ("exact match", "F1")
      for system, setting in [("mBERT †", "translate-train"), ("mBERT (ours)", "translate-train"),
                              ("mBERT †", "zero-shot"), ("mBERT+TLM", "zero-shot"), ("mBERT+WEAM", "zero-shot")]),
    ("1", "exact match", "mBERT+WEAM", "zero-shot", "mean"),
}  # fmt: skip


def lookup(task, column, system, *, setting="", metric=""):
    """Every corrected figure of a system in a column, with its row."""
    found = rows(task, setting=setting, system=system, column=column)
    return [(row.scores[column], row) for row in found if metric in {"", row.table.metric}]


def named(row, column):
    return row.table.number, row.table.metric, row.system, row.setting, column


def the_mean(row, column):
    return fmean(row.printed[part] for part in row.table.means[column])


def means():
    return [(row, column) for row in EVERY for column in row.table.means if column in row.printed]


def test_every_printed_mean_is_the_mean_but_for_the_known_slips():
    assert len(means()) > 30
    wrong = {
        named(row, column) for row, column in means() if abs(the_mean(row, column) - row.printed[column]) > ROUNDING
    }
    assert wrong == WRONG_MEANS


def test_what_is_put_in_place_of_a_wrong_mean_is_the_mean():
    for row, column in means():
        assert row.scores[column] == pytest.approx(the_mean(row, column), abs=ROUNDING)


def test_weam_averaged_with_the_average_of_all():
    for row in rows("mlqa"):
        columns = ["es", "de", "zh", "mean"]
        assert row.printed["mean zero-shot"] == pytest.approx(fmean(row.printed[c] for c in columns), abs=0.11)


def test_every_printed_difference_is_the_difference():
    found = 0
    for row in EVERY:
        for column, (one, other) in row.table.differences.items():
            assert row.printed[column] == pytest.approx(row.printed[one] - row.printed[other], abs=0.101), row.where
            found += 1
    assert found == 3 * (12 + 4 + 3)


def test_tables_that_print_the_same_figure_agree_once_mended():
    """ALIGN-MLM prints its default setting in up to six tables."""
    same = {
        ("XLM", "25 % parallel"): ("XLM", "Trans + Inv"),
        ("XLM", "0 % overlap"): ("XLM", "Trans + Inv"),
        ("ALIGN-MLM", "no parallel"): ("ALIGN-MLM", "Trans + Inv"),
    }
    seen: dict[tuple[str, ...], float] = {}
    compared = 0
    for row in paper("align_mlm").rows():
        system, setting = same.get((row.system, row.setting), (row.system, row.setting))
        if setting.endswith("%"):  # dictionaries: tables 2 and 4 are of Trans + Inv, 5 of Trans + Syn
            order = "Trans + Syn" if row.table.number == "5" else "Trans + Inv"
            setting = order if setting == "25 %" else f"{setting}, {order}"
        for column, score in row.scores.items():
            key = (row.table.task, system, setting, column)
            compared += key in seen
            assert seen.setdefault(key, score) == score, (row.where, column)
    assert compared > 50


def test_only_one_sign_of_a_difference_is_mended():
    mended = [row for row in paper("align_mlm").rows() if row.correct and row.table.task == "xnli"]
    assert [(row.where, row.printed, row.correct) for row in mended] == [
        ("Tang et al. 2022, table 8, XLM, Trans", {"difference": 0.2}, {"difference": -0.2})
    ]


def test_the_correlations_follow_from_the_tables():
    """Their sign does not: a better alignment goes with a smaller difference."""
    from scipy.stats import spearmanr

    alignment = {(row.system, row.setting): row.printed["mean"] for row in rows("embedding_alignment")}
    (printed,) = rows("correlation of alignment and transfer")
    for task, value in printed.scores.items():
        measured = [row for row in rows(task, names=["align_mlm"], number="3") if "difference" in row.scores]
        found = {(row.system, row.setting): row.scores["difference"] for row in measured}
        assert len(found) == 12
        rho = spearmanr([alignment[key] for key in found], list(found.values())).statistic
        assert rho == pytest.approx(value, abs=0.0006)
        assert printed.printed[task] == -value


def test_xlm_and_alm_print_the_same_figures_of_xlm():
    """ALM's table 3 copies XLM's rows: two typings of ours that must meet."""
    for setting in ("translate-train", "translate-test", "zero-shot"):
        (theirs,) = rows("xnli", names=["xlm"], setting=setting, system="XLM (MLM+TLM)")
        (copied,) = rows("xnli", names=["alm"], setting=setting, system="XLM")
        assert theirs.printed == copied.printed
        assert theirs.theirs
        assert not copied.theirs


def test_the_gains_that_the_text_speaks_of_are_in_the_tables():
    """XLM, section 5.3, and ALM's: figures of the text against those of the tables."""

    def one(task, column, system, metric="", **asked):
        ((value, _),) = [found for found in lookup(task, column, system, metric=metric, **asked)
                         if found[1].cite == "Conneau & Lample 2019"]  # fmt: skip
        return value

    zero_shot = {"setting": "zero-shot"}
    xlm, other = ("XLM (MLM+TLM)", "Artetxe and Schwenk (2018)")
    assert one("xnli", "sw", xlm, **zero_shot) - one("xnli", "sw", other, **zero_shot) == pytest.approx(6.2)
    assert one("xnli", "ur", xlm, **zero_shot) - one("xnli", "ur", other, **zero_shot) == pytest.approx(6.3)
    assert one("unsupervised translation", "de-en", "encoder and decoder MLM") - one(
        "unsupervised translation", "de-en", "PBSMT + NMT (Lample et al. 2018b)"
    ) == pytest.approx(9.1)
    perplexity = {row.system: row.printed["ne"] for row in rows("perplexity")}
    assert perplexity["Nepali"] - perplexity["Nepali + English"] == pytest.approx(17.1)
    assert perplexity["Nepali"] - perplexity["Nepali + Hindi"] == pytest.approx(41.6)
    bleu = {row.system: row.printed["en-de"] for row in rows("translation, WMT14")}
    assert [round(bleu["ALM"] - bleu[name], 2) for name in ("mBERT", "MASS", "XLM")] == [0.58, 0.30, 0.34]
    bleu = {row.system: row.printed["de-en"] for row in rows("translation, IWSLT14")}
    assert [round(bleu["ALM"] - bleu[name], 2) for name in ("mBERT", "MASS", "XLM")] == [0.71, 0.39, 0.31]


def test_all_tables_of_results_are_there():
    numbers = {name: list(dict.fromkeys(table.number for table in tables(name))) for name in papers()}
    assert numbers == {
        "align_mlm": ["1", "2", "3", "4", "5", "6", "7", "8", "appendix E", "appendix I"],
        "alm": ["1", "2", "3"],
        "weam": ["1", "2"],
        "xlm": ["1", "2", "3", "4", "5"],
    }
    assert "give its numbers" in paper("alm").figures[-1].about


def test_the_figures_of_align_mlm_are_said_to_be_what_they_show():
    """Section 5 reads differences off figure 2, such as about 0 in its first plot, and table 3 extends it."""
    one, two, three = paper("align_mlm").figures
    assert [one.number, two.number, three.number] == ["1", "2", "3"]
    assert "The method" in one.about
    assert two.about.startswith("The difference of supervised and zero-shot scores")
    assert "Table 3" in two.about


def test_every_score_that_is_said_to_be_like_ours_is_told_by_its_task():
    beside = {  # scores that a task tells beside those it names
        "mlqa": compare_all([], [], AnswerNormalizer("squad", "en")),
        "word_similarity": correlations(np.array([1.0, 2.0]), np.array([1.0, 2.0])),
    }
    said = {(table.task, table.score) for name in papers() for table in tables(name) if table.score}
    assert len(said) > 6
    for name, score in said:
        task = TASKS.get(name)
        assert score in {task.metric, *task.other_scales, *beside.get(name, ())}, name


def test_align_mlm_tags_are_measured_by_f1_and_ours_are_not():
    assert {(table.metric, table.score) for table in tables("align_mlm") if table.task == "pos"} == {("F1", "")}


def test_align_mlm_scores_dev_sets():
    splits = {table.split for table in tables("align_mlm") if table.task in {"xnli", "ner", "pos"}}
    assert splits == {"dev"}


def test_a_figure_that_is_left_out_is_no_figure():
    (row,) = rows("xnli", names=["weam"], system="word-aligned BERT")
    assert row.printed == {"en": 80.1, "es": 75.5, "de": 73.1}
    assert not lookup("xnli", "zh", "word-aligned BERT")
    assert all(math.isfinite(score) for every in EVERY for score in every.printed.values())


def test_mended_figures_go_first():
    ((value, row),) = lookup("mlqa", "mean zero-shot", "mBERT+WEAM", metric="F1")
    assert (value, row.printed["mean zero-shot"]) == (65.3, 66.2)
    assert "AVG(zero-shot)" in row.table.errata


def test_what_is_not_there_is_said_with_what_is():
    with pytest.raises(DataError, match="did you mean 'xlm'"):
        paper("xml")
    with pytest.raises(DataError, match=r"no table '9'; there are: 1, 2, 3"):
        tables("alm", "9")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": [{"system": "a", "scores": [1.0]}]}, "1 figures for 2 columns"),
        ({"rows": [{"system": "a", "scores": [1.0, "?"]}]}, "'\\?' is neither a number nor a column"),
        ({"rows": [{"system": "a", "scores": [1.0, 2.0], "correct": {"fr": 1.0}}]}, "'fr' is neither"),
        ({"rows": [{"system": "a", "scores": [1.0, 2.0], "correct": {"de": 1.0}}]}, "'errata' is empty"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(change, message):
    table = {"number": "1", "about": "", "task": "t", "metric": "m", "unit": "%", "split": "test",
             "columns": ["en", "de"], "rows": [{"system": "a", "scores": [1.0, 2.0]}]}  # fmt: skip
    assert PublishedTable.model_validate(table)
    with pytest.raises(ValueError, match=message):
        PublishedTable.model_validate(table | change)
