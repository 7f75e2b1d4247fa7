"""Two words and two candidates; the first candidate is a hub, near to both words.

          a     b        mean of the row with k = 2
  x     0.9   0.1        0.50
  y     0.8   0.7        0.75
mean    0.85  0.40
"""

import numpy as np
import pytest
import torch

from interlace.core import neighbors as neighbours
from interlace.core.neighbors import MarginScorer, mean_neighbor_similarity, mutual_nearest, nearest, ranks, unit
from interlace.core.ragged import Ragged


def at(*degrees):
    """Unit vectors in the plane."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def rows(*places):
    return Ragged.of(places, np.int64)


def vectors(count, seed):
    return unit(np.random.default_rng(seed).normal(size=(count, 6)))


def test_a_ratio_to_surroundings_below_zero_keeps_the_order():
    around = MarginScorer("ratio", np.array([-0.5, -0.4], np.float32), np.array([-0.5], np.float32))
    margins = around.margins(torch.tensor([[-0.1, 0.2]]), slice(0, 1))
    assert margins[0, 1] > 0 > margins[0, 0]


def test_csls_by_hand():
    """Words at 0 and 60 degrees, candidates at 20 and 90; k = 1.

    cosines: 0: cos 20 = .9397, cos 90 = 0; 60: cos 40 = .7660, cos 30 = .8660.
    r of the candidates: .9397 and .8660. Half of CSLS apart from r of the word:
    0: .9397 - .4698 = .4698, 0 - .4330. 60: .7660 - .4698 = .2962, .8660 - .4330 = .4330.
    """
    words, candidates = at(0, 60), at(20, 90)
    np.testing.assert_allclose(mean_neighbor_similarity(candidates, words, 1), [0.9397, 0.8660], atol=1e-4)
    best, margins = nearest(words, candidates, MarginScorer.csls(candidates, words, 1))
    assert best.tolist() == [0, 1]
    np.testing.assert_allclose(margins, [0.4698, 0.4330], atol=1e-4)


def test_directions_turn_round():
    queries, candidates = vectors(5, 1), vectors(7, 2)
    there = MarginScorer.of("distance", queries, candidates, 3).reversed()
    back = MarginScorer.of("distance", candidates, queries, 3)
    np.testing.assert_allclose(there.queries, back.queries)
    np.testing.assert_allclose(there.candidates, back.candidates)


def test_the_rank_is_that_of_the_best_right_candidate():
    candidates = at(0, 10, 20, 30)
    assert ranks(at(0), candidates, rows([3, 2])).tolist() == [3]
    assert ranks(at(0), candidates, rows([2, 1, 0])).tolist() == [1]


def test_a_wrong_candidate_as_near_goes_first():
    candidates = at(10, -10, 10, 50)
    assert ranks(at(0), candidates, rows([0])).tolist() == [3]
    assert ranks(at(0), candidates, rows([0, 1])).tolist() == [2]
    assert ranks(at(0), candidates, rows([0, 1, 2])).tolist() == [1]


def test_a_barred_candidate_is_no_rival():
    candidates = at(0, 10, 20)
    assert ranks(at(0, 0), candidates, rows([1], [1]), excluded=rows([0], [])).tolist() == [1, 2]


def test_zeros_are_similar_to_nothing():
    assert ranks(unit(np.zeros((1, 2))), at(0, 90), rows([0])).tolist() == [2]


def test_rounding_parts_no_equals():
    """The second half are the same words, at lengths that round otherwise."""
    drawn = np.random.default_rng(0).standard_normal((40, 301)).astype(np.float32)
    twice = unit(np.concatenate([3 * drawn, drawn]))
    assert ranks(unit(drawn), twice, rows(*([row] for row in range(40)))).tolist() == [2] * 40
    assert nearest(unit(drawn), twice)[0].tolist() == list(range(40))


def test_mutual_neighbours_by_hand():
    one, other = mutual_nearest(at(0, 5, 90), at(1, 92), 1)
    assert list(zip(one.tolist(), other.tolist(), strict=True)) == [(0, 0), (2, 1)]


def test_half_precision_around_it_changes_nothing():
    queries, candidates = vectors(30, 1), vectors(40, 2)
    expected = nearest(queries, candidates)
    with torch.autocast("cpu", torch.bfloat16):
        found = nearest(queries, candidates)
    assert (found[0] == expected[0]).all()
    assert (found[1] == expected[1]).all()


@pytest.fixture(params=[1, 40, 1 << 24])
def cells(request, monkeypatch):
    monkeypatch.setattr(neighbours, "CELLS", request.param)


@pytest.mark.usefixtures("cells")
@pytest.mark.parametrize("kind", ["absolute", "distance", "ratio"])
def test_blocks_equal_the_whole_table(kind):
    queries, candidates = vectors(17, 1), vectors(23, 2)
    rng = np.random.default_rng(3)
    right = rows(*(rng.choice(23, rng.integers(1, 3), replace=False).tolist() for _ in range(17)))
    cosines = queries @ candidates.T
    means = [np.sort(table, axis=1)[:, -4:].mean(axis=1) for table in (cosines, cosines.T)]
    np.testing.assert_allclose(mean_neighbor_similarity(queries, candidates, 4), means[0], rtol=1e-5)
    around = (means[0][:, None] + means[1]) / 2
    table = {"absolute": cosines, "distance": cosines - around, "ratio": cosines / np.maximum(around, 1e-6)}[kind]
    by = MarginScorer.of(kind, queries, candidates, 4)
    places, margins = nearest(queries, candidates, by)
    assert places.tolist() == table.argmax(axis=1).tolist()
    np.testing.assert_allclose(margins, table.max(axis=1), rtol=1e-4)
    pairs = zip(table, right, strict=True)
    expected = [1 + int((np.delete(row, ok) > row[ok].max()).sum()) for row, ok in pairs]
    assert ranks(queries, candidates, right, by).tolist() == expected
