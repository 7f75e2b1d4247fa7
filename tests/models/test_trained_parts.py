"""Frozen parts and low-rank adapters: what is trained, that a run resumes, and that export merges."""

import pytest
import torch

from interlace.core.errors import SettingsError
from interlace.data.vocab import Vocab
from interlace.experiments import pretrain as experiment
from interlace.experiments.estimate import estimate
from interlace.experiments.recipe import Recipe
from interlace.models.adapters import merge_adapters
from interlace.models.build import build_model, load
from interlace.models.settings import ModelSettings
from interlace.training.optimizer import OptimizerSettings
from little_checkpoints import LONGEST, TRAINED_ON, save
from run_records import StoppedError, stop_at, weights

KINDS = ("mbert", "xlm-r", "mmbert", "xlm")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {kind: save(kind, tmp_path_factory.mktemp("start") / kind) for kind in KINDS}


@pytest.fixture
def build(folders):
    def make(kind="mbert", **settings):
        model = ModelSettings.read({"start": str(folders[kind]), **settings}, "model")
        return build_model(model, Vocab.load(folders[kind]), ["en", "de"])

    return make


def trained(backbone):
    return {name for name, weight in backbone.model.named_parameters() if weight.requires_grad}


def take_a_step(backbone):
    optimizer = OptimizerSettings(learning_rate=0.1).build(backbone)
    states = backbone.encode({"input_ids": torch.arange(5, 25).reshape(2, 10)})
    backbone.logits(states.flatten(0, 1)).float().logsumexp(-1).sum().backward()
    optimizer.step()
    return optimizer


@pytest.mark.parametrize("kind", KINDS)
def test_frozen_parts_keep_their_weights_and_have_no_optimizer_state(kind, build):
    whole = build(kind)
    backbone = build(kind, freeze=["embeddings"])
    before = {name: weight.clone() for name, weight in backbone.model.named_parameters()}
    optimizer = take_a_step(backbone)
    changed = {
        name
        for name, weight in backbone.model.named_parameters()
        if not torch.equal(weight, before[name])
    }
    assert changed == trained(backbone) < trained(whole)
    assert not [name for name in changed if "embedding" in name]
    assert len(optimizer.state) == len(changed)
    if kind != "xlm":
        assert trained(build(kind, freeze=["head"])) < trained(whole)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("targets", [["attention"], ["attention", "feed_forward"]])
def test_adapters_are_trained_alone_and_merged(kind, targets, build, folders, tmp_path):
    backbone = build(kind, lora={"rank": 2, "targets": targets})
    names = trained(backbone)
    assert all("lora_" in name for name in names)
    in_attention = {name for name in names if "attention" in name or "attn" in name}
    assert in_attention
    assert (in_attention < names) == (len(targets) == 2)
    ids = {"input_ids": torch.arange(5, 25).reshape(2, 10)}
    original = load(folders[kind])
    # B starts at 0
    torch.testing.assert_close(backbone.eval().encode(ids), original.eval().encode(ids))
    take_a_step(backbone.train())
    states = backbone.eval().encode(ids)
    assert (states - original.encode(ids)).abs().max() > 1e-3
    merged = merge_adapters(backbone)
    assert merged.model.state_dict().keys() == original.model.state_dict().keys()
    merged.save_pretrained(tmp_path / "model", Vocab.load(folders[kind]))
    reopened = load(tmp_path / "model").eval()
    torch.testing.assert_close(reopened.encode(ids), states, atol=1e-5, rtol=1e-4)


def test_parts_may_be_trained_beside_adapters(build):
    names = trained(build("mbert", lora={"train": ["embeddings"]}))
    assert "bert.embeddings.word_embeddings.weight" in names
    assert "bert.encoder.layer.0.output.dense.weight" not in names


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"freeze": ["embedings"]}, r"freeze\.0"),
        ({"lora": {"targets": ["querry"]}}, "did you mean 'query'"),
        ({"lora": {}, "freeze": ["head"]}, "either 'freeze' or 'lora'"),
    ],
)
def test_impossible_parts_are_an_error(settings, message, build):
    with pytest.raises(SettingsError, match=message):
        build("mbert", **settings)


@pytest.fixture
def recipe(folders, tmp_path, own_cache):
    (tmp_path / "train.en").write_text("\n".join(TRAINED_ON * 20))

    def make(**model):
        return Recipe.read(
            {
                "name": "small", "data_root": str(tmp_path), "model": {"start": str(folders["mbert"]), **model},
                "corpora": {"text": {"languages": ["en"], "train": "train.{language}"}},
                "objectives": {"mlm": {"max_length": LONGEST}},
                "train": {"steps": 6, "tokens_per_update": 128, "precision": "no", "checkpoint_every": 2, "threads": 1},
            }
        )  # fmt: skip

    return make


@pytest.mark.parametrize(
    "settings", [{"freeze": ["embeddings"]}, {"lora": {"rank": 2, "dropout": 0.1}}]
)
def test_a_run_resumes_bit_for_bit_and_exports_an_ordinary_checkpoint(
    settings, recipe, folders, tmp_path
):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    experiment.pretrain(recipe(**settings), whole)
    with pytest.raises(StoppedError):
        experiment.pretrain(recipe(**settings), cut, stop_at(5))
    experiment.pretrain(recipe(**settings), cut)
    assert all(
        torch.equal(weight, weights(cut)[name]) for name, weight in weights(whole).items()
    )
    before = load(folders["mbert"]).model.state_dict()
    after = load(whole / "model").model.state_dict()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert not [name for name in changed if "embeddings" in name]


def test_the_estimate_counts_what_is_trained(recipe, folders):
    whole, frozen, adapted = (
        estimate(recipe(**settings))
        for settings in ({}, {"freeze": ["embeddings"]}, {"lora": {"rank": 2}})
    )
    assert whole.trainable == whole.parameters == frozen.parameters
    table = Vocab.load(folders["mbert"]).size * 16
    positions, norm = LONGEST * 16, 2 * 16
    assert frozen.trainable == whole.parameters - table - positions - 2 * 16 - norm
    assert adapted.trainable == 2 * 4 * 2 * (16 + 16)  # layers, matrices, rank, sides
