"""Scores as sums over test examples; bootstrap intervals and paired tests over those examples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from interlace.core.errors import DataError
from interlace.core.ragged import BoolArray, DoubleArray, IntArray
from interlace.core.randomness import Generator
from interlace.scores.statistics import ALPHA, DRAWS, Interval, extreme_share
from interlace.scores.student import critical_value, two_sided_p

Floats = DoubleArray

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
    length = sums[0]
    reference = sums[1]
    correct = sums[2 : 2 + BLEU_ORDERS]  # (4, ...)
    total = sums[2 + BLEU_ORDERS :]  # (4, ...)
    smoothed = np.where(
        correct > 0, correct, 0.5 ** np.cumsum((correct <= 0) & (total > 0), axis=0)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(smoothed) - np.log(total)
        penalty = np.minimum(0.0, 1 - reference / length)
        score = 100 * np.exp(penalty + logs.mean(axis=0))
    return np.where(
        (correct > 0).any(axis=0) & (total > 0).all(axis=0),
        score,
        0.0,
    )


def perplexity(sums: Floats) -> Floats:
    """Return the exponential of the ratio of (2, ...) sums of nats and predictions, at most e^50."""
    return np.asarray(
        np.exp(np.minimum(ratio(sums), 50.0)),
        np.float64,
    )


MEASURES: dict[str, Callable[[Any], Floats]] = {
    "ratio": ratio,
    "bleu": bleu,
    "perplexity": perplexity,
}


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
    groups: IntArray | None = None  # (N,) numbers from 0
    sets: int = 1

    @property
    def columns(self) -> Floats:
        """(C, N) columns that are summed over examples."""
        if self.counts is None:
            return np.stack([self.score, self.weight])
        return self.counts.T

    def group_sums(self, groups: IntArray | None) -> Floats:
        """(C, G) sums of the columns over each group, or the columns themselves without groups."""
        if groups is None:
            return self.columns
        return np.stack([np.bincount(groups, column) for column in self.columns])

    def value(self, sums: Floats) -> Floats:
        """(...) scores of (C, ...) sums of the columns."""
        measure = MEASURES[self.measure]
        if self.sets == 1:
            return measure(sums)
        total = sum(measure(set_sums) for set_sums in np.split(sums, self.sets))
        return np.asarray(total / self.sets, np.float64)

    @property
    def total(self) -> float:
        """The score on all examples."""
        return float(self.value(self.columns.sum(axis=1)))

    @property
    def counted(self) -> BoolArray:
        """(N,) mask of the examples with positive weight."""
        return self.weight > 0


def identity_of(*parts: Iterable[Any]) -> str:
    """Return a hash that identifies examples by arrays of integers or by texts."""
    hashed = blake2b(digest_size=8)
    for part in parts:
        if isinstance(part, np.ndarray):
            data = np.ascontiguousarray(part, np.int64).tobytes()
        else:
            data = "\0".join(str(text) for text in part).encode()
        hashed.update(len(data).to_bytes(8, "little") + data)
    return hashed.hexdigest()


def bootstrap(
    a: Examples,
    rng: Generator,
    draws: int = DRAWS,
) -> Interval:
    """Return the score with a 95 % percentile bootstrap interval over test examples or their groups.

    `n` is the number of counted examples. The ends are nan with one example or one group.
    """
    scores = _resampled_scores(
        a.group_sums(a.groups),
        a.value,
        rng,
        draws,
    )
    return _percentile_interval(a.total, scores, int(a.counted.sum()))


def paired_bootstrap(
    a: Examples,
    b: Examples,
    rng: Generator,
    draws: int = DRAWS,
) -> Interval:
    """Return score(a) - score(b) with a 95 % percentile interval, both resampled alike (Koehn 2004).

    `n` is the number of examples that count for either system. The ends are nan with one example or one group.
    """
    n = _pair_count(a, b)
    columns = np.concatenate([a.group_sums(a.groups), b.group_sums(a.groups)])  # (2 C, G)

    def difference(sums: Floats) -> Floats:
        a_sums, b_sums = np.split(sums, 2)  # (C, draws) each
        return a.value(a_sums) - b.value(b_sums)

    return _percentile_interval(
        a.total - b.total,
        _resampled_scores(
            columns,
            difference,
            rng,
            draws,
        ),
        n,
    )


def _percentile_interval(value: float, scores: Floats, n: int) -> Interval:
    """Return the middle 95 % of the finite scores of draws; nan with one example.

    A draw without weight has no score, and neither has one with an example whose score is not finite.
    """
    finite = scores[np.isfinite(scores)]
    if n < 2 or not finite.size:
        return Interval(
            value,
            math.nan,
            math.nan,
            n,
        )
    low, high = np.quantile(finite, [0.025, 0.975]).tolist()
    return Interval(value, low, high, n)


def _resampled_scores(
    columns: Floats, score: Callable[[Floats], Floats], rng: Generator, draws: int
) -> Floats:
    """(draws,) scores of the sums of columns (C, G) over groups drawn with replacement; nan of a single group.

    Of one column (1, 0, 2), the draw of groups 0, 2 and 2 counts them (1, 0, 2) times, and its sum is 5.
    """
    n = columns.shape[1]
    if n < 2:
        return np.full(draws, math.nan)
    scores = np.empty(draws)
    for begin in range(0, draws, _BLOCK):
        size = min(_BLOCK, draws - begin)
        # (size, G): how often each group is drawn
        counts = np.stack(
            [np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(size)]
        )
        scores[begin : begin + size] = score(columns @ counts.T.astype(np.float64))
    return scores


def approximate_randomization(
    a: Examples, b: Examples, rng: Generator, draws: int = DRAWS
) -> float:
    """Return the p-value of a test that swaps the outcomes of two systems on examples at random (Noreen 1989).

    Outcomes of one group are swapped together.

    Of outcomes (1, 1, 0) and (0, 1, 0), a swap of the first example turns the difference from 1/3 to -1/3, and other
    swaps leave it: every arrangement is as extreme, and p is 1.
    """
    _pair_count(a, b)
    a_sums = a.group_sums(a.groups)  # (C, G)
    b_sums = b.group_sums(a.groups)
    # (G, C): what the sums of `a` gain if the outcomes of a group are swapped
    gains = (b_sums - a_sums).T
    a_total = a_sums.sum(axis=1)  # (C,)
    both_total = (a_sums + b_sums).sum(axis=1)
    differences = np.empty(draws)
    for begin in range(0, draws, _BLOCK):
        size = min(_BLOCK, draws - begin)
        is_swapped = rng.integers(
            0,
            2,
            size=(size, len(gains)),
            dtype=np.int8,
        )
        sums = a_total + is_swapped.astype(np.float64) @ gains  # (size, C)
        differences[begin : begin + size] = a.value(sums.T) - b.value((both_total - sums).T)
    return extreme_share(differences, a.total - b.total, exact=False)


def mean_over_sets(parts: Sequence[Examples]) -> Examples:
    """Return the examples whose score is the mean of the scores on several test sets, such as one a language.

    The examples of sets with equal numbers of examples are drawn together, by their places and in the groups of the
    first of these sets, which parallel sets need and independent ones do not mind.

    Of two sets with 2 examples and one with 3, examples 0 and 1 of the result are those of the first two sets, and 2 to
    4 those of the third. Each set has columns of its own.
    """
    first_rows: dict[int, int] = {}  # by the number of examples of a set
    groups: list[IntArray] = []
    total = 0
    for part in parts:
        size = len(part.score)
        if size not in first_rows:
            first_rows[size] = total
            groups.append(total + (np.arange(size) if part.groups is None else part.groups))
            total += size
    width = len(parts[0].columns)
    score = np.zeros(total)
    weight = np.zeros(total)
    counts = np.zeros((total, len(parts) * width))
    for index, part in enumerate(parts):
        first_row = first_rows[len(part.score)]
        rows = slice(first_row, first_row + len(part.score))
        score[rows] += part.score
        weight[rows] += part.weight
        counts[rows, index * width : (index + 1) * width] = part.columns.T
    return Examples(
        score=score,
        weight=weight,
        identity=identity_of([part.identity for part in parts]),
        counts=counts,
        measure=parts[0].measure,
        groups=np.unique(np.concatenate(groups), return_inverse=True)[1],
        sets=sum(part.sets for part in parts),
    )


def crossed_test(a: Sequence[Examples], b: Sequence[Examples]) -> tuple[Interval, float]:
    """Compare the mean scores of the runs of two systems, where other runs and other examples could be drawn.

    Return the difference with its 95 % interval, and the two-sided p-value.

    The variance is that of runs, plus that of examples (or their groups), minus that of runs and examples together,
    which both contain (Cameron, Gelbach & Miller 2011), but at least each of the first two. Examples vary by the
    jackknife, so any measure will do. Degrees of freedom are Welch's and Satterthwaite's. `n` is the smaller number of
    runs, which must be 2 or more.

    Of two runs a side that are right in examples (1, 1, 1, 0) and (1, 1, 0, 0) against (1, 0, 0, 0) twice, the
    difference is 0.375, and its variance that of the mean differences (0, 1, 0.5, 0), divided by 4.
    """
    groups = a[0].groups
    for run in (*a, *b):
        _pair_count(a[0], run)
    # (G,) groups that count for any run
    counted = np.any([run.group_sums(groups).any(axis=0) for run in (*a, *b)], axis=0)
    size = int(counted.sum())
    difference = 0.0
    effects = np.zeros(size)  # (G,) of the groups on the difference
    run_variances = []
    both_variance = 0.0
    for sign, runs in ((1, a), (-1, b)):
        count = len(runs)
        scores = np.array([run.total for run in runs])
        deviations = _jackknife(runs, groups, counted)  # (R, G)
        mean_deviations = deviations.mean(axis=0)
        difference += sign * float(scores.mean())
        effects += sign * mean_deviations
        run_variances.append(float(scores.var(ddof=1)) / count)
        squares = float(((deviations - mean_deviations) ** 2).sum())
        both_variance += squares * (size - 1) / size / (count * (count - 1))
    example_variance = float((effects**2).sum()) * (size - 1) / size
    run_variance = sum(run_variances)
    variance = max(
        run_variance + example_variance - both_variance,
        run_variance,
        example_variance,
    )
    n = min(len(a), len(b))
    if variance == 0:
        return Interval(difference, difference, difference, n), float(difference == 0)
    parts = (*run_variances, example_variance)
    freedom = variance**2 / _spread(parts, (len(a), len(b), size))
    error = math.sqrt(variance)
    half_width = critical_value(ALPHA, freedom) * error
    interval = Interval(
        difference,
        difference - half_width,
        difference + half_width,
        n,
    )
    return interval, two_sided_p(difference / error, freedom)


def _spread(variances: Sequence[float], counts: Sequence[int]) -> float:
    """Return Satterthwaite's sum of the squares of variances, each by its degrees of freedom."""
    spread = 0.0
    for variance, count in zip(variances, counts, strict=True):
        spread += variance**2 / max(count - 1, 1)
    return spread


def _jackknife(runs: Sequence[Examples], groups: IntArray | None, counted: BoolArray) -> Floats:
    """(R, G) differences of the scores without each counted group of examples from their mean over groups."""
    scores = []
    for run in runs:
        sums = run.group_sums(groups)[:, counted]  # (C, G)
        scores.append(run.value(sums.sum(axis=1, keepdims=True) - sums))
    jackknife = np.stack(scores)
    return np.asarray(jackknife - jackknife.mean(axis=1, keepdims=True), np.float64)


def _pair_count(a: Examples, b: Examples) -> int:
    """Return how many examples count for either; raise DataError unless both have the same examples."""
    if (len(a.score), a.identity) != (len(b.score), b.identity):
        raise DataError(
            f"the systems were scored on different test examples ({len(a.score):,} and {len(b.score):,}); evaluate "
            "both on the same files, and on words of a dictionary that both, or neither, were trained on"
        )
    return int((a.counted | b.counted).sum())
