"""Labels of words that follow their words: tags, names in IOB2, and heads."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.ragged import Ragged
from interlace.derived._numbers import numbered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from interlace.text import Text

TORN = "names whose words stand apart now, each part a name of its own"
_OUTSIDE, _BEGINS, _INSIDE = range(3)


def moved_tags(
    text: Text, offsets: NDArray[np.int64], order: NDArray[np.int64]
) -> tuple[dict[str, list[list[str]]], dict[str, int]]:
    """All tags with the word of each place, names as IOB2; and how many names were torn apart.

    offsets: (L + 1,) the words of each line. order: (W,) the word that stands at each place.
    """
    tags, notes = {}, {}
    for kind, rows in text.tags.items():
        if kind == "names":
            tags[kind], notes[TORN] = _moved_names(rows, offsets, order)
        else:
            tags[kind] = _rows(np.fromiter(chain.from_iterable(rows), object, len(order))[order], offsets)
    return tags, notes


def moved_heads(heads: Ragged | None, order: NDArray[np.int64], to: NDArray[np.int64]) -> Ragged | None:
    """The tree with its words in another order.

    to: (W,) the place in its line that each word goes to.
    """
    if heads is None:
        return None
    flat, offsets = heads.flat, heads.offsets - heads.offsets[0]
    base = np.repeat(offsets[:-1], np.diff(offsets))
    new = np.where(flat < 0, -1, to[np.where(flat < 0, 0, flat) + base]) if len(flat) else flat
    return Ragged(new[order].astype(np.int32), offsets)


def _moved_names(
    rows: list[list[str]], offsets: NDArray[np.int64], order: NDArray[np.int64]
) -> tuple[list[list[str]], int]:
    """The names of all lines; those of lines without any stay as they are, and these are most."""
    some = [line for line, row in enumerate(rows) if row.count("O") < len(row)]
    if not some:
        return rows, 0
    lines = np.array(some)
    sizes = np.diff(offsets)[lines]
    own = Ragged.from_lengths(np.empty(0), sizes)
    inside = Ragged(np.arange(offsets[-1]), offsets).take(lines).values
    shift = np.repeat(offsets[:-1][lines] - own.offsets[:-1], sizes)
    moved, torn = _in_new_order([rows[line] for line in some], own.offsets, order[inside] - shift)
    found = list(rows)
    for line, row in zip(some, moved, strict=True):
        found[line] = row
    return found, torn


def _in_new_order(
    rows: list[list[str]], offsets: NDArray[np.int64], order: NDArray[np.int64]
) -> tuple[list[list[str]], int]:
    """Each name begins with its first word in the new order; a name goes on where the word before is of the same one.

    Moving tags with their words would leave `I-` in front of `B-` (Tang et al. 2022, appendix G.1).
    """
    codes, written = numbered(chain.from_iterable(rows), len(order))
    kinds = np.array([{"B": _BEGINS, "I": _INSIDE}.get(tag[:1], _OUTSIDE) for tag in written])
    types = [tag[2:] for tag in written]
    first = np.zeros(len(codes), np.bool_)
    first[offsets[:-1]] = True
    entity = _entities(kinds[codes], _numbered(types)[codes], first)
    own = entity[order]
    begins = first | (own != np.append(-1, own[:-1]))
    table = np.array([[f"I-{kind}", f"B-{kind}"] for kind in types], object)
    table[kinds == _OUTSIDE] = "O"
    moved = table[codes[order], begins.astype(np.int64)]
    return _rows(moved, offsets), int((np.bincount(own[begins & (own >= 0)]) > 1).sum())


def _entities(kinds: NDArray[Any], types: NDArray[Any], first: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The number of the name that each word belongs to, -1 for none; a stray `I-` begins one."""
    inside = kinds == _INSIDE
    goes_on = np.zeros(len(kinds), np.bool_)
    goes_on[1:] = inside[1:] & (kinds[:-1] != _OUTSIDE) & (types[1:] == types[:-1])
    begins = (kinds != _OUTSIDE) & (first | ~goes_on)
    return np.where(kinds == _OUTSIDE, -1, np.cumsum(begins) - 1)


def _numbered(types: Sequence[str]) -> NDArray[np.int64]:
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(kind, len(numbers)) for kind in types])


def _rows(flat: NDArray[Any], offsets: NDArray[np.int64]) -> list[list[str]]:
    tags = flat.tolist()
    return [tags[start:stop] for start, stop in pairwise(offsets.tolist())]
