"""Phrase pairs that agree with word links (Koehn, Och and Marcu 2003, section 3.1)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError
from interlace.core.processors import processors
from interlace.core.ragged import Ragged
from interlace.core.settings import Settings

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROWS = 2_000  # pairs a thread works on at a time


class PhraseRules(Settings):
    """Which phrase pairs are taken from linked sentences."""

    max_phrase_length: int = Field(
        4,
        ge=1,
        le=20,
        description="Greatest length of a phrase in words, on both sides (ALM, Yang et al. 2020: less than 5).",
    )
    unaligned_borders: bool = Field(
        True,
        description="Whether a phrase may begin or end with words that have no link, as in Moses; else all four "
        "border words are linked.",
    )
    min_confidence: float = Field(
        0.0,
        ge=0,
        le=1,
        description="Links that the aligner is less sure of are left out before phrases are looked for.",
    )

    def sure(
        self, links: Ragged, confidence: NDArray[np.floating] | None
    ) -> tuple[Ragged, NDArray[np.floating] | None]:
        """The links that are sure enough, and their confidence.

        confidence: a number a link, all rows after each other, or None where nobody knows.

        Raises:
            DataError: sure ones are asked for and nobody knows which.
        """
        if not self.min_confidence:
            return links, confidence
        if confidence is None:
            raise DataError(
                f"min_confidence = {self.min_confidence:g}, but these links have no confidence; link with an "
                "aligner that gives it, or leave the setting out"
            )
        kept = confidence >= np.float32(self.min_confidence)
        lengths = np.bincount(links.rows()[kept], minlength=len(links))
        return Ragged.from_lengths(links.flat[kept], lengths), confidence[kept]


def phrase_pairs(
    source_lengths: NDArray[np.integer],
    target_lengths: NDArray[np.integer],
    links: Ragged,
    rules: PhraseRules | None = None,
    threads: int | None = None,
    confidence: NDArray[np.floating] | None = None,
) -> Ragged:
    """All phrase pairs of n sentence pairs whose words are linked to each other and to nothing outside.

    A phrase pair holds at least one link, and no link leads from inside it to outside.

    source_lengths, target_lengths: (n,) words of each sentence.
    links: n rows of (source word, target word), in any order.
    threads: None for all processors; the result is the same for any number.
    confidence: a number a link, which a rule of least confidence needs.

    Returns:
        n rows of half-open word spans (a, b, c, d), shape (total, 4) int32, sorted, each once: source[a:b]
        translates target[c:d].

    Raises:
        DataError: the three differ in rows, or a link leads beyond a sentence; names the pair, from 1. Or the rules
            ask for confidence and there is none.
    """
    rules = rules or PhraseRules()
    links, _ = rules.sure(links, confidence)
    lengths = [np.ascontiguousarray(side, np.int64) for side in (source_lengths, target_lengths)]
    must_have_equal_rows(len(lengths[0]), len(lengths[1]), len(links))

    def work(start: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        from interlace.alignment._phrase_kernels import consistent

        rows = slice(start, start + _ROWS)
        part = links.slice(start, min(start + _ROWS, len(links)))
        flat = np.array(part.flat.reshape(-1, 2), np.int32)  # a copy: kernels are compiled for arrays in memory
        offsets = part.offsets - part.offsets[0]
        spans, used, found = consistent(
            lengths[0][rows], lengths[1][rows], flat, offsets, rules.max_phrase_length, rules.unaligned_borders
        )
        if found.min() < 0:
            must_fit(lengths[0], lengths[1], links)
        return spans[:used].copy(), found

    starts = range(0, len(links), _ROWS)
    if len(starts) == 1 or threads == 1:  # of a batch: starting a thread would take longer
        parts = list(map(work, starts))
    else:
        with ThreadPoolExecutor(threads or processors()) as pool:
            parts = list(pool.map(work, starts))
    spans = np.concatenate([np.zeros((0, 4), np.int32), *(part[0] for part in parts)])
    return Ragged.from_lengths(spans, np.concatenate([np.zeros(0, np.int64), *(part[1] for part in parts)]))


def must_fit(
    source_lengths: NDArray[np.int64], target_lengths: NDArray[np.int64], links: Ragged, first: int = 0
) -> None:
    """Refuse links that do not stand between these sentences, the first of which is pair number `first` + 1.

    Raises:
        DataError: they differ in rows, or a link leads beyond a sentence; names the first such pair, from 1.
    """
    must_have_equal_rows(len(source_lengths), len(target_lengths), len(links))
    flat = links.flat.reshape(-1, 2)
    beyond = (flat[:, 0] >= np.repeat(source_lengths, links.lengths)) | (flat.min(axis=1, initial=0) < 0)
    beyond |= flat[:, 1] >= np.repeat(target_lengths, links.lengths)
    if beyond.any():
        at = int(np.argmax(beyond))
        row = int(np.searchsorted(links.offsets - links.offsets[0], at, side="right")) - 1
        raise DataError(
            f"pair {first + row + 1}: link {flat[at, 0]}-{flat[at, 1]}, but the sentences have "
            f"{source_lengths[row]} and {target_lengths[row]} words, counted from 0"
        )


def must_have_equal_rows(source: int, target: int, links: int) -> None:
    """Refuse sides and links that are not of as many pairs."""
    if not source == target == links:
        raise DataError(f"{source} source and {target} target sentences, but {links} rows of links")
