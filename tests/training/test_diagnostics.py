"""Diagnostics: cosine gap by hand, P@1 of words and sentences, and when they are taken."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from interlace.data import Pairs
from interlace.data.vocab import Vocab
from interlace.models.build import from_shape
from interlace.models.settings import Shape
from interlace.tasks.retrieval import Retrieval
from interlace.training.diagnostics import (
    DiagnosticProbes,
    DiagnosticsCallback,
    cosine_gap,
    diagnose,
)

ENGLISH = "the old new red big small dog cat house book reads sees".split()
GERMAN = "das alte neue rote große kleine Hund Katze Haus Buch liest sieht".split()


@pytest.fixture(scope="module")
def vocab():
    return Vocab.learn(
        {"en": [" ".join(ENGLISH)] * 30, "de": [" ".join(GERMAN)] * 30}, size=420
    )


@pytest.fixture
def backbone(vocab):
    return from_shape(
        Shape(layers=2, width=16, heads=2, max_length=64, dropout=0.5), vocab, seed=1
    ).train()


def lines(words, count=12):
    return [" ".join(np.random.default_rng(row).permutation(words)[:4]) for row in range(count)]


def pairs(vocab, one, other):
    return Pairs(vocab.encode(one, language="en"), vocab.encode(other, language="de"))


def test_cosine_gap_by_hand():
    source = np.array([[1, 0], [0, 1]], np.float32)
    target = np.array([[0.6, 0.8], [0.8, 0.6]], np.float32)
    # translations have 0.6 both times, the two other combinations 0.8
    assert cosine_gap(source, target) == pytest.approx(-0.2)
    assert cosine_gap(source, source) == pytest.approx(1)


def test_finds_equal_sentences_at_their_row_only(backbone, vocab):
    text = lines(ENGLISH)
    same, moved = (pairs(vocab, text, other) for other in (text, text[1:] + text[:1]))
    probes = (DiagnosticProbes(vocab, Retrieval(), pairs=(rows,)) for rows in (same, moved))
    found, lost = (diagnose(backbone, each) for each in probes)
    assert (
        found["retrieval/en-de"] == found["retrieval/de-en"] == found["retrieval/mean"] == 100
    )
    assert lost["retrieval/en-de"] == lost["retrieval/de-en"] == 0
    assert found["gap/en-de"] > 0 > lost["gap/en-de"]


def test_diagnosis_changes_neither_model_nor_random_state(backbone, vocab):
    rows = pairs(vocab, lines(ENGLISH), lines(GERMAN))
    probes = DiagnosticProbes(vocab, Retrieval(), pairs=(rows,))
    before = {name: value.clone() for name, value in backbone.state_dict().items()}
    state = torch.get_rng_state()
    assert diagnose(backbone, probes) == diagnose(backbone, probes)  # dropout would tell
    assert torch.equal(torch.get_rng_state(), state)
    assert all(module.training for module in backbone.modules())
    assert all(
        torch.equal(value, before[name]) for name, value in backbone.state_dict().items()
    )
    assert all(parameter.grad is None for parameter in backbone.parameters())


def test_measures_before_the_first_step_and_after_the_last():
    rows = []
    callback = DiagnosticsCallback(
        lambda: {"gap/en-de": 0.5}, every=4, last=10, record=rows.append
    )
    callback.measure_at(0)
    for index in range(1, 11):
        callback(SimpleNamespace(index=index))
    assert [(row["step"], row["scores"]["gap/en-de"]) for row in rows] == [
        (0, 0.5),
        (4, 0.5),
        (8, 0.5),
        (10, 0.5),
    ]
