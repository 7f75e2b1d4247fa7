"""Links as places, worked by hand and against the paper's matrix; words and their vectors; heads in two halves."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.alignment.subwords import EXPANSIONS, to_subwords
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.data import Pairs, Sentences
from interlace.data.layout import pair_layout, sentence_layout
from interlace.models.build import from_shape
from interlace.models.settings import Shape
from interlace.objectives._exchange import exchange, linked_words, links_of, one_to_one, only, words_of
from interlace.objectives._exchange_modules import Start, gathered, head_of, identity

VOCAB = SimpleNamespace(pad=0, begin=1, end=2, mask=3, size=60, separator_ids=(2,))


def side(words, language="en"):
    """Rows of the words' numbers; ids count up from 4."""
    belongs = Ragged.of(words)
    return Sentences(Ragged((belongs.columns() + 4).astype(np.int32), belongs.offsets), belongs, language)


def linked(source, target, links, confidence=None):
    pairs = Ragged.of(links, width=2)
    sure = None if confidence is None else Ragged.of(confidence, np.float32)
    return Pairs(side(source), side(target, "de"), pairs, confidence=sure)


#     column      0   1  2  3  4   5   6  7  8  9
#                 <s> a  bb    c  </s> A  BB    </s>      a - A, bb - BB, c - BB
PAIR = linked([[0, 1, 1, 2]], [[0, 1, 1]], [[(0, 0), (1, 1), (2, 1)]])


def places_of(pairs, how, max_length=32):
    """What each predicted subword of the source is linked to, by column."""
    layout = pair_layout(pairs, VOCAB, max_length)
    at = np.nonzero(layout.content & (layout.sides == 0))
    found = exchange(layout, pairs.links, at, expansion=how, mean=False, every=True)
    return list(zip(at[1][found.to].tolist(), found.places.tolist(), strict=True))


def test_links_of_words_become_places_with_the_specials_before_them():
    assert places_of(PAIR, "first") == [(1, 6), (2, 7), (4, 7)]
    assert places_of(PAIR, "monotone") == [(1, 6), (2, 7), (3, 8), (4, 7), (4, 8)]
    assert places_of(PAIR, "all") == [(1, 6), (2, 7), (2, 8), (3, 7), (3, 8), (4, 7), (4, 8)]


def test_links_to_words_that_were_cut_off_are_dropped():
    assert places_of(PAIR, "all", max_length=8) == [(1, 4), (2, 5), (2, 6)]  # <s> a b </s> A BB </s>: no c


def swap(at, **options):
    layout = pair_layout(PAIR, VOCAB, 32)
    found = exchange(layout, PAIR.links, (np.zeros(len(at), int), np.array(at, int)), **options)
    rows = {int(which): {} for which in found.which}
    for to, place, weight in zip(found.to, found.places, found.weights, strict=True):
        rows[int(found.which[to])][int(place)] = float(weight)
    return rows, found.aligned


def test_a_masked_subword_gets_the_mean_of_its_partners():
    assert swap([1, 8]) == (
        {0: {6: 1.0}, 1: {2: pytest.approx(1 / 3), 3: pytest.approx(1 / 3), 4: pytest.approx(1 / 3)}},
        2,
    )


def test_the_literal_reading_adds_them_up():
    assert swap([8], mean=False) == ({0: {2: 1.0, 3: 1.0, 4: 1.0}}, 1)


def test_partners_that_are_predicted_themselves_may_be_forbidden():
    assert swap([1, 3, 6, 8], forbid_masked=True) == ({1: {7: 1.0}, 3: {2: 0.5, 4: 0.5}}, 2)
    assert sorted(swap([1, 3, 6, 8])[0]) == [0, 1, 2, 3]


def test_predictions_without_a_partner_get_no_row_or_an_empty_one():
    assert swap([0, 1]) == ({1: {6: 1.0}}, 1)
    assert swap([0, 1], every=True) == ({0: {}, 1: {6: 1.0}}, 1)
    assert swap([0], every=True) == ({0: {}}, 0)
    assert swap([]) == ({}, 0)


def test_links_that_are_the_one_best_of_both_words():
    links = Ragged.of([[(0, 0), (0, 1), (1, 1), (2, 2)], [(0, 0), (1, 0)], []], width=2)
    assert only(links, one_to_one(links, None)).to_lists() == [[[2, 2]], [], []]
    sure = Ragged.of([[0.9, 0.8, 0.5, 0.1], [0.5, 0.5], []], np.float32)
    assert only(links, one_to_one(links, sure)).to_lists() == [[[0, 0], [2, 2]], [], []]  # of equals none is best
    empty = Ragged.of([[]], width=2)
    assert len(one_to_one(empty, None)) == 0


@st.composite
def little_pairs(draw):
    """Two rows, words of one to three subwords, any links."""
    rows = []
    for _ in range(2):
        sides = [draw(st.lists(st.integers(1, 3), max_size=4)) for _ in range(2)]
        every = [(i, j) for i in range(len(sides[0])) for j in range(len(sides[1]))]
        links = sorted(draw(st.sets(st.sampled_from(every), max_size=6))) if every else []
        rows.append([np.repeat(np.arange(len(sizes)), sizes).tolist() for sizes in sides] + [links])
    return linked(*(list(column) for column in zip(*rows, strict=True)))


@settings(max_examples=60, deadline=None)
@given(pairs=little_pairs(), seed=st.integers(0, 99), mean=st.booleans(), every=st.booleans(), forbid=st.booleans())
def test_the_sparse_sum_is_the_papers_matrix_product(pairs, seed, mean, every, forbid):
    layout = pair_layout(pairs, VOCAB, 64)
    rng = np.random.default_rng(seed)
    chosen = layout.content & (rng.random(layout.ids.shape) < 0.5)
    at = np.nonzero(chosen)
    found = exchange(layout, pairs.links, at, mean=mean, every=every, forbid_masked=forbid)
    states = torch.from_numpy(rng.normal(size=(*layout.ids.shape, 3)).astype(np.float32))
    parts = (torch.from_numpy(part) for part in (found.places, found.to, found.weights))
    ours = gathered(states, *parts, len(found.which)).numpy()

    wanted, which = [], []
    for number, (row, column) in enumerate(zip(*at, strict=True)):
        matrix = paper_matrix(layout, pairs.links[row], row)
        if forbid:
            matrix[chosen[row]] = 0
        if mean:
            matrix /= np.maximum(matrix.sum(axis=0), 1)
        if every or matrix[:, column].any():
            which.append(number)
            wanted.append((matrix.T @ states[row].numpy())[column])
    assert found.which.tolist() == which
    np.testing.assert_allclose(ours, np.array(wanted, np.float32).reshape(-1, 3), atol=1e-5)


def paper_matrix(layout, links, row):
    """A of eq. 5, L x L, column by column what goes where."""
    known = {tuple(link) for link in links.tolist()}
    length = layout.ids.shape[1]
    matrix = np.zeros((length, length), np.float32)
    for i in range(length):
        for j in range(length):
            ends = sorted((layout.sides[row, k], layout.words[row, k]) for k in (i, j))
            if ends[0][0] == 0 and ends[1][0] == 1 and (ends[0][1], ends[1][1]) in known:
                matrix[i, j] = 1
    return matrix


@settings(max_examples=100, deadline=None)
@given(pairs=little_pairs(), seed=st.integers(0, 99), how=st.sampled_from(EXPANSIONS), room=st.integers(8, 40))
def test_partners_are_those_of_links_expanded_whole(pairs, seed, how, room):
    layout = pair_layout(pairs, VOCAB, room)
    chosen = layout.content & (np.random.default_rng(seed).random(layout.ids.shape) < 0.5)
    at = np.nonzero(chosen)
    found = exchange(layout, pairs.links, at, expansion=how, mean=False)
    ours = sorted(zip(at[0][found.which][found.to], at[1][found.which][found.to], found.places.tolist(), strict=True))

    content = [layout.content & (layout.sides == number) for number in (0, 1)]
    words = [Ragged.from_lengths(layout.words[mine], mine.sum(axis=1)) for mine in content]
    places = [Ragged.from_lengths(np.flatnonzero(mine), mine.sum(axis=1)) for mine in content]
    wanted = set()
    for row, links in enumerate(to_subwords(pairs.links, *words, how)):
        for one, other in [(int(places[0][row][i]), int(places[1][row][j])) for i, j in links]:
            wanted |= {(*divmod(a, layout.ids.shape[1]), b) for a, b in ((one, other), (other, one))}
    assert ours == sorted((row, column, place) for row, column, place in wanted if chosen[row, column])


def test_links_that_are_missing_name_the_cure():
    with pytest.raises(DataError, match=r"weam needs word links .* \[align\] section"):
        links_of(Pairs(PAIR.source, PAIR.target), "weam")


ROWS = [[0, 0, 1], [], [0, 1, 1, 1]]


def test_words_are_numbered_by_row_with_the_subwords_that_make_them_up():
    layout = sentence_layout(side(ROWS), VOCAB, 32)  # width 6
    words = words_of(layout, "mean")
    assert words.numbers.tolist() == [[0, 1], [-1, -1], [2, 3]]
    assert words.places.tolist() == [1, 2, 3, 13, 14, 15, 16]
    assert words.to.tolist() == [0, 0, 1, 2, 3, 3, 3]
    assert words.weights.tolist() == pytest.approx([1 / 2, 1 / 2, 1, 1, 1 / 3, 1 / 3, 1 / 3])
    assert words.heads.tolist() == [2, 3, 13, 16]
    assert words_of(layout, "last").places.tolist() == [2, 3, 13, 16]
    assert words_of(layout, "first").places.tolist() == [1, 3, 13, 14]
    first = words.until(2)
    assert (first.to.tolist(), first.heads.tolist()) == ([0, 0, 1], [2, 3])


def test_links_find_the_numbers_of_both_words():
    words = words_of(
        sentence_layout(side([[0, 1], [0], [0, 1, 2], [0]]), VOCAB, 32), "last"
    )  # two pairs, first sides first
    links = Ragged.of([[(0, 2), (1, 0)], [(0, 0), (3, 0)]], width=2)
    one, other = linked_words(words, links, first=0)
    assert (one.tolist(), other.tolist()) == ([0, 1, 2, -1], [5, 3, 6, 6])
    one, other = linked_words(words, links, first=1)  # the targets' rows come first
    assert (one.tolist(), other.tolist()) == ([-1, 0, 2, 2], [3, 4, 6, -1])


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
def test_the_two_halves_of_a_head_make_up_the_whole(family):
    backbone = from_shape(Shape(family=family, layers=1, width=16, heads=2, max_length=32), VOCAB)
    states = torch.randn(5, 16)
    dense, rest = head_of(backbone)
    torch.testing.assert_close(rest(dense(states)), backbone.logits(states))


def test_a_layer_starts_as_doing_nothing():
    states = torch.randn(3, 8)
    torch.testing.assert_close(identity(8)(states), states)


def test_the_start_neither_learns_nor_drops_nor_follows():
    backbone = from_shape(Shape(layers=1, width=16, heads=2, max_length=32, dropout=0.5), VOCAB)
    start = Start(backbone)
    torch.nn.ModuleDict({"start": start}).train()
    inputs = {"input_ids": torch.arange(4, 12)[None]}
    before = start.encode(inputs)
    with torch.no_grad():
        backbone.input_embeddings.mul_(2)
    torch.testing.assert_close(start.encode(inputs), before)
    assert not before.requires_grad
    assert not any(parameter.requires_grad for parameter in start.parameters())
    assert "decoder" not in " ".join(name for name, _ in start.named_parameters())
