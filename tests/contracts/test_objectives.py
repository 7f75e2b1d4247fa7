"""What every objective of the room must keep, found by listing the room."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from interlace.data import Pairs, Sentences
from interlace.data.vocab import Vocab
from interlace.links.lexicon import Lexicon
from interlace.links.phrases import phrase_pairs
from interlace.models.build import fresh
from interlace.models.shape import Shape
from interlace.objectives import OBJECTIVES, Resources
from interlace.ragged import Ragged
from interlace.randomness import Purpose, generator, torch_seed

LANGUAGES = ("en", "xx")
FAMILIES = {"bert": LANGUAGES, "roberta": LANGUAGES, "modernbert": ()}  # and the languages each has embeddings for


@pytest.fixture(scope="module")
def vocab():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefgh"), size=4)) for _ in range(200)]
    return Vocab.learn({"en": [" ".join(rng.choice(words, size=8)) for _ in range(300)]}, size=400)


def sentences(vocab, language, seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(3, 14, size=12)
    ids = Ragged.from_lengths(rng.choice(vocab.ordinary, size=lengths.sum()).astype(np.int32), lengths)
    return Sentences(ids, Ragged((ids.columns() // 2).astype(np.int32), ids.offsets), language)


def examples_for(objective, vocab):
    if objective.reads is Pairs:
        return linked(Pairs(sentences(vocab, "en", 1), sentences(vocab, "xx", 2)))
    return sentences(vocab, "en", 1)


def linked(pairs):
    """Every word with the one at its place; the first word of the source with the second too. And their phrases."""
    words = [np.array([row.max() + 1 for row in side.words]) for side in (pairs.source, pairs.target)]
    rows = [[(i, i) for i in range(count)] for count in np.minimum(*words)]
    links = Ragged.of([[row[0], (0, 1), *row[1:]] for row in rows], width=2)
    phrases = phrase_pairs(*words, links)
    confidence, scores = (np.linspace(0.3, 1, len(values), dtype=np.float32) for values in (links.flat, phrases.flat))
    return replace(
        pairs,
        links=links,
        confidence=Ragged(confidence, links.offsets),
        phrases=phrases,
        scores=Ragged(np.stack([scores, scores[::-1]], axis=1), phrases.offsets),
    )


def lexicons(vocab):
    """Every second word that is one subword translates the one after it."""
    words = [token[1:] for token in vocab.tokens(vocab.ordinary) if token.startswith("▁") and len(token) > 1]
    return {LANGUAGES: Lexicon.of((one, two, 1.0) for one, two in zip(words[::2], words[1::2], strict=False))}


@pytest.fixture(params=OBJECTIVES.names())
def objective(request):
    return OBJECTIVES.build({"name": request.param, "max_length": 40})


@pytest.fixture(params=FAMILIES)
def backbone(request, vocab):
    shape = Shape(family=request.param, layers=1, width=16, heads=2, max_length=48, dropout=0.0, attention_dropout=0.0)
    return fresh(shape, vocab, FAMILIES[request.param], seed=0)


def batch_of(objective, vocab, traits, step=1, slot=0):
    prepared = objective.prepare(Resources(vocab, traits, lexicons=lexicons(vocab)))
    return objective.batch(examples_for(objective, vocab), prepared, step, generator(Purpose.BATCH, 0, step, slot))


def test_settings_survive_the_round_trip(objective):
    assert type(objective).read(objective.dump()) == objective


def test_every_setting_is_explained(objective):
    assert [key for key, field in type(objective).model_fields.items() if not field.description] == []


def test_batches_are_pure_and_repeatable(objective, vocab, backbone):
    examples = examples_for(objective, vocab)
    before = examples.lengths.copy()
    one, two = (batch_of(objective, vocab, backbone.traits) for _ in range(2))
    for name in one.inputs:
        np.testing.assert_array_equal(one.inputs[name], two.inputs[name])
    np.testing.assert_array_equal(one.labels, two.labels)
    np.testing.assert_array_equal(examples.lengths, before)
    other = batch_of(objective, vocab, backbone.traits, step=2)
    assert np.array_equal(one.inputs["input_ids"], other.inputs["input_ids"]) != objective.draws


def test_specials_and_padding_are_never_predicted(objective, vocab, backbone):
    batch = batch_of(objective, vocab, backbone.traits)
    assert len(batch.labels) > 0
    assert not np.isin(batch.labels, vocab.specials).any()
    if "attention_mask" in batch.inputs:
        assert batch.inputs["attention_mask"][batch.at].all()
        assert batch.tokens == batch.inputs["attention_mask"].sum()


def test_counts_are_the_predictions(objective, vocab, backbone):
    batch = batch_of(objective, vocab, backbone.traits)
    terms = objective.loss(backbone, objective.modules(backbone), batch.to(torch.device("cpu")))
    assert set(terms) == set(batch.counts)
    assert sum(batch.counts.values()) >= len(batch.labels)


def test_subwords_are_counted_by_language(objective, vocab, backbone):
    batch = batch_of(objective, vocab, backbone.traits)
    other = batch_of(objective, vocab, backbone.traits, step=2)
    assert set(batch.languages) == set(other.languages) <= set(LANGUAGES)
    assert not batch.languages or sum(batch.languages.values()) == batch.tokens


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_gradients_are_finite(objective, vocab, backbone, precision):
    batch = batch_of(objective, vocab, backbone.traits).to(torch.device("cpu"))
    with torch.autocast("cpu", dtype=precision, enabled=precision is torch.bfloat16):
        terms = objective.loss(backbone, objective.modules(backbone), batch)
    sum(term.weight * term.total for term in terms.values()).backward()
    gradients = [p.grad for p in backbone.parameters() if p.grad is not None]
    assert len(gradients) > 5
    assert all(torch.isfinite(gradient).all() for gradient in gradients)


def test_the_loss_falls(objective, vocab, backbone):
    batch = batch_of(objective, vocab, backbone.traits).to(torch.device("cpu"))
    torch.manual_seed(torch_seed(Purpose.HEADS, 0))
    heads = objective.modules(backbone)
    optimiser = torch.optim.AdamW([*backbone.parameters(), *heads.parameters()], lr=1e-2)
    losses = []
    for _ in range(25):
        terms = objective.loss(backbone, heads, batch)
        loss = sum(term.weight * term.total / batch.counts[key] for key, term in terms.items())
        losses.append(loss.item())
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
    assert losses[-1] < 0.7 * losses[0]


def test_a_pair_costs_what_it_takes_in_a_batch(objective, vocab, backbone):
    """Batches are cut by it, so it is no less than a batch of equal pairs takes, and little more."""
    if objective.reads is not Pairs:
        pytest.skip("reads single sentences")
    rng = np.random.default_rng(0)
    lengths = np.full(12, 10)
    sides = [
        Sentences(Ragged.from_lengths(rng.choice(vocab.ordinary, size=120).astype(np.int32), lengths),
                  Ragged.from_lengths(np.tile(np.arange(10) // 2, 12).astype(np.int32), lengths), language)
        for language in LANGUAGES
    ]  # fmt: skip
    prepared = objective.prepare(Resources(vocab, backbone.traits, lexicons=lexicons(vocab)))
    batch = objective.batch(linked(Pairs(*sides)), prepared, 1, generator(Purpose.BATCH, 0, 1, 0))
    cost = objective.pair_costs(lengths, lengths).sum()
    assert cost - 12 * 2 * 4 <= batch.inputs["input_ids"].size <= cost
    assert objective.pair_costs(np.array([90]), np.array([5]))[0] <= 2 * objective.max_length
