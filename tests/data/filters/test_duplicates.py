"""The set of hashes that duplicates are found with."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from interlace.data.filters.duplicates import HashSet, line_hashes


@given(st.lists(st.lists(st.integers(0, 40), max_size=15), max_size=10))
def test_it_is_a_set(chunks):
    seen, known = HashSet(), set()
    for chunk in chunks:
        keys = np.array(chunk, np.uint64)
        assert seen.has(keys).tolist() == [key in known for key in chunk]
        expected = []
        for key in chunk:
            expected.append(key not in known)
            known.add(key)
        assert seen.add(keys).tolist() == expected
        assert len(seen) == len(known)


def test_eight_bytes_an_entry_in_few_runs():
    seen = HashSet()
    for start in range(0, 100_000, 1000):
        seen.add(np.arange(start, start + 1000, dtype=np.uint64))
    assert sum(run.nbytes for run in seen._runs) == 800_000
    assert len(seen._runs) <= 8


def test_hashes_are_the_same_everywhere():
    assert line_hashes(["a", "", "中"]).tolist() == [3405396810240292928, 13020603013274838756, 14628826945721186137]
    assert len(set(line_hashes(map(str, range(10_000))).tolist())) == 10_000
