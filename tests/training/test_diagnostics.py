"""Diagnostics: CKA and cosine gap by hand and by brute force, P@1 of words and sentences, and when they are taken."""

from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from interlace.alignment.lexicon import Lexicon
from interlace.data import Pairs
from interlace.data.vocab import Vocab
from interlace.models.build import from_shape
from interlace.models.settings import Shape
from interlace.objectives import Resources
from interlace.objectives.common.dictionaries import Dictionary
from interlace.objectives.mlm import Mlm
from interlace.objectives.translation import Translation
from interlace.tasks.common.likelihood import HeldOutBatches, hold_out
from interlace.tasks.retrieval import Retrieval
from interlace.training.diagnostics import (
    DiagnosticProbes,
    DiagnosticsCallback,
    ProbePairs,
    accuracies,
    cosine_gap,
    diagnose,
    first_batches,
    linear_cka,
)
from little_seq2seq import VOCAB, model, sentences

CPU = torch.device("cpu")
ENGLISH = "the old new red big small dog cat house book reads sees".split()
GERMAN = "das alte neue rote große kleine Hund Katze Haus Buch liest sieht".split()


@pytest.fixture(scope="module")
def vocab():
    return Vocab.learn({"en": [" ".join(ENGLISH)] * 30, "de": [" ".join(GERMAN)] * 30}, size=420)


@pytest.fixture
def backbone(vocab):
    return from_shape(Shape(layers=2, width=16, heads=2, max_length=64, dropout=0.5), vocab, seed=1).train()


def lines(words, count=12):
    return [" ".join(np.random.default_rng(row).permutation(words)[:4]) for row in range(count)]


def pairs(vocab, one, other):
    return Pairs(vocab.encode(one, language="en"), vocab.encode(other, language="de"))


def test_cka_and_cosine_gap_by_hand():
    # of one component it is the squared correlation: 2 / sqrt(2 x 4), squared
    source = np.array([[1], [-1], [0], [0]], np.float32)
    target = np.array([[1], [-1], [1], [-1]], np.float32)
    assert linear_cka(source, target, debiased=False) == pytest.approx(0.5)
    assert linear_cka(source, 3 - 2 * target, debiased=False) == pytest.approx(0.5)
    # two components that share one: |X'Y|^2 = 16 of |X'X| = sqrt(32), |Y'Y| = 4
    both = np.array([[1, 1], [-1, 1], [1, -1], [-1, -1]], np.float32)
    assert linear_cka(both, target, debiased=False) == pytest.approx(1 / np.sqrt(2))
    source = np.array([[1, 0], [0, 1]], np.float32)
    target = np.array([[0.6, 0.8], [0.8, 0.6]], np.float32)
    # translations have 0.6 both times, the two other combinations 0.8
    assert cosine_gap(source, target) == pytest.approx(-0.2)
    assert cosine_gap(source, source) == pytest.approx(1)


def hsic(one, other):
    """Song et al.'s estimator as the mean over all four different rows that it stands for."""
    places = permutations(range(len(one)), 4)
    return np.mean([one[i, j] * (other[i, j] + other[q, r] - 2 * other[i, q]) for i, j, q, r in places])


def test_debiased_cka_equals_the_definition():
    source, target = np.random.default_rng(1).normal(size=(2, 6, 3)).astype(np.float32)
    target[:, 0] = source[:, 0]
    one, other = (side.astype(np.float64) @ side.T for side in (source, target))
    expected = hsic(one, other) / np.sqrt(hsic(one, one) * hsic(other, other))
    assert linear_cka(source, target) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("debiased", [True, False])
def test_cka_ignores_rotation_scale_and_shift(debiased):
    rng = np.random.default_rng(2)
    source = rng.normal(size=(20, 5)).astype(np.float32)
    turn = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    turned = (1e-7 * (source @ turn + 4)).astype(np.float32)
    assert linear_cka(source, 1e3 * source + 1, debiased=debiased) == pytest.approx(1, abs=1e-4)
    assert linear_cka(source, turned, debiased=debiased) == pytest.approx(1, abs=1e-3)


def guesses(labels, guessed, objective="masked"):
    """A batch whose states say what is guessed, and what is right there."""
    states = torch.nn.functional.one_hot(torch.tensor(guessed), 9).float()
    batch = SimpleNamespace(
        inputs=states[None], at=(torch.zeros(len(labels), dtype=torch.long), torch.arange(len(labels))),
        labels=torch.tensor(labels), tokens=len(labels), to=lambda _device: batch,
    )  # fmt: skip
    return batch


def test_accuracy_of_a_translation_model():
    """Row by row, each position alone: what is the likeliest subword behind what was written so far?"""
    pairs = Pairs(sentences(["the old doctor", "the doctor reads three letters"]),
                  sentences(["der alte Arzt", "der Arzt liest drei Briefe"], "de"))  # fmt: skip
    objective, net = Translation(directions="forward"), model(init_std=0.4).eval()
    prepared = objective.prepare(Resources(VOCAB, net.traits))
    held_out = hold_out("en-de", pairs, objective, prepared)
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-2)
    for _ in range(6):  # until it knows some of it
        objective.loss(net, torch.nn.ModuleDict(), held_out.batches[0].to(CPU))["translation"].total.backward()
        optimizer.step()
        optimizer.zero_grad()
    right = []
    with torch.no_grad():
        for read, written in zip(pairs.source.ids, pairs.target.ids, strict=True):
            states = net.encode({"input_ids": torch.tensor([[VOCAB.begin, *read, VOCAB.end]])})
            said, answers = [VOCAB.target("de"), *written], [*written, VOCAB.end]
            for place, answer in enumerate(answers):
                hidden = net.decode(states, None, {"input_ids": torch.tensor([said[: place + 1]])})
                right.append(net.logits(hidden[:, -1]).argmax().item() == answer)
    assert accuracies(net, [held_out], CPU) == pytest.approx({"accuracy/en-de": 100 * sum(right) / len(right)})
    assert 0 < sum(right) < len(right) == 10


def test_accuracies_by_hand():
    calls = []
    model = torch.nn.Identity().train()
    model.encode = lambda states, causal: calls.append((causal, model.training)) or states
    model.logits, model.vocab_size = lambda states: states, 9
    batches = [guesses([1, 2, 3], [1, 2, 0]), guesses([4], [4])]
    masked, causal = SimpleNamespace(architecture="masked"), SimpleNamespace(architecture="causal")
    held_out = [
        HeldOutBatches("en", masked, batches),
        HeldOutBatches("de", masked, batches[:1]),
        HeldOutBatches("de", causal, batches[1:], name="causal_perplexity"),
    ]
    found = accuracies(model, held_out, CPU)
    assert found == pytest.approx({"accuracy/en": 75, "accuracy/de": 200 / 3, "causal_accuracy/de": 100})
    assert calls == [(None, False)] * 3 + [(True, False)]
    assert model.training


@pytest.mark.parametrize(("tokens", "batches"), [(1, 1), (10, 1), (11, 2), (1000, 3)])
def test_first_batches_hold_the_asked_tokens(tokens, batches):
    held_out = HeldOutBatches("en", Mlm(), [guesses([1] * 10, [1] * 10)] * 3)
    assert len(first_batches(held_out, tokens).batches) == batches


def test_finds_translations_with_equal_rows(backbone, vocab):
    entries = [(one, other) for one, other in zip(ENGLISH, GERMAN, strict=True)][:6]
    lexicon = Lexicon.of((one, other, 1.0) for one, other in entries)
    with torch.no_grad():
        for number, entry in enumerate(entries):
            for word in entry:
                row = vocab.encode_words([word])[0]
                assert len(row) == 1
                backbone.input_embeddings[row] = 0
                backbone.input_embeddings[row, number] = 1
        wrong = vocab.encode_words([entries[0][1]])[0]
        backbone.input_embeddings[wrong] *= -1  # `das` now lies opposite to `the`
    dictionary = Dictionary().prepare({("en", "de"): lexicon}, vocab, "test", seed=0, max_tokens=4)
    probes = DiagnosticProbes(vocab, Retrieval(), frozenset({"alignment"}), dictionaries={"en-de": dictionary})
    assert diagnose(backbone, probes, CPU) == {"alignment/en-de": 83.333, "alignment/mean": 83.333}


def test_finds_equal_sentences_at_their_row_only(backbone, vocab):
    text = lines(ENGLISH)
    same, moved = (ProbePairs(pairs(vocab, text, other), "dev") for other in (text, text[1:] + text[:1]))
    probes = (DiagnosticProbes(vocab, Retrieval(), pairs=(rows,)) for rows in (same, moved))
    found, lost = (diagnose(backbone, each, CPU) for each in probes)
    assert found["retrieval/en-de"] == found["retrieval/de-en"] == found["retrieval/mean"] == 100
    assert lost["retrieval/en-de"] == lost["retrieval/de-en"] == 0
    assert found["gap/en-de"] > 0 > lost["gap/en-de"]
    for layer in range(3):
        assert found[f"cka/en-de/{layer}"] == pytest.approx(1, abs=1e-4)
        assert lost[f"cka/mean/{layer}"] < 0.5


def test_diagnosis_changes_neither_model_nor_random_state(backbone, vocab):
    mlm = Mlm(max_length=16)
    prepared = mlm.prepare(Resources(vocab, backbone.traits))
    probes = DiagnosticProbes(
        vocab, Retrieval(), pairs=(ProbePairs(pairs(vocab, lines(ENGLISH), lines(GERMAN)), "dev"),),
        held_out=[hold_out("en", vocab.encode(lines(ENGLISH), language="en"), mlm, prepared)],
    )  # fmt: skip
    before = {name: value.clone() for name, value in backbone.state_dict().items()}
    state = torch.get_rng_state()
    assert diagnose(backbone, probes, CPU) == diagnose(backbone, probes, CPU)  # dropout would tell
    assert torch.equal(torch.get_rng_state(), state)
    assert all(module.training for module in backbone.modules())
    assert all(torch.equal(value, before[name]) for name, value in backbone.state_dict().items())
    assert all(parameter.grad is None for parameter in backbone.parameters())


def test_measures_before_the_first_step_and_after_the_last():
    rows = []
    origins = {"en-de": {"pairs": 9}}
    made = DiagnosticsCallback(lambda: {"gap/en-de": 0.5}, every=4, last=10, record=rows.append, origins=origins)
    made.begin()
    for index in range(1, 11):
        made(SimpleNamespace(index=index))
    assert [row["step"] for row in rows] == [0, 4, 8, 10]
    assert {row["kind"] for row in rows} == {"diagnosis"}
    assert rows[0]["scores"] == {"gap/en-de": 0.5}
    assert rows[0]["on"] == origins
    assert rows[0]["seconds"] >= 0
