"""Links between words as links between their subwords, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from interlace.alignment.links import ordered
from interlace.core.errors import DataError, SettingsError, did_you_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.core.ragged import Ragged

    Pieces = tuple[NDArray[np.int64], NDArray[np.int64]]  # (total,) of each link: its word's first piece, how many

Expansion = Literal["all", "first", "monotone"]
EXPANSIONS: tuple[str, ...] = get_args(Expansion)


def to_subwords(links: Ragged, source_words: Ragged, target_words: Ragged, how: str = "all") -> Ragged:
    """Links between the subwords of linked words.

    - `all`: every subword of the one with every subword of the other.
    - `first`: the first subword of both.
    - `monotone`: each subword of the word that has more with the one at the same share of the other word, so that
      every subword has a link and none cross.

    WEAM (Yang et al. 2021) aligns words and exchanges tokens and does not say how one becomes the other.

    links: n rows of (source word, target word).
    source_words, target_words: n rows; the word each subword belongs to, never falling; -1, anywhere, for a subword of
        no word. Places count from the row's first subword, so the caller adds those of special tokens. Links to words
        without subwords, for instance words cut off, are dropped.

    Returns:
        n rows of (source subword, target subword), sorted, each once.

    Raises:
        SettingsError: there is no such expansion.
        DataError: the three differ in rows.
    """
    if how not in EXPANSIONS:
        raise SettingsError(f"there is no expansion of links {how!r}{did_you_mean(how, EXPANSIONS)}")
    _must_fit(links, source_words, target_words)
    rows = links.rows()
    source, target = (
        _pieces(rows, links.flat[:, side], words) for side, words in enumerate((source_words, target_words))
    )
    sizes = _sizes(source[1], target[1], how)
    link = np.repeat(np.arange(len(rows)), sizes)
    place = np.arange(len(link)) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # in the links of one link
    steps = _steps(place, source[1][link], target[1][link], how)
    found = np.stack([source[0][link] + steps[0], target[0][link] + steps[1]], axis=1)
    return ordered(rows[link], found, len(links))


def to_words(links: Ragged, source_words: Ragged, target_words: Ragged) -> Ragged:
    """Links between words any of whose subwords are linked.

    links: n rows of (source subword, target subword), counted from the row's first subword.
    source_words, target_words: as in `to_subwords`; links of subwords of no word are dropped.

    Returns:
        n rows of (source word, target word), sorted, each once.

    Raises:
        DataError: the three differ in rows, or a subword is linked that its row does not have; names the pair, from 1.
    """
    _must_fit(links, source_words, target_words)
    rows = links.rows()
    sides = []
    for side, words in enumerate((source_words, target_words)):
        places = links.flat[:, side]
        beyond = (places < 0) | (places >= words.lengths[rows])
        if beyond.any():
            at = int(np.argmax(beyond))
            raise DataError(
                f"pair {rows[at] + 1}: subword {places[at]} is linked, but the {('source', 'target')[side]} sentence "
                f"has {words.lengths[rows[at]]}, counted from 0"
            )
        sides.append(words.values[words.offsets[:-1][rows] + places])
    found = np.stack(sides, axis=1)
    whole = (found >= 0).all(axis=1)
    return ordered(rows[whole], found[whole], len(links))


def _must_fit(links: Ragged, source_words: Ragged, target_words: Ragged) -> None:
    if not len(links) == len(source_words) == len(target_words):
        raise DataError(
            f"links of {len(links)} pairs, but subwords of {len(source_words)} source and {len(target_words)} target "
            f"sentences"
        )


def _pieces(rows: NDArray[np.int64], linked: NDArray[np.int32], words: Ragged) -> Pieces:
    """Where the subwords of each linked word begin in their row, and how many it has (0: none)."""
    width = int(max(words.flat.max(initial=0), linked.max(initial=0))) + 1
    belongs = np.flatnonzero(words.flat >= 0)
    keys = words.rows()[belongs] * width + words.flat[belongs]  # rising, so a word's subwords stand together
    wanted = rows * width + linked
    first, end = (np.searchsorted(keys, wanted, side=side) for side in ("left", "right"))
    places = words.columns()[belongs]
    return np.append(places, 0)[first], (end - first).astype(np.int64)


def _sizes(source: NDArray[np.int64], target: NDArray[np.int64], how: str) -> NDArray[np.int64]:
    """How many links each link becomes, from the number of subwords of both words."""
    if how == "all":
        return source * target
    there = (source > 0) & (target > 0)
    return there.astype(np.int64) if how == "first" else np.maximum(source, target) * there


def _steps(
    place: NDArray[np.int64], source: NDArray[np.int64], target: NDArray[np.int64], how: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which subword of each word the link at each place joins."""
    if how == "all":
        return place // target, place % target
    longer = np.maximum(source, target)
    return place * source // longer, place * target // longer
