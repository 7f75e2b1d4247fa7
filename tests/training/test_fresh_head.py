"""Checkpoints without a vocabulary head: a new one is trained before anything else is."""

import shutil

import pytest
import torch
from transformers import AutoModel

from interlace.data.vocab import Vocab
from interlace.experiments import pretrain as experiment
from interlace.experiments.recipe import Recipe, read_recipe
from interlace.models.build import load
from interlace.training.mixture import Mixture
from little_checkpoints import ENGLISH, LONGEST, save
from run_records import StoppedError, records, stop_at, weights

RECIPE = """
name = "headless"
data_root = "{root}"
[corpora.text]
languages = ["en"]
train = "train.{{language}}"
[model]
start = "{start}"
[objectives.mlm]
max_length = {length}
[train]
steps = {steps}
tokens_per_update = 512
tokens_per_micro_batch = 512
precision = "no"
evaluate_every = 0
checkpoint_every = 1
threads = 1
[train.optimizer]
learning_rate = {rate}
"""
NOTHING = "1e-30"  # a rate that changes no weight but zeros


@pytest.fixture(scope="module", params=["mbert", "xlm"])
def starts(request, tmp_path_factory):
    """A checkpoint, and its encoder alone."""
    folder = tmp_path_factory.mktemp("starts")
    whole = save(request.param, folder / "whole")
    shutil.copytree(whole, folder / "encoder")
    encoder = AutoModel.from_pretrained(whole, trust_remote_code=False)
    encoder.save_pretrained(folder / "encoder")
    return whole, folder / "encoder"


@pytest.fixture
def recipe(tmp_path):
    """Make the recipe of a start."""
    (tmp_path / "train.en").write_text(f"{' '.join(ENGLISH)}\n" * 50)

    def make(start, steps=1, rate=NOTHING):
        path = tmp_path / f"{start.name}.toml"
        settings = {"start": start, "steps": steps, "rate": rate, "length": LONGEST}
        path.write_text(RECIPE.format(root=tmp_path, **settings))
        return read_recipe(str(path))

    return make


def test_a_new_head_is_trained_alone(starts, recipe, tmp_path, monkeypatch, caplog):
    caplog.set_level("INFO", "interlace")
    start = starts[1]
    experiment.pretrain(recipe(start), tmp_path / "run")
    assert "trained a new one alone for" in caplog.text
    trained = load(tmp_path / "run/model")
    before = load(start, Vocab.load(start)).model.base_model.state_dict()
    after = trained.model.base_model.state_dict()
    torch.testing.assert_close(after, before, rtol=0, atol=1e-20)

    monkeypatch.setattr(experiment, "train_fresh_head", lambda training: None)
    experiment.pretrain(recipe(start), tmp_path / "random")
    fitted, random = (
        records(tmp_path / run, "step")[0]["losses"]["mlm"] for run in ("run", "random")
    )
    assert fitted < random - 0.1


def test_a_head_of_the_checkpoint_is_left_alone(starts, recipe, tmp_path):
    start = starts[0]
    experiment.pretrain(recipe(start), tmp_path / "run")
    before = load(start, Vocab.load(start)).model.state_dict()
    after = load(tmp_path / "run/model").model.state_dict()
    torch.testing.assert_close(after, before, rtol=0, atol=1e-20)


def test_an_interrupted_run_ends_with_the_same_weights(starts, recipe, tmp_path):
    settings = recipe(starts[1], steps=3, rate="1e-3")
    experiment.pretrain(settings, tmp_path / "whole")
    for number in (1, 2):  # before the first checkpoint, and after it
        with pytest.raises(StoppedError):
            experiment.pretrain(settings, tmp_path / "cut", stop_at(number))
    experiment.pretrain(settings, tmp_path / "cut")
    whole = weights(tmp_path / "whole")
    cut = weights(tmp_path / "cut")
    assert all(torch.equal(cut[name], weight) for name, weight in whole.items())


def test_no_head_is_trained_for_objectives_without_one(starts, recipe, tmp_path, monkeypatch):
    settings = recipe(starts[1]).dump()
    for language in ("en", "de"):  # one word a line, so that words are aligned
        (tmp_path / f"train.{language}").write_text("\n".join(ENGLISH * 10))
    files = ["train.{source}", "train.{target}"]
    settings["corpora"] = {"pairs": {"pairs": ["en-de"], "train": files}}
    settings["objectives"] = {"self_alignment": {"max_length": LONGEST}}
    draws = []

    def batch(mixture, draw, slot):
        draws.append(draw)
        return original(mixture, draw, slot)

    original = Mixture.batch
    monkeypatch.setattr(Mixture, "batch", batch)
    experiment.pretrain(Recipe.read(settings), tmp_path / "run")
    assert (
        len(draws) < 5
    )  # of 500: one shows that the objective has no head, the others are of the update
