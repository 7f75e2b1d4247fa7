"""Write phrase tables in Moses' format, and compute the order of their lines.

Lines are sorted by bytes, as Moses' tools expect (`LC_ALL=C sort`). The order is computed from integers, without making
the lines: a word is compared as its spelling followed by a blank, the end of a phrase as the separator that follows it.
None of these is a prefix of another, so comparing them one by one compares the lines.
"""

import re
from bisect import bisect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from interlace.alignment.pharaoh import arrow_texts, joined_texts, link_texts
from interlace.alignment.phrase_table import PhraseTable
from interlace.core.ragged import Ragged
from interlace.text.lines import write_lines
from interlace.text.types import arrow_numbers

Sides = tuple[Ragged, Ragged]

SEPARATOR = "|||"
_LINES = 50_000  # processed at a time
_SPECIAL = re.compile(r"[|\t\n\r ]|&(?=(?:amp;)*#(?:9|10|13|32|124);)")


def write_table(path: Path | str, table: PhraseTable) -> None:
    """Write a phrase table, whose rows are sorted; gzip by suffix."""
    types = (table.source_types, table.target_types)
    spellings = [arrow_texts([escape(word) for word in words]) for words in types]
    starts = range(0, len(table.entries), _LINES)
    write_lines(path, (line for start in starts for line in _lines(table, spellings, start)))


def sort_entries(
    entries: NDArray[np.integer], sides: Sides, types: tuple[list[str], list[str]]
) -> tuple[NDArray[np.int32], Sides, NDArray[np.int64]]:
    """Sort entries and the phrases of each side as a table's lines; return both, and each entry's previous index."""
    columns, rows = [], []
    for side, (phrases, spellings) in enumerate(zip(sides, types, strict=True)):
        order = line_order(phrases, spellings)
        numbers = np.empty(len(order), np.int64)
        numbers[order] = np.arange(len(order))
        columns.append(numbers[entries[:, side]])
        rows.append(phrases.take(order))
    order = np.argsort(columns[0] * max(len(rows[1]), 1) + columns[1], kind="stable")
    return np.stack(columns, axis=1)[order].astype(np.int32), (rows[0], rows[1]), order


def line_order(phrases: Ragged, spellings: Sequence[str]) -> NDArray[np.int64]:
    """Return the indices that sort phrases (rows of indices of spellings) as the lines that begin with them."""
    ranks, end = word_ranks(spellings)
    columns = Ragged(ranks[phrases.flat], phrases.offsets - phrases.offsets[0]).padded(end).T
    return np.lexsort(columns[::-1]) if len(columns) else np.arange(len(phrases))


def word_ranks(spellings: Sequence[str]) -> tuple[NDArray[np.int32], int]:
    """Return the rank of each word in the order of lines, and that of the end of a phrase."""
    keys = [escape(word) + " " for word in spellings]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    ranks = np.empty(len(keys), np.int32)
    ranks[order] = np.arange(1, 2 * len(keys), 2)
    return ranks, 2 * bisect([keys[number] for number in order], f"{SEPARATOR} ")


def escape(word: str) -> str:
    """Escape `|` as Moses does, and white space likewise; no two words become one.

    >>> escape("a|b"), escape("&#124;"), escape("&amp;")
    ('a&#124;b', '&amp;#124;', '&amp;')
    """
    return _SPECIAL.sub(lambda found: "&amp;" if found[0] == "&" else f"&#{ord(found[0])};", word)


def _lines(table: PhraseTable, spellings: list[Any], start: int) -> list[str]:
    """Return lines from `start` on; only their phrases are spelled, as all would not fit into memory."""
    rows = slice(start, start + _LINES)
    links = table.links.slice(start, min(start + _LINES, len(table.entries)))
    phrases = []
    for side, words in enumerate((table.source, table.target)):
        numbers, places = np.unique(table.entries[rows, side], return_inverse=True)
        phrases.append(joined_texts(words.take(numbers), spellings[side]).take(arrow_numbers(places)))
    fields = [*phrases, _format_numbers(table.scores[rows]), link_texts(links), _format_numbers(table.counts[rows])]
    lines: list[str] = pc.binary_join_element_wise(*fields, arrow_texts([f" {SEPARATOR} "])[0]).to_pylist()
    return lines


def _format_numbers(columns: NDArray[Any]) -> Any:
    """Return the numbers of each row joined by blanks, each with the fewest digits that restore it."""
    texts = [pc.cast(arrow_numbers(column), pa.large_string()) for column in columns.T]
    return pc.binary_join_element_wise(*texts, arrow_texts([" "])[0])
