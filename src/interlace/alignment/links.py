"""Sets of alignment links: sort, compare, select and check them.

Each link becomes one integer key that sorts as the link does: (row * width + source) * width + target.
"""

import numpy as np

from interlace.core.errors import DataError
from interlace.core.ragged import AnyArray, BoolArray, IntArray, Ragged


def sorted_links(rows: AnyArray, links: AnyArray, count: int) -> Ragged:
    """Return `count` rows of links, sorted by source then target, without duplicates.

    rows: (total,) the row of each link, in any order.
    links: (total, 2) source and target word.
    """
    width = _width(links)
    keys = _keys(rows, links, width)
    is_sorted = (keys[1:] > keys[:-1]).all()
    if not is_sorted:
        words, target = np.divmod(np.unique(keys), width)
        rows, source = np.divmod(words, width)
        links = np.stack([source, target], axis=1)
    lengths = np.bincount(rows.astype(np.int64), minlength=count)
    flat = np.ascontiguousarray(links, np.int32)
    return Ragged.from_lengths(flat, lengths)


def contained_in(links: Ragged, others: Ragged) -> BoolArray:
    """(total,) whether each link is also in the same row of `others`; both are sorted and have as many rows."""
    width = max(_width(links.flat), _width(others.flat))
    keys = _keys(links.rows(), links.flat, width)
    other_keys = _keys(others.rows(), others.flat, width)
    return np.isin(keys, other_keys)


def select_links(links: Ragged, selected: BoolArray) -> Ragged:
    """Return the links (or spans) of each row that are selected, shape (total,)."""
    rows = links.rows()[selected]
    lengths = np.bincount(rows, minlength=len(links))
    return Ragged.from_lengths(links.flat[selected], lengths)


def word_positions(words: Ragged, links: Ragged, side: int) -> IntArray:
    """(total,) the index in `words.flat` of each link's word on a side: 0 source, 1 target."""
    starts = words.offsets[:-1] - words.offsets[0]
    row_starts = np.repeat(starts, links.lengths)  # (total,)
    return links.flat[:, side] + row_starts


def reverse_links(links: Ragged) -> Ragged:
    """Return links as (target, source), sorted again: those of the pairs with their sides exchanged."""
    return sorted_links(links.rows(), links.flat[:, ::-1], len(links))


def check_row_counts(source: int, target: int, links: int) -> None:
    """Raise a `DataError` unless both sides and the links have as many rows."""
    if not source == target == links:
        raise DataError(
            f"{source} source and {target} target sentences, but {links} rows of links"
        )


def check_links(
    source_lengths: IntArray,
    target_lengths: IntArray,
    links: Ragged,
    first: int = 0,
) -> None:
    """Check that all links are between words of their sentences; a DataError names the first other pair, from 1.

    source_lengths, target_lengths: (n,) words of each sentence. first: the index of the first pair, for the message.
    """
    check_row_counts(len(source_lengths), len(target_lengths), len(links))
    source = links.flat[:, 0]
    target = links.flat[:, 1]
    link_source_lengths = np.repeat(source_lengths, links.lengths)
    link_target_lengths = np.repeat(target_lengths, links.lengths)
    is_beyond = (source < 0) | (source >= link_source_lengths)
    is_beyond |= (target < 0) | (target >= link_target_lengths)
    if is_beyond.any():
        link = int(np.argmax(is_beyond))
        row = int(links.rows()[link])
        raise DataError(
            f"pair {first + row + 1}: link {source[link]}-{target[link]}, but the sentences have "
            f"{source_lengths[row]} and {target_lengths[row]} words, counted from 0"
        )


def _width(links: AnyArray) -> int:
    """Return the largest word index plus one."""
    return int(links.max(initial=0)) + 1


def _keys(rows: AnyArray, links: AnyArray, width: int) -> IntArray:
    keys = rows.astype(np.int64) * width
    keys += links[:, 0]
    keys *= width
    keys += links[:, 1]
    return keys
