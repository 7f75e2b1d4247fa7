"""Expand alignments between words to alignments between their subwords."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from interlace.alignment.links import sorted_links
from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.ragged import Ragged

Pieces = tuple[NDArray[np.int64], NDArray[np.int64]]  # (total,) of each link: its word's first subword, number

Expansion = Literal["all", "first", "monotone"]
EXPANSIONS: tuple[str, ...] = get_args(Expansion)


def to_subwords(links: Ragged, source_words: Ragged, target_words: Ragged, how: str = "all") -> Ragged:
    """Return links between the subwords of aligned words.

    - `all`: link each subword of one word to each subword of the other.
    - `first`: link the first subwords.
    - `monotone`: link each subword of the word with more subwords to the one at the same relative position of the other
      word, so that every subword has a link and no links cross.

    WEAM (Yang et al. 2021) aligns words and exchanges tokens; the paper does not define the expansion.

    links: n rows of (source word, target word).
    source_words, target_words: n rows; the word of each subword, not decreasing; -1 for a subword of no word. Positions
        count from the row's first subword; the caller adds special tokens. Links of words without subwords (for
        instance truncated words) are dropped.

    Returns:
        n rows of (source subword, target subword), sorted, without duplicates.

    Raises:
        SettingsError: the expansion does not exist.
        DataError: the numbers of rows differ.
    """
    if how not in EXPANSIONS:
        raise SettingsError(f"there is no expansion {how!r} of word alignments{did_you_mean(how, EXPANSIONS)}")
    if not len(links) == len(source_words) == len(target_words):
        raise DataError(
            f"alignments of {len(links)} pairs, but subwords of {len(source_words)} source and {len(target_words)} "
            f"target sentences"
        )
    rows = links.rows()
    source, target = (
        _pieces(rows, links.flat[:, side], words) for side, words in enumerate((source_words, target_words))
    )
    sizes = _sizes(source[1], target[1], how)
    link = np.repeat(np.arange(len(rows)), sizes)
    place = np.arange(len(link)) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # among the links of one link
    steps = _steps(place, source[1][link], target[1][link], how)
    found = np.stack([source[0][link] + steps[0], target[0][link] + steps[1]], axis=1)
    return sorted_links(rows[link], found, len(links))


def _pieces(rows: NDArray[np.int64], linked: NDArray[np.int32], words: Ragged) -> Pieces:
    """Return the position of the first subword of each aligned word, and its number of subwords."""
    width = int(max(words.flat.max(initial=0), linked.max(initial=0))) + 1
    belongs = np.flatnonzero(words.flat >= 0)
    keys = words.rows()[belongs] * width + words.flat[belongs]  # sorted, so a word's subwords are adjacent
    wanted = rows * width + linked
    first, end = (np.searchsorted(keys, wanted, side=side) for side in ("left", "right"))
    places = words.columns()[belongs]
    return np.append(places, 0)[first], (end - first).astype(np.int64)


def _sizes(source: NDArray[np.int64], target: NDArray[np.int64], how: str) -> NDArray[np.int64]:
    """Return the number of subword links of each link, from the number of subwords of both words."""
    if how == "all":
        return source * target
    there = (source > 0) & (target > 0)
    return there.astype(np.int64) if how == "first" else np.maximum(source, target) * there


def _steps(
    place: NDArray[np.int64], source: NDArray[np.int64], target: NDArray[np.int64], how: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the subword of each word that the link at each position connects."""
    if how == "all":
        return place // target, place % target
    longer = np.maximum(source, target)
    return place * source // longer, place * target // longer
