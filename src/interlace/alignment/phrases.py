"""Phrase extraction: phrase pairs consistent with word alignments (Koehn, Och and Marcu 2003, section 3.1)."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from interlace.alignment.links import check_links, check_row_counts
from interlace.alignment.phrase_rules import PhraseRules
from interlace.core.kernels import processors
from interlace.core.ragged import IntArray, IntegerArray, Ragged

_ROWS = 2_000  # pairs per task of a thread


def phrase_pairs(
    source_lengths: IntegerArray,
    target_lengths: IntegerArray,
    links: Ragged,
    rules: PhraseRules | None = None,
    threads: int | None = None,
    confidence: NDArray[np.floating] | None = None,
) -> Ragged:
    """Extract all phrase pairs of n sentence pairs that are consistent with their word alignments.

    A phrase pair contains at least one link, and no link leads from inside it to outside.

    source_lengths, target_lengths: (n,) words of each sentence.
    links: n rows of (source word, target word), in any order.
    threads: None: one per processor. The result does not depend on it.
    confidence: (total,) of each link, needed for `rules.min_confidence`.

    Returns:
        n rows of half-open word spans (a, b, c, d), shape (total, 4) int32, sorted, without duplicates: source[a:b]
        translates target[c:d].

    Raises:
        DataError: the numbers of rows differ, or a link is beyond a sentence (names the pair, from 1); or confidence
            is needed and unknown.
    """
    rules = rules or PhraseRules()
    links, _ = rules.confident(links, confidence)
    source = np.ascontiguousarray(source_lengths, np.int64)
    target = np.ascontiguousarray(target_lengths, np.int64)
    check_row_counts(len(source), len(target), len(links))
    from interlace.alignment._phrase_kernels import consistent

    def work(start: int) -> Ragged:
        rows = slice(start, min(start + _ROWS, len(links)))
        part = links.slice(start, rows.stop)
        # a copy: kernels are compiled for arrays in memory
        flat = np.array(part.flat.reshape(-1, 2), np.int32)
        offsets = part.offsets - part.offsets[0]
        spans, counts = consistent(
            source[rows],
            target[rows],
            flat,
            offsets,
            rules.max_phrase_length,
            rules.unaligned_borders,
        )
        if counts.min() < 0:
            check_links(source, target, links)
        return Ragged.from_lengths(spans, counts)

    starts = range(0, len(links), _ROWS)
    if len(starts) == 1 or threads == 1:  # of a batch: starting a thread would take longer
        parts = list(map(work, starts))
    else:
        with ThreadPoolExecutor(threads or processors()) as pool:
            parts = list(pool.map(work, starts))
    return Ragged.concatenate([Ragged.of([], width=4), *parts])


def link_sets(links: Ragged, spans: Ragged, max_length: int) -> IntArray:
    """(total,) the links inside each phrase pair, as a set of bits.

    Bit i * `max_length` + j is the link between the words i and j of the phrases. So 0-0 1-1 of phrases of at most 4
    words are the bits 0 and 5.

    links: n rows of (source word, target word), sorted. spans: n rows of `phrase_pairs`.
    """
    from interlace.alignment._phrase_kernels import fill_link_sets

    sets = np.empty(len(spans.flat), np.int64)
    flat = np.ascontiguousarray(links.flat)
    fill_link_sets(flat, links.offsets, spans.values, spans.offsets, max_length, sets)
    return sets
