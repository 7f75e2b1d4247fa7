"""Numba kernels of `phrases`.

Legend: n source words, m target words of a pair. `reach` holds the first and last target word that each source word is
aligned to, and vice versa; the last one is -1 for an unaligned word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.core.kernels import compiled, inner
from interlace.core.ragged import Int32Array, IntArray

Words = Int32Array

if TYPE_CHECKING:
    # first and last of each source word, then of each target word
    Reach = tuple[Words, Words, Words, Words]


@compiled
def consistent(
    source_lengths: IntArray,
    target_lengths: IntArray,
    links: Int32Array,
    offsets: IntArray,
    max_length: int,
    unaligned_borders: bool,
) -> tuple[Int32Array, IntArray]:
    """Return the spans of all rows, sorted in each row, and their number per row.

    A row with a link beyond its sentences has -1. There must be at least one row.
    """
    spans = np.empty((64 * len(source_lengths) + max_length * max_length, 4), np.int32)
    counts = np.zeros(len(source_lengths), np.int64)
    buffer = np.empty((4, max(source_lengths.max(), target_lengths.max())), np.int32)
    used = 0
    for row in range(len(source_lengths)):
        n = source_lengths[row]
        m = target_lengths[row]
        reach = buffer[0, :n], buffer[1, :n], buffer[2, :m], buffer[3, :m]
        row_links = links[offsets[row] : offsets[row + 1]]
        if not _fill_reach(reach, row_links):
            counts[row] = -1
            continue
        before = used
        for a in range(n):
            if unaligned_borders or reach[1][a] >= 0:
                spans, used = _starting_at(a, reach, spans, used, max_length, unaligned_borders)
        counts[row] = used - before
    return spans[:used].copy(), counts


@inner
def _starting_at(
    a: int,
    reach: Reach,
    spans: Int32Array,
    used: int,
    max_length: int,
    unaligned_borders: bool,
) -> tuple[Int32Array, int]:
    """Append the phrase pairs whose source begins at word a."""
    source_low, source_high, target_low, target_high = reach
    c = len(target_low)  # source[a:b] is aligned to target words in [c, d)
    d = 0
    for b in range(a + 1, min(a + max_length, len(source_low)) + 1):
        linked = source_high[b - 1] >= 0
        if linked:
            c = min(c, source_low[b - 1])
            d = max(d, source_high[b - 1] + 1)
        if d - c > max_length:
            break
        if d == 0 or not (unaligned_borders or linked):
            continue
        low, high = _covered(target_low, target_high, c, d)
        if low < a:  # no longer span is consistent either
            break
        if high < b:
            if used + max_length * max_length > len(spans):
                spans = _grown(spans, used, max_length * max_length)
            used = _emit(spans, used, (a, b, c, d), target_high, max_length, unaligned_borders)
    return spans, used


@inner
def _fill_reach(reach: Reach, links: Int32Array) -> bool:
    """Fill in the first and last partner of each word; return whether all links are inside their sentences."""
    source_low, source_high, target_low, target_high = reach
    source_low[:] = len(target_low)
    source_high[:] = -1
    target_low[:] = len(source_low)
    target_high[:] = -1
    for link in range(len(links)):
        i = links[link, 0]
        j = links[link, 1]
        if not (0 <= i < len(source_low) and 0 <= j < len(target_low)):
            return False
        source_low[i] = min(source_low[i], j)
        source_high[i] = max(source_high[i], j)
        target_low[j] = min(target_low[j], i)
        target_high[j] = max(target_high[j], i)
    return True


@inner
def _covered(low: Words, high: Words, start: int, stop: int) -> tuple[int, int]:
    """Return the first and last partner of all words of a span."""
    first = low[start]
    last = high[start]
    for word in range(start + 1, stop):
        first = min(first, low[word])
        last = max(last, high[word])
    return first, last


@inner
def _grown(spans: Int32Array, used: int, more: int) -> Int32Array:
    larger = np.empty((2 * len(spans) + more, 4), np.int32)
    for row in range(used):  # assigning a slice would take seconds to compile
        for column in range(4):
            larger[row, column] = spans[row, column]
    return larger


@inner
def _emit(
    spans: Int32Array,
    used: int,
    span: tuple[int, int, int, int],
    target_high: Words,
    max_length: int,
    unaligned_borders: bool,
) -> int:
    """Append a phrase pair, and with `unaligned_borders` its extensions by unaligned target words."""
    a, b, c, d = span
    first = c
    last = d
    if unaligned_borders:
        while first > 0 and target_high[first - 1] < 0 and d - first < max_length:
            first -= 1
        while last < len(target_high) and target_high[last] < 0 and last - c < max_length:
            last += 1
    for start in range(first, c + 1):
        for stop in range(d, min(last, start + max_length) + 1):
            spans[used, 0] = a
            spans[used, 1] = b
            spans[used, 2] = start
            spans[used, 3] = stop
            used += 1
    return used


@compiled
def fill_link_sets(
    links: Int32Array,
    offsets: IntArray,
    spans: Int32Array,
    span_offsets: IntArray,
    width: int,
    sets: IntArray,
) -> None:
    """Fill in the links inside each phrase pair, as bits (source word * width + target word) relative to the phrases.

    The links of a row are sorted by source, its spans by their start.
    """
    for row in range(len(offsets) - 1):
        first = offsets[row]
        for span in range(span_offsets[row], span_offsets[row + 1]):
            a = spans[span, 0]
            b = spans[span, 1]
            c = spans[span, 2]
            while links[first, 0] < a:
                first += 1
            bits = np.int64(0)
            link = first
            while link < offsets[row + 1] and links[link, 0] < b:
                i = links[link, 0] - a
                j = links[link, 1] - c
                bits |= np.int64(1) << np.int64(i * width + j)
                link += 1
            sets[span] = bits
