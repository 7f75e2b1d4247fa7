"""Shifts between the sides of parallel text: from some line on, each line stands beside the translation of another one.

A line that is lost on one side misaligns all lines after it. Lengths of translations correlate (Gale and Church 1993),
so lengths tell whether a line fits its own counterpart or the line some lines further.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAX_OFFSET = 5  # lines
_MARGIN = 10.0  # log odds for a shift, beyond those that the best of all places reaches by chance
_MAX_LOG_ODDS = 3.0  # of one line, so that a few strange lines decide nothing
_MIN_LINES = 15  # of a shift
_MIN_CORRELATION = 0.3  # of shifted lines, by 1.5 standard errors
_MIN_PIECE = 50  # lines needed to estimate a correlation

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Shift:
    """Source lines `first` to `end`, exclusive, counted from 0, fit the target lines `offset` lines further down."""

    first: int
    end: int
    offset: int


def find_shift(source: NDArray[np.int64], target: NDArray[np.int64]) -> Shift | None:
    """Return the shift that begins first; source, target: (n,) and (m,) characters of each line."""
    source_values, target_values = _standardized(source), _standardized(target)
    offsets = sorted(range(-MAX_OFFSET, MAX_OFFSET + 1), key=abs)
    correlation = max(_best_correlation(*_paired(source_values, target_values, offset)) for offset in offsets)
    shifts = [_shift(source_values, target_values, offset, correlation) for offset in offsets[1:]]
    return min(filter(None, shifts), key=lambda shift: shift.first, default=None)


def _shift(source: Values, target: Values, offset: int, correlation: float) -> Shift | None:
    """Return the lines for which an offset is most likely, if they fit much better with the offset than without."""
    begin = max(0, -offset)
    count = min(len(source), len(target) - offset, len(target)) - begin
    if count < 2 or correlation <= 0:
        return None
    rows = np.arange(begin, begin + count)
    expected = correlation * source[rows]
    errors = (target[rows] - expected) ** 2 - (target[rows + offset] - expected) ** 2
    log_odds = np.clip(errors / (2 * (1 - correlation**2)), -_MAX_LOG_ODDS, _MAX_LOG_ODDS)
    total = np.append(0, np.cumsum(log_odds))
    gain = total - np.minimum.accumulate(total)  # the best sum of consecutive lines that ends at each line
    end = int(gain.argmax())
    first = int(total[: end + 1].argmin())
    if gain[end] < _MARGIN + np.log(2 * MAX_OFFSET * count) or end - first < _MIN_LINES:
        return None
    lines = rows[first:end]
    shifted, unshifted = (_correlation(source[lines], target[lines + step]) for step in (offset, 0))
    # neither where lengths repeat every few lines, nor where nothing corresponds
    if shifted < _MIN_CORRELATION + 1.5 / np.sqrt(len(lines)) or unshifted > 0.7 * shifted:
        return None
    return Shift(int(lines[0]), int(lines[-1]) + 1, offset)


def _standardized(lengths: NDArray[np.int64]) -> Values:
    """Return logarithms of lengths with mean 0 and variance 1, without extreme values."""
    values = np.log1p(lengths)
    return np.clip((values - values.mean()) / max(values.std(), 1e-6), -3, 3) if len(values) else values


def _paired(source: Values, target: Values, offset: int) -> tuple[Values, Values]:
    """Return the values of both sides where each source line is paired with the target line `offset` further down."""
    source, target = source[max(0, -offset) :], target[max(0, offset) :]
    count = min(len(source), len(target))
    return source[:count], target[:count]


def _best_correlation(source: Values, target: Values) -> float:
    """Return the highest correlation of an eighth of the lines: others may be shifted."""
    pieces = max(1, min(8, len(source) // _MIN_PIECE))
    sides = zip(np.array_split(source, pieces), np.array_split(target, pieces), strict=True)
    return min(0.95, max(_correlation(*side) for side in sides))


def _correlation(first: Values, second: Values) -> float:
    """Return Pearson's correlation, 0 for fewer than three values or equal ones."""
    if len(first) < 3 or first.std() < 1e-6 or second.std() < 1e-6:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])
