import numpy as np
import pytest

from interlace.core import neighbors as neighbours
from interlace.core.neighbors import (
    Csls,
    mean_neighbor_similarity,
    mutual_nearest,
    nearest,
    nearest_both_ways,
    ranks,
    unit,
)
from interlace.core.ragged import Ragged


def at(*degrees):
    """Unit vectors in the plane."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def rows(*places):
    return Ragged.of(places, np.int64)


def vectors(count, seed):
    return unit(np.random.default_rng(seed).normal(size=(count, 6)))


@pytest.mark.parametrize(("right", "rank"), [([0], 3), ([0, 1], 2), ([0, 1, 2], 1), ([3], 4)])
def test_the_rank_is_that_of_the_best_right_candidate_and_wrong_ones_as_near_go_first(
    right, rank
):
    assert ranks(at(0), at(10, -10, 10, 50), rows(right)).tolist() == [rank]


def test_excluded_candidates_do_not_count_and_zeros_are_similar_to_nothing():
    assert ranks(at(0, 0), at(0, 10, 20), rows([1], [1]), excluded=rows([0], [])).tolist() == [
        1,
        2,
    ]
    assert ranks(unit(np.zeros((1, 2))), at(0, 90), rows([0])).tolist() == [2]


def test_rounding_parts_no_equals():
    """The second half are the same words, at lengths that round otherwise."""
    drawn = np.random.default_rng(0).standard_normal((40, 301)).astype(np.float32)
    twice = unit(np.concatenate([3 * drawn, drawn]))
    assert ranks(unit(drawn), twice, rows(*([row] for row in range(40)))).tolist() == [2] * 40
    assert nearest(unit(drawn), twice).tolist() == list(range(40))


def test_mutual_neighbours_by_hand():
    one, other = mutual_nearest(at(0, 5, 90), at(1, 92), 1)
    assert list(zip(one.tolist(), other.tolist(), strict=True)) == [(0, 0), (2, 1)]


@pytest.fixture(params=[1, 40, 1 << 24])
def cells(request, monkeypatch):
    monkeypatch.setattr(neighbours, "CELLS", request.param)


@pytest.mark.usefixtures("cells")
@pytest.mark.parametrize("kind", ["cosine", "csls"])
def test_blocks_equal_the_whole_table(kind):
    queries, candidates = vectors(17, 1), vectors(23, 2)
    rng = np.random.default_rng(3)
    right = rows(
        *(rng.choice(23, rng.integers(1, 3), replace=False).tolist() for _ in range(17))
    )
    cosines = queries @ candidates.T
    means = [np.sort(table, axis=1)[:, -4:].mean(axis=1) for table in (cosines, cosines.T)]
    np.testing.assert_allclose(
        mean_neighbor_similarity(queries, candidates, 4), means[0], rtol=1e-5
    )
    around = (means[0][:, None] + means[1]) / 2
    table = {"cosine": cosines, "csls": cosines - around}[kind]
    by = Csls(means[1], means[0]) if kind == "csls" else None
    assert nearest(queries, candidates, by).tolist() == table.argmax(axis=1).tolist()
    pairs = zip(table, right, strict=True)
    expected = [1 + int((np.delete(row, ok) > row[ok].max()).sum()) for row, ok in pairs]
    assert ranks(queries, candidates, right, by).tolist() == expected


@pytest.mark.parametrize("k", [1, 4, 30])
def test_neighbours_both_ways_are_those_of_all_cosines(cells, k):
    """In blocks of one row, of two rows, and of all; with more neighbors than there are vectors."""
    one = vectors(17, 1)
    other = vectors(23, 2)
    cosines = one.astype(np.float64) @ other.T
    forward, backward = nearest_both_ways(one, other, k)
    for found, expected in ((forward, cosines), (backward, cosines.T)):
        order = np.argsort(-expected, axis=1)[:, :k]
        np.testing.assert_array_equal(found.numbers, order)
        np.testing.assert_allclose(
            found.cosines, np.take_along_axis(expected, order, axis=1), atol=1e-6
        )
