"""Diagnostics of whole runs: they change nothing, survive interruptions, and say what they were measured on."""

import json
import logging

import pytest
import torch
from safetensors.torch import load_file

from interlace.core.errors import SettingsError
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import read_recipe

ON = {"train.diagnostics.every": "5"}
DEV = {"corpora.pairs.dev": '["dev.{source}", "dev.{target}"]'}
TASK = {"evaluate.tasks.retrieval": '{ files = "held.{split}.{language}" }'}


class InterruptedRunError(Exception):
    """Stands for a kill."""


def rows(run, kind="diagnosis"):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [row for row in lines if row["kind"] == kind]


def scores(run):
    return [(row["step"], row["scores"], row["on"]) for row in rows(run)]


def trained(small, into, changes):
    pretrain(read_recipe(str(small), changes), into)
    return into


def test_a_run_ends_with_the_same_weights_with_and_without(small, tmp_path):
    (tmp_path / "dict").write_text("cat\ttaco\ndog\tgodo\n")
    without = trained(small, tmp_path / "without", {})
    into = trained(small, tmp_path / "with", ON | {"evaluate.dictionary": '"dict"'})
    one, other = (load_file(run / "model" / "model.safetensors") for run in (without, into))
    assert all(torch.equal(value, other[name]) for name, value in one.items())
    assert [row["losses"] for row in rows(into, "step")] == [row["losses"] for row in rows(without, "step")]
    assert rows(into, "evaluation") == rows(without, "evaluation")
    assert not rows(without)
    assert [row["step"] for row in rows(into)] == [0, 5, 10, 12]
    found = rows(into)[-1]["scores"]
    assert {name.partition("/")[0] for name in found} == {"alignment", "retrieval", "gap", "cka", "accuracy"}
    assert {name for name in found if name.startswith("cka/en-xx")} == {"cka/en-xx/0", "cka/en-xx/1"}


@pytest.mark.parametrize("at", [2, 7])
def test_an_interrupted_run_has_the_lines_of_a_whole_one(small, tmp_path, at):
    whole = trained(small, tmp_path / "whole", ON)

    def interrupt(step):
        if step.index == at:
            raise InterruptedRunError

    cut = tmp_path / "cut"
    with pytest.raises(InterruptedRunError):
        pretrain(read_recipe(str(small), ON), cut, interrupt)
    assert rows(cut)
    trained(small, cut, ON)
    assert scores(cut) == scores(whole)
    assert [row["step"] for row in rows(cut, "step")] == list(range(1, 13))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {"pairs": 40, "from": "train"}),
        (DEV | TASK, {"pairs": 30, "from": "dev"}),
        (TASK, {"pairs": 25, "from": "task"}),
        ({"evaluate.tasks.retrieval": '{ files = "held.dev.{language}" }'}, {"pairs": 40, "from": "train"}),
    ],
    ids=["training text", "its own", "the task's", "never the test set"],
)
def test_where_pairs_come_from(small, tmp_path, caplog, changes, expected):
    for language in ("en", "xx"):
        words = (tmp_path / f"train.{language}").read_text().splitlines()[:25]
        (tmp_path / f"held.dev.{language}").write_text("\n".join(words) + "\n")
    more = {"train.steps": "1", "train.diagnostics.pairs": "40", "train.diagnostics.measures": '["gap"]'}
    with caplog.at_level(logging.INFO):
        run = trained(small, tmp_path / "run", ON | changes | more)
    assert rows(run)[0]["on"] == {"en-xx": expected}
    assert f"en-xx on {expected['pairs']} pairs" in caplog.text
    assert ("which the model may have read" in caplog.text) == (expected["from"] == "train")


def test_what_cannot_be_measured_is_left_out_or_refused_with_a_cure(small, tmp_path, caplog):
    alone = {"corpora.pairs": '{ languages = ["en"], train = "train.{language}" }', "objectives.tlm": "", **ON}
    text = small.read_text()
    start = text.index("[objectives.tlm]")
    small.write_text(text[:start] + text[text.index("[", start + 1) :])
    recipe = read_recipe(str(small), {key: value for key, value in alone.items() if value})
    data = recipe.dump()
    with caplog.at_level(logging.INFO):
        pretrain(recipe, tmp_path / "run")
    assert {name.partition("/")[0] for name in rows(tmp_path / "run")[0]["scores"]} == {"accuracy"}
    assert "cka is not measured: the recipe has no sentence pairs" in caplog.text
    data["train"]["diagnostics"]["measures"] = ["accuracy", "gap"]
    with pytest.raises(SettingsError, match=r"gap cannot be measured: .*corpora\.GROUP\.dev"):
        pretrain(type(recipe).read(data), tmp_path / "other")
