"""`diagonal`: against a plain reference, and the same in any split of the work."""

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma

from interlace.aligners.diagonal import Diagonal, training
from interlace.aligners.diagonal.kernels import SCALE
from interlace.alignment import WordPairs
from interlace.alignment.lexicon import Lexicon
from little_pairs import HOUSE, check_alignments, pairs_of, random_pairs


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


def test_translations_outweigh_the_diagonal():
    lines = [*HOUSE, ("haus das", "the house"), *HOUSE * 3]
    aligned = Diagonal().fit(pairs_of(lines)).align(pairs_of(lines))
    assert aligned.links[5].tolist() == [[0, 1], [1, 0]]


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
    theta = learnt(fitted)
    near = math.exp(-4 * 0.5)
    forward = theta[0]["a", "x"] / (1 + near) * 0.88
    forward /= forward + theta[0]["b", "x"] * near / (1 + near) * 0.88 + theta[0][None, "x"] * 0.12
    backward = theta[1]["x", "a"] / (1 + near) * 0.88
    backward /= (
        backward + theta[1]["y", "a"] * near / (1 + near) * 0.88 + theta[1][None, "a"] * 0.12
    )
    aligned = fitted.align(pairs.slice(1, 2))
    assert aligned.links[0].tolist()[0] == [0, 0]
    assert aligned.confidence[0] == pytest.approx(math.sqrt(forward * backward), rel=1e-5)


def same(one, other):
    return one.keys() == other.keys() and all(
        np.array_equal(one[name], other[name]) for name in one
    )


def test_counts_do_not_depend_on_threads_chunks_or_pair_order(monkeypatch):
    pairs = random_pairs(3_000, longest=6)
    whole = Diagonal(threads=1).fit(pairs)
    links = whole.align(pairs)
    for threads in (2, 5):
        fitted = Diagonal(threads=threads).fit(pairs)
        assert same(fitted.arrays(), whole.arrays())
        assert fitted.align(pairs).links == links.links
        assert np.array_equal(fitted.align(pairs).confidence, links.confidence)
    order = np.random.default_rng(0).permutation(len(pairs))
    shuffled = WordPairs(
        pairs.source.take(order), pairs.target.take(order), pairs.source_types, pairs.target_types
    )
    assert same(Diagonal().fit(shuffled).arrays(), whole.arrays())
    monkeypatch.setattr(
        WordPairs, "chunks", lambda self: (self.slice(at, at + 500) for at in range(0, 3_000, 500))
    )
    assert same(Diagonal().fit(pairs).arrays(), whole.arrays())
    assert whole.align(pairs).links == links.links


def test_case_is_ignored():
    pairs = pairs_of(
        [("Das Haus", "The house"), ("das haus", "the House"), ("Das buch", "the book")]
    )
    assert Diagonal().fit(pairs).types() == (["das", "haus", "buch"], ["the", "house", "book"])
    fitted = Diagonal().fit(pairs)
    shouted = fitted.align(pairs_of([("DAS HAUS", "THE HOUSE")]))
    assert np.array_equal(shouted.confidence, fitted.align(pairs.slice(0, 1)).confidence)


def lexicon_of(*entries):
    return Lexicon.of([(*entry, 1.0) for entry in entries])


def test_a_lexicon_links_words_missing_in_the_text():
    fitted = Diagonal().fit(pairs_of(HOUSE), lexicon_of(("hund", "dog"), ("rot", "red")))
    new = pairs_of([("hund rot", "red dog")])
    assert fitted.align(new).links[0].tolist() == [[0, 1], [1, 0]]
    assert Diagonal().fit(pairs_of(HOUSE)).align(new).links[0].tolist() == [[0, 0], [1, 1]]


lines = st.lists(st.sampled_from("abcdeABC"), max_size=7).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(lines, lines), min_size=1, max_size=8),
    st.lists(st.tuples(lines, lines), min_size=1, max_size=4),
    st.sampled_from([1e-4, 0.01, 1.0]),
    st.sampled_from([0.0, 0.08]),
)
def test_any_lines_get_links(known, new, alpha, null):
    aligner = Diagonal(alpha=alpha, null=null, symmetrization="union")
    pairs = pairs_of([*known, ("a", "b")])
    fitted = aligner.fit(pairs)
    for some in (pairs, pairs_of(new)):
        check_alignments(fitted.align(some), some)


def test_a_word_is_paired_with_all_words_of_a_long_sentence():
    pairs = pairs_of([("a", " ".join(map(str, range(9_000))))])
    assert Diagonal(iterations=1).fit(pairs).arrays()["degrees"].tolist() == [9_000]


def test_pairs_without_words_on_one_side_get_no_links():
    pairs = pairs_of([*HOUSE, ("das", "")])
    assert len(Diagonal().fit(pairs).align(pairs).links[5]) == 0
