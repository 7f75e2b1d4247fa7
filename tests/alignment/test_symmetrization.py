"""Symmetrization: equal to a slow account of what symal does, link by link."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.alignment.symmetrization import HEURISTICS, symmetrize
from interlace.core.errors import DataError, SettingsError
from interlace.core.ragged import Ragged

# steps from target and source word
NEIGHBORS = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]


def slowly(forward, backward, heuristic):
    """One pair by sets of (target, source) that are sorted again after every link, as symal's are at all times."""
    forward, backward = ({(t, s) for s, t in links} for links in (forward, backward))
    if heuristic == "union":
        return sorted((s, t) for t, s in forward | backward)
    current = forward & backward
    if heuristic == "grow":
        grow(current, forward | backward, NEIGHBORS[:4])
    if heuristic.startswith("grow-diag"):
        grow(current, forward | backward, NEIGHBORS)
        for links in (forward - backward, backward - forward):
            for link in sorted(links):
                free = [link[side] not in {other[side] for other in current} for side in (0, 1)]
                if all(free) if heuristic.endswith("and") else any(free):
                    current.add(link)
    return sorted((s, t) for t, s in current)


def grow(current, union, neighbors):
    added = True
    while added:
        added = False
        at = min(current, default=None)
        while at is not None:
            for step in neighbors:
                link = (at[0] + step[0], at[1] + step[1])
                linked = all(
                    link[side] in {other[side] for other in current} for side in (0, 1)
                )
                if link in union and not linked:
                    current.add(link)
                    added = True
            at = min((link for link in current if link > at), default=None)


def links(*rows):
    return Ragged.of([sorted(set(row)) for row in rows], width=2)


words = st.integers(0, 6)
sets = st.lists(st.tuples(words, words), max_size=14)


@pytest.mark.parametrize("heuristic", HEURISTICS)
@given(data=st.lists(st.tuples(sets, sets), min_size=1, max_size=4))
def test_heuristics_equal_a_plain_reference(heuristic, data):
    forward, backward = zip(*data, strict=True)
    combined = symmetrize(links(*forward), links(*backward), heuristic, threads=1)
    expected = [[list(link) for link in slowly(f, b, heuristic)] for f, b in data]
    assert combined.to_lists() == expected


def test_links_that_grow_by_hand():
    """(1, 1) is in both. (1, 2) is beside it, and (2, 2) beside that; (0, 0) is diagonal, (4, 4) is beside none."""
    forward = links([(0, 0), (1, 1), (1, 2), (4, 4)])
    backward = links([(1, 1), (2, 2)])
    grown = symmetrize(forward, backward, "grow")
    assert grown.to_lists() == [[[1, 1], [1, 2], [2, 2]]]


def random_links(pairs, seed):
    rng = np.random.default_rng(seed)
    return links(*(map(tuple, rng.integers(0, 12, (8, 2)).tolist()) for _ in range(pairs)))


def test_result_does_not_depend_on_threads_or_slices(monkeypatch):
    forward, backward = random_links(200, 1), random_links(200, 2)
    whole = symmetrize(forward, backward, threads=1)
    monkeypatch.setattr("interlace.alignment.symmetrization._ROWS", 7)
    assert symmetrize(forward, backward, threads=3) == whole
    assert whole.values.dtype == np.int32
    middle = symmetrize(forward.slice(50, 60), backward.slice(50, 60))
    assert middle == whole.slice(50, 60)
    assert symmetrize(links(), links()).to_lists() == []


def test_rejects_unknown_heuristics_and_invalid_links():
    with pytest.raises(SettingsError, match="heuristic 'onion'; did you mean 'union'"):
        symmetrize(links([]), links([]), "onion")
    with pytest.raises(DataError, match="links of 1 pairs forward and of 2 backward"):
        symmetrize(links([]), links([], []))
    for source, target in ((-1, 0), (0, -2), (1 << 14, 3)):
        with pytest.raises(
            DataError, match=f"pair 2: link {source}-{target}; words are counted"
        ):
            symmetrize(links([], []), links([], [(source, target)]), "union")
