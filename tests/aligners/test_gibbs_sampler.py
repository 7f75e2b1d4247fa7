"""Views, samplers, which pairs train, and links from posteriors of `gibbs`: by hand and against plain loops."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.aligners.common.inputs import Prior
from interlace.aligners.gibbs import kernels, sampler
from interlace.aligners.gibbs.kernels import ALPHA, Tally, Words
from interlace.aligners.gibbs.model import (
    FERTILITIES,
    MAX_JUMP,
    Cut,
    Posteriors,
    SamplerDirection,
    cell_starts,
    links_of,
    tables_of,
)
from interlace.aligners.gibbs.sampler import LazyView, Sampler, View, first_counts
from interlace.alignment import WordPairs
from interlace.alignment.symmetrization import symmetrize
from interlace.core.ragged import Ragged

SOURCE, TARGET = ["haus", "hausen", "das"], ["house", "the", "houses", "t"]
NO_ENTRIES = np.zeros((0, 2), np.int32)


def test_words_are_cut_to_their_first_letters():
    assert Cut.of(SOURCE, 0).numbers.tolist() == [0, 1, 2]
    cut = Cut.of(SOURCE, 4)
    assert (cut.numbers.tolist(), cut.size) == ([0, 0, 1], 2)
    assert cut(np.array([1, -1, 2], np.int32)).tolist() == [0, -1, 1]
    assert Cut.of([], 3)(np.array([-1, -1], np.int32)).tolist() == [-1, -1]


def test_a_view_numbers_pairs_of_cut_types():
    source, target = Ragged.of([[2, 0], [], [1]]), Ragged.of([[1, 0, 3], [1], [2]])
    view = View.of(
        source, target, (Cut.of(SOURCE, 4), Cut.of(TARGET, 1)), NO_ENTRIES
    )  # haus, das; h, t
    forward, backward = view.ways
    assert view.sizes == (2, 2)
    assert view.entries.tolist() == [[1, 1], [0, 1], [1, 0], [0, 0]]  # das-t, haus-t, das-h, haus-h
    assert forward.cell_starts.tolist() == backward.cell_starts.tolist() == [0, 6, 6, 7]
    assert forward.cells.tolist() == [0, 1, 2, 3, 0, 1, 3]  # a row per target word
    assert backward.cells.tolist() == [0, 2, 0, 1, 3, 1, 3]  # a row per source word
    assert forward.by.tolist() == backward.to.tolist() == [1, 0, 0]
    assert forward.to.tolist() == backward.by.tolist() == [1, 0, 1, 1, 0]


@given(st.lists(st.lists(st.integers(0, 3), max_size=7), min_size=1, max_size=6))
def test_twins_cycle_through_the_words_of_a_type_in_a_row(lists):
    words = Ragged.of(lists)
    twins = Ragged(kernels.twins(words.values, words.offsets, 4), words.offsets)
    for row, next_ones in zip(words, twins, strict=True):
        for place, kind in enumerate(row):
            same = np.flatnonzero(row == kind).tolist()
            assert next_ones[place] == same[(same.index(place) + 1) % len(same)]


def view_of(by, to, types):
    cuts = tuple(Cut(np.arange(many, dtype=np.int32), many) for many in types)
    return View.of(Ragged.of(by), Ragged.of(to), cuts, NO_ENTRIES)


def jump_table(widths):
    """Probabilities of these jumps; 0.01 of all others."""
    jumps = np.full(2 * MAX_JUMP + 1, 0.01, np.float32)
    for width, probability in widths.items():
        jumps[MAX_JUMP + width] = probability
    return jumps


def test_a_candidate_is_drawn_by_cumulative_weight():
    weights = np.array([0.25, 0.5], np.float32)
    drawn = [
        kernels.draw(weights, 2, np.float32(0.75), np.float32(point))
        for point in (0.0, 0.24, 0.25, 0.7, 0.75, 1)
    ]
    assert drawn == [0, 0, 1, 1, kernels.NONE, kernels.NONE]
    assert (
        kernels.draw(weights, 2, np.float32(0.8), np.float32(0.79)) == 1
    )  # the sum was rounded up


@pytest.mark.parametrize(
    ("model", "factors"),
    [
        (kernels.WORDS, (1, 1, 2)),  # of a, b and no partner: which is one of as many candidates
        (
            kernels.JUMPS,
            (0.5 * 0.5, 0.2 * 0.1, 0.2),
        ),  # a: -1 -> 0 -> 1; b: -1 -> 1 -> 1; none: -1 -> 1
        (kernels.FERTILITY, (0.5 * 0.5, 0.2 * 0.1 * 0.3, 0.2)),  # b has a second link
    ],
)
def test_the_probability_of_one_word_by_hand(model, factors):
    unit = kernels.UNIT
    # Two pairs, "a b" - "x y" and "a" - "x". Links: a-x in the second; y has b; x of the first is drawn.
    view = view_of([[0, 1], [0]], [[0, 1], [0]], types=(2, 2))
    chosen = np.array([kernels.NONE, 1, 0], np.int32)
    counts = first_counts(view, 0, np.zeros(0), np.zeros(1), chosen)
    fertility = np.ones((2, FERTILITIES), np.float32)
    fertility[1, 1] = 0.3
    tables = tables_of(jump_table({1: 0.5, 2: 0.2, 0: 0.1}), fertility, 4)._replace(model=model)
    tally = Tally(
        np.zeros(9, np.int64), np.zeros((2, FERTILITIES), np.int32), np.zeros(5, np.float32), True
    )
    kernels.sweep(view.ways[0], chosen, counts, tables, tally, np.uint64(5))
    # With one link of b to y and one of a to x: p(x|a) = (1 + unit) / (2 + unit), p(x|b) = 1 / (2 + unit); x, which is
    # never alone, has one of two types.
    a = (1 + unit) / (2 + unit) * factors[0]
    b = 1 / (2 + unit) * factors[1]
    none = 0.25 * 1 / 2 * factors[2]
    assert tally.posterior[:2] == pytest.approx([a / (a + b + none), b / (a + b + none)], rel=1e-5)


def random_rows(rng, types=(5, 6), pairs=12, longest=6):
    return [
        [rng.integers(0, many, rng.integers(0, longest)).tolist() for _ in range(pairs)]
        for many in types
    ]


@pytest.mark.parametrize("way", [0, 1], ids=["forward", "backward"])
@pytest.mark.parametrize("model", [kernels.WORDS, kernels.JUMPS, kernels.FERTILITY])
def test_a_sweep_counts_jumps_fertilities_and_posteriors(way, model):
    rng = np.random.default_rng(model)
    view = view_of(*(sides := random_rows(rng)), types=(5, 6))
    words, by = view.ways[way], sides[way]
    chosen = np.full(len(words.to), kernels.NONE, np.int32)
    counts = first_counts(view, way, np.zeros(0), np.zeros(1), chosen)
    tables = tables_of(
        rng.dirichlet(np.ones(2 * MAX_JUMP + 1)).astype(np.float32), np.ones((6, 1), np.float32), 8
    )
    tally = Tally(
        np.zeros(17, np.int64),
        np.zeros((6, FERTILITIES), np.int32),
        np.zeros(len(words.cells), np.float32),
        True,
    )
    kernels.sweep(words, chosen, counts, tables._replace(model=model), tally, np.uint64(7))
    jumps, fertilities = Counter(), Counter()
    for row, links in zip(by, Ragged(chosen, words.to_starts).to_lists(), strict=True):
        partners = [link for link in links if link != kernels.NONE]
        if row and links:
            jumps.update(after - before for before, after in pairwise([-1, *partners, len(row)]))
            fertilities.update((kind, partners.count(place)) for place, kind in enumerate(row))
    assert tally.jumps.tolist() == [jumps[width] for width in range(-8, 9)]
    assert {
        entry: int(tally.fertility[entry]) for entry in zip(*tally.fertility.nonzero(), strict=True)
    } == fertilities
    sums = np.add.reduceat(
        np.append(tally.posterior, 0),
        np.cumsum(np.repeat(np.diff(words.by_starts), np.diff(words.to_starts))),
    )
    assert (sums <= 1).all()


@settings(max_examples=40)
@given(st.integers(0, 1 << 32), st.integers(1, 5))
def test_counts_equal_those_of_the_links(seed, sweeps):
    rng = np.random.default_rng(seed)
    view = view_of(*random_rows(rng), types=(5, 6))
    prior = rng.integers(0, 3, len(view.entries)).astype(float)
    chain = Sampler(view, 0, prior, None, rng)
    learned = chain.run([sweeps, 1, sweeps + 1], lambda: None).direction
    again = first_counts(view, 0, prior, np.zeros(1), chain.chosen)
    for own, counted in zip(chain.counts, again, strict=True):
        assert np.array_equal(own, counted)
    links = learned.pairs.sum() - len(learned.pairs) * ALPHA - prior.sum()
    assert links + learned.alone.sum() == pytest.approx(len(view.ways[0].to), rel=1e-3)
    longest = max(np.diff(view.ways[0].by_starts).max(), np.diff(view.ways[0].to_starts).max())
    assert learned.jumps[MAX_JUMP + 1 - longest : MAX_JUMP + 2 + longest].sum() == pytest.approx(
        1, rel=1e-4
    )
    assert ((chain.posterior >= 0) & (chain.posterior <= 1.001)).all()


def test_parameters_are_means_over_the_second_half_of_the_last_sweeps():
    view = view_of([[0]] * 4, [[0]] * 4, types=(1, 1))
    chain = Sampler(view, 0, np.zeros(0), None, np.random.default_rng(3))
    states = []
    learned = chain.run(
        [2, 1, 5], lambda: states.append([part.copy() for part in chain.counts[:3]])
    ).direction
    last = [np.mean([state[part] for state in states[-2:]], axis=0) for part in range(3)]
    for own, mean in zip((learned.pairs, learned.words, learned.alone), last, strict=True):
        assert own == pytest.approx(mean / kernels.UNIT)
    assert len(states) == 8


@pytest.mark.parametrize("way", [0, 1], ids=["forward", "backward"])
def test_a_part_adds_its_counts_to_those_of_the_parts_before(way):
    rng = np.random.default_rng(5)
    texts = [random_rows(rng, types) for types in ((4, 5), (5, 6))]  # new types in the second part
    prior = Prior(np.array([[1, 2]], np.int32), np.array([3.0]))
    before = None
    for sides in texts:
        source, target = (Ragged.of(rows, dtype=np.int32) for rows in sides)
        types = (5, 6) if before else (4, 5)
        cuts = tuple(Cut(np.arange(many, dtype=np.int32), many) for many in types)
        view = LazyView(source, target, cuts, prior, before)
        starts = [view.get(each) for each in (0, 1)]
        chains = [
            Sampler(text, way, links, before and before[way], rng)
            for way, (text, links) in enumerate(starts)
        ]
        before = tuple(chain.run([2, 1, 3], lambda: None) for chain in chains)
    own, words = before[way], sum(len(row) for sides in texts for row in sides[1 - way])
    links = own.direction.pairs.sum() - len(own.direction.pairs) * ALPHA - 3
    assert links + own.direction.alone.sum() == pytest.approx(words, rel=1e-3)
    assert len(own.direction.alone) == (6, 5)[way]
    drawing = sum(many * np.arange(FERTILITIES) for many in own.fertility).sum()
    assert drawing <= words
    assert own.jumps.sum() > len(chains[way].chosen)  # of both parts


def test_posteriors_of_new_pairs_by_hand(monkeypatch):
    """One word has the same posterior in all sweeps; of two words, the second has a certain partner.

    Type 0 has 7 of 8 links to 0, type 1 all to 1; words are alone 2 and 0 times, the Dirichlet prior is 0.5.
    """
    monkeypatch.setattr("interlace.aligners.gibbs.model.ALPHA", 0.5)
    jumps, fertility = jump_table({1: 0.4, 2: 0.2, 0: 0.1}), np.ones((2, FERTILITIES), np.float32)
    fertility[0, 0], fertility[1, :2] = 0.5, (25, 0.125)
    counts = (np.array(part, np.float32) for part in ([7, 1e-4, 1000], [8, 1000], [2, 0]))
    direction = SamplerDirection(
        np.array([[0, 0], [0, 1], [1, 1]], np.int32), *counts, jumps, fertility
    )
    by, to = Ragged.of([[0], [-1, 0], [0, 1]]), Ragged.of([[0], [-1], [0, 1]])
    starts, out = cell_starts(by, to), np.zeros(7, np.float32)
    unused = np.zeros(0, np.uint32), starts, np.zeros(0, np.int32)
    words = Words(by.values, by.offsets, to.values, to.offsets, *unused)
    tables = tables_of(jumps, fertility, 8)
    for rows in ((0, 1), (1, 3)):
        kernels.add_posteriors(words, rows, direction.known, tables, np.uint64(11), out, 0.5)
    alone = {0: 2.5 / 3.5, -1: 0.5 / 3.5}  # of 2 + 2 x 0.5 + 0.5
    pair = [7 / 8 * 0.4 * 0.4 * 0.5, 0.25 * alone[0] * 0.2]  # a link, no link
    unknown = [
        0.5 * 0.4 * 0.2,
        0.5 / 8 * 0.2 * 0.4 * 0.5,
        0.25 * alone[-1] * 0.01,
    ]  # the last jump is by 3
    expected = [pair[0] / sum(pair), unknown[0] / sum(unknown), unknown[1] / sum(unknown)]
    assert out[:3] == pytest.approx(np.multiply(expected, 0.5), rel=1e-4)
    # The second word of the last pair has type 1 as partner, so that the first jumps to it, and type 1 has a link.
    first = [7 / 8 * 0.4 * 0.4 * 0.5, 0.5 / 1000 * 0.2 * 0.1 * 0.125, 0.25 * alone[0] * 0.2]
    assert out[3:5] == pytest.approx(np.multiply(first[:2], 0.5 / sum(first)), rel=0.02)
    assert out[6] > 0.49


def words_of(*shapes):
    sides = (Ragged.of([[0] * shape[side] for shape in shapes]) for side in (0, 1))
    return WordPairs(*sides, ["a"], ["b"])


def test_portions_hold_all_pairs_in_order_and_few_cells_each(monkeypatch):
    monkeypatch.setattr(sampler, "_MAX_PORTION", 100)
    shapes = [(3, 4), (10, 10), (0, 5), (9, 9), (2, 9), (1, 1), (1, 1)]
    parts = list(sampler.portions(words_of(*shapes)))
    assert [part.first for part in parts] == [0, 1, 3, 6]
    assert [len(part) for part in parts] == [1, 2, 3, 1]
    assert list(sampler.portions(words_of())) == []


def posteriors_of(shapes, rng):
    """Made posteriors, and their forward and backward matrices (sources, targets) per pair."""
    forward, backward = [], []
    for many, others in shapes:
        raw = rng.random((many, others)) ** 3
        forward.append(raw / np.maximum(raw.sum(axis=0) * rng.uniform(1, 2), 1e-9))
        backward.append(raw / np.maximum(raw.sum(axis=1, keepdims=True) * rng.uniform(1, 2), 1e-9))
    source, target = (Ragged.of([[0] * shape[side] for shape in shapes]) for side in (0, 1))
    flat = [np.concatenate([np.zeros(0), *(cell.ravel() for cell in part)]).astype(np.float32)
            for part in ([one.T for one in forward], backward)]  # fmt: skip
    return (
        Posteriors(source.offsets, target.offsets, cell_starts(source, target), *flat),
        forward,
        backward,
    )


SHAPES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=5)


@settings(max_examples=50)
@given(SHAPES, st.integers(0, 1 << 32), st.sampled_from([0.1, 0.25, 0.4]))
def test_links_are_cells_whose_mean_posterior_reaches_the_threshold(shapes, seed, threshold):
    posteriors, forward, backward = posteriors_of(shapes, np.random.default_rng(seed))
    aligned = links_of(posteriors, "posterior", threshold)
    means = [
        (one.astype(np.float32) + other.astype(np.float32)) / 2
        for one, other in zip(forward, backward)  # noqa: B905
    ]
    assert aligned.links.to_lists() == [
        np.argwhere(mean >= np.float32(threshold)).tolist() for mean in means
    ]
    found = [mean[mean >= np.float32(threshold)] for mean in means]
    assert np.allclose(aligned.confidence, np.concatenate([np.zeros(0), *found]), rtol=1e-6)


@settings(max_examples=50)
@given(
    SHAPES,
    st.integers(0, 1 << 32),
    st.sampled_from(["intersection", "union", "grow-diag-final-and"]),
)
def test_heuristics_combine_the_most_probable_partners(shapes, seed, heuristic):
    posteriors, forward, backward = posteriors_of(shapes, np.random.default_rng(seed))
    aligned = links_of(posteriors, heuristic, 0.4)
    chosen = [], []
    for one, other in zip(forward, backward, strict=True):
        best = [(int(one[:, j].argmax()), j) for j in range(one.shape[1]) if len(one)]
        chosen[0].append(sorted((i, j) for i, j in best if one[i, j] > 1 - one[:, j].sum()))
        best = [(i, int(other[i].argmax())) for i in range(len(other)) if other.shape[1]]
        chosen[1].append([(i, j) for i, j in best if other[i, j] > 1 - other[i].sum()])
    expected = symmetrize(*(Ragged.of(part, width=2) for part in chosen), heuristic)
    assert aligned.links == expected
    means = [
        (forward[row][i, j] + backward[row][i, j]) / 2
        for row, links in enumerate(expected)
        for i, j in links
    ]
    assert np.allclose(aligned.confidence, means, rtol=1e-5)
