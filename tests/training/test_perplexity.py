"""Held-out perplexity: what is measured never changes, and what comes out by hand."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.data import Sentences
from interlace.data.vocab import Vocab
from interlace.experiments.held_out import held_out
from interlace.experiments.recipe import read_recipe
from interlace.models.build import from_shape
from interlace.models.settings import Shape
from interlace.objectives import Resources, Term
from interlace.objectives.mlm import Mlm
from interlace.tasks.common.likelihood import HeldOutBatches, hold_out
from interlace.training.diagnostics import perplexities


@pytest.fixture(scope="module")
def vocab():
    return Vocab.learn({"en": ["a few words to learn the alphabet from"] * 20}, size=300)


@pytest.fixture(scope="module")
def backbone(vocab):
    return from_shape(Shape(layers=1, width=16, heads=2, max_length=128), vocab, seed=1)


def rows(vocab, count, length=62):
    ids = np.random.default_rng(0).choice(vocab.regular_ids, size=count * length).astype(np.int32)
    ids = Ragged.from_lengths(ids, [length] * count)
    return Sentences(ids, Ragged(ids.columns().astype(np.int32), ids.offsets), "en")


@pytest.mark.parametrize("change", [{"train.tokens_per_batch": "8192"}, {"seed": "5"}])
def test_no_setting_of_the_run_changes_what_is_measured(vocab, backbone, change):
    def batches(changes):
        recipe = read_recipe("tiny/mlm", changes)
        materials = SimpleNamespace(vocab=vocab, dev={"en": rows(vocab, 40)})
        return held_out(recipe, materials, backbone.traits)[0].batches

    for one, other in zip(batches({}), batches(change), strict=True):
        assert np.array_equal(one.inputs["input_ids"], other.inputs["input_ids"])
        assert np.array_equal(one.labels, other.labels)


def test_every_masked_subword_shows_the_mask(vocab, backbone):
    mlm = Mlm(masking={"rate": 0.5, "random_share": 0.5, "mask_share": 0.1})
    made = hold_out("en", rows(vocab, 20), mlm, mlm.prepare(Resources(vocab, backbone.traits)))
    for batch in made.batches:
        assert set(batch.inputs["input_ids"][batch.at]) == {vocab.mask}
        assert set(batch.at[0]) == set(range(len(batch.inputs["input_ids"])))  # at least one a row
    share = sum(len(batch.labels) for batch in made.batches) / (20 * 62)
    assert share == pytest.approx(0.15, abs=0.04)


def test_no_rows_are_told(vocab, backbone):
    mlm = Mlm()
    with pytest.raises(DataError, match="'en' does not fill one row of 256 subwords"):
        hold_out("en", rows(vocab, 0), mlm, mlm.prepare(Resources(vocab, backbone.traits)))


def test_means_by_hand(backbone):
    def corpus(name, *parts):
        class Fixed:
            def loss(self, _backbone, _heads, batch):
                return {"mlm": Term(torch.tensor(batch.total))}

        batches = [SimpleNamespace(to=lambda _d, t=t: SimpleNamespace(total=t), counts={"mlm": n}) for t, n in parts]
        return HeldOutBatches(name, Fixed(), batches)

    measured = [corpus("en", (math.log(2) * 3, 3), (math.log(2) * 1, 1)), corpus("de", (math.log(8) * 2, 2))]
    found = perplexities(backbone, measured, torch.device("cpu"))
    expected = {"perplexity/en": 2, "perplexity/de": 8, "perplexity/mean": 5, "perplexity/geometric": 4}
    assert found == pytest.approx(expected, rel=1e-5)
