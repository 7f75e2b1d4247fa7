"""Two queries and two candidates; the first candidate is a hub, near to both queries.

          a     b        mean of the row with k = 2
  x     0.9   0.1        0.50
  y     0.8   0.7        0.75
mean    0.85  0.40
"""

from __future__ import annotations

import numpy as np
import pytest

from interlace.ragged import Ragged
from interlace.tasks import _margin
from interlace.tasks._margin import Surroundings, nearest, neighbourhood
from interlace.tasks._nearest import hits, unit

COSINES = np.array([[0.9, 0.1], [0.8, 0.7]], np.float32)
AROUND = (np.array([0.5, 0.75], np.float32), np.array([0.85, 0.4], np.float32))


def test_margins_by_hand():
    rows = slice(0, 2)
    ratio = Surroundings("ratio", *AROUND).adjust(COSINES, rows)
    np.testing.assert_allclose(ratio, [[0.9 / 0.675, 0.1 / 0.45], [0.8 / 0.8, 0.7 / 0.575]], rtol=1e-6)
    distance = Surroundings("distance", *AROUND).adjust(COSINES, rows)
    np.testing.assert_allclose(distance, [[0.225, -0.35], [0.0, 0.125]], atol=1e-6)
    assert (Surroundings("absolute", *AROUND).adjust(COSINES, rows) == COSINES).all()
    # by cosine both queries take the hub; by margin the second finds its own
    assert COSINES.argmax(axis=1).tolist() == [0, 0]
    assert ratio.argmax(axis=1).tolist() == distance.argmax(axis=1).tolist() == [0, 1]


def test_a_slice_of_the_queries_takes_their_surroundings():
    last = Surroundings("ratio", *AROUND).adjust(COSINES[1:], slice(1, 2))
    np.testing.assert_allclose(last, [[1.0, 0.7 / 0.575]], rtol=1e-6)


def test_a_ratio_to_surroundings_below_zero_keeps_the_order():
    around = Surroundings("ratio", np.array([-0.5], np.float32), np.array([-0.5, -0.4], np.float32))
    margins = around.adjust(np.array([[-0.1, 0.2]], np.float32), slice(0, 1))
    assert margins[0, 1] > 0 > margins[0, 0]


def vectors(count, seed):
    return unit(np.random.default_rng(seed).normal(size=(count, 6)))


@pytest.mark.parametrize("cells", [1, 40, 1 << 24])
def test_blocks_change_nothing(monkeypatch, cells):
    monkeypatch.setattr(_margin, "CELLS", cells)
    queries, candidates = vectors(17, 1), vectors(23, 2)
    cosines = queries @ candidates.T
    expected = np.sort(cosines, axis=1)[:, -4:].mean(axis=1)
    np.testing.assert_allclose(neighbourhood(queries, candidates, 4), expected, rtol=1e-5)
    around = Surroundings.of("ratio", queries, candidates, 4)
    other = np.sort(cosines, axis=0)[-4:].mean(axis=0)
    margins = cosines / ((expected[:, None] + other) / 2)
    places, scores = nearest(queries, candidates, around)
    assert places.tolist() == margins.argmax(axis=1).tolist()
    np.testing.assert_allclose(scores, margins.max(axis=1), rtol=1e-4)
    gold = Ragged.of([[place] for place in margins.argmax(axis=1)], np.int64)
    assert hits(queries, candidates, gold, adjust=around.adjust).all()


def test_fewer_candidates_than_neighbours():
    queries, candidates = vectors(3, 1), vectors(2, 2)
    np.testing.assert_allclose(neighbourhood(queries, candidates, 4), (queries @ candidates.T).mean(axis=1), rtol=1e-5)


def test_directions_turn_round():
    queries, candidates = vectors(5, 1), vectors(7, 2)
    there = Surroundings.of("distance", queries, candidates, 3)
    back = Surroundings.of("distance", candidates, queries, 3)
    np.testing.assert_allclose(there.reversed().queries, back.queries)
    np.testing.assert_allclose(there.reversed().candidates, back.candidates)
