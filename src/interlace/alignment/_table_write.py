"""Moses' format of phrase tables, out: columns that Arrow makes lines of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from interlace.alignment._table_order import SEPARATOR, escaped
from interlace.core.ragged import Ragged
from interlace.text.lines import write_lines

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.alignment.phrase_table import PhraseTable

_LINES = 50_000  # worked on at a time
_BLANK, _BETWEEN = (pa.scalar(text, pa.large_string()) for text in (" ", f" {SEPARATOR} "))


def write(table: PhraseTable, path: Path | str) -> None:
    """The lines of a table, whose rows are sorted already."""
    sides = [
        _joined(Ragged(phrases.values, phrases.offsets), [escaped(word) for word in types])
        for phrases, types in ((table.source, table.source_types), (table.target, table.target_types))
    ]
    write_lines(path, (line for start in range(0, len(table), _LINES) for line in _lines(table, sides, start)))


def _lines(table: PhraseTable, sides: list[Any], start: int) -> list[str]:
    rows = slice(start, start + _LINES)
    links = table.links.slice(start, min(start + _LINES, len(table)))
    fields = [
        *(side.take(pa.array(table.entries[rows, number])) for number, side in enumerate(sides)),
        _numbers(table.scores[rows]),
        _links(links),
        _numbers(table.counts[rows]),
    ]
    found: list[str] = pc.binary_join_element_wise(*fields, _BETWEEN).to_pylist()
    return found


def _numbers(columns: NDArray[Any]) -> Any:
    """Numbers of a row with blanks between, each with the fewest digits that give it again."""
    texts = [pc.cast(pa.array(column), pa.large_string()) for column in columns.T]
    return pc.binary_join_element_wise(*texts, _BLANK)


def _links(links: Ragged) -> Any:
    keys, numbers = np.unique(links.flat.astype(np.int64) @ (1 << 32, 1), return_inverse=True)
    texts = [f"{key >> 32}-{key & 0xFFFFFFFF}" for key in keys.tolist()]
    return _joined(Ragged(numbers, links.offsets - links.offsets[0]), texts)


def _joined(rows: Ragged, texts: list[str]) -> Any:
    """Rows of numbers as the texts they are numbers of, with blanks between."""
    cells = pa.array(texts, pa.large_string()).take(pa.array(rows.values))
    return pc.binary_join(pa.LargeListArray.from_arrays(pa.array(rows.offsets), cells), _BLANK)
