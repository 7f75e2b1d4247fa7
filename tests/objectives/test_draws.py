"""Choosing by weight: exact numbers where they are promised, and the share kept where each is drawn on its own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.objectives._draws import Scale, by_weight, from_all, from_each_row

counts = st.lists(st.integers(1, 1000), min_size=1, max_size=20)


@given(counts, st.floats(0, 1))
def test_the_scale_keeps_the_share_of_the_corpus(frequencies, share):
    """The expected share, added up kind by kind, is the one asked for."""
    frequencies = np.array(frequencies)
    weights = 1 / np.sqrt(frequencies)
    factor = Scale.of(frequencies, weights).at(share)
    expected = (frequencies * np.minimum(1, factor * weights)).sum() / frequencies.sum()
    assert expected == pytest.approx(share, abs=1e-9)


def test_kinds_that_never_occur_do_not_count():
    assert Scale.of(np.array([4, 0, 4]), np.array([0.5, 1.0, 0.5])).at(0.25) == pytest.approx(0.5)


def test_each_on_its_own_with_its_probability():
    weights = np.repeat(np.float32([0.1, 0.4, 2.0]), 10_000)
    chosen = by_weight(weights, 0.5, np.random.default_rng(0)).reshape(3, -1).mean(axis=1)
    assert chosen == pytest.approx([0.05, 0.2, 1.0], abs=0.01)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.floats(0, 1), st.integers(0, 100))
def test_each_row_gives_its_own_share(lengths, share, seed):
    rows = np.repeat(np.arange(0, 2 * len(lengths), 2), lengths)
    weights = np.random.default_rng(seed).random(len(rows), dtype=np.float32) + 0.1
    chosen = from_each_row(weights, rows, share, np.random.default_rng(seed))
    found = [chosen[rows == row].sum() for row in np.unique(rows)]
    assert found == [int(np.ceil(share * length)) for length in lengths]


def test_within_a_row_the_heavy_are_chosen_more():
    rows = np.repeat(np.arange(4000), 2)
    weights = np.tile(np.float32([3, 1]), 4000)
    chosen = from_each_row(weights, rows, 0.5, np.random.default_rng(1)).reshape(-1, 2)
    assert chosen.sum(axis=1).tolist() == [1] * 4000
    assert chosen[:, 0].mean() == pytest.approx(0.75, abs=0.02)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_an_exact_share_of_all_and_none_of_nothing(share):
    rng = np.random.default_rng(0)
    assert from_all(np.ones(10, np.float32), share, rng).sum() == round(10 * share)
    assert len(from_all(np.ones(0, np.float32), share, rng)) == 0
    assert len(from_each_row(np.ones(0, np.float32), np.ones(0, np.int64), share, rng)) == 0
