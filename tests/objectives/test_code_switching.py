"""Code-switching: by hand, by exact probabilities, and by properties that hold for all inputs."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from interlace.core.ragged import Ragged
from interlace.data import KnownPhrases
from interlace.objectives.common.code_switching import (
    CodeSwitching,
    SwitchCandidates,
    switch_phrases,
)
from interlace.text import Text
from interlace.text.columns import TextColumns

MIXED = {"source_share": 0, "target_share": 0}


def columns(lines):
    return TextColumns.of(Text.of(lines))


def numbered(sizes, letter):
    """A line for each size, of words such as a0 a1 a2."""
    return columns([" ".join(f"{letter}{word}" for word in range(size)) for size in sizes])


def candidates_of(sizes, phrases, scores=None, weights=None):
    """Pairs of (words, words) with phrases (a, b, c, d), their probabilities, and weights that break ties."""
    phrases = Ragged.of(phrases, width=4)
    if scores is not None:
        scores = np.array([pair for row in scores for pair in row], np.float32).reshape(-1, 2)
        weights = scores[:, ::-1] if weights is None else np.array(weights, np.float32)
        scores = np.hstack([scores, weights])
    source, target = zip(*sizes, strict=True)
    return SwitchCandidates.of((numbered(source, "a"), numbered(target, "b")), phrases, scores)


def drawn(candidates, seed=0, **rules):
    return switch_phrases(
        candidates, CodeSwitching(**rules), np.random.default_rng([7, seed, 0, 0])
    )


def exchanged(switched, row=0):
    """(replaced words, line and words of the inserted phrase) of a row."""
    exchanges = switched.exchanges.take(switched.exchanges.rows == row)
    columns = exchanges.replaced, exchanges.lines, exchanges.inserted
    return [
        (tuple(replaced), (line, *inserted))
        for replaced, line, inserted in zip(
            *(column.tolist() for column in columns), strict=True
        )
    ]


def test_limits_of_number_share_and_length_of_phrases():
    candidates = candidates_of(
        [(20, 20)] * 400, [[(i, i + 1, i, i + 1) for i in range(20)]] * 400
    )
    assert set(drawn(candidates, **MIXED).replaced_words.tolist()) == {5}
    assert set(drawn(candidates, max_phrases=2, **MIXED).replaced_words.tolist()) == {2}
    assert set(
        drawn(candidates, switch_fraction=(0.2, 0.6), **MIXED).replaced_words.tolist()
    ) == set(range(4, 12))
    candidates = candidates_of([(40, 40)], [[(0, 5, 0, 1), (6, 7, 6, 11), (12, 13, 12, 13)]])
    assert drawn(candidates, major_source=1, **MIXED).replaced_words[0] == 1


@pytest.mark.parametrize(
    ("weights", "span"), [([(1, 0), (2, 0)], (2, 3)), ([(2, 0), (1, 0)], (0, 1))]
)
def test_equal_probabilities_are_ordered_by_lexical_weight(weights, span):
    """The later span has the higher probability in the other direction, which does not count."""
    candidates = candidates_of(
        [(4, 4)], [[(0, 1, 0, 1), (0, 1, 2, 3)]], [[(0.5, 0.1), (0.5, 0.9)]], weights
    )
    assert exchanged(drawn(candidates, major_source=1, **MIXED)) == [((0, 1), (1, *span))]


def test_translations_of_a_phrase_table():
    known = KnownPhrases(
        Ragged.of([[(1, 2)], [(0, 1)]], width=2), np.array([1, 0]), columns(["y z", "x"])
    )
    none = KnownPhrases(Ragged.of([[], []], width=2), np.zeros(0, np.int64), columns([]))
    text, phrases = (numbered([6, 6], "a"), numbered([6, 6], "b")), Ragged.of([[], []], width=4)
    candidates = SwitchCandidates.of(text, phrases, known=(known, none))
    switched = drawn(candidates, target_choice="table_argmax", major_source=1, **MIXED)
    # lines 0 to 3 are those of the pairs
    assert exchanged(switched, 0) == [((1, 2), (5, 0, 1))]
    assert exchanged(switched, 1) == [((0, 1), (4, 0, 2))]
    assert drawn(candidates, major_source=1, **MIXED).replaced_words.sum() == 0


def outcomes(size, candidates, share):
    """Every set of taken spans with its probability: all orders of the candidates are equally likely."""
    found = {}
    orders = list(permutations(candidates))
    for order in orders:
        taken, words = [], 0
        for start, stop in order:
            clash = any(start < b and a < stop for a, b in taken)
            if not clash and words + stop - start < share * size:
                taken.append((start, stop))
                words += stop - start
        key = tuple(sorted(taken))
        found[key] = found.get(key, 0) + 1 / len(orders)
    return found


PHRASES = [(0, 1, 3, 4), (0, 2, 2, 4), (1, 2, 2, 3), (4, 5, 0, 1), (4, 5, 0, 2), (5, 6, 1, 2)]


def test_distribution_of_draws():
    rows = 30_000
    candidates = candidates_of([(7, 5)] * rows, [PHRASES] * rows)
    share = {"switch_fraction": 0.5}
    switched = drawn(candidates, 3, **share)
    taken = [[] for _ in range(rows)]
    for row, span in zip(
        switched.exchanges.rows.tolist(), switched.exchanges.replaced.tolist(), strict=True
    ):
        taken[row].append(tuple(span))
    counts = {}
    for row in range(rows):
        key = (int(switched.matrix[row]), tuple(taken[row]))
        counts[key] = counts.get(key, 0) + 1
    expected = {(0, ()): 0.1, (1, ()): 0.1}
    for side, size in ((0, 7), (1, 5)):
        spans = sorted({phrase[2 * side : 2 * side + 2] for phrase in PHRASES})
        for key, share in outcomes(size, spans, 0.5).items():
            expected[side, key] = expected.get((side, key), 0) + 0.4 * share
    assert set(counts) == set(expected)
    assert len(expected) > 10
    keys = sorted(expected)
    assert (
        chisquare([counts[key] for key in keys], [rows * expected[key] for key in keys]).pvalue
        > 0.01
    )


@st.composite
def some_candidates(draw):
    sizes, phrases, scores = [], [], []
    for _ in range(draw(st.integers(1, 4))):
        n, m = draw(st.integers(1, 14)), draw(st.integers(1, 14))
        spans = set()
        for _ in range(draw(st.integers(0, 12))):
            a, c = draw(st.integers(0, n - 1)), draw(st.integers(0, m - 1))
            spans.add(
                (a, min(n, a + draw(st.integers(1, 5))), c, min(m, c + draw(st.integers(1, 5))))
            )
        sizes.append((n, m))
        phrases.append(sorted(spans))
        scores.append(
            [
                (draw(st.sampled_from([0.2, 0.5, 1])), draw(st.sampled_from([0.2, 1])))
                for _ in spans
            ]
        )
    return candidates_of(sizes, phrases, scores)


@given(
    candidates=some_candidates(),
    seed=st.integers(0, 1000),
    share=st.sampled_from([0.1, 0.3, 0.75, 1.0]),
)
@settings(max_examples=80)
def test_exchanged_phrases_are_candidates_and_do_not_overlap(candidates, seed, share):
    switched = drawn(candidates, seed, switch_fraction=share)
    pairs = len(candidates.phrases)
    for row in range(pairs):
        side = int(switched.matrix[row])
        real = {tuple(phrase) for phrase in candidates.phrases[row].tolist()}
        end, replaced = 0, 0
        for (first, last), (line, start, stop) in exchanged(switched, row):
            assert end <= first < last
            assert line == row + pairs * (1 - side)
            assert max(last - first, stop - start) <= 4
            assert (
                (first, last, start, stop) if side == 0 else (start, stop, first, last)
            ) in real
            end = last
            replaced += last - first
        words = candidates.lines.words.lengths[row + pairs * side]
        assert end <= words
        assert replaced == switched.replaced_words[row]
        assert replaced == 0 or replaced < share * words


def test_equal_phrases_differ_only_in_what_is_between_their_words():
    text = (
        columns(["20 % up"]),
        TextColumns.of(Text("de", ["20% auf"], Ragged.of([[(0, 2), (2, 3), (4, 7)]], width=2))),
    )
    for phrase, replaced in ((0, 2, 0, 2), 0), ((1, 2, 0, 1), 1):
        candidates = SwitchCandidates.of(text, Ragged.of([[phrase]], width=4))
        switched = drawn(candidates, major_source=1, switch_fraction=1, **MIXED)
        assert switched.replaced_words.tolist() == [replaced]
