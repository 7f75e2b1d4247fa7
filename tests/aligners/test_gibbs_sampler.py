"""Views of a text, which pairs are training, and from posteriors to links: against plain loops."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.aligners.gibbs import Gibbs, kernels, training
from interlace.aligners.gibbs.kernels import Posteriors
from interlace.aligners.gibbs.sampler import Cut, View, cell_starts
from interlace.alignment import WordPairs
from interlace.alignment.symmetrization import symmetrize
from interlace.core.ragged import Ragged

SOURCE, TARGET = ["haus", "hausen", "das"], ["house", "the", "houses", "t"]
NONE = np.zeros((0, 2), np.int32)

# ---- views ----


def test_words_are_cut_to_their_first_letters():
    assert Cut.of(SOURCE, 0).numbers.tolist() == [0, 1, 2]
    cut = Cut.of(SOURCE, 4)
    assert (cut.numbers.tolist(), cut.size) == ([0, 0, 1], 2)
    assert cut(np.array([1, -1, 2], np.int32)).tolist() == [0, -1, 1]
    assert Cut.of([], 3)(np.array([-1, -1], np.int32)).tolist() == [-1, -1]


def test_a_view_numbers_the_pairs_of_cut_types_and_has_its_cells_both_ways():
    source, target = Ragged.of([[2, 0], [], [1]]), Ragged.of([[1, 0, 3], [1], [2]])
    cuts = (Cut.of(SOURCE, 4), Cut.of(TARGET, 1))  # haus, das; h, t
    view = View.of(source, target, cuts, NONE)
    assert view.sizes == (2, 2)
    assert view.entries.tolist() == [[1, 1], [0, 1], [1, 0], [0, 0]]  # das-t, haus-t, das-h, haus-h
    assert view.forward.cell_starts.tolist() == view.backward.cell_starts.tolist() == [0, 6, 6, 7]
    assert view.forward.cells.tolist() == [0, 1, 2, 3, 0, 1, 3]  # a row a target word
    assert view.backward.cells.tolist() == [0, 2, 0, 1, 3, 1, 3]  # a row a source word
    assert view.forward.by.tolist() == view.backward.to.tolist() == [1, 0, 0]
    assert view.forward.to.tolist() == view.backward.by.tolist() == [1, 0, 1, 1, 0]


def test_pairs_that_a_prior_names_are_the_first_entries_whether_they_meet_or_not():
    source, target = Ragged.of([[0]]), Ragged.of([[0]])
    extra = np.array([[2, 3], [0, 0]], np.int32)
    view = View.of(source, target, (Cut.of(SOURCE, 0), Cut.of(TARGET, 0)), extra)
    assert view.entries.tolist() == extra.tolist()
    assert view.forward.cells.tolist() == [1]


rows = st.lists(st.lists(st.integers(0, 3), max_size=7), min_size=1, max_size=6)


@given(rows)
def test_twins_go_round_the_words_of_a_type_in_a_row(lists):
    words = Ragged.of(lists)
    twins = Ragged(kernels.twins(words.values, words.offsets, 4), words.offsets)
    for row, next_ones in zip(words, twins, strict=True):
        for place, kind in enumerate(row):
            same = np.flatnonzero(row == kind).tolist()
            assert next_ones[place] == same[(same.index(place) + 1) % len(same)]


# ---- which pairs ----


def words_of(*shapes):
    sides = (Ragged.of([[0] * shape[side] for shape in shapes]) for side in (0, 1))
    return WordPairs(*sides, ["a"], ["b"])


def test_pairs_that_get_no_links_lose_their_words_and_keep_their_row(caplog):
    pairs = words_of((2, 3), (0, 4), (3_000, 3_000), (5, 0), (1, 1))
    assert training.cells_of(pairs).tolist() == [6, 0, 0, 0, 1]
    kept = training.usable(pairs)
    assert kept.source.lengths.tolist() == [2, 0, 0, 0, 1]
    assert kept.target.lengths.tolist() == [3, 0, 0, 0, 1]
    training.warn_about_long(pairs)
    assert "1 of 5 pairs have more than 4194304" in caplog.text
    whole = words_of((2, 3), (1, 1))
    assert training.usable(whole) is whole


def test_too_many_cells_are_learnt_from_in_evenly_spaced_pairs(caplog):
    pairs = words_of(*[(10, 10), (0, 3)] * 40)
    assert training.sample(pairs, 4_000) is None
    with caplog.at_level(logging.INFO):
        part = training.sample(pairs, 1_000)
    assert part.source.lengths.tolist() == [10] * 10
    assert "training on 10 of 40 pairs" in caplog.text
    assert len(training.sample(words_of((2_000, 2_000)), 1_000)) == 1


def test_portions_hold_all_pairs_in_order_and_few_cells_each(monkeypatch):
    monkeypatch.setattr(training, "_MAX_PORTION", 100)
    shapes = [(3, 4), (10, 10), (0, 5), (9, 9), (2, 9), (1, 1), (1, 1)]
    parts = list(training.portions(words_of(*shapes)))
    assert [part.first for part in parts] == [0, 1, 3, 6]
    assert [len(part) for part in parts] == [1, 2, 3, 1]
    assert list(training.portions(words_of())) == []


# ---- links ----


def posteriors_of(shapes, rng):
    """Made posteriors, and their forward and backward matrices (sources, targets) a pair."""
    forward, backward = [], []
    for many, others in shapes:
        raw = rng.random((many, others)) ** 3
        forward.append(raw / np.maximum(raw.sum(axis=0) * rng.uniform(1, 2), 1e-9))
        backward.append(raw / np.maximum(raw.sum(axis=1, keepdims=True) * rng.uniform(1, 2), 1e-9))
    source, target = (Ragged.of([[0] * shape[side] for shape in shapes]) for side in (0, 1))
    flat = [np.concatenate([np.zeros(0), *(cell.ravel() for cell in part)]).astype(np.float32)
            for part in ([one.T for one in forward], backward)]  # fmt: skip
    return Posteriors(source.offsets, target.offsets, cell_starts(source, target), *flat), forward, backward


shapes = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=5)


@settings(max_examples=50)
@given(shapes, st.integers(0, 1 << 32), st.sampled_from([0.1, 0.25, 0.4]))
def test_links_are_cells_whose_mean_posterior_reaches_the_threshold(shapes, seed, threshold):
    posteriors, forward, backward = posteriors_of(shapes, np.random.default_rng(seed))
    aligned = Gibbs(threshold=threshold).links(posteriors)
    means = [(one.astype(np.float32) + other.astype(np.float32)) / 2 for one, other in zip(forward, backward)]  # noqa: B905
    assert aligned.links.to_lists() == [np.argwhere(mean >= np.float32(threshold)).tolist() for mean in means]
    found = [mean[mean >= np.float32(threshold)] for mean in means]
    assert np.allclose(aligned.confidence, np.concatenate([np.zeros(0), *found]), rtol=1e-6)


@settings(max_examples=50)
@given(shapes, st.integers(0, 1 << 32), st.sampled_from(["intersection", "union", "grow-diag-final-and"]))
def test_heuristics_join_the_likeliest_partners_that_are_likelier_than_none(shapes, seed, heuristic):
    posteriors, forward, backward = posteriors_of(shapes, np.random.default_rng(seed))
    aligned = Gibbs(symmetrization=heuristic).links(posteriors)
    chosen = [], []
    for one, other in zip(forward, backward, strict=True):
        best = [(int(one[:, j].argmax()), j) for j in range(one.shape[1]) if len(one)]
        chosen[0].append(sorted((i, j) for i, j in best if one[i, j] > 1 - one[:, j].sum()))
        best = [(i, int(other[i].argmax())) for i in range(len(other)) if other.shape[1]]
        chosen[1].append([(i, j) for i, j in best if other[i, j] > 1 - other[i].sum()])
    expected = symmetrize(*(Ragged.of(part, width=2) for part in chosen), heuristic)
    assert aligned.links == expected
    means = [(forward[row][i, j] + backward[row][i, j]) / 2 for row, links in enumerate(expected) for i, j in links]
    assert np.allclose(aligned.confidence, means, rtol=1e-5)


def test_a_link_by_heuristic_never_has_no_confidence():
    source = np.array([0, 2], np.int64)
    posterior = np.array([0.9, 0, 0, 0.9], np.float32)
    posteriors = Posteriors(source, source, np.array([0, 4], np.int64), posterior, np.zeros(4, np.float32))
    aligned = Gibbs(symmetrization="union").links(posteriors)
    assert aligned.links.to_lists() == [[[0, 0], [1, 1]]]
    assert aligned.confidence == pytest.approx(0.45)
    nothing = posteriors._replace(by_target=np.array([1e-9, 0, 0, 0.9], np.float32))
    links = Ragged.of([[(0, 0), (1, 0)]], width=2)
    confidence = np.empty(2, np.float32)
    kernels.mean_at(nothing, links.offsets, links.values, confidence)
    assert confidence.tolist() == pytest.approx([1e-6, 1e-6])
