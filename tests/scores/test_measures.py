"""How sums of counts make a score; sacreBLEU is the reference for BLEU."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from interlace.core.randomness import Purpose, generator
from interlace.scores.examples import (
    BLEU_COLUMNS,
    Examples,
    approximate_randomization,
    bleu,
    bootstrap,
    paired_bootstrap,
    ratio,
)


@st.composite
def counts(draw):
    """Lengths and n-grams as sentences have them: each order has no more than the one before."""
    length, reference = draw(st.integers(0, 12)), draw(st.integers(1, 12))
    total = [max(0, length - order) for order in range(4)]
    correct = [draw(st.integers(0, number)) for number in total]
    return [length, reference, *correct, *total]


@given(counts())
def test_bleu_is_sacrebleus(sums):
    theirs = BLEU.compute_bleu(sums[2:6], sums[6:], sums[0], sums[1], smooth_method="exp").score
    assert bleu(np.array(sums, float)) == pytest.approx(theirs, abs=1e-9)


def test_sums_are_taken_all_at_once():
    one, two = np.arange(1.0, 11.0), np.arange(11.0, 1.0, -1.0)[:BLEU_COLUMNS]
    both = bleu(np.stack([one, two], axis=1))
    np.testing.assert_allclose(both, [bleu(one), bleu(two)])
    np.testing.assert_allclose(ratio(np.array([[1.0, 3.0], [2.0, 4.0]])), [0.5, 0.75])


def system(right, seed):
    """40 sentences of 10 words, of which a share of the n-grams match."""
    rng = np.random.default_rng(seed)
    total = np.tile([10.0, 9.0, 8.0, 7.0], (40, 1))
    correct = rng.binomial(total.astype(int), right)
    length = np.full((40, 2), 10.0)
    return Examples(np.zeros(40), np.ones(40), "these", np.hstack([length, correct, total]), "bleu")


def test_a_bootstrap_draws_sentences_and_computes_the_score_again():
    better, worse = system(0.7, 0), system(0.4, 1)
    rng = generator(Purpose.STATISTICS, 0)
    found = bootstrap(better, rng, draws=500)
    assert found.value == pytest.approx(better.total)
    assert found.low < better.total < found.high
    assert found.half_width < 8
    gain = paired_bootstrap(better, worse, rng, draws=500)
    assert gain.value == pytest.approx(better.total - worse.total)
    assert gain.low > 0
    assert approximate_randomization(better, worse, rng, draws=199).p == pytest.approx(1 / 200)
    assert approximate_randomization(better, better, rng, draws=99).p == 1.0
