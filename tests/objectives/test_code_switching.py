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
from interlace.objectives.common._code_switching_kernels import best_spans
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


def choices_of(sizes, phrases, scores=None):
    """Pairs of (words, words) with phrases (a, b, c, d) and their probabilities."""
    phrases = Ragged.of(phrases, width=4)
    flat = [pair for row in scores for pair in row] if scores else np.ones((len(phrases.values), 2))
    words = np.array(sizes, np.int64).reshape(-1, 2)
    return SwitchCandidates(words, phrases, np.array(flat, np.float32).reshape(-1, 2), all_boundaries(words))


def drawn(choices, seed=0, **rules):
    return switch_phrases(choices, CodeSwitching(**rules), np.random.default_rng([7, seed, 0, 0]))


def pieces(switched, row=0):
    return [tuple(piece) for piece in switched.pieces[row].tolist()]


# ---- by hand ----


def test_one_phrase_of_a_sentence_takes_the_other_side():
    choices = choices_of([(5, 4)], [[(1, 2, 2, 4)]])
    switched = drawn(choices, major_source=1, **MIXED)
    assert pieces(switched) == [(0, 0, 0, 1), (1, 0, 2, 4), (0, 0, 2, 5)]
    assert switched.places[0].tolist() == [[0, 1], [1, 2], [2, 5]]
    assert (KINDS[switched.kinds[0]], switched.replaced[0], switched.words[0]) == ("major source", 1, 5)
    assert switched.inserted.tolist() == [False, True, False]


def test_the_share_is_of_the_matrix_sentence_and_strict():
    phrase = [[(0, 3, 0, 1)]]
    assert drawn(choices_of([(10, 1)], phrase), major_source=1, **MIXED).replaced[0] == 0  # 3 of 10 are not below 0.3
    assert drawn(choices_of([(11, 1)], phrase), major_source=1, **MIXED).replaced[0] == 3


def test_a_row_in_which_nothing_could_be_replaced_is_monolingual():
    switched = drawn(choices_of([(9, 9)] * 200, [[]] * 200), **MIXED)
    assert set(switched.kinds.tolist()) == {0, 1}
    assert {pieces(switched, row)[0][2:] for row in range(200)} == {(0, 9)}


def test_rows_without_words_have_no_pieces():
    switched = drawn(choices_of([(0, 0), (0, 0)], [[], []]), **MIXED)
    assert switched.pieces.lengths.tolist() == [0, 0]
    assert len(drawn(choices_of(np.zeros((0, 2)), [])).kinds) == 0


def test_the_first_and_the_last_word_can_be_replaced_and_neighbours_too():
    choices = choices_of([(3, 3)], [[(0, 1, 2, 3), (1, 2, 1, 2), (2, 3, 0, 1)]])
    found = {tuple(pieces(drawn(choices, seed, major_source=1, switch_fraction=0.9, **MIXED))) for seed in range(60)}
    inserted = [(1, 0, 2, 3), (1, 0, 1, 2), (1, 0, 0, 1)]
    assert found == {  # two of three words stay below 90 %
        (inserted[0], inserted[1], (0, 0, 2, 3)),
        (inserted[0], (0, 0, 1, 2), inserted[2]),
        ((0, 0, 0, 1), inserted[1], inserted[2]),
    }


def test_no_more_phrases_than_allowed_are_replaced():
    choices = choices_of([(20, 20)] * 50, [[(i, i + 1, i, i + 1) for i in range(20)]] * 50)
    assert set(drawn(choices, **MIXED).replaced.tolist()) == {5}
    assert set(drawn(choices, max_phrases=2, **MIXED).replaced.tolist()) == {2}


def test_a_range_of_shares_is_drawn_row_by_row():
    choices = choices_of([(20, 20)] * 400, [[(i, i + 1, i, i + 1) for i in range(20)]] * 400)
    replaced = drawn(choices, switch_fraction=(0.2, 0.6), **MIXED).replaced
    assert set(replaced.tolist()) == set(range(4, 12))


def test_phrases_beyond_the_longest_or_the_min_probability_are_left_alone():
    choices = choices_of([(40, 40)], [[(0, 5, 0, 1), (6, 7, 6, 11), (12, 13, 12, 13)]], [[(1, 1), (1, 1), (0.2, 1)]])
    assert drawn(choices, major_source=1, **MIXED).replaced[0] == 1
    assert drawn(choices, major_source=1, min_probability=0.3, **MIXED).replaced[0] == 0
    assert drawn(choices, major_source=0, min_probability=0.3, **MIXED).replaced[0] == 1  # phi(s|t) is 1


def test_what_the_table_knows_need_not_stand_in_the_pair():
    words = Ragged.of([[0], [0, 1]])
    other = Sentences(Ragged.of([[7], [8, 9]]), words, "de")
    known = KnownPhrases(Ragged.of([[(1, 2)], [(0, 1)]], width=2), np.ones(2, np.float32), other)
    none = KnownPhrases(Ragged.of([[], []], width=2), np.ones(0, np.float32), other.take([]))
    words = np.full((2, 2), 6)
    choices = SwitchCandidates(
        words, Ragged.of([[], []], width=4), np.ones((0, 2), np.float32), all_boundaries(words), (known, none)
    )
    switched = drawn(choices, target_choice="table_argmax", major_source=1, **MIXED)
    assert pieces(switched, 0) == [(0, 0, 0, 1), (2, 0, 0, 1), (0, 0, 2, 6)]
    assert pieces(switched, 1) == [(2, 1, 0, 2), (0, 1, 1, 6)]
    assert drawn(choices, target_choice="table_argmax", major_source=0, **MIXED).replaced.sum() == 0
    assert drawn(choices, major_source=1, **MIXED).replaced.sum() == 0  # in the pair there is nothing


@pytest.mark.parametrize(
    ("rules", "named"),
    [
        ({"switch_fraction": (0.5, 0.2)}, "ascending"),
        ({"switch_fraction": 0}, "share in"),
        ({"source_share": 0.7, "target_share": 0.4}, "must not exceed 1"),
        ({"max_phrase_length": 0}, "max_phrase_length"),
    ],
)
def test_rules_out_of_range_are_refused(rules, named):
    with pytest.raises(SettingsError, match=named):
        CodeSwitching(**rules)


def test_a_share_may_be_one_number_or_text():
    assert CodeSwitching(switch_fraction=0.2).switch_fraction == (0.2, 0.2)
    assert CodeSwitching(switch_fraction="0.2,0.4").switch_fraction == (0.2, 0.4)
    assert CodeSwitching.read(CodeSwitching(switch_fraction="0.25").dump()) == CodeSwitching(switch_fraction=0.25)


# ---- by exact probabilities ----


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


def test_draws_have_the_distribution_of_all_orders():
    rows = 30_000
    choices = choices_of([(7, 5)] * rows, [PHRASES] * rows)
    share = {"switch_fraction": 0.5}
    switched = drawn(choices, 3, **share)
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


# ---- for all inputs ----


@st.composite
def some_choices(draw):
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
    return choices_of(sizes, phrases, scores)


@given(choices=some_choices(), seed=st.integers(0, 1000), share=st.sampled_from([0.1, 0.3, 0.75, 1.0]))
@settings(max_examples=80)
def test_pieces_cover_the_matrix_and_hold_real_counterparts(choices, seed, share):
    switched = drawn(choices, seed, switch_fraction=share)
    for row in range(len(choices.words)):
        side = int(switched.matrix[row])
        real = {tuple(phrase) for phrase in choices.phrases[row].tolist()}
        at, replaced = 0, 0
        for (where, of, start, stop), (first, last) in zip(
            pieces(switched, row), switched.places[row].tolist(), strict=True
        ):
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
        assert at == choices.words[row, side]
        assert replaced == switched.replaced[row]
        assert replaced == 0 or replaced < share * choices.words[row, side]
        assert (switched.kinds[row] >= 2) == (replaced > 0)


def likeliest(phrases, scores, side):
    """(spans, places) that `best_spans` keeps of these phrases: one for each span of a side."""
    rows = phrases.flat.reshape(-1, 2, 2)[:, :, 1].max(initial=0)
    words = np.full((len(phrases), 2), rows, np.int64)
    none = np.zeros(0, np.int32)
    found, used, lengths = best_spans(
        np.full(len(phrases), side, np.int8), np.ascontiguousarray(phrases.flat), scores, phrases.offsets, words,
        np.ones(int(rows) + 1, np.bool_), np.zeros_like(words), none, none.astype(np.int64), 5, 0.0,
    )  # fmt: skip
    assert lengths.sum() == used
    return found[:used]


def best_by_hand(phrases, scores, side):
    """The same one by one: the likeliest given that side, then in the other direction, then the first."""
    best = {}
    for place, (row, span) in enumerate(zip(phrases.rows().tolist(), phrases.flat.tolist(), strict=True)):
        rank = (-scores[place, side], -scores[place, 1 - side], place)
        key = (row, *span[2 * side : 2 * side + 2])
        best[key] = min(best.get(key, rank), rank)
    return sorted(place for *_, place in best.values())


@given(choices=some_choices(), side=st.integers(0, 1))
@settings(max_examples=50)
def test_counterparts_are_the_likeliest(choices, side):
    found = likeliest(choices.phrases, choices.scores, side)
    assert sorted(found[:, 2].tolist()) == best_by_hand(choices.phrases, choices.scores, side)
    np.testing.assert_array_equal(choices.phrases.flat[found[:, 2], 2 * side : 2 * side + 2], found[:, :2])


# ---- equal phrases, and words without tokens ----

MOSTLY = CodeSwitching(switch_fraction=0.9, **MIXED)


def rng(seed=0):
    return np.random.default_rng([7, seed])


def encoded(text, vocab):
    links = text.links
    pairs = Pairs(vocab.encode_text(text.source), vocab.encode_text(text.target), links)
    phrases = phrase_pairs(text.source.words.lengths, text.target.words.lengths, links)
    return Pairs(pairs.source, pairs.target, links, phrases)


def inserted(switched, side_words):
    """Words of each replaced span and of what stands there."""
    for row in range(len(switched.pieces)):
        for (side, _, start, stop), (first, last) in zip(
            switched.pieces[row].tolist(), switched.places[row].tolist(), strict=True
        ):
            if side != switched.matrix[row]:
                yield side_words[1 - side][row][first:last], side_words[side][row][start:stop]


@pytest.mark.parametrize("kind", ["byte-bpe", "wordpiece", "unigram"])
@pytest.mark.parametrize("by_links", [False, True])
def test_names_and_full_stops_are_not_exchanged_for_themselves(kind, by_links):
    text = world_pairs("en", "de", sample(60, "train", 3))
    vocab = Vocab.learn({"en": text.source.lines, "de": text.target.lines}, 900, kind=kind)
    pairs, forms = encoded(text, vocab), WordForms(vocab)
    words = [
        [[line[a:b] for a, b in row] for line, row in zip(side.lines, side.words.to_lists(), strict=True)]
        for side in (text.source, text.target)
    ]
    of = (
        (lambda texts: SwitchCandidates.extracted(pairs, PhraseRules(), forms.inside, texts))
        if by_links
        else (lambda texts: SwitchCandidates.of(pairs, forms.inside, texts))
    )
    exchanges = [list(inserted(switch_phrases(of(texts), MOSTLY, rng()), words)) for texts in (None, forms.texts)]
    assert any(one == other for one, other in exchanges[0])
    assert exchanges[1]
    assert not any(one == other for one, other in exchanges[1])


def test_a_link_to_a_word_without_subwords_leads_nowhere():
    """The last word of the source spells nothing in this vocabulary: no phrase may reach behind the sentence."""
    ids = Ragged.of([[5, 6], [7, 8]])
    source = Sentences(ids, Ragged.of([[0, 1], [0, 1]]), "en")
    target = Sentences(Ragged.of([[9, 10, 11], [9, 10]]), Ragged.of([[0, 1, 2], [0, 1]]), "de")
    links = Ragged.of([[(0, 0), (1, 1), (2, 2)], [(0, 0), (1, 1), (2, 1)]], width=2)
    choices = SwitchCandidates.extracted(Pairs(source, target, links), PhraseRules())
    assert choices.words.tolist() == [[2, 3], [2, 2]]
    for seed in range(50):
        switched = switch_phrases(choices, MOSTLY, rng(seed))
        for row, (start, stop) in zip(switched.pieces.rows(), switched.places.flat, strict=True):
            assert stop <= switched.words[row]
            assert start < stop
        for side, row, _, stop in switched.pieces.flat.tolist():
            assert stop <= choices.words[row, side]
