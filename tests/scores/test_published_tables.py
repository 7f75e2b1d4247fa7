"""Published tables: their means, differences and repeated figures are checked against each other."""

import math
from statistics import fmean

import pytest
from scipy.stats import spearmanr

from interlace.core.errors import DataError
from interlace.scores.published import paper, papers, rows

ROUNDING = 0.054  # figures are rounded, and so is their mean
EVERY = [row for name in papers() for row in paper(name).rows()]
WRONG_MEANS = {  # every AVG(zero-shot) of WEAM's table 1, and one AVG(all)
    *(("1", metric, system, setting, "mean zero-shot") for metric in ("exact match", "F1")
      for system, setting in [("mBERT †", "translate-train"), ("mBERT (ours)", "translate-train"),
                              ("mBERT †", "zero-shot"), ("mBERT+TLM", "zero-shot"), ("mBERT+WEAM", "zero-shot")]),
    ("1", "exact match", "mBERT+WEAM", "zero-shot", "mean"),
}  # fmt: skip
MEANS = [
    (row, column, fmean(row.printed[part] for part in parts))
    for row in EVERY
    for column, parts in row.table.means.items()
    if column in row.printed
]


def test_printed_means_are_means_except_known_errors():
    assert all(math.isfinite(score) for row in EVERY for score in row.printed.values())
    with pytest.raises(DataError, match="did you mean 'xlm'"):
        paper("xml")
    assert len(MEANS) > 30
    wrong = {
        (row.table.number, row.table.metric, row.system, row.setting, column)
        for row, column, mean in MEANS
        if abs(mean - row.printed[column]) > ROUNDING
    }
    assert wrong == WRONG_MEANS
    for row in rows("mlqa"):  # WEAM averaged with the average of all
        columns = ["es", "de", "zh", "mean"]
        assert row.printed["mean zero-shot"] == pytest.approx(
            fmean(row.printed[c] for c in columns), abs=0.11
        )


def test_corrected_means_are_means():
    for row, column, mean in MEANS:
        assert row.scores[column] == pytest.approx(mean, abs=ROUNDING)
    [row] = [row for row in rows("mlqa", "mBERT+WEAM") if row.table.metric == "F1"]
    assert (row.scores["mean zero-shot"], row.printed["mean zero-shot"]) == (65.3, 66.2)
    assert "AVG(zero-shot)" in row.table.errata


def test_printed_differences_are_differences():
    found = [
        (row.printed[column], row.printed[one] - row.printed[other])
        for row in EVERY
        for column, (one, other) in row.table.differences.items()
    ]
    assert len(found) == 3 * (12 + 4 + 3)
    for printed, difference in found:
        assert printed == pytest.approx(difference, abs=0.101)


def test_correlations_follow_from_the_tables():
    """Their sign does not: a better alignment goes with a smaller difference."""
    alignment = {
        (row.system, row.condition): row.printed["mean"] for row in rows("embedding_alignment")
    }
    (printed,) = rows("correlation of alignment and transfer")
    for task, value in printed.scores.items():
        measured = [
            row for row in rows(task) if row.cite == printed.cite and row.table.number == "3"
        ]
        found = {
            (row.system, row.condition): row.scores["difference"]
            for row in measured
            if "difference" in row.scores
        }
        assert len(found) == 12
        rho = spearmanr([alignment[key] for key in found], list(found.values())).statistic
        assert rho == pytest.approx(value, abs=0.0006)
        assert printed.printed[task] == -value
