"""Shifts between the sides of parallel text: from some line on, each line stands beside the translation of another one.

A line that is lost on one side misaligns all lines after it. Lengths of translations correlate (Gale and Church 1993),
so lengths tell whether a line fits its own counterpart or the line some lines further.
"""

from dataclasses import dataclass

import numpy as np

from interlace.core.ragged import DoubleArray, IntArray

MAX_OFFSET = 5  # lines
# log odds for a shift, beyond those that the best of all places reaches by chance
_MARGIN = 10.0
_MAX_LOG_ODDS = 3.0  # of one line, so that a few strange lines decide nothing
_MIN_LINES = 15  # of a shift
_MIN_CORRELATION = 0.3  # of shifted lines, by 1.5 standard errors

Values = DoubleArray


@dataclass(frozen=True)
class Shift:
    """Source lines `first` to `end`, exclusive, counted from 0, fit the target lines `offset` lines further down."""

    first: int
    end: int
    offset: int


def find_shift(source: IntArray, target: IntArray) -> Shift | None:
    """Return the shift that begins first; source, target: (n,) and (m,) characters of each line."""
    source_values = _standardized(source)
    target_values = _standardized(target)
    first_shift: Shift | None = None
    for offset in range(-MAX_OFFSET, MAX_OFFSET + 1):
        shift = (
            _shift(
                source_values,
                target_values,
                offset,
            )
            if offset
            else None
        )
        if shift is not None and (first_shift is None or shift.first < first_shift.first):
            first_shift = shift
    return first_shift


def _shift(source: Values, target: Values, offset: int) -> Shift | None:
    """Return the lines for which an offset is most likely, if they fit much better with the offset than without.

    A target line y beside a source line x has the log odds ((y - x)^2 - (z - x)^2) / 2 for the target line z at the
    offset. The lines are those with the largest sum: of the log odds -1, 2, 3 it is 5, of the last two lines.
    """
    begin = max(0, -offset)
    count = min(len(source), len(target) - offset, len(target)) - begin
    if count < _MIN_LINES:
        return None
    rows = np.arange(begin, begin + count)  # (count,)
    unshifted_error = (target[rows] - source[rows]) ** 2
    shifted_error = (target[rows + offset] - source[rows]) ** 2
    log_odds = np.clip(
        (unshifted_error - shifted_error) / 2,
        -_MAX_LOG_ODDS,
        _MAX_LOG_ODDS,
    )
    total = np.append(0, np.cumsum(log_odds))  # (count + 1,)
    # the best sum of consecutive lines that ends at each line
    gain = total - np.minimum.accumulate(total)
    end = int(gain.argmax())
    first = int(total[: end + 1].argmin())
    if gain[end] < _MARGIN + np.log(2 * MAX_OFFSET * count) or end - first < _MIN_LINES:
        return None
    lines = rows[first:end]
    shifted = _correlation(source[lines], target[lines + offset])
    unshifted = _correlation(source[lines], target[lines])
    # neither where lengths repeat every few lines, nor where nothing corresponds
    if shifted < _MIN_CORRELATION + 1.5 / np.sqrt(len(lines)) or unshifted > 0.7 * shifted:
        return None
    return Shift(int(lines[0]), int(lines[-1]) + 1, offset)


def _standardized(lengths: IntArray) -> Values:
    """Return logarithms of lengths with mean 0 and variance 1, without extreme values."""
    values = np.log1p(lengths)
    if not len(values):
        return np.zeros(0)
    standardized: Values = (values - values.mean()) / max(values.std(), 1e-6)
    return np.clip(standardized, -3, 3)


def _correlation(source: Values, target: Values) -> float:
    """Return Pearson's correlation, 0 for fewer than three values or equal ones."""
    if len(source) < 3 or source.std() < 1e-6 or target.std() < 1e-6:
        return 0.0
    return float(np.corrcoef(source, target)[0, 1])
