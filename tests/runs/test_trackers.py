"""Losses and evaluations reach the trackers of a run: a stand-in for Weights & Biases."""

import json
import sys

import pytest
from accelerate import tracking
from accelerate.utils import LoggerType

from interlace.core.errors import MissingDependencyError
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import read_recipe

WANDB = """
import json, pathlib
calls = pathlib.Path({calls!r})
def write(*call):
    with calls.open("a") as file:
        file.write(json.dumps(call) + "\\n")
class Run:
    def log(self, values, step=None): write("log", values, step)
    def finish(self): write("finish")
class config:
    def update(values, **_): write("config", values)
def init(**options):
    write("init", options)
    return Run()
"""


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """Put a package `wandb` on the path; return what was called."""
    package = tmp_path / "packages" / "wandb" / "__init__.py"
    package.parent.mkdir(parents=True)
    package.write_text(WANDB.format(calls=str(tmp_path / "calls")))
    monkeypatch.delitem(sys.modules, "wandb", raising=False)
    monkeypatch.syspath_prepend(tmp_path / "packages")
    monkeypatch.setattr(tracking, "_available_trackers", [LoggerType.WANDB])
    yield lambda: [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]
    sys.modules.pop("wandb", None)


def test_losses_and_evaluations_reach_a_tracker(small, calls, tmp_path):
    changes = {"train.steps": "3", "train.evaluate_every": "3", "train.trackers": '["wandb"]'}
    pretrain(read_recipe(str(small), changes), tmp_path / "run")
    logs = [call[1:] for call in calls() if call[0] == "log"]
    assert [step for values, step in logs if "learning_rate" in values] == [1, 2, 3]
    assert [step for values, step in logs if "perplexity/mean" in values] == [3]
    [config] = [call[1] for call in calls() if call[0] == "config" and "train.steps" in call[1]]
    assert config["train.steps"] == 3
    assert calls()[-1] == ["finish"]


def test_a_missing_package_is_named_before_training(small, tmp_path, monkeypatch):
    monkeypatch.setattr("interlace.core.errors.find_spec", lambda _: None)
    with pytest.raises(MissingDependencyError, match="wandb"):
        pretrain(read_recipe(str(small), {"train.trackers": '["wandb"]'}), tmp_path / "run")
