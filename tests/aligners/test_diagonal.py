"""`diagonal`: against a plain reference, and the same in any split of the work."""

import math
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import digamma

from interlace.aligners.diagonal import Diagonal, training
from interlace.aligners.diagonal.kernels import SCALE
from interlace.alignment import WordPairs
from little_pairs import pairs_of, random_pairs


def posteriors_of(source, target, theta, aligner):
    """(m, n) forward and backward posteriors of a pair."""
    m, n = len(source), len(target)
    near = np.exp(
        -training._TENSION * abs(np.arange(1, m + 1)[:, None] / m - np.arange(1, n + 1) / n)
    )
    forward, backward = np.zeros((m, n)), np.zeros((m, n))
    for j, f in enumerate(target):
        weights = [theta[0][e, f] * near[i, j] / near[:, j].sum() for i, e in enumerate(source)]
        null = theta[0][None, f] * aligner.null / (1 - aligner.null)
        forward[:, j] = np.array(weights) / (sum(weights) + null)
    for i, e in enumerate(source):
        weights = [theta[1][f, e] * near[i, j] / near[i].sum() for j, f in enumerate(target)]
        null = theta[1][None, e] * aligner.null / (1 - aligner.null)
        backward[i] = np.array(weights) / (sum(weights) + null)
    return [np.sqrt(forward * backward)] * 2


def counted(pairs, theta, aligner):
    """Expected counts of (explaining type or None, explained type), forward and backward."""
    counts = defaultdict(float), defaultdict(float)
    for source, target in zip(pairs.source.to_lists(), pairs.target.to_lists(), strict=True):
        forward, backward = posteriors_of(source, target, theta, aligner)
        for i, e in enumerate(source):
            counts[1][None, e] += max(1 - backward[i].sum(), 0)
            for j, f in enumerate(target):
                counts[0][e, f] += forward[i, j]
                counts[1][f, e] += backward[i, j]
        for j, f in enumerate(target):
            counts[0][None, f] += max(1 - forward[:, j].sum(), 0)
    return counts


def reference(pairs, aligner):
    """The model by dictionaries and loops: p(target | source), p(source | target), and of the null word."""
    theta = [defaultdict(lambda: 1.0), defaultdict(lambda: 1.0)]
    for _ in range(aligner.iterations):
        for way, counts in enumerate(counted(pairs, theta, aligner)):
            totals = defaultdict(float)
            for (explaining, _), count in counts.items():
                totals[explaining] += count + aligner.alpha
            for (explaining, explained), count in counts.items():
                mass = digamma(count + aligner.alpha) - digamma(totals[explaining])
                theta[way][explaining, explained] = math.exp(mass)
    return theta


def learnt(fitted):
    """The same of a fitted model."""
    arrays, (source, target) = fitted.arrays(), fitted.types()
    rows = np.repeat(np.arange(len(source)), arrays["degrees"])
    theta = [{}, {}]
    for e, f, forward, backward in zip(
        rows, arrays["targets"], arrays["forward"], arrays["backward"], strict=True
    ):
        theta[0][source[e], target[f]] = forward / SCALE
        theta[1][target[f], source[e]] = backward / SCALE
    theta[0] |= {
        (None, f): value / SCALE for f, value in zip(target, arrays["target_null"], strict=True)
    }
    theta[1] |= {
        (None, e): value / SCALE for e, value in zip(source, arrays["source_null"], strict=True)
    }
    return theta


@pytest.fixture
def constant_tension(monkeypatch):
    monkeypatch.setattr(training, "_TENSION_RATE", 0.0)


@pytest.mark.usefixtures("constant_tension")
def test_probabilities_equal_a_plain_reference():
    pairs = random_pairs(40)
    aligner = Diagonal()
    mine, expected = learnt(aligner.fit(pairs)), reference(pairs, aligner)
    spellings = ((pairs.source_types, pairs.target_types), (pairs.target_types, pairs.source_types))
    for way, (explaining, explained) in enumerate(spellings):
        assert len(mine[way]) == len(expected[way])
        for (e, f), value in expected[way].items():
            own = mine[way][None if e is None else explaining[e], explained[f]]
            assert own == pytest.approx(value, rel=1e-3, abs=1e-12)


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
    expected = posteriors_of(["a", "b"], ["x", "y"], learnt(fitted), aligner)[0]
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
