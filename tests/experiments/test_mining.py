"""Mined pairs are those of the formula over all pairs of lines, in chunks of any size; a stopped run resumes."""

import itertools

import numpy as np
import pytest

from interlace.core.errors import DataError
from interlace.core.neighbors import nearest_both_ways, unit
from interlace.experiments import mining
from interlace.experiments.mining import EncodedLines, distinct_lines, mine, mined_pairs
from interlace.text.lines import write_lines


class WordVectors:
    """Encodes a line as the sum of vectors of its words' first letters; counts the lines that it encodes."""

    key = "words"

    def __init__(self, fails_at=None):
        self.fails_at = fails_at
        self.encoded = 0

    def vectors(self, lines, language):
        self.encoded += len(lines)
        if self.fails_at is not None and self.encoded > self.fails_at:
            raise KeyboardInterrupt
        table = np.random.default_rng(0).normal(size=(26, 12))
        rows = [sum(table[ord(word[0]) - ord("a")] for word in line.split()) for line in lines]
        return np.array(rows, np.float32)


def lines_of(count, seed):
    rng = np.random.default_rng(seed)
    letters = rng.choice(list("abcdefghijklmnopqrstuvwxyz"), size=(count, 4))
    return [" ".join(letter + str(seed) for letter in row) for row in letters]


def by_formula(cosines, k, strategy):
    """The score of each pair, by loops over all pairs of lines."""
    n, m = cosines.shape
    k_of_source = np.sort(cosines, axis=1)[:, ::-1][:, :k].mean(axis=1)
    k_of_target = np.sort(cosines, axis=0)[::-1][:k].mean(axis=0)
    scores = cosines / ((k_of_source[:, None] + k_of_target) / 2)
    near_source = np.argsort(-cosines, axis=1)[:, :k]
    near_target = np.argsort(-cosines.T, axis=1)[:, :k]
    forward = {(i, max(near_source[i], key=lambda j: scores[i, j])) for i in range(n)}
    backward = {(max(near_target[j], key=lambda i: scores[i, j]), j) for j in range(m)}
    candidates = {
        "forward": forward,
        "backward": backward,
        "intersect": forward & backward,
        "max": forward | backward,
    }[strategy]
    pairs = sorted(candidates, key=lambda pair: -scores[pair])
    if strategy == "max":
        kept = []
        for i, j in pairs:
            if all(i != other_i and j != other_j for other_i, other_j in kept):
                kept.append((i, j))
        pairs = kept
    return {(int(i), int(j)): scores[i, j] for i, j in pairs}


@pytest.mark.parametrize(
    ("strategy", "k"),
    list(itertools.product(["forward", "backward", "intersect", "max"], [1, 3])),
)
def test_pairs_are_those_of_the_formula(strategy, k):
    rng = np.random.default_rng(5)
    source = unit(rng.normal(size=(20, 6)) + 1)
    target = unit(rng.normal(size=(25, 6)) + 1)
    found = mined_pairs(*nearest_both_ways(source, target, k), strategy)
    expected = by_formula(source.astype(np.float64) @ target.T, k, strategy)
    pairs = zip(found.source.tolist(), found.target.tolist(), strict=True)
    assert dict(zip(pairs, found.scores, strict=True)) == pytest.approx(expected, rel=1e-5)
    assert (np.diff(found.scores) <= 0).all()


def encoded(lines, encoder, name="text"):
    return EncodedLines.of(name, lines, "en", encoder)


def test_chunks_do_not_change_the_pairs_and_a_stopped_run_resumes(own_cache, monkeypatch):
    source = lines_of(40, 1)
    target = lines_of(30, 2)
    whole = mine(encoded(source, WordVectors()), encoded(target, WordVectors()), 4, "max")
    monkeypatch.setattr(mining, "CHUNK", 7)
    with pytest.raises(KeyboardInterrupt):
        encoded(source, WordVectors(fails_at=16))
    resumed = WordVectors()
    texts = encoded(source, resumed), encoded(target, resumed)
    assert resumed.encoded == 70 - 14  # two chunks were there
    chunked = mine(*texts, 4, "max")
    for name in ("source", "target"):
        np.testing.assert_array_equal(getattr(chunked, name), getattr(whole, name))
    np.testing.assert_allclose(chunked.scores, whole.scores, rtol=1e-5)
    grown = WordVectors()
    encoded([*source, "a b"], grown)
    assert grown.encoded == 40 - 35 + 1  # the last chunk


def test_lines_are_read_once_each_without_tabs(tmp_path):
    write_lines(tmp_path / "text.gz", [" a\tcat ", "", "a cat", "  ", "a dog"])
    assert distinct_lines(tmp_path / "text.gz") == ["a cat", "a dog"]
    write_lines(tmp_path / "empty", [" "])
    with pytest.raises(DataError, match="empty: has no text"):
        distinct_lines(tmp_path / "empty")
