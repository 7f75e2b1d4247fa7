"""Views, samplers, which pairs train, and links from posteriors of `gibbs`: by hand and against plain loops."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.aligners import Alignments
from interlace.aligners.common.inputs import Prior, Vocabularies
from interlace.aligners.gibbs import kernels
from interlace.aligners.gibbs.kernels import ALPHA, Tally
from interlace.aligners.gibbs.model import (
    FERTILITIES,
    MAX_JUMP,
    Cut,
    Posteriors,
    SamplerModel,
    evidence_factors,
    links_of,
    tables_of,
    words_of,
)
from interlace.aligners.gibbs.sampler import Sampler, TextPart
from interlace.core.ragged import Ragged

NO_PRIOR = Prior.of(None, Vocabularies.of())
NO_EVIDENCE = (np.empty(0, np.float32), np.empty(0, np.float32))


def view_of(by, to, cuts):
    return TextPart((Ragged.of(by), Ragged.of(to)), [cuts], NO_PRIOR, NO_EVIDENCE).view(0)


def sampler_of(by, to, types, way=0, links=None, seed=0):
    """A sampler of whole words, and of given links to start with."""
    cuts = tuple(Cut(np.arange(many, dtype=np.int32), many) for many in types)
    view = view_of(by, to, cuts)
    if links is not None:
        view = replace(view, links=np.stack([links(len(view.entries))] * 2))
    return Sampler(view.reversed() if way else view, None, np.random.default_rng(seed))


def test_a_view_numbers_pairs_of_cut_types():
    cuts = (Cut.of(["haus", "hausen", "das"], 4), Cut.of(["house", "the", "houses", "t"], 1))
    view = view_of([[2, 0], [], [1]], [[1, 0, 3], [1], [2]], cuts)
    # das-t, haus-t, das-h, haus-h
    assert view.entries.tolist() == [
        [1, 1],
        [0, 1],
        [1, 0],
        [0, 0],
    ]
    assert view.words.cells.tolist() == [0, 1, 2, 3, 0, 1, 3]  # a row per target word
    backward = view.reversed()
    assert backward.words.cell_starts.tolist() == [0, 6, 6, 7]
    assert backward.words.cells.tolist() == [0, 2, 0, 1, 3, 1, 3]  # a row per source word


def jump_table(widths):
    """Probabilities of these jumps; 0.01 of all others."""
    jumps = np.full(2 * MAX_JUMP + 1, 0.01, np.float32)
    for width, probability in widths.items():
        jumps[MAX_JUMP + width] = probability
    return jumps


def swept(sampler, chosen, tables, seed):
    """What one sweep over the words of a sampler tallies."""
    sampler.chosen[:] = chosen
    fertility = np.zeros((len(sampler.counts.words), FERTILITIES), np.int32)
    posterior = np.zeros(len(sampler.words.cells), np.float32)
    tally = Tally(np.zeros(17, np.int64), fertility, posterior, True)
    state = np.uint64(seed)
    kernels.sweep(sampler.words, sampler.chosen, sampler.count_links(), tables, tally, state)
    return tally


@pytest.mark.parametrize(
    ("model", "factors"),
    [
        # of a, b and no partner: which is one of as many candidates
        (
            kernels.WORDS,
            (1, 1, 2),
        ),
        # a: -1 -> 0 -> 1; b: -1 -> 1 -> 1; none: -1 -> 1
        (kernels.JUMPS, (0.5 * 0.5, 0.2 * 0.1, 0.2)),
        (kernels.FERTILITY, (0.5 * 0.5, 0.2 * 0.1 * 0.3, 0.2)),  # b has a second link
    ],
)
def test_the_probability_of_one_word_by_hand(model, factors):
    unit = kernels.UNIT
    # Two pairs, "a b" - "x y" and "a" - "x". Links: a-x in the second; y has b; x of the first is drawn.
    sampler = sampler_of([[0, 1], [0]], [[0, 1], [0]], types=(2, 2))
    fertility = np.ones((2, FERTILITIES), np.float32)
    fertility[1, 1] = 0.3
    tables = tables_of(jump_table({1: 0.5, 2: 0.2, 0: 0.1}), fertility, 8)._replace(model=model)
    tally = swept(sampler, [kernels.NONE, 1, 0], tables, seed=5)
    # With one link of b to y and one of a to x: p(x|a) = (1 + unit) / (2 + unit), p(x|b) = 1 / (2 + unit); x, which is
    # never alone, has one of two types.
    a = (1 + unit) / (2 + unit) * factors[0]
    b = 1 / (2 + unit) * factors[1]
    none = 0.25 * 1 / 2 * factors[2]
    assert tally.posterior[:2] == pytest.approx(
        [a / (a + b + none), b / (a + b + none)], rel=1e-5
    )


def test_evidence_is_a_factor_of_the_weight():
    """As above without jumps: a has 4 times, b half of its weight; having no partner keeps its weight."""
    unit = kernels.UNIT
    sampler = sampler_of([[0, 1], [0]], [[0, 1], [0]], types=(2, 2))
    sampler.words = sampler.words._replace(evidence=np.float32([4, 0.5, 1, 1, 1]))
    tables = tables_of(jump_table({}), np.ones((2, FERTILITIES), np.float32), 8)
    words = tables._replace(model=kernels.WORDS)
    tally = swept(sampler, [kernels.NONE, 1, 0], words, seed=5)
    a = (1 + unit) / (2 + unit) * 4
    b = 1 / (2 + unit) * 0.5
    expected = np.array([a, b]) / (a + b + 0.25)
    assert tally.posterior[:2] == pytest.approx(expected, rel=1e-5)


def test_evidence_factors_by_hand():
    """Factors are 30 times the squared confidence, of a link without any, or with less, .03."""
    links = Ragged.of([[(1, 0)], [], [(0, 1), (0, 0)]], width=2)
    evidence = Alignments(links, np.float32([0.5, 0.1, 0.001]))
    by_target, by_source = evidence_factors(
        evidence, Ragged.of([[0, 0], [0], [0]]), Ragged.of([[0, 0], [], [0, 0]])
    )
    low = 30 * 0.03**2
    np.testing.assert_allclose(by_target, [low, 7.5, low, low, low, 0.3], rtol=1e-6)
    np.testing.assert_allclose(by_source, [low, low, 7.5, low, low, 0.3], rtol=1e-6)


def random_rows(rng, types=(5, 6), pairs=12, longest=6):
    return [
        [rng.integers(0, many, rng.integers(0, longest)).tolist() for _ in range(pairs)]
        for many in types
    ]


@pytest.mark.parametrize("way", [0, 1], ids=["forward", "backward"])
@pytest.mark.parametrize("model", [kernels.WORDS, kernels.JUMPS, kernels.FERTILITY])
def test_a_sweep_counts_jumps_and_fertilities(way, model):
    rng = np.random.default_rng(model)
    sides = random_rows(rng)
    sampler = sampler_of(*sides, types=(5, 6), way=way)
    table = rng.dirichlet(np.ones(2 * MAX_JUMP + 1)).astype(np.float32)
    tables = tables_of(table, np.ones((6, 1), np.float32), 8)._replace(model=model)
    tally = swept(sampler, kernels.NONE, tables, seed=7)
    jumps, fertilities = Counter(), Counter()
    drawn_rows = Ragged(sampler.chosen, sampler.words.to_starts).to_lists()
    for row, links in zip(sides[way], drawn_rows, strict=True):
        partners = [link for link in links if link != kernels.NONE]
        if row and links:
            jumps.update(
                after - before for before, after in pairwise([-1, *partners, len(row)])
            )
            fertilities.update((kind, partners.count(place)) for place, kind in enumerate(row))
    assert tally.jumps.tolist() == [jumps[width] for width in range(-8, 9)]
    assert {
        entry: count for entry, count in np.ndenumerate(tally.fertility) if count
    } == fertilities


@settings(max_examples=40)
@given(st.integers(0, 1 << 32), st.integers(1, 5))
def test_counts_equal_those_of_the_links(seed, sweeps):
    rng = np.random.default_rng(seed)
    sampler = sampler_of(
        *random_rows(rng),
        types=(5, 6),
        links=lambda pairs: rng.integers(0, 3, pairs),
        seed=seed,
    )
    prior = sampler.view.links[0].sum()
    learned = sampler.run([sweeps, 1, sweeps + 1], lambda: None).model
    for tracked, recounted in zip(sampler.counts, sampler.count_links(), strict=True):
        assert np.array_equal(tracked, recounted)
    links = learned.pairs.sum() - len(learned.pairs) * ALPHA - prior
    assert links + learned.alone.sum() == pytest.approx(len(sampler.words.to), rel=1e-3)
    assert ((sampler.posterior >= 0) & (sampler.posterior <= 1.001)).all()


def test_posteriors_of_new_pairs_by_hand(monkeypatch):
    """One word has the same posterior in all sweeps; of two words, the second has a certain partner.

    Type 0 has 7 of 8 links to 0, type 1 all to 1; words are alone 2 and 0 times, the Dirichlet prior is 0.5.
    """
    monkeypatch.setattr("interlace.aligners.gibbs.model.ALPHA", 0.5)
    jumps, fertility = (
        jump_table({1: 0.4, 2: 0.2, 0: 0.1}),
        np.ones((2, FERTILITIES), np.float32),
    )
    fertility[0, 0], fertility[1, :2] = 0.5, (25, 0.125)
    counts = (np.array(part, np.float32) for part in ([7, 1e-4, 1000], [8, 1000], [2, 0]))
    cuts = (Cut(np.arange(2, dtype=np.int32), 2), Cut(np.arange(2, dtype=np.int32), 2))
    entries = np.array([[0, 0], [0, 1], [1, 1]], np.int32)
    model = SamplerModel(cuts, entries, *counts, jumps, fertility)
    by, to = Ragged.of([[0], [-1, 0], [0, 1]]), Ragged.of([[0], [-1], [0, 1]])
    out = np.zeros(7, np.float32)
    words = words_of(by, to, cuts)
    tables = tables_of(jumps, fertility, 8)
    for rows in ((0, 1), (1, 3)):
        kernels.add_posteriors(words, model.known, tables, rows, np.uint64(11), out, 0.5)
    alone = {0: 2.5 / 3.5, -1: 0.5 / 3.5}  # of 2 + 2 x 0.5 + 0.5
    pair = [7 / 8 * 0.4 * 0.4 * 0.5, 0.25 * alone[0] * 0.2]  # a link, no link
    # the last jump is by 3
    unknown = [
        0.5 * 0.4 * 0.2,
        0.5 / 8 * 0.2 * 0.4 * 0.5,
        0.25 * alone[-1] * 0.01,
    ]
    expected = [pair[0] / sum(pair), unknown[0] / sum(unknown), unknown[1] / sum(unknown)]
    assert out[:3] == pytest.approx(np.multiply(expected, 0.5), rel=1e-4)
    # The second word of the last pair has type 1 as partner, so that the first jumps to it, and type 1 has a link.
    first = [7 / 8 * 0.4 * 0.4 * 0.5, 0.5 / 1000 * 0.2 * 0.1 * 0.125, 0.25 * alone[0] * 0.2]
    assert out[3:5] == pytest.approx(np.multiply(first[:2], 0.5 / sum(first)), rel=0.02)
    assert out[6] > 0.49


@pytest.mark.parametrize(
    ("symmetrization", "threshold", "expected"),
    [
        ("posterior", 0.4, {(0, 0): 0.6}),
        ("posterior", 0.3, {(0, 0): 0.6, (1, 1): 0.35}),
        ("intersection", 0.4, {(0, 0): 0.6}),
        ("union", 0.4, {(0, 0): 0.6, (1, 1): 0.35}),
    ],
)
def test_links_from_posteriors_by_hand(symmetrization, threshold, expected):
    """Two source and two target words. Forward by target word: .7 .2, .3 .4; backward by source word: .5 .1, .1 .3.

    Means (a row per source word): .6 .2, .15 .35. Forward, both words have a partner; backward, only the first.
    """
    words = Ragged.of([[0, 0]])
    forward = np.array([0.7, 0.2, 0.3, 0.4], np.float32)
    backward = np.array([0.5, 0.1, 0.1, 0.3], np.float32)
    starts = np.array([0, 4])
    posteriors = Posteriors(words.offsets, words.offsets, starts, forward, backward)
    aligned = links_of(posteriors, symmetrization, threshold)
    links = map(tuple, aligned.links[0].tolist())
    assert dict(zip(links, aligned.confidence, strict=True)) == pytest.approx(expected)


def test_links_that_grow_have_their_mean_posterior():
    """Forward, source word 0 is the partner of both target words; backward, it chooses the first, and word 1 none."""
    words = Ragged.of([[0, 0]])
    forward = np.array([0.7, 0.2, 0.6, 0.1], np.float32)
    backward = np.array([0.5, 0.1, 0.1, 0.3], np.float32)
    starts = np.array([0, 4])
    posteriors = Posteriors(words.offsets, words.offsets, starts, forward, backward)
    aligned = links_of(posteriors, "grow", threshold=0.4)
    assert aligned.links.to_lists() == [[[0, 0], [0, 1]]]
    assert aligned.confidence == pytest.approx([0.6, 0.35])  # means of .7 and .5, of .6 and .1
