"""Code-switching: by hand, by exact probabilities, and by properties that hold for all inputs."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from interlace.alignment.phrases import PhraseRules, phrase_pairs
from interlace.core.errors import SettingsError
from interlace.core.ragged import Ragged
from interlace.data import KnownPhrases, Pairs, Sentences
from interlace.data.vocab import Vocab
from interlace.objectives.common.code_switching import (
    KINDS,
    CodeSwitching,
    SwitchCandidates,
    WordForms,
    all_boundaries,
    switch_phrases,
)
from interlace.toy import pairs as world_pairs
from interlace.toy import sample

MIXED = {"source_share": 0, "target_share": 0}


def candidates_of(sizes, phrases, scores=None, weights=None):
    """Pairs of (words, words) with phrases (a, b, c, d), their probabilities, and weights that break ties."""
    phrases = Ragged.of(phrases, width=4)
    flat = [pair for row in scores for pair in row] if scores else np.ones((len(phrases.values), 2))
    words = np.array(sizes, np.int64).reshape(-1, 2)
    scores = np.array(flat, np.float32).reshape(-1, 2)
    weights = scores[:, ::-1].copy() if weights is None else np.array(weights, np.float32)
    return SwitchCandidates(words, phrases, scores, weights, all_boundaries(words))


def drawn(candidates, seed=0, **rules):
    return switch_phrases(candidates, CodeSwitching(**rules), np.random.default_rng([7, seed, 0, 0]))


def pieces(switched, row=0):
    return [tuple(piece) for piece in switched.pieces[row].tolist()]


def test_replaces_one_phrase():
    candidates = candidates_of([(5, 4)], [[(1, 2, 2, 4)]])
    switched = drawn(candidates, major_source=1, **MIXED)
    assert pieces(switched) == [(0, 0, 0, 1), (1, 0, 2, 4), (0, 0, 2, 5)]
    assert switched.places[0].tolist() == [[0, 1], [1, 2], [2, 5]]
    assert (KINDS[switched.kinds[0]], switched.replaced[0], switched.words[0]) == ("major source", 1, 5)
    assert switched.inserted.tolist() == [False, True, False]
    phrase = [[(0, 3, 0, 1)]]
    assert drawn(candidates_of([(10, 1)], phrase), major_source=1, **MIXED).replaced[0] == 0  # 3 of 10 words
    assert drawn(candidates_of([(11, 1)], phrase), major_source=1, **MIXED).replaced[0] == 3


def test_limits_of_number_share_length_and_probability_of_phrases():
    candidates = candidates_of([(20, 20)] * 400, [[(i, i + 1, i, i + 1) for i in range(20)]] * 400)
    assert set(drawn(candidates, **MIXED).replaced.tolist()) == {5}
    assert set(drawn(candidates, max_phrases=2, **MIXED).replaced.tolist()) == {2}
    assert set(drawn(candidates, switch_fraction=(0.2, 0.6), **MIXED).replaced.tolist()) == set(range(4, 12))
    phrases, scores = [(0, 5, 0, 1), (6, 7, 6, 11), (12, 13, 12, 13)], [(1, 1), (1, 1), (0.2, 1)]
    candidates = candidates_of([(40, 40)], [phrases], [scores])
    assert drawn(candidates, major_source=1, **MIXED).replaced[0] == 1
    assert drawn(candidates, major_source=1, min_probability=0.3, **MIXED).replaced[0] == 0
    assert drawn(candidates, major_source=0, min_probability=0.3, **MIXED).replaced[0] == 1  # phi(s|t) is 1


@pytest.mark.parametrize(("weights", "span"), [([(1, 0), (2, 0)], (2, 3)), ([(2, 0), (1, 0)], (0, 1))])
def test_equal_probabilities_are_ordered_by_lexical_weight(weights, span):
    """The later span has the higher probability in the other direction, which does not count."""
    candidates = candidates_of([(4, 4)], [[(0, 1, 0, 1), (0, 1, 2, 3)]], [[(0.5, 0.1), (0.5, 0.9)]], weights)
    assert pieces(drawn(candidates, major_source=1, **MIXED))[0] == (1, 0, *span)


def test_translations_of_a_phrase_table():
    words = Ragged.of([[0], [0, 1]])
    other = Sentences(Ragged.of([[7], [8, 9]]), words, "de")
    known = KnownPhrases(Ragged.of([[(1, 2)], [(0, 1)]], width=2), np.ones(2, np.float32), other)
    none = KnownPhrases(Ragged.of([[], []], width=2), np.ones(0, np.float32), other.take([]))
    words = np.full((2, 2), 6)
    phrases, scores = Ragged.of([[], []], width=4), np.ones((0, 2), np.float32)
    candidates = SwitchCandidates(words, phrases, scores, scores, all_boundaries(words), (known, none))
    switched = drawn(candidates, target_choice="table_argmax", major_source=1, **MIXED)
    assert pieces(switched, 0) == [(0, 0, 0, 1), (2, 0, 0, 1), (0, 0, 2, 6)]
    assert pieces(switched, 1) == [(2, 1, 0, 2), (0, 1, 1, 6)]
    assert drawn(candidates, target_choice="table_argmax", major_source=0, **MIXED).replaced.sum() == 0
    assert drawn(candidates, major_source=1, **MIXED).replaced.sum() == 0


@pytest.mark.parametrize(
    ("rules", "named"),
    [
        ({"switch_fraction": (0.5, 0.2)}, "ascending"),
        ({"switch_fraction": 0}, "share in"),
        ({"source_share": 0.7, "target_share": 0.4}, "must not exceed 1"),
        ({"max_phrase_length": 0}, "max_phrase_length"),
    ],
)
def test_rejects_settings_out_of_range(rules, named):
    with pytest.raises(SettingsError, match=named):
        CodeSwitching(**rules)


def test_switch_fraction_is_one_number_or_a_range():
    assert CodeSwitching(switch_fraction=0.2).switch_fraction == (0.2, 0.2)
    assert CodeSwitching(switch_fraction="0.2,0.4").switch_fraction == (0.2, 0.4)
    assert CodeSwitching.read(CodeSwitching(switch_fraction="0.25").dump()) == CodeSwitching(switch_fraction=0.25)


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
    at = np.flatnonzero(switched.inserted)
    for row, span in zip(switched.pieces.rows()[at].tolist(), switched.places.flat[at].tolist(), strict=True):
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
    assert chisquare([counts[key] for key in keys], [rows * expected[key] for key in keys]).pvalue > 0.01


@st.composite
def some_candidates(draw):
    sizes, phrases, scores = [], [], []
    for _ in range(draw(st.integers(1, 4))):
        n, m = draw(st.integers(1, 14)), draw(st.integers(1, 14))
        spans = set()
        for _ in range(draw(st.integers(0, 12))):
            a, c = draw(st.integers(0, n - 1)), draw(st.integers(0, m - 1))
            spans.add((a, min(n, a + draw(st.integers(1, 5))), c, min(m, c + draw(st.integers(1, 5)))))
        sizes.append((n, m))
        phrases.append(sorted(spans))
        scores.append([(draw(st.sampled_from([0.2, 0.5, 1])), draw(st.sampled_from([0.2, 1]))) for _ in spans])
    return candidates_of(sizes, phrases, scores)


@given(candidates=some_candidates(), seed=st.integers(0, 1000), share=st.sampled_from([0.1, 0.3, 0.75, 1.0]))
@settings(max_examples=80)
def test_pieces_cover_the_matrix_sentence_with_its_words_or_counterparts(candidates, seed, share):
    switched = drawn(candidates, seed, switch_fraction=share)
    for row in range(len(candidates.words)):
        side = int(switched.matrix[row])
        real = {tuple(phrase) for phrase in candidates.phrases[row].tolist()}
        at, replaced = 0, 0
        places = switched.places[row].tolist()
        for (where, of, start, stop), (first, last) in zip(pieces(switched, row), places, strict=True):
            assert of == row
            assert first == at < last
            at = last
            if where == side:
                assert (start, stop) == (first, last)
                continue
            replaced += last - first
            assert last - first <= 4
            assert stop - start <= 4
            assert ((first, last, start, stop) if side == 0 else (start, stop, first, last)) in real
        assert at == candidates.words[row, side]
        assert replaced == switched.replaced[row]
        assert replaced == 0 or replaced < share * candidates.words[row, side]
        assert (switched.kinds[row] >= 2) == (replaced > 0)


MOSTLY = CodeSwitching(switch_fraction=0.9, **MIXED)


def inserted(switched, side_words):
    """Words of each replaced span and of its counterpart."""
    for row in range(len(switched.pieces)):
        places = switched.places[row].tolist()
        for (side, _, start, stop), (first, last) in zip(pieces(switched, row), places, strict=True):
            if side != switched.matrix[row]:
                yield side_words[1 - side][row][first:last], side_words[side][row][start:stop]


@pytest.mark.parametrize("kind", ["byte-bpe", "wordpiece", "unigram"])
@pytest.mark.parametrize("by_links", [False, True])
def test_does_not_exchange_equal_phrases(kind, by_links):
    text = world_pairs("en", "de", sample(60, "train", 3))
    vocab = Vocab.learn({"en": text.source.lines, "de": text.target.lines}, 900, kind=kind)
    phrases = phrase_pairs(text.source.words.lengths, text.target.words.lengths, text.links)
    pairs = Pairs(vocab.encode_text(text.source), vocab.encode_text(text.target), text.links, phrases)
    forms = WordForms(vocab)
    words = [[side.tokens(row) for row in range(len(side))] for side in (text.source, text.target)]
    exchanges = []
    for texts in (None, forms.texts):
        if by_links:
            candidates = SwitchCandidates.extracted(pairs, PhraseRules(), texts)
        else:
            candidates = SwitchCandidates.of(pairs, texts)
        exchanges.append(list(inserted(switch_phrases(candidates, MOSTLY, np.random.default_rng([7, 0])), words)))
    assert any(one == other for one, other in exchanges[0])
    assert exchanges[1]
    assert not any(one == other for one, other in exchanges[1])
