"""Held-out perplexity of masked and causal models, by hand and by properties."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from interlace.core.errors import DataError
from interlace.data.vocab import Vocab
from interlace.experiments.monitoring import held_out
from interlace.experiments.recipe import Recipe, read_recipe
from interlace.models.build import from_shape
from interlace.models.settings import Shape
from interlace.objectives import Resources, Term
from interlace.objectives.mlm import Mlm
from interlace.tasks.common.likelihood import HeldOutBatches, hold_out
from interlace.training.diagnostics import perplexities
from little_rows import random_ids, sentences_of


@pytest.fixture(scope="module")
def vocab():
    return Vocab.learn({"en": ["a few words to learn the alphabet from"] * 20}, size=300)


@pytest.fixture(scope="module")
def backbone(vocab):
    return from_shape(Shape(layers=1, width=16, heads=2, max_length=128), vocab, seed=1)


def rows(vocab, count, length=62):
    lengths = np.full(count, length)
    return sentences_of(random_ids(np.random.default_rng(0), vocab, lengths))


@pytest.mark.parametrize("change", [{"train.tokens_per_update": "8192"}, {"seed": "5"}])
def test_held_out_batches_do_not_depend_on_run_settings(vocab, backbone, change):
    def batches(changes):
        recipe = read_recipe("tiny/mlm", changes)
        materials = SimpleNamespace(recipe=recipe, vocab=vocab, dev={"en": rows(vocab, 40)})
        return held_out(materials, backbone.traits)[0].batches

    for one, other in zip(batches({}), batches(change), strict=True):
        assert np.array_equal(one.inputs["input_ids"], other.inputs["input_ids"])
        assert np.array_equal(one.labels, other.labels)


def test_every_masked_subword_shows_the_mask(vocab, backbone):
    mlm = Mlm(masking={"rate": 0.5, "random_share": 0.5, "mask_share": 0.1})
    made = hold_out("en", rows(vocab, 20), mlm, mlm.prepare(Resources(vocab, backbone.traits)))
    for batch in made.batches:
        assert set(batch.inputs["input_ids"][batch.at]) == {vocab.mask}
        # at least one a row
        assert set(batch.at[0]) == set(range(len(batch.inputs["input_ids"])))
    share = sum(len(batch.labels) for batch in made.batches) / (20 * 62)
    assert share == pytest.approx(0.15, abs=0.04)
    mlm = Mlm()
    with pytest.raises(DataError, match="'en' does not fill one row of 256 subwords"):
        hold_out("en", rows(vocab, 0), mlm, mlm.prepare(Resources(vocab, backbone.traits)))


class Fixed:
    """An objective whose loss is stored in the batch."""

    def loss(self, _backbone, _heads, batch):
        return {"mlm": Term(torch.tensor(batch.total))}


def corpus_of(name, *parts):
    """Batches with these losses and predictions."""
    batches = []
    for total, count in parts:
        moved = SimpleNamespace(total=total)
        batches.append(
            SimpleNamespace(to=lambda _device, moved=moved: moved, counts={"mlm": count})
        )
    return HeldOutBatches(name, Fixed(), batches)


def test_means_by_hand(backbone):
    measured = [
        corpus_of("en", (math.log(2) * 3, 3), (math.log(2) * 1, 1)),
        corpus_of("de", (math.log(8) * 2, 2)),
    ]
    assert perplexities(backbone, measured, CPU) == pytest.approx(
        {
            "perplexity/en": 2,
            "perplexity/de": 8,
            "perplexity/mean": 5,
        },
        rel=1e-5,
    )


TEXT = "a few words to learn the alphabet from"


CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def causal_model(vocab):
    return from_shape(
        Shape(layers=1, width=16, heads=2, max_length=128), vocab, seed=1, causal=True
    )


@pytest.mark.parametrize(
    ("objectives", "causal", "names"),
    [
        (["mlm"], False, {"perplexity"}),
        (["clm"], True, {"perplexity"}),
        (["mlm", "clm"], False, {"perplexity", "causal_perplexity"}),
    ],
)
def test_a_recipe_is_measured_as_it_reads(vocab, causal_model, objectives, causal, names):
    recipe = Recipe(
        name="x",
        corpora={"text": {"languages": ["en"], "train": "a", "dev": "b"}},
        objectives={name: {"max_length": 32} for name in objectives},
    )
    dev = {"en": vocab.encode([TEXT] * 8, language="en")}
    materials = SimpleNamespace(recipe=recipe, vocab=vocab, dev=dev)
    found = perplexities(causal_model, held_out(materials, causal_model.traits), CPU)
    assert recipe.causal == causal
    assert {name.partition("/")[0] for name in found} == names
    assert {name.partition("/")[2] for name in found} == {"en", "mean"}
