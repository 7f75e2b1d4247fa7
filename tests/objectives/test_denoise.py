"""Denoising: noise of words and tokens."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data import Sentences
from interlace.objectives.denoise import Noise

MASK = 9999

# Rows of words of so many subwords.
shapes = st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=12), min_size=1, max_size=6)


def sentences(shape):
    """Rows of words; every subword of a batch has its own id, so that it is known wherever it goes."""
    words = [
        [number for number, length in enumerate(row) for _ in range(length)] for row in shape
    ]
    words = Ragged.of(words)
    return Sentences(
        Ragged(np.arange(len(words.flat), dtype=np.int32), words.offsets), words, "en"
    )


def noised(noise, text, seed=0, step=1):
    return noise.apply(
        text, SimpleNamespace(mask=MASK), step, generator(Purpose.BATCH, seed, step)
    )


def units_of(text, row):
    """The words of a row as tuples of ids, in order."""
    ids, words = text.ids[row], text.words[row]
    cuts = np.flatnonzero(np.diff(words)) + 1
    return [tuple(part.tolist()) for part in np.split(ids, cuts)] if len(ids) else []


@given(shapes, st.floats(0, 6), st.integers(0, 1000))
def test_shuffled_words_stay_whole_and_move_by_less_than_the_distance(shape, distance, seed):
    text = sentences(shape)
    found = noised(Noise(shuffle=distance, drop=0, blank=0), text, seed)
    for row in range(len(shape)):
        before, after = units_of(text, row), units_of(found, row)
        assert sorted(before) == sorted(after)
        moved = [abs(before.index(unit) - place) for place, unit in enumerate(after)]
        assert max(moved) < max(distance, 1)


@given(shapes, st.floats(0, 1), st.integers(0, 1000))
def test_dropping_keeps_the_order_and_at_least_one_word(shape, share, seed):
    text = sentences(shape)
    found = noised(Noise(shuffle=0, drop=share, blank=0), text, seed)
    for row in range(len(shape)):
        left, before = units_of(found, row), units_of(text, row)
        assert left
        assert left == [unit for unit in before if unit in left]
        assert share < 1 or len(left) == 1


@given(shapes, st.floats(0, 1), st.integers(0, 1000))
def test_masks_whole_words(shape, share, seed):
    text = sentences(shape)
    found = noised(Noise(shuffle=0, drop=0, blank=share), text, seed)
    assert found.words == text.words
    hidden = found.ids.flat == MASK
    assert (found.ids.flat[~hidden] == text.ids.flat[~hidden]).all()
    for row in range(len(shape)):
        mine = Ragged(hidden, text.ids.offsets)[row]
        assert all(
            len(set(mine[text.words[row] == word])) == 1 for word in set(text.words[row])
        )
    assert share < 1 or hidden.all()


def test_shares_of_dropped_and_masked_words():
    text = sentences([[1] * 20] * 2000)
    left = len(noised(Noise(shuffle=0, drop=0.1, blank=0), text).ids.flat) / 40_000
    assert left == pytest.approx(0.9, abs=0.01)
    hidden = noised(Noise(shuffle=0, drop=0, blank=0.1), text).ids.flat == MASK
    assert hidden.mean() == pytest.approx(0.1, abs=0.01)


def test_unit_subword():
    text = sentences([[3, 3, 3]] * 300)
    found = noised(Noise(unit="subword", drop=0, blank=0), text)
    together = (
        np.abs(
            np.diff(found.ids.flat.reshape(300, 9).argsort(axis=1).reshape(300, 3, 3), axis=2)
        )
        == 1
    )
    assert not together.all()  # words are torn apart
    assert found.words[0].tolist() == list(range(9))


def test_rates_follow_schedules():
    text = sentences([[1] * 10] * 10)
    noise = Noise(shuffle=0, drop="0:0,10:1", blank=0)
    assert noised(noise, text, step=0).ids == text.ids
    assert noised(noise, text, step=10).lengths.tolist() == [1] * 10
    text = Sentences(Ragged.of([[], [4, 5], []]), Ragged.of([[], [0, 1], []]), "en")
    assert noised(Noise(), text).lengths.tolist()[::2] == [0, 0]
    nothing = Sentences(Ragged.of([]), Ragged.of([]), "en")
    assert len(noised(Noise(), nothing)) == 0
