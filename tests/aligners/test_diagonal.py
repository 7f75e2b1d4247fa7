"""`diagonal`: against a plain reference, and the same in any split of the work."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import digamma

from interlace.aligners.diagonal import Diagonal, training
from interlace.aligners.diagonal.kernels import SCALE
from interlace.alignment import WordPairs
from little_pairs import pairs_of, random_pairs


def posteriors_of(source, target, theta, aligner):
    """(m, n) geometric means of the forward and backward posteriors of a pair, which is given by its types."""
    m, n = len(source), len(target)
    distance = abs(np.arange(1, m + 1)[:, None] / m - np.arange(1, n + 1) / n)
    near = np.exp(-training._TENSION * distance)
    odds = aligner.null / (1 - aligner.null)
    forward = theta[0][np.ix_(source, target)] * near / near.sum(0)
    forward /= forward.sum(0) + theta[0][-1, target] * odds
    backward = theta[1][np.ix_(target, source)] * near.T / near.sum(1)
    backward /= backward.sum(0) + theta[1][-1, source] * odds
    return np.sqrt(forward * backward.T)


def empty_tables(pairs):
    """(source types and null, target types) and (target types and null, source types)."""
    source, target = len(pairs.source_types), len(pairs.target_types)
    return np.zeros((source + 1, target)), np.zeros((target + 1, source))


def reference(pairs, aligner):
    """The model by plain loops over pairs: p(target | source or null) and p(source | target or null)."""
    theta = [table + 1 for table in empty_tables(pairs)]
    for _ in range(aligner.iterations):
        counts, seen = empty_tables(pairs), empty_tables(pairs)
        for source, target in zip(
            pairs.source.to_lists(), pairs.target.to_lists(), strict=True
        ):
            posterior = posteriors_of(source, target, theta, aligner)
            np.add.at(counts[0], np.ix_(source, target), posterior)
            np.add.at(counts[1], np.ix_(target, source), posterior.T)
            np.add.at(counts[0][-1], target, np.maximum(1 - posterior.sum(0), 0))
            np.add.at(counts[1][-1], source, np.maximum(1 - posterior.sum(1), 0))
            seen[0][np.ix_([*source, -1], target)] = 1
            seen[1][np.ix_([*target, -1], source)] = 1
        for way in (0, 1):
            smoothed = counts[way] + aligner.alpha
            totals = (smoothed * seen[way]).sum(axis=1, keepdims=True)
            theta[way] = np.exp(digamma(smoothed) - digamma(totals)) * seen[way]
    return theta


def learnt(fitted, pairs):
    """The same of a fitted model."""
    arrays = fitted.arrays()
    source = np.array([pairs.source_types.index(word) for word in fitted.types()[0]])
    target = np.array([pairs.target_types.index(word) for word in fitted.types()[1]])
    rows, columns = np.repeat(source, arrays["degrees"]), target[arrays["targets"]]
    forward, backward = empty_tables(pairs)
    forward[rows, columns] = arrays["forward"]
    forward[-1, target] = arrays["target_null"]
    backward[columns, rows] = arrays["backward"]
    backward[-1, source] = arrays["source_null"]
    return forward / SCALE, backward / SCALE


@pytest.fixture
def constant_tension(monkeypatch):
    monkeypatch.setattr(training, "_TENSION_RATE", 0.0)


@pytest.mark.usefixtures("constant_tension")
def test_probabilities_equal_a_plain_reference():
    pairs = random_pairs(40)
    aligner = Diagonal()
    found = learnt(aligner.fit(pairs), pairs)
    for theirs, expected in zip(found, reference(pairs, aligner), strict=True):
        np.testing.assert_allclose(theirs, expected, rtol=1e-3, atol=1e-12)


def test_tension_follows_the_distance_of_links_from_the_diagonal(monkeypatch):
    monkeypatch.setattr(training, "_TENSION_RATE", 20.0)
    rng = np.random.default_rng(0)
    straight = [rng.choice(50, 12, replace=False).tolist() for _ in range(200)]
    crossed = [rng.permutation(row).tolist() for row in straight]
    for others, risen in ((straight, True), (crossed, False)):
        texts = [[" ".join(map(str, row)) for row in side] for side in (straight, others)]
        tensions = Diagonal().fit(pairs_of(list(zip(*texts, strict=True)))).arrays()["tensions"]
        assert ((tensions > 6) if risen else (tensions < 1)).all()


@pytest.mark.usefixtures("constant_tension")
def test_a_confidence_is_the_geometric_mean_of_both_posteriors():
    pairs = pairs_of([("a", "x"), ("a b", "x y")])
    aligner = Diagonal(symmetrization="intersection")
    fitted = aligner.fit(pairs)
    expected = posteriors_of([0, 1], [0, 1], learnt(fitted, pairs), aligner)
    aligned = fitted.align(pairs.slice(1, 2))
    assert aligned.links[0].tolist()[0] == [0, 0]
    assert aligned.confidence[0] == pytest.approx(expected[0, 0], rel=1e-5)


def test_counts_do_not_depend_on_chunks_or_pair_order(monkeypatch):
    pairs = random_pairs(3_000, longest=6)
    whole = Diagonal(threads=1).fit(pairs)
    order = np.random.default_rng(0).permutation(len(pairs))
    shuffled = replace(pairs, source=pairs.source.take(order), target=pairs.target.take(order))
    in_other_order = Diagonal().fit(shuffled)
    monkeypatch.setattr(WordPairs.chunks, "__defaults__", (500,))
    in_chunks = Diagonal().fit(pairs)
    for name, array in whole.arrays().items():
        assert np.array_equal(in_other_order.arrays()[name], array)
        assert np.array_equal(in_chunks.arrays()[name], array)
