"""The part of a phrase table that batches need: phrases as word types, phi both ways, the likeliest rows; mapped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.text.lines import must_exist

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.alignment.phrase_table import PhraseTable

TABLE = "table"
_SIDES = ("source", "target")


@dataclass(frozen=True)
class Table:
    """m phrase pairs of S source and T target phrases.

    phrases: S and T rows of int32 word types.
    entries: (m, 2) int32 (source phrase, target phrase), sorted.
    phi: (m, 2) float32 (phi(target|source), phi(source|target)).
    best: (S,) and (T,) int32, the row of the likeliest translation of each phrase of a side.
    """

    phrases: tuple[Ragged, Ragged]
    entries: NDArray[np.int32]
    phi: NDArray[np.float32]
    best: tuple[NDArray[np.int32], NDArray[np.int32]]

    @classmethod
    def of(cls, table: PhraseTable) -> Table:
        """From a whole phrase table."""
        return cls((table.source, table.target), table.entries, table.scores[:, [2, 0]], best_rows(table))

    @classmethod
    def open(cls, folder: Path) -> Table:
        """Map what `write` wrote.

        Raises:
            DataError: a file is missing or damaged.
        """
        source, target = (Ragged(mapped(folder / side), mapped(folder / f"{side}_offsets")) for side in _SIDES)
        best = (mapped(folder / "source_best"), mapped(folder / "target_best"))
        return cls((source, target), mapped(folder / "entries"), mapped(folder / "phi"), best)

    def write(self, into: Path) -> None:
        """Write a folder `table` of plain numpy files."""
        folder = into / TABLE
        folder.mkdir()
        for side, phrases, best in zip(_SIDES, self.phrases, self.best, strict=True):
            np.save(folder / f"{side}.npy", phrases.flat.astype(np.int32, copy=False))
            np.save(folder / f"{side}_offsets.npy", phrases.offsets - phrases.offsets[0])
            np.save(folder / f"{side}_best.npy", best)
        np.save(folder / "entries.npy", self.entries)
        np.save(folder / "phi.npy", np.ascontiguousarray(self.phi, np.float32))


def best_rows(table: PhraseTable) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The row of the likeliest translation of each source phrase, and of each target phrase.

    Equals are decided as `PhraseTable.best` does: by count, then by lexical weight, then by order.
    """
    order = np.lexsort((-table.scores[:, 1], -table.counts[:, 2], -table.scores[:, 0], table.entries[:, 1]))
    targets = table.entries[order, 1]
    first = np.searchsorted(targets, np.arange(len(table.target)))
    return table.best.astype(np.int32), order[first].astype(np.int32)


def mapped(path: Path) -> NDArray[Any]:
    """The array in `path.npy`, read as it is asked for.

    Raises:
        DataError: the file is missing or damaged.
    """
    path = must_exist(path.with_suffix(".npy"), "part of a phrase store")
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r")
    except (ValueError, OSError, EOFError) as error:
        raise DataError(f"{path}: damaged: {error}; extract phrases again") from error
    return array.view(np.ndarray)
