"""Would it be so on other test examples, of these very runs? Bootstraps and paired tests over examples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.errors import DataError
from interlace.scores import DRAWS, Interval, Tested
from interlace.scores._measures import MEASURES
from interlace.scores._values import percentiles, share

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from interlace.core.randomness import Generator

    Floats = NDArray[np.float64]

_BLOCK = 256  # draws at a time, so that memory does not grow with their number


@dataclass(frozen=True)
class Examples:
    """What one system got on the examples of a test set; the score is `sum(score) / sum(weight)`.

    A share of right words is (right words, words) a sentence; F1 is (2 TP, 2 TP + FP + FN) a sentence.

    identity: names the examples, such as a hash of what is right for them; those of one number with other identities
    are other examples.
    measure: how sums make the score, a key of `MEASURES`; BLEU's is 0 to 100, a perplexity is that of nats by words.
    counts: where more is summed than two columns, what is summed in place of score and weight, which then only tell how
    single examples did.
    groups: which examples are drawn, or exchanged, together: questions of one passage and hypotheses of one premise are
    right or wrong together, and drawn one by one they would seem to tell more than they do. None: each by itself.
    """

    score: Floats  # (N,)
    weight: Floats  # (N,)
    identity: str = ""
    counts: Floats | None = None  # (N, C)
    measure: str = "ratio"
    groups: NDArray[np.int64] | None = None  # (N,) numbers from 0

    @property
    def columns(self) -> Floats:
        """(C, N) what is summed over examples."""
        return np.stack([self.score, self.weight]) if self.counts is None else self.counts.T

    def drawn(self, groups: NDArray[np.int64] | None) -> Floats:
        """(C, G) sums of the columns over each group; (C, N) the columns where every example is one."""
        return self.columns if groups is None else np.stack([np.bincount(groups, row) for row in self.columns])

    def value(self, sums: Floats) -> Floats:
        """(...) scores of (C, ...) sums of the columns."""
        return MEASURES[self.measure](sums)

    @property
    def total(self) -> float:
        """The score on all of them."""
        return float(self.value(self.columns.sum(axis=1)))

    @property
    def counted(self) -> NDArray[np.bool_]:
        """(N,) which examples count; the others, such as words that are not asked, have no weight."""
        return np.asarray(self.weight > 0)

    @property
    def each(self) -> Floats:
        """(M,) the scores of the single examples that count."""
        return np.asarray(self.score[self.counted] / self.weight[self.counted], np.float64)

    @property
    def is_right_or_wrong(self) -> bool:
        """Whether every example that counts has the weight 1, and the score 0 or 1."""
        plain = self.counts is None and self.measure == "ratio"
        return plain and bool(np.isin(self.weight, (0.0, 1.0)).all() and np.isin(self.score, (0.0, 1.0)).all())


def identity_of(*parts: Iterable[Any]) -> str:
    """A name of examples: a hash of rows of numbers, or of texts, that tell them from others."""
    found = blake2b(digest_size=8)
    for part in parts:
        if isinstance(part, np.ndarray):
            row = np.ascontiguousarray(part, np.int64).tobytes()
        else:
            row = "\0".join(map(str, part)).encode()
        found.update(len(row).to_bytes(8, "little") + row)
    return found.hexdigest()


def bootstrap(a: Examples, rng: Generator, level: float = 0.95, draws: int = DRAWS) -> Interval:
    """The score with a percentile interval: would it be so on other examples?

    They, or their groups, are drawn with replacement. `n` is how many examples count. nan where one does, or all are of
    one group.
    """
    n, drawn = int(a.counted.sum()), a.drawn(a.groups)
    if n < 2 or drawn.shape[1] < 2:
        return Interval(a.total, math.nan, math.nan, n)
    sums = _resampled(drawn, rng, draws)
    return Interval(a.total, *_middle(a.value(sums), level), n)


def paired_bootstrap(a: Examples, b: Examples, rng: Generator, level: float = 0.95, draws: int = DRAWS) -> Interval:
    """Score of `a` minus that of `b` on the same examples, with a percentile interval (Koehn 2004).

    Examples, or their groups, are drawn with replacement, the same ones for both; `n` is how many examples count for
    either.
    """
    _must_pair(a, b)
    sums = _resampled(np.concatenate([a.drawn(a.groups), b.drawn(a.groups)]), rng, draws)
    first, second = np.split(sums, 2)
    found = a.value(first) - b.value(second)
    return Interval(a.total - b.total, *_middle(found, level), _counted(a, b))


def _resampled(columns: Floats, rng: Generator, draws: int) -> Floats:
    """(C, draws) sums of each column (C, N) over examples drawn with replacement."""
    n = columns.shape[1]
    sums = np.empty((len(columns), draws))
    for begin in range(0, draws, _BLOCK):
        some = min(_BLOCK, draws - begin)
        counts = np.stack([np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(some)])
        sums[:, begin : begin + some] = columns @ counts.T.astype(np.float64)
    return sums


def _middle(found: Floats, level: float) -> tuple[float, float]:
    """Of what can be computed: a draw of examples without weight has no score."""
    return percentiles(found[np.isfinite(found)], level)


def approximate_randomisation(a: Examples, b: Examples, rng: Generator, draws: int = DRAWS) -> Tested:
    """Whether two systems are alike on the same examples: their outputs are exchanged at random (Noreen 1989).

    Those of a group are exchanged together. `n` is how many examples count for either.
    """
    _must_pair(a, b)
    ours, theirs = a.drawn(a.groups), b.drawn(a.groups)
    found = a.total - b.total
    gained = (theirs - ours).T  # (G, C) what the first system gains where the two are exchanged
    first, both = ours.sum(axis=1), (ours + theirs).sum(axis=1)
    statistics = np.empty(draws)
    for begin in range(0, draws, _BLOCK):
        some = min(_BLOCK, draws - begin)
        swapped = rng.integers(0, 2, size=(some, len(gained)), dtype=np.int8).astype(np.float64)
        sums = first + swapped @ gained  # (draws, C)
        statistics[begin : begin + some] = a.value(sums.T) - b.value((both - sums).T)
    return Tested(found, share(statistics, found, exact=False), _counted(a, b), 1 / (1 + draws))


def mcnemar(a: Examples, b: Examples) -> Tested:
    """Whether two systems err alike: the exact test over the examples that only one of them gets right (McNemar 1947).

    It takes every example for one by itself, whatever group it is of.

    Its statistic is how many of these the system gets right that gets fewer.

    Raises:
        DataError: an example is neither right nor wrong, or the examples are not the same.
    """
    _must_pair(a, b)
    if not (a.is_right_or_wrong and b.is_right_or_wrong):
        raise DataError("mcnemar counts examples that are right or wrong; found some in between, or of other weight")
    there = (a.weight > 0) & (b.weight > 0)
    only_a, only_b = (int(((x.score > y.score) & there).sum()) for x, y in ((a, b), (b, a)))
    n = only_a + only_b
    if n == 0:
        return Tested(0.0, 1.0, 0, 1.0)
    from scipy.stats import binomtest

    return Tested(float(min(only_a, only_b)), float(binomtest(only_a, n, 0.5).pvalue), n, min(1.0, 2.0 ** (1 - n)))


def _counted(a: Examples, b: Examples) -> int:
    return int((a.counted | b.counted).sum())


def _must_pair(a: Examples, b: Examples) -> None:
    if len(a.score) != len(b.score):
        raise DataError(f"two systems are compared on the same examples: found {len(a.score)} and {len(b.score)}")
    if a.measure != b.measure:
        raise DataError(f"two systems are compared by the same measure: found {a.measure} and {b.measure}")
    if a.identity != b.identity:
        raise DataError(
            "two systems are compared on the same examples: these are others, for what is right differs; evaluate both "
            "on the same files, and on the same words of a dictionary"
        )
