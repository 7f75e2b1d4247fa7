"""Systems against the baseline, by seeds, examples and languages."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from interlace.core.errors import DataError, SettingsError
from interlace.scores import ScoreTable
from interlace.scores.comparison import OTHERS, aggregate, averaged_languages, compare
from interlace.scores.examples import Examples
from interlace.training.predictions import outcomes_file, read_outcomes
from interlace.training.predictions import write_outcomes as keep
from study_rows import outcomes_in, row, two_systems, with_dictionary, write_outcomes


@pytest.fixture
def results():
    return two_systems()


def by_language(found):
    return {one.measure.language: one for one in found}


def test_over_seeds_runs_are_drawn_again(results):
    found = by_language(compare(results, "a"))
    german = found["de"]
    assert german.difference.value == pytest.approx(10 - 2 * 0.05)  # the wiggles' mean is 0.05, with opposite signs
    assert (german.unit, german.n, german.p, german.min_p) == ("seeds", 4, 2 / 70, 2 / 70)
    assert german.difference.low < 9.9 < german.difference.high
    assert german.significant
    assert german.delta == 1.0
    assert not found["es"].significant
    assert found[OTHERS].difference.value == pytest.approx(5 - 1.5 * 0.1)


def test_languages_are_drawn_again_for_the_mean_alone(results):
    [one] = compare(results, "a", unit="languages")
    assert (one.measure.language, one.n, one.p, one.unit) == (OTHERS, 2, 1.0, "languages")


def test_p_values_are_adjusted_for_the_systems_of_a_measure(results):
    more = [replace(one, system="c", label="C") for one in results if one.system == "b"]
    german = [one for one in compare(ScoreTable([*results, *more]), "a") if one.measure.language == "de"]
    assert [one.system.label for one in german] == ["B", "C"]
    assert [one.adjusted_p for one in german] == [pytest.approx(4 / 70)] * 2
    assert not any(one.significant for one in german)


def test_other_scores_are_compared_where_they_are_named(results):
    both = ScoreTable([
        *results,
        *(replace(one, metric="loss", main=False, unit="", greater_is_better=False, score=-one.score)
          for one in results),
    ])  # fmt: skip
    assert {one.measure.metric for one in compare(both, "a")} == {"accuracy"}
    found = compare(both, "a", metrics={"pos": ["loss", "accuracy"]})
    german = {one.measure.metric: one.difference.value for one in found if one.measure.language == "de"}
    assert list(german) == ["loss", "accuracy"]
    assert german["loss"] == pytest.approx(-german["accuracy"])
    assert averaged_languages(aggregate(both, {"pos": ["loss"]}), found[1].measure) == ["de", "es"]
    with pytest.raises(SettingsError, match=r"evaluate.metrics: pos has no metric 'los'; did you mean 'loss'"):
        compare(both, "a", metrics={"pos": ["los"]})


@pytest.mark.parametrize("shares", [{"b": 40.0}, {"a": 20.0, "b": 40.0}])
@pytest.mark.parametrize("metrics", [{}, {"pos": ["accuracy"]}])
def test_systems_that_left_out_other_words_are_compared_over_all(results, shares, metrics):
    """B has 60 in German of the words it was not shown, 65 of all; A 50, or 55 where it was shown some others."""
    rows = with_dictionary(results, shares)
    found = by_language(compare(rows, "a", metrics=metrics))
    assert {one.measure.metric for one in found.values()} == {"accuracy, all"}
    assert found["de"].difference.value == pytest.approx((10 if "a" in shares else 15) - 0.1)
    [mean] = compare(rows, "a", "languages", metrics=metrics)
    assert mean.measure.metric == "accuracy, all"
    assert mean.difference.value == pytest.approx(found[OTHERS].difference.value)


@pytest.mark.parametrize("shares", [{}, {"a": 40.0, "b": 40.0}, {"b": 0.0}])
def test_systems_that_left_out_the_same_words_are_compared_by_the_main_score(results, shares):
    """None, the same dictionary, or one that holds all: then the main score is over all words too."""
    found = by_language(compare(with_dictionary(results, shares), "a"))
    assert {one.measure.metric for one in found.values()} == {"accuracy"}
    assert found["de"].difference.value == pytest.approx(9.9)


def test_one_run_that_was_shown_some_words_is_enough(results):
    first = [one for one in results if one.pretraining_seed == 0]
    rows = [*with_dictionary(first, {"b": 40.0}), *(one for one in results if one.pretraining_seed)]
    assert {one.measure.metric for one in compare(rows, "a")} == {"accuracy, all"}


def test_a_checkpoint_without_a_dictionary_is_unlike_a_system_with_one(results):
    rows = [*with_dictionary([one for one in results if one.system == "b"], {"b": 40.0}), row("m", None, "de", 55.0)]
    assert {one.measure.metric for one in compare(rows, "b")} == {"accuracy, all"}


def test_over_examples_the_words_of_the_main_score_are_compared(results, tmp_path):
    """Systems that were asked other words are kept apart by the examples themselves."""
    single = [one for one in results if (one.pretraining_seed, one.language) == (0, "de")]
    for one in single:
        write_outcomes(outcomes_file(tmp_path / one.run, "pos", 0), {"de": (np.ones(5), np.ones(5))})
    [one] = compare(with_dictionary(single, {"b": 40.0}), "a", "examples", outcomes=outcomes_in(tmp_path), draws=99)
    assert one.measure.metric == "accuracy"


def test_fine_tunings_of_one_run_are_one_measurement(results):
    twice = [*results, *(replace(one, seed=1, score=one.score + 2) for one in results)]
    assert by_language(compare(twice, "a"))["de"].n == 4
    scores = aggregate(twice)
    german = next(by_variant for measure, by_variant in scores.items() if measure.language == "de")
    assert list(german.values())[0].sample[0] == 51.0  # noqa: RUF015 - the first system's first seed


def tuned(system, base, seeds):
    """A checkpoint that was not pre-trained here, with so many fine-tunings."""
    return [row(system, None, "de", base + seed, seed=seed) for seed in range(seeds)]


def test_fine_tunings_of_a_checkpoint_are_no_pre_trainings(results):
    """Four pre-trainings against eight fine-tunings would be p = 1 / 495; against one checkpoint it is a fifth."""
    one = next(one for one in compare(ScoreTable([*results, *tuned("m", 90.0, 8)]), "a") if one.system.name == "m")
    assert (one.n, one.p, one.significant) == (1, pytest.approx(0.2), False)
    assert one.difference.value == pytest.approx(93.5 - 50.05)
    assert math.isnan(one.difference.low)


def test_checkpoints_are_compared_by_their_fine_tunings():
    [one] = compare(ScoreTable([*tuned("m", 55.0, 4), *tuned("n", 95.0, 4)]), "m")
    assert (one.n, one.p, one.significant) == (4, pytest.approx(2 / 70), True)


def test_the_mean_goes_over_the_languages_that_all_have(results):
    some = [one for one in results if (one.system, one.language) != ("b", "es")]
    more = [replace(one, language="hi") for one in results if one.language == "de"]
    scores = aggregate(ScoreTable([*some, *more]))
    [mean] = [measure for measure in scores if measure.language == OTHERS]
    assert averaged_languages(scores, mean) == ["de", "hi"]
    assert [measure.language for measure in scores] == ["en", OTHERS, "de", "es", "hi"]


def test_with_axes_the_baseline_has_the_same_settings(results):
    rows = [
        replace(one, axes={"train.steps": steps}, label=f"{one.label} {steps}", score=one.score + steps)
        for steps in (1, 2)
        for one in results
    ]
    found = compare(ScoreTable(rows), "a")
    assert {(one.system.label, one.baseline.label) for one in found} == {("B 1", "A 1"), ("B 2", "A 2")}
    alone = compare(ScoreTable(rows).filter(system="a"))
    assert {(one.system.label, one.baseline.label) for one in alone} == {("A 2", "A 1")}


def test_what_is_not_there_is_named(results):
    with pytest.raises(SettingsError, match=r"have no system 'c'; there are: a, b"):
        compare(results, "c")
    with pytest.raises(SettingsError, match=r"unit 'runs': expected one of seeds, examples, languages"):
        compare(results, unit="runs")
    with pytest.raises(SettingsError, match="give the study's folder"):
        compare(results, "a", unit="examples")


def test_over_examples_outputs_are_compared_one_by_one(results, tmp_path):
    rng = np.random.default_rng(0)
    easy = rng.random(300)
    for one in results:
        level = 0.5 if (one.system, one.language) == ("a", "de") else 0.8
        right = (easy < level).astype(float)
        path = outcomes_file(tmp_path / one.run, "pos", 0)
        kept = {one.language: (right, np.ones(300))}
        if path.exists():
            kept |= {
                language: (got.score, got.weight)
                for language in ("en", "de", "es")
                if language != one.language and (got := _try(path, language)) is not None
            }
        write_outcomes(path, kept)
    found = by_language(compare(results, "a", unit="examples", outcomes=outcomes_in(tmp_path)))
    assert set(found) == {"en", "de", "es"}
    german = found["de"]
    assert german.difference.value == pytest.approx(100 * ((easy < 0.8).mean() - (easy < 0.5).mean()))
    assert german.difference.low > 20
    assert (german.n, german.unit, german.p) == (300, "examples", pytest.approx(1 / 10_001))
    assert found["en"].p == 1.0


def test_mcnemar_speaks_where_each_system_is_one_run(results, tmp_path):
    single = [one for one in results if (one.pretraining_seed, one.language) == (0, "de")]
    got = {"a": [1, 0, 0, 0, 0, 0, 0, 1], "b": [0, 1, 1, 1, 1, 1, 0, 1]}
    for one in single:
        path = outcomes_file(tmp_path / one.run, "pos", 0)
        write_outcomes(path, {"de": (got[one.system], np.ones(8))})
    [one] = compare(ScoreTable(single), "a", unit="examples", outcomes=outcomes_in(tmp_path))
    assert one.mcnemar == pytest.approx(14 / 64)  # one of six heads at most
    write_outcomes(path, {"de": (np.full(8, 0.5), np.ones(8))})
    [one] = compare(ScoreTable(single), "a", unit="examples", outcomes=outcomes_in(tmp_path))
    assert math.isnan(one.mcnemar)


def test_words_that_are_not_asked_enter_no_effect_over_examples(results, tmp_path):
    single = [one for one in results if (one.pretraining_seed, one.language) == (0, "de")]
    weight = np.array([1.0] * 100 + [0.0] * 900)
    for one in single:
        right = {"a": 20, "b": 80}[one.system]
        score = np.array([1.0] * right + [0.0] * (1000 - right))
        write_outcomes(outcomes_file(tmp_path / one.run, "pos", 0), {"de": (score, weight)})
    [one] = compare(ScoreTable(single), "a", unit="examples", outcomes=outcomes_in(tmp_path))
    assert one.difference.value == pytest.approx(60.0)
    assert one.delta == pytest.approx(0.60)  # over all 1,000 it would be 0.06
    assert (one.n, one.difference.n) == (100, 100)


def test_holm_goes_over_the_pairs_that_could_be_tested(results, tmp_path):
    """A third system whose test examples are others costs the second nothing."""
    single = [one for one in results if (one.pretraining_seed, one.language) == (0, "de")]
    single.append(row("c", 0, "de", 40.0))
    wrong = np.zeros(12)
    got = {"a": wrong, "b": wrong + 1, "c": np.zeros(11)}
    for one in single:
        write_outcomes(outcomes_file(tmp_path / one.run, "pos", 0), {"de": (got[one.system], got[one.system] * 0 + 1)})
    untested = []
    [one] = compare(ScoreTable(single), "a", unit="examples", outcomes=outcomes_in(tmp_path), untested=untested)
    assert one.system.name == "b"
    assert one.adjusted_p == pytest.approx(one.p)
    assert one.significant
    [left] = untested
    assert (left.system.name, left.baseline.name, left.measure.language) == ("c", "a", "de")
    assert left.reason.endswith("found 11 and 12")


def test_other_examples_of_one_number_are_not_paired(results, tmp_path):
    single = [one for one in results if (one.pretraining_seed, one.language) == (0, "de")]
    for one in single:
        path = outcomes_file(tmp_path / one.run, "pos", 0)
        keep(path, "de", Examples(np.ones(5), np.ones(5), one.system), "key")
    with pytest.raises(DataError, match="different test examples"):
        compare(ScoreTable(single), "a", unit="examples", outcomes=outcomes_in(tmp_path))
    with pytest.raises(DataError, match="another model"):
        compare(
            ScoreTable([replace(one, key="new") for one in single]),
            "a",
            unit="examples",
            outcomes=outcomes_in(tmp_path),
        )


def _try(path, language):
    try:
        return read_outcomes(path, language)
    except DataError:
        return None


def test_outcomes_that_were_not_kept_are_named(results, tmp_path):
    with pytest.raises(DataError, match=r"cells/a,seed=0/predictions/pos.zero-shot.0.safetensors: no such file"):
        compare(results, "a", unit="examples", outcomes=outcomes_in(tmp_path))


def test_one_run_each_says_nothing_of_others(results):
    single = [one for one in results if one.pretraining_seed == 0]
    german = by_language(compare(ScoreTable(single), "a"))["de"]
    assert (german.p, german.min_p) == (1.0, 1.0)
    assert math.isnan(german.difference.low)
    assert math.isnan(german.effect)
