"""Diagnostics of whole runs: they change nothing, survive interruptions, and say what they were measured on."""

import pytest
import torch

from interlace.core.errors import SettingsError
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import read_recipe
from run_records import StoppedError, records, stop_at, weights

ON = {
    "train.diagnostics.every": "5",
    "train.diagnostics.pairs": "20",
    "evaluate.tasks.retrieval": '{ files = "{split}.{language}" }',
}


def diagnoses(run):
    return [(row["step"], row["scores"]) for row in records(run, "diagnosis")]


def trained(small, into, changes):
    pretrain(read_recipe(str(small), changes), into)
    return into


def test_diagnostics_do_not_change_the_run(small, tmp_path):
    without = trained(small, tmp_path / "without", {})
    into = trained(small, tmp_path / "with", ON)
    one, other = weights(without), weights(into)
    assert all(torch.equal(value, other[name]) for name, value in one.items())
    losses = [[row["losses"] for row in records(run, "step")] for run in (into, without)]
    assert losses[0] == losses[1]
    assert [step for step, *_ in diagnoses(into)] == [0, 5, 10, 12]
    found = diagnoses(into)[-1][1]
    assert {name.partition("/")[0] for name in found} == {"retrieval", "gap"}


def test_resumed_run_has_the_lines_of_a_whole_one(small, tmp_path):
    whole = trained(small, tmp_path / "whole", ON)
    cut = tmp_path / "cut"
    with pytest.raises(StoppedError):
        pretrain(read_recipe(str(small), ON), cut, stop_at(7))
    assert diagnoses(cut)
    trained(small, cut, ON)
    assert diagnoses(cut) == diagnoses(whole)


def test_a_recipe_without_pairs_has_nothing_to_measure(small, tmp_path):
    """Found before the first update."""
    with pytest.raises(SettingsError, match=r"train\.diagnostics: .*retrieval"):
        trained(small, tmp_path / "run", {"train.diagnostics.every": "5"})
    assert not (tmp_path / "run/metrics.jsonl").exists()
