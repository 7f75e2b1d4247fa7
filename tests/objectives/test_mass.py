"""MASS: drawn fragments and decoder inputs."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from interlace.core.randomness import Purpose, generator
from interlace.models.families import Traits
from interlace.objectives import Resources
from interlace.objectives.mass import Mass, draw_spans
from little_seq2seq import PLAIN, VOCAB, WORDS, model, sentences, texts

LINE = "the old doctor reads three letters"
ROTARY = Traits("modernbert", 64)


def made(objective, examples, traits=PLAIN, key=0):
    return objective.batch(
        examples, objective.prepare(Resources(VOCAB, traits)), 0, np.random.default_rng(key)
    )


def test_share_of_fragments_at_the_edges():
    lengths = np.full(20_000, 10)
    starts, _ = draw_spans(lengths, 0.5, 0.4, generator(Purpose.BATCH, 0))
    shares = np.bincount(starts, minlength=6) / 20_000
    assert shares[[0, 5]] == pytest.approx(0.2 + 0.1, abs=0.01)
    assert shares[1:5] == pytest.approx(0.1, abs=0.01)


def test_writes_the_fragment_and_the_end_if_it_ends_the_sentence():
    words = LINE.split()
    ends = 0
    for key in range(20):
        batch = made(Mass(), sentences([LINE]), key=key)
        start = int(batch.extra["decoder_first"][0])
        at_end = start + 3 == len(words)
        fragment = [*words[start : start + 3], *["</s>"] * at_end]
        assert [WORDS[number] for number in batch.labels] == fragment
        assert texts(batch.extra["decoder_ids"]) == [" ".join(["<2en>", *fragment[:-1]])]
        assert batch.at[1].tolist() == list(range(len(fragment)))
        assert batch.counts == {"mass": len(fragment)}
        read = texts(batch.inputs["input_ids"])[0].split()[1:-1]
        assert read[:start] + read[start + 3 :] == words[:start] + words[start + 3 :]
        ends += at_end
    assert 0 < ends < 20


def test_decoder_reads_the_position_of_the_fragment():
    batch = made(Mass(), sentences([LINE]), key=1).to(torch.device("cpu"))
    assert batch.extra["decoder_first"].tolist() != [0]
    moved = replace(
        batch, extra={**batch.extra, "decoder_first": torch.zeros(1, dtype=torch.int64)}
    )
    for family, same in ("bert", False), ("modernbert", True):
        net = model(family, init_std=0.3)
        one, two = (
            Mass().loss(net, torch.nn.ModuleDict(), each)["mass"].total.item()
            for each in (batch, moved)
        )
        assert (one == pytest.approx(two, rel=1e-5)) == same


def test_shares_of_masks_and_random_tokens():
    batch = made(Mass(), sentences(["the " * 10] * 400), ROTARY)
    read = batch.inputs["input_ids"][:, 1:-1]
    assert (read == VOCAB.mask).mean() == pytest.approx(0.4, abs=0.02)
    other = (read != VOCAB.mask) & (read != WORDS.index("the"))
    assert other.mean() == pytest.approx(0.05 * 11 / 12, abs=0.01)
    batch = made(Mass(), sentences(["", "the"]), PLAIN)
    assert batch.labels.tolist() == [WORDS.index("the"), VOCAB.end]
    assert batch.at[0].tolist() == [1, 1]
