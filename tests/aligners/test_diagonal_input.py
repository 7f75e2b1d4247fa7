"""`diagonal` on odd input: links for every line that has words, a word about those that cannot be learnt from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.aligners.diagonal import Diagonal
from interlace.core.errors import DataError
from little_pairs import HOUSE, pairs_of


def check(pairs, aligned):
    """Links of every line, within it, sorted and with a confidence."""
    assert len(aligned) == len(pairs)
    assert len(aligned.confidence) == len(aligned.links.values)
    assert ((aligned.confidence > 0) & (aligned.confidence <= 1)).all()
    for links, m, n in zip(aligned.links.to_lists(), pairs.source.lengths, pairs.target.lengths, strict=True):
        assert links == sorted(links)
        assert all(0 <= i < m and 0 <= j < n for i, j in links)
        assert links or not m or not n


lines = st.lists(st.sampled_from("abcdeABC"), max_size=7).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(lines, lines), min_size=1, max_size=8),
    st.lists(st.tuples(lines, lines), min_size=1, max_size=4),
    st.booleans(),
    st.sampled_from([1e-4, 0.01, 1.0]),
    st.sampled_from([0.0, 0.08]),
)
def test_any_lines_get_links(known, new, agree, alpha, null):
    aligner = Diagonal(agree=agree, alpha=alpha, null=null, symmetrization="union", tension_rate=20)
    pairs = pairs_of([*known, ("a", "b")])
    fitted = aligner.fit(pairs)
    for some in (pairs, pairs_of(new)):
        aligned = fitted.align(some)
        if null == 0:
            check(some, aligned)
        else:
            assert len(aligned) == len(some)
            assert np.isfinite(aligned.confidence).all()


def test_empty_and_one_sided_lines_get_no_links_and_harm_no_other(caplog):
    odd = pairs_of([("", ""), HOUSE[0], ("das", ""), *HOUSE[1:], ("", "the")])
    aligned = Diagonal().fit(odd).align(odd)
    assert aligned.links.lengths.tolist() == [0, 2, 0, 2, 2, 2, 3, 0]
    assert "3 of 8" in caplog.text
    plain = Diagonal().fit(pairs_of(HOUSE)).align(pairs_of(HOUSE))
    assert np.array_equal(aligned.confidence, plain.confidence)


def test_long_lines_are_linked():
    words = [(f"s{number}", f"t{number}") for number in range(1_000)]
    long = (" ".join(source for source, _ in words), " ".join(target for _, target in words[:900]))
    pairs = pairs_of([*words * 20, long])
    aligned = Diagonal().fit(pairs).align(pairs)
    assert aligned.links[20_000].tolist()[:900] == [[place, place] for place in range(900)]


def test_pairs_too_long_to_learn_from_are_still_linked(caplog):
    endless = (" ".join(["das"] * 3_000), " ".join(["the"] * 3_000))
    pairs = pairs_of([*HOUSE, endless])
    aligned = Diagonal().fit(pairs).align(pairs)
    assert "1 pairs of more than 2048 times 2048 words" in caplog.text
    assert np.array_equal(
        aligned.confidence[: aligned.links.offsets[5]],
        Diagonal().fit(pairs_of(HOUSE)).align(pairs_of(HOUSE)).confidence,
    )
    assert len(aligned.links[5]) > 0
    with pytest.raises(DataError, match="too long"):
        Diagonal().fit(pairs_of([endless]))


@pytest.mark.parametrize("lines", [[("one two three", "eins zwei drei")] * 50, HOUSE * 2])
def test_few_or_repeated_pairs_are_linked(lines):
    pairs = pairs_of(lines)
    aligned = Diagonal().fit(pairs).align(pairs)
    check(pairs, aligned)
    assert aligned.links[0].tolist() == [[place, place] for place in range(len(lines[0][0].split()))]


def test_nothing_to_learn_from_is_an_error():
    for lines in ([], [("", "a"), ("b", "")]):
        with pytest.raises(DataError, match="words on both sides"):
            Diagonal().fit(pairs_of(lines))


def test_aligning_no_pairs_gives_no_links():
    aligned = Diagonal().fit(pairs_of(HOUSE)).align(pairs_of([]))
    assert len(aligned) == 0
    assert aligned.links.values.shape == (0, 2)


def test_progress_is_told_to_its_end():
    seen = []
    Diagonal().fit(pairs_of(HOUSE), progress=lambda *news: seen.append(news))
    assert seen == [("collecting word pairs", 1, 1), *[("learning", done, 5) for done in range(1, 6)]]
