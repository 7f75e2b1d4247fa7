"""A run that stops early ends with its best weights, also when it was interrupted on the way."""

import json

import pytest
import torch
from safetensors.torch import load_file

from interlace.experiments import pretrain as recipes_pretrain
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import read_recipe

TRANSFORMATIONS = {"train.evaluate_every": "2", "train.patience": "2", "train.checkpoint_every": "4", "train.keep": "1"}


class InterruptedRunError(Exception):
    """Stands for a kill."""


@pytest.fixture
def perplexity(monkeypatch):
    """Lets a test say what is measured, one value an evaluation."""

    def say(*values):
        given = iter(values)
        monkeypatch.setattr(recipes_pretrain, "perplexities", lambda *_: {"perplexity/mean": next(given)})

    return say


def table(folder):
    return next(value for name, value in load_file(folder / "model.safetensors").items() if "word_embeddings" in name)


def test_the_best_weights_are_exported(small, tmp_path, perplexity):
    run = tmp_path / "run"
    perplexity(10.0, 5.0, 6.0, 7.0)
    pretrain(read_recipe(str(small), TRANSFORMATIONS), run)
    about = json.loads((run / "run.json").read_text())
    assert about["steps"] == 8
    assert "has not fallen for 2 evaluations" in about["stopped"]
    assert sorted(path.name for path in (run / "checkpoints").iterdir()) == ["step-00000004", "step-00000008"]
    assert torch.equal(table(run / "model"), table(run / "checkpoints" / "step-00000004"))
    assert not torch.equal(table(run / "model"), table(run / "checkpoints" / "step-00000008"))


def test_patience_and_the_best_survive_an_interruption(small, tmp_path, perplexity):
    recipe = read_recipe(str(small), TRANSFORMATIONS)
    perplexity(10.0, 5.0, 6.0, 7.0)
    pretrain(recipe, tmp_path / "whole")

    def interrupt(step):
        if step.index == 7:
            raise InterruptedRunError

    perplexity(10.0, 5.0, 6.0)
    with pytest.raises(InterruptedRunError):
        pretrain(recipe, tmp_path / "cut", interrupt)
    perplexity(6.0, 7.0)  # from step 4 on, where the newest checkpoint stands
    pretrain(recipe, tmp_path / "cut")
    assert json.loads((tmp_path / "cut" / "run.json").read_text())["steps"] == 8
    assert torch.equal(table(tmp_path / "cut" / "model"), table(tmp_path / "whole" / "model"))
