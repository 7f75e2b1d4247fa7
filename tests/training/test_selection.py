"""Which fine-tunings settings ask for, and whose development set chooses."""

import math

import numpy as np
import pytest

from interlace.training.selection import (
    FineTuneRun,
    SelectionGroup,
    baseline_loss,
    collapsed,
    entropy,
    runs_of_settings,
    selection_groups,
)

ZERO, TEST, TRAIN = "zero-shot", "translate-test", "translate-train"


def test_one_fine_tuning_serves_both_settings_of_the_source_language_others_run_per_language():
    both = FineTuneRun("en", [(ZERO, "en"), (ZERO, "de"), (TEST, "de")])
    assert runs_of_settings([ZERO, TEST], "en", ["de", "en", "de"]) == [both]
    each = [FineTuneRun(language, [(TRAIN, language)]) for language in ("de", "fr")]
    assert runs_of_settings([TRAIN], "en", ["de", "fr"]) == each
    assert runs_of_settings(["supervised"], "en", ["de"]) == [
        FineTuneRun("de", [("supervised", "de")])
    ]


@pytest.mark.parametrize(
    ("rule", "setting", "groups"),
    [
        ("source-dev", ZERO, [(["en", "de"], ["en"])]),
        ("mean-dev", ZERO, [(["en", "de"], ["en", "de"])]),
        ("last", ZERO, [(["en", "de"], [])]),
        ("per-language-dev", ZERO, [(["en"], ["en"]), (["de"], ["de"])]),
        ("source-dev", TRAIN, [(["de"], ["de"])]),
        ("source-dev", "supervised", [(["de"], ["de"])]),
        ("per-language-dev", TEST, [(["de"], ["en"])]),
        ("mean-dev", TEST, [(["de"], ["en"])]),
    ],
)
def test_development_languages_of_each_rule_and_setting(rule, setting, groups):
    [run] = runs_of_settings([setting], "en", ["de"])
    assert [
        ([language for _, language in group.items], group.dev_languages)
        for group in selection_groups(rule, run)
    ] == groups


@pytest.mark.parametrize(
    ("scores", "greater", "improves"),
    [
        ([math.nan, 30.0, 30.0, 35.0], True, [False, True, False, True]),
        ([30.0, 40.0, 20.0], False, [True, False, True]),
    ],
)
def test_keeps_the_first_of_equal_checks_and_ignores_nan(scores, greater, improves):
    group = SelectionGroup([(ZERO, "de")], ["de"])
    assert [group.improves({"de": score}, greater=greater) for score in scores] == improves


@pytest.mark.parametrize(
    ("predictions", "loss", "expected"),
    [
        ([1, 1, 1], 1.1, True),
        ([1, 1, -1], 1.1, True),
        ([1, 2, 1], 1.1, False),  # it tells some apart
        ([1, 1, 1], 0.9, False),  # it learns
    ],
)
def test_collapse(predictions, loss, expected):
    assert collapsed(np.array(predictions), loss, float(np.log(3))) is expected


def test_answers_are_judged_by_the_loss_and_only_labels_can_collapse():
    spans = np.zeros(2, [("start", "i4")])
    least = baseline_loss([np.array([1, 2, 3, 4]), np.array([1, 1, 2, 2])])
    assert least == pytest.approx((np.log(4) + np.log(2)) / 2)
    assert collapsed(spans, 1.03, least)
    assert not collapsed(spans, 1.0, least)
    # all answers stand at one place
    assert not collapsed(spans, 1.0, baseline_loss([np.array([1, 1])]))
    assert entropy(np.array([0, 1, 2, -1])) == pytest.approx(np.log(3))
    assert entropy(np.array([4, 4])) == 0
    assert not collapsed(np.array([1.0, 1.0]), 9.0, 1.0)
    assert baseline_loss([]) == np.inf
