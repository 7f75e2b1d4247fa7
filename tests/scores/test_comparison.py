"""Comparisons of systems with a baseline over seeds, examples and languages."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from interlace.core.errors import DataError, SettingsError
from interlace.scores import ScoreTable
from interlace.scores.aggregation import OTHERS
from interlace.scores.comparison import compare
from interlace.scores.examples import Examples
from interlace.training.predictions import outcomes_file
from interlace.training.predictions import write_outcomes as keep
from study_rows import outcomes_in, row, two_systems, with_dictionary, write_outcomes


@pytest.fixture
def results():
    return two_systems()


@pytest.fixture
def single(results):
    """One run of each system, in German."""
    return [one for one in results if (one.pretraining_seed, one.language) == (0, "de")]


def by_language(found):
    return {one.measure.language: one for one in found}


def metrics_of(found):
    return {one.measure.metric for one in found}


def over_examples(rows, folder, outcomes=None, **more):
    """Compare with `a`, after writing outcomes: by system its German scores, or these and their weights."""
    for one in rows if outcomes else ():
        found = outcomes[one.system]
        both = found if isinstance(found, tuple) else (found, np.ones(len(found)))
        write_outcomes(folder / one.run, "pos", {"de": both})
    return compare(ScoreTable(rows), "a", "examples", outcomes=outcomes_in(folder), **more)


def test_comparison_over_seeds(results):
    found = by_language(compare(results, "a"))
    german = found["de"]
    # the wiggles' mean is 0.05, with opposite signs
    assert german.difference.value == pytest.approx(10 - 2 * 0.05)
    assert (german.unit, german.n, german.p) == ("seeds", 4, 2 / 70)
    assert german.difference.low < 9.9 < german.difference.high
    assert german.significant
    assert not found["es"].significant
    assert found[OTHERS].difference.value == pytest.approx(5 - 1.5 * 0.1)


def test_named_metrics_are_compared(results):
    about = {"metric": "loss", "main": False, "unit": "", "greater_is_better": False}
    both = ScoreTable([*results, *(replace(one, **about, score=-one.score) for one in results)])
    assert metrics_of(compare(both, "a")) == {"accuracy"}
    german = {}
    for found in compare(both, "a", metrics={"pos": ["loss", "accuracy"]}):
        if found.measure.language == "de":
            german[found.measure.metric] = found.difference.value
    assert list(german) == ["loss", "accuracy"]
    assert german["loss"] == pytest.approx(-german["accuracy"])


def test_baseline_has_the_same_axes(results):
    rows = []
    for steps in (1, 2):
        for score in results:
            label = f"{score.label} {steps}"
            rows.append(replace(score, axes={"train.steps": steps}, label=label))
    found = compare(ScoreTable(rows), "a")
    labels = {(one.system.label, one.baseline.label) for one in found}
    assert labels == {("B 1", "A 1"), ("B 2", "A 2")}
    alone = compare(ScoreTable(rows).filter(system="a"))
    assert {(one.system.label, one.baseline.label) for one in alone} == {("A 2", "A 1")}


def test_rejects_unknown_system_and_unit(results):
    with pytest.raises(SettingsError, match=r"have no system 'c'; there are: a, b"):
        compare(results, "c")
    with pytest.raises(
        SettingsError, match=r"unit 'runs': expected one of seeds, examples, both"
    ):
        compare(results, unit="runs")
    with pytest.raises(SettingsError, match=r"give outcomes=interlace\.report\.read_outcomes"):
        compare(results, "a", unit="examples")


@pytest.mark.parametrize(
    ("shares", "metric", "german"),
    [
        ({"b": 40.0}, "accuracy, all", 14.9),
        ({"a": 20.0, "b": 40.0}, "accuracy, all", 9.9),
        ({}, "accuracy", 9.9),
        ({"a": 40.0, "b": 40.0}, "accuracy", 9.9),
        ({"b": 0.0}, "accuracy", 9.9),
    ],
)
@pytest.mark.parametrize("metrics", [{}, {"pos": ["accuracy"]}])
def test_systems_are_compared_over_all_words_if_their_held_out_words_differ(
    results, shares, metric, german, metrics
):
    """B has 60 in German over held-out words and 65 over all; A 50, or 55 over all if it has a dictionary."""
    found = by_language(compare(with_dictionary(results, shares), "a", metrics=metrics))
    assert metrics_of(found.values()) == {metric}
    assert found["de"].difference.value == pytest.approx(german)


def test_comparison_over_runs_and_examples(tmp_path):
    """Five runs a system in two languages; by examples alone the interval is narrower, as runs differ."""
    rng = np.random.default_rng(0)
    rows = []
    for system, seed in product("ab", range(5)):
        level = 0.5 + 0.2 * (system == "b") + 0.1 * rng.normal()
        outcomes = {
            language: (rng.random(200) < level, np.ones(200)) for language in ("de", "es")
        }
        for language, (right, _) in outcomes.items():
            rows.append(row(system, seed, language, 100 * right.mean()))
        write_outcomes(tmp_path / rows[-1].run, "pos", outcomes)
    read = outcomes_in(tmp_path)
    both = by_language(compare(ScoreTable(rows), "a", "both", outcomes=read))
    examples = by_language(compare(ScoreTable(rows), "a", "examples", outcomes=read, draws=500))
    assert set(both) == {OTHERS, "de", "es"}
    assert examples[OTHERS].n == 200  # the same examples in both languages
    for language, test in both.items():
        narrower = examples[language].difference
        assert test.difference.value == pytest.approx(narrower.value)
        assert test.difference.half_width > 2 * narrower.half_width
    with pytest.raises(DataError, match="needs 5 runs of each system; found 4"):
        compare(ScoreTable(rows[2:]), "a", "both", outcomes=read)


def test_systems_with_other_examples_are_left_out_of_holm(single, tmp_path):
    rows = [*single, row("c", 0, "de", 40.0)]
    outcomes = {"a": np.zeros(12), "b": np.ones(12), "c": np.zeros(11)}
    impossible = []
    [found] = over_examples(rows, tmp_path, outcomes, impossible=impossible)
    assert (found.system.name, found.unit, found.n) == ("b", "examples", 12)
    assert found.difference.value == 100.0
    assert found.adjusted_p == pytest.approx(found.p)
    assert found.significant
    [message] = impossible
    assert message.startswith("pos, zero-shot: C and A are not compared over examples: ")
    assert "different test examples (11 and 12)" in message


def test_rejects_outcomes_that_are_missing_or_of_other_examples(single, tmp_path):
    missing = "cells/a,seed=0/predictions/pos.zero-shot.0.de.safetensors: no such file"
    with pytest.raises(DataError, match=missing):
        over_examples(single, tmp_path)
    for one in single:
        path = outcomes_file(tmp_path / one.run, "pos", 0, "de")
        keep(path, Examples(np.ones(5), np.ones(5), one.system), "key")
    with pytest.raises(DataError, match="different test examples"):
        over_examples(single, tmp_path)
    with pytest.raises(DataError, match="another model"):
        over_examples([replace(one, key="new") for one in single], tmp_path)
    two_runs = [replace(one, system="b", label="B") for one in single]
    baseline = row("a", 1, "de", 1.0, run=single[0].run)
    with pytest.raises(DataError, match="B, pos, de: runs have different test examples"):
        over_examples([*two_runs, baseline], tmp_path)
