"""Scores as sums over test examples; bootstrap intervals and paired tests over those examples."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interlace.core.errors import DataError
from interlace.core.randomness import Generator
from interlace.scores.statistics import DRAWS, Interval, Significance, extreme_share

Floats = NDArray[np.float64]

BLEU_ORDERS = 4  # of n-grams
_BLOCK = 256  # draws at a time, which bounds memory


def ratio(sums: Floats) -> Floats:
    """Return the scores of (2, ...) sums: the first by the second, nan where the second is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums[0] / sums[1], np.float64)


def bleu(sums: Floats) -> Floats:
    """Return BLEU (Papineni et al. 2002), 0 to 100, of (10, ...) sums: both lengths, matching n-grams, all n-grams.

    Smoothing is "exp" of sacreBLEU: an order without a match counts as half a match, the next such order as a quarter.
    The score is 0 where nothing matches, or the output has no n-gram of some order.
    """
    length, reference = sums[0], sums[1]
    correct, total = sums[2 : 2 + BLEU_ORDERS], sums[2 + BLEU_ORDERS :]
    smoothed = np.where(correct > 0, correct, 0.5 ** np.cumsum((correct <= 0) & (total > 0), axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(smoothed) - np.log(total)
        penalty = np.minimum(0.0, 1 - reference / length)
        score = 100 * np.exp(penalty + logs.mean(axis=0))
    return np.where((correct > 0).any(axis=0) & (total > 0).all(axis=0), score, 0.0)


def perplexity(sums: Floats) -> Floats:
    """Return the exponential of the ratio of (2, ...) sums of nats and predictions, at most e^50."""
    return np.asarray(np.exp(np.minimum(ratio(sums), 50.0)), np.float64)


MEASURES: dict[str, Callable[[Any], Floats]] = {"ratio": ratio, "bleu": bleu, "perplexity": perplexity}


@dataclass(frozen=True)
class Examples:
    """The outcomes of one system on the examples of a test set; by default the score is `sum(score) / sum(weight)`.

    Accuracy over words has (correct words, words) for each sentence, F1 has (2 TP, 2 TP + FP + FN).

    identity: a hash of the examples; systems are only compared on examples with equal hashes.
    measure: how sums make the score, a key of `MEASURES`. BLEU is 0 to 100; perplexity is of nats by predictions.
    counts: the columns to sum instead of score and weight, for measures that need more than two.
    groups: examples that are resampled together, such as questions on one passage; None: each by itself.
    sets: the score is the mean over so many test sets, whose columns stand one behind the other; see `mean_over_sets`.
    """

    score: Floats  # (N,)
    weight: Floats  # (N,)
    identity: str = ""
    counts: Floats | None = None  # (N, C)
    measure: str = "ratio"
    groups: NDArray[np.int64] | None = None  # (N,) numbers from 0
    sets: int = 1

    @property
    def columns(self) -> Floats:
        """(C, N) columns that are summed over examples."""
        return np.stack([self.score, self.weight]) if self.counts is None else self.counts.T

    def group_sums(self, groups: NDArray[np.int64] | None) -> Floats:
        """(C, G) sums of the columns over each group, or the columns themselves without groups."""
        return self.columns if groups is None else np.stack([np.bincount(groups, row) for row in self.columns])

    def value(self, sums: Floats) -> Floats:
        """(...) scores of (C, ...) sums of the columns."""
        if self.sets == 1:
            return MEASURES[self.measure](sums)
        return np.asarray(sum(map(MEASURES[self.measure], np.split(sums, self.sets))) / self.sets, np.float64)

    @property
    def total(self) -> float:
        """The score on all examples."""
        return float(self.value(self.columns.sum(axis=1)))

    @property
    def counted(self) -> NDArray[np.bool_]:
        """(N,) mask of the examples with positive weight."""
        return np.asarray(self.weight > 0)


def identity_of(*parts: Iterable[Any]) -> str:
    """Return a hash that identifies examples by arrays of integers or by texts."""
    found = blake2b(digest_size=8)
    for part in parts:
        if isinstance(part, np.ndarray):
            row = np.ascontiguousarray(part, np.int64).tobytes()
        else:
            row = "\0".join(map(str, part)).encode()
        found.update(len(row).to_bytes(8, "little") + row)
    return found.hexdigest()


def bootstrap(a: Examples, rng: Generator, level: float = 0.95, draws: int = DRAWS) -> Interval:
    """Return the score with a percentile bootstrap interval over test examples or their groups.

    `n` is the number of counted examples. The ends are nan with one example or one group.
    """
    n, columns = int(a.counted.sum()), a.group_sums(a.groups)
    if n < 2 or columns.shape[1] < 2:
        return Interval(a.total, math.nan, math.nan, n)
    return Interval(a.total, *_percentiles(a.value(_resampled(columns, rng, draws)), level), n)


def paired_bootstrap(a: Examples, b: Examples, rng: Generator, level: float = 0.95, draws: int = DRAWS) -> Interval:
    """Return score(a) - score(b) with a percentile interval, both resampled alike (Koehn 2004).

    `n` is the number of examples that count for either system. The ends are nan with one example or one group.
    """
    n, columns = _pair_count(a, b), np.concatenate([a.group_sums(a.groups), b.group_sums(a.groups)])
    if n < 2 or columns.shape[1] < 2:
        return Interval(a.total - b.total, math.nan, math.nan, n)
    first, second = np.split(_resampled(columns, rng, draws), 2)
    return Interval(a.total - b.total, *_percentiles(a.value(first) - b.value(second), level), n)


def _resampled(columns: Floats, rng: Generator, draws: int) -> Floats:
    """(C, draws) sums of each column (C, N) over examples drawn with replacement."""
    n = columns.shape[1]
    sums = np.empty((len(columns), draws))
    for begin in range(0, draws, _BLOCK):
        some = min(_BLOCK, draws - begin)
        counts = np.stack([np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(some)])
        sums[:, begin : begin + some] = columns @ counts.T.astype(np.float64)
    return sums


def _percentiles(values: Floats, level: float) -> tuple[float, float]:
    """Return the ends of the middle `level` of the finite values, nan if there are none.

    A draw without weight has no score, and neither has one with an example whose score is not finite.
    """
    if not np.isfinite(values).any():
        return math.nan, math.nan
    low, high = np.quantile(values[np.isfinite(values)], [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def approximate_randomization(a: Examples, b: Examples, rng: Generator, draws: int = DRAWS) -> Significance:
    """Test whether two systems differ on the same examples by swapping their outcomes at random (Noreen 1989).

    Outcomes of one group are swapped together. `n` is the number of examples that count for either system.
    """
    n = _pair_count(a, b)
    ours, theirs = a.group_sums(a.groups), b.group_sums(a.groups)
    found = a.total - b.total
    gained = (theirs - ours).T  # (G, C) what the first system gains by a swap
    first, both = ours.sum(axis=1), (ours + theirs).sum(axis=1)
    statistics = np.empty(draws)
    for begin in range(0, draws, _BLOCK):
        some = min(_BLOCK, draws - begin)
        swapped = rng.integers(0, 2, size=(some, len(gained)), dtype=np.int8).astype(np.float64)
        sums = first + swapped @ gained  # (draws, C)
        statistics[begin : begin + some] = a.value(sums.T) - b.value((both - sums).T)
    return Significance(found, extreme_share(statistics, found, exact=False), n, 1 / (1 + draws))


def mean_over_sets(parts: Sequence[Examples]) -> Examples:
    """Return the examples whose score is the mean of the scores on several test sets, such as one a language.

    The examples of sets with equal numbers of examples are drawn together, by their places, which parallel sets need
    and independent ones do not mind. Examples that are drawn together in one of these sets are so in all.
    """
    blocks: dict[int, list[int]] = {}
    for place, part in enumerate(parts):
        blocks.setdefault(len(part.score), []).append(place)
    width, total = len(parts[0].columns), sum(blocks)
    score, weight, counts = np.zeros(total), np.zeros(total), np.zeros((total, len(parts) * width))
    groups, begin = np.empty(total, np.int64), 0
    for size, places in blocks.items():
        rows = slice(begin, begin + size)
        for place in places:
            score[rows] += parts[place].score
            weight[rows] += parts[place].weight
            counts[rows, place * width : (place + 1) * width] = parts[place].columns.T
        groups[rows] = begin + _joined_groups([parts[place].groups for place in places], size)
        begin += size
    groups = np.unique(groups, return_inverse=True)[1]
    identity, measure = identity_of([part.identity for part in parts]), parts[0].measure
    return Examples(score, weight, identity, counts, measure, groups, sum(part.sets for part in parts))


def _joined_groups(found: Sequence[NDArray[np.int64] | None], size: int) -> NDArray[np.int64]:
    """Return (size,) group numbers of examples that share a group in any of several groupings."""
    kept = [groups for groups in found if groups is not None]
    if not kept:
        return np.arange(size)
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    offsets = size + np.cumsum([0, *(int(groups.max()) + 1 for groups in kept)])  # a node an example, then a group
    nodes = np.concatenate([groups + offset for groups, offset in zip(kept, offsets, strict=False)])
    edges = np.tile(np.arange(size), len(kept)), nodes
    graph = coo_array((np.ones(len(nodes)), edges), (offsets[-1], offsets[-1]))
    return np.asarray(connected_components(graph, directed=False)[1][:size], np.int64)


@dataclass(frozen=True)
class CrossedTest:
    """A difference over runs and examples with its 95 % confidence interval, standard error and two-sided p-value."""

    interval: Interval
    error: float
    p: float


def crossed_test(a: Sequence[Examples], b: Sequence[Examples]) -> CrossedTest:
    """Compare the mean scores of the runs of two systems, where other runs and other examples could be drawn.

    The variance is that of runs, plus that of examples (or their groups), minus that of runs and examples together,
    which both contain (Cameron, Gelbach & Miller 2011), but at least each of the first two. Examples vary by the
    jackknife, so any measure will do. Degrees of freedom are Welch's and Satterthwaite's. `n` is the smaller number of
    runs, which must be 2 or more.
    """
    for run in (*a, *b):
        _pair_count(a[0], run)
    groups = a[0].groups
    there = np.any([run.group_sums(groups).any(axis=0) for run in (*a, *b)], axis=0)
    runs, both, value = [], 0.0, 0.0
    effect = np.zeros(int(there.sum()))  # of each group on the difference
    for side, sign in ((a, 1), (b, -1)):
        sums = [run.group_sums(groups)[:, there] for run in side]
        scores = np.array([run.total for run in side])
        without = np.stack([run.value(each.sum(1, keepdims=True) - each) for run, each in zip(side, sums, strict=True)])
        apart = without - without.mean(1, keepdims=True)  # (R, G)
        shared = apart.mean(0)
        count, size = apart.shape
        runs.append((scores.var(ddof=1) / count, count - 1))
        both += float(((apart - shared) ** 2).sum()) * (size - 1) / size / (count * (count - 1))
        effect += sign * shared
        value += sign * float(scores.mean())
    size = len(effect)
    examples = float((effect**2).sum()) * (size - 1) / size
    over_runs = sum(one for one, _ in runs)
    variance = max(over_runs + examples - both, over_runs, examples)
    spread = sum(one**2 / free for one, free in (*runs, (examples, size - 1)) if free)
    freedom = variance**2 / spread if spread > 0 else math.inf
    error, p, half = math.sqrt(variance), float(value == 0), 0.0
    if error > 0:
        from scipy.stats import t

        p, half = float(2 * t.sf(abs(value) / error, freedom)), float(t.ppf(0.975, freedom)) * error
    return CrossedTest(Interval(value, value - half, value + half, min(len(a), len(b))), error, p)


def _pair_count(a: Examples, b: Examples) -> int:
    """Return how many examples count for either; raise DataError unless both have the same examples and measure."""
    if len(a.score) != len(b.score):
        raise DataError(f"expected the same test examples for both systems, found {len(a.score)} and {len(b.score)}")
    if a.measure != b.measure:
        raise DataError(f"expected the same measure for both systems, found {a.measure} and {b.measure}")
    if a.identity != b.identity:
        raise DataError(
            "the systems were scored on different test examples; evaluate both on the same files, and on the same "
            "words of a dictionary"
        )
    return int((a.counted | b.counted).sum())
