"""Phrase pairs: against all pairs of spans tried one by one."""

from itertools import product

import numpy as np
import pytest

from interlace.alignment.phrase_rules import PhraseRules
from interlace.alignment.phrases import phrase_pairs
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged


def extract(lengths, links, **rules):
    """The spans of each pair; `lengths` as (n, m) tuples."""
    sides = np.array(lengths).reshape(-1, 2)
    return phrase_pairs(
        sides[:, 0], sides[:, 1], Ragged.of(links, width=2), PhraseRules(**rules)
    ).to_lists()


def reference(n, m, links, longest, unaligned_borders):
    """The definition: every pair of spans is tried."""
    linked = [{i for i, _ in links}, {j for _, j in links}]
    found = []
    for a, b, c, d in product(range(n), range(1, n + 1), range(m), range(1, m + 1)):
        if not (0 < b - a <= longest and 0 < d - c <= longest):
            continue
        inside = [(a <= i < b, c <= j < d) for i, j in links]
        if (True, True) not in inside or any(source != target for source, target in inside):
            continue
        if unaligned_borders or ({a, b - 1} <= linked[0] and {c, d - 1} <= linked[1]):
            found.append([a, b, c, d])
    return found


@pytest.mark.parametrize("unaligned_borders", [True, False])
def test_ten_thousand_random_pairs_equal_the_definition(unaligned_borders):
    rng = np.random.default_rng(7 + unaligned_borders)
    for longest in (1, 2, 3, 5, 8):
        lengths = rng.integers(0, 8, (1_000, 2))
        links = []
        for n, m in lengths.tolist():
            drawn = rng.random((n, m)) < rng.choice([0.05, 0.15, 0.4])
            # in any order
            links.append([tuple(link) for link in rng.permutation(np.argwhere(drawn)).tolist()])
        expected = [
            reference(n, m, row, longest, unaligned_borders)
            for (n, m), row in zip(lengths.tolist(), links, strict=True)
        ]
        assert (
            extract(
                lengths, links, max_phrase_length=longest, unaligned_borders=unaligned_borders
            )
            == expected
        )


def test_long_sentences_with_a_single_link_fit_the_buffers():
    found = extract([(1_000, 1_000)], [[(500, 500)]], max_phrase_length=8)
    assert len(found[0]) == (8 * 9 // 2) ** 2  # every span that holds the word, on both sides


def test_the_result_does_not_depend_on_threads_or_on_the_slice():
    rng = np.random.default_rng(3)
    links = Ragged.from_lengths(rng.integers(0, 6, (20_000, 2), dtype=np.int32), [4] * 5_000)
    lengths = np.full(5_000, 6)
    whole = phrase_pairs(lengths, lengths, links, threads=1)
    assert phrase_pairs(lengths, lengths, links, threads=3) == whole
    part = phrase_pairs(lengths[100:200], lengths[100:200], links.slice(100, 200))
    assert part.to_lists() == whole.slice(100, 200).to_lists()


@pytest.mark.parametrize("link", [(2, 0), (0, 3), (-1, 0)])
def test_rejects_links_beyond_a_sentence(link):
    with pytest.raises(
        DataError, match=f"pair 2: link {link[0]}-{link[1]}, but .* 2 and 3 words"
    ):
        extract([(1, 1), (2, 3)], [[(0, 0)], [link]])
    with pytest.raises(DataError, match="1 source and 1 target sentences, but 2 rows of links"):
        extract([(1, 1)], [[], []])


def test_ignores_links_below_the_minimum_confidence():
    links = Ragged.of([[(0, 0), (0, 1), (1, 1)], [(0, 0)]], width=2)
    confidence = np.array([0.9, 0.2, 0.9, 0.4], np.float32)
    lengths = np.array([2, 1])
    rules = PhraseRules(min_confidence=0.4)
    spans = phrase_pairs(lengths, lengths, links, rules, confidence=confidence)
    assert spans.to_lists() == [[[0, 1, 0, 1], [0, 2, 0, 2], [1, 2, 1, 2]], [[0, 1, 0, 1]]]
    with pytest.raises(DataError, match=r"min_confidence = 0\.4, but these alignments have no"):
        phrase_pairs(lengths, lengths, links, rules)
