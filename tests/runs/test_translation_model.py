"""Runs of recipes that make a translation model: begun from a masked model, stopped and gone on with, opened again."""

import pytest
import torch
from safetensors.torch import load_file

from interlace.core.errors import SettingsError
from interlace.data.vocab import Vocab
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import Recipe, read_recipe
from interlace.experiments.workspace import Workspace
from interlace.models.build import build_model, load
from run_records import StoppedError, stop_at

OBJECTIVES = {"mlm": {"max_length": 32}, "translation": {"max_length": 32}}


def translating(small, family="bert", **model):
    data = read_recipe(str(small)).dump()
    languages = "none" if family == "modernbert" else "embeddings"
    shape = {**data["model"]["shape"], "family": family}
    model = {"languages": languages, **(model or {"shape": shape})}
    return Recipe.read({**data, "model": model, "objectives": OBJECTIVES}, "here")


@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_resumed_run_ends_with_the_same_model(family, small, tmp_path):
    recipe = translating(small, family)
    whole = pretrain(recipe, tmp_path / "whole")
    with pytest.raises(StoppedError):
        pretrain(recipe, tmp_path / "halves", stop_at(7))
    halves = pretrain(recipe, tmp_path / "halves")
    for path in whole.rglob("*.safetensors"):
        ours, theirs = load_file(path), load_file(halves / path.relative_to(whole))
        assert ours.keys() == theirs.keys()
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
def test_starts_from_a_masked_model_of_another_run(family, small, tmp_path):
    shape = {
        "model.shape.family": family,
        "model.languages": "none" if family == "modernbert" else "embeddings",
    }
    masked = pretrain(read_recipe(str(small), {"train.steps": "2", **shape}), tmp_path / "mlm")
    recipe = translating(small, family, start=str(masked))
    before, vocab = Vocab.load(masked), Workspace(recipe).open().vocab
    assert vocab.tokenizer.get_vocab() == {
        **before.tokenizer.get_vocab(), "<2en>": before.size, "<2xx>": before.size + 1
    }  # fmt: skip
    begun = build_model(recipe.model, vocab, recipe.languages, recipe.seed, seq2seq=True)
    assert torch.equal(begun.input_embeddings[: before.size], load(masked).input_embeddings)
    model = pretrain(recipe, tmp_path / "run")
    found = load(model, Vocab.load(model))
    assert (found.vocab_size, found.shared) == (before.size + 2, True)


def test_rejects_settings_without_effect(small):
    with pytest.raises(
        SettingsError, match=r"\[model\.decoder\]: no objective of the recipe trains a decoder"
    ):
        read_recipe(str(small), {"model.decoder.layers": "1"})
