from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.ragged import Ragged
from interlace.vectors import _neighbours
from interlace.vectors._neighbours import hubness, mutual, nearest, ranks, unit


def at(*degrees):
    """Unit vectors in the plane."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def gold(*rows):
    return Ragged.of(rows, np.int64)


def test_csls_by_hand():
    """Two words at 0 and 60 degrees, candidates at 20 and 90; k = 1.

    cosines: 0: cos 20 = .9397, cos 90 = 0; 60: cos 40 = .7660, cos 30 = .8660.
    r of the candidates: .9397 and .8660. CSLS apart from r of the word:
    0: 2 x .9397 - .9397 = .9397, 0 - .8660. 60: 2 x .7660 - .9397 = .5924, 2 x .8660 - .8660 = .8660.
    """
    words, candidates = at(0, 60), at(20, 90)
    hubs = hubness(candidates, words, 1)
    np.testing.assert_allclose(hubs, [0.9397, 0.8660], atol=1e-4)
    best, cosines = nearest(words, candidates, hubs)
    assert best.tolist() == [0, 1]
    np.testing.assert_allclose(cosines, [0.9397, 0.8660], atol=1e-4)


def test_csls_pushes_back_a_hub():
    """The hub at 40 degrees is nearest to all words by cosine: cos 15 against cos 17 of the right one.

    r, k = 2, of the hub: (cos 0 + cos 15) / 2 = .983; of the one at 72: (cos 17 + cos 32) / 2 = .902.
    2 x .9659 - .983 = .949 < 2 x .9563 - .902 = 1.011.
    """
    words, candidates = at(40, 55), at(40, 72)
    assert nearest(words, candidates)[0].tolist() == [0, 0]
    hubs = hubness(candidates, words, 2)
    np.testing.assert_allclose(hubs, [0.983, 0.902], atol=1e-3)
    assert nearest(words, candidates, hubs)[0].tolist() == [0, 1]
    assert ranks(words, candidates, gold([0], [1])).tolist() == [1, 2]
    assert ranks(words, candidates, gold([0], [1]), hubs).tolist() == [1, 1]


def test_fewer_than_k_neighbours_are_all_taken():
    np.testing.assert_allclose(hubness(at(0), at(0, 90), 10), [0.5], atol=1e-6)


def test_the_rank_is_that_of_the_best_right_candidate():
    candidates = at(0, 10, 20, 30)
    assert ranks(at(0), candidates, gold([3, 2])).tolist() == [3]
    assert ranks(at(0), candidates, gold([2, 1, 0])).tolist() == [1]


def test_a_wrong_candidate_as_near_goes_first():
    candidates = at(10, -10, 10, 50)
    assert ranks(at(0), candidates, gold([0])).tolist() == [3]
    assert ranks(at(0), candidates, gold([0, 1])).tolist() == [2]
    assert ranks(at(0), candidates, gold([0, 1, 2])).tolist() == [1]


def test_rounding_parts_no_equals():
    vectors = np.random.default_rng(0).standard_normal((40, 301)).astype(np.float32)
    twice = unit(np.concatenate([vectors, 3 * vectors]))
    found = ranks(unit(vectors), twice, gold(*([row] for row in range(40))))
    assert found.tolist() == [2] * 40


def test_mutual_neighbours_by_hand():
    rows, others = mutual(at(0, 5, 90), at(1, 92), 1)
    assert list(zip(rows.tolist(), others.tolist(), strict=True)) == [(0, 0), (2, 1)]


@pytest.fixture(params=[1, 7, 1 << 24])
def cells(request, monkeypatch):
    monkeypatch.setattr(_neighbours, "CELLS", request.param)


@pytest.mark.usefixtures("cells")
def test_blocks_equal_the_whole_table():
    rng = np.random.default_rng(1)
    words, candidates = (unit(rng.standard_normal((n, 4))) for n in (9, 13))
    right = Ragged.of([rng.choice(13, rng.integers(1, 3), replace=False) for _ in range(9)], np.int64)
    table = words @ candidates.T
    hubs = np.sort(table, axis=0)[-3:].mean(axis=0)
    np.testing.assert_allclose(hubness(candidates, words, 3), hubs, atol=1e-6)
    for penalty in (None, hubs):
        scores = table if penalty is None else 2 * table - penalty
        assert nearest(words, candidates, penalty)[0].tolist() == scores.argmax(axis=1).tolist()
        expected = []
        for row, ok in zip(scores, right, strict=True):
            wrong = np.delete(row, ok)
            expected.append(1 + int((wrong > row[ok].max()).sum()))
        assert ranks(words, candidates, right, penalty).tolist() == expected


@given(st.integers(0, 1000), st.integers(1, 8), st.integers(1, 8))
def test_a_rank_lies_between_the_first_and_the_last_place(seed, n, m):
    rng = np.random.default_rng(seed)
    words, candidates = (unit(rng.integers(-2, 3, (size, 2))) for size in (n, m))
    found = ranks(words, candidates, gold(*([int(rng.integers(m))] for _ in range(n))))
    assert ((found >= 1) & (found <= m)).all()
