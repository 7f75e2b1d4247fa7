"""Arrays on disk for what exceeds a memory limit, and sorted runs that are merged range by range.

The temporary files have no name (on Windows: are deleted when closed), so that nothing remains of a process however it
ends. `TMPDIR` chooses their disk.
"""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from pydantic import Field

from interlace.core.ragged import Ragged

DEFAULT_MEMORY = 4.0
GB = 10**9
Memory = Annotated[
    float,
    Field(
        gt=0,
        description="GB of memory for counts; what exceeds it is kept in temporary files. Same results.",
    ),
]


class SpilledColumn:
    """An array of rows in a temporary file."""

    def __init__(
        self,
        dtype: DTypeLike,
        width: tuple[int, ...] = (),
        rows: int = 0,
        folder: Path | None = None,
    ) -> None:
        """rows: number of rows to begin with, all zero. folder: on whose disk the file is; default: `TMPDIR`."""
        self._dtype, self._width, self._rows = np.dtype(dtype), width, rows
        self._size = self._dtype.itemsize * int(np.prod(width, dtype=np.int64))
        self._file = TemporaryFile(prefix="interlace-", dir=folder)  # noqa: SIM115 - closed with the column
        self._file.truncate(rows * self._size)

    def __del__(self) -> None:
        if hasattr(self, "_file"):  # none was made on a full disk
            self._file.close()

    def __len__(self) -> int:
        return self._rows

    def append(self, values: NDArray[Any]) -> None:
        """Add rows at the end."""
        self.write(self._rows, values)
        self._rows += len(values)

    def write(self, start: int, values: NDArray[Any]) -> None:
        """Replace the rows from `start` on."""
        self._file.seek(start * self._size)
        self._file.write(np.ascontiguousarray(values, self._dtype).data)

    def read(self, rows: slice) -> NDArray[Any]:
        """Return consecutive rows, copied to memory."""
        self._file.seek(rows.start * self._size)
        count = (rows.stop - rows.start) * self._size // self._dtype.itemsize
        return np.fromfile(self._file, self._dtype, count).reshape(-1, *self._width)

    def mapped(self) -> NDArray[Any]:
        """Return all rows, mapped to memory; changes are written to the file."""
        self._file.flush()
        if not self._rows:  # an empty file cannot be mapped
            return np.zeros((0, *self._width), self._dtype)
        return np.memmap(self._file, self._dtype, "r+", shape=(self._rows, *self._width)).view(
            np.ndarray
        )


class SpilledRows:
    """Ragged rows in temporary files."""

    def __init__(
        self, dtype: DTypeLike, width: tuple[int, ...] = (), folder: Path | None = None
    ) -> None:
        self._values = SpilledColumn(dtype, width, folder=folder)
        self._offsets = SpilledColumn(np.int64, rows=1, folder=folder)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def append(self, rows: Ragged) -> None:
        """Add rows at the end."""
        self._offsets.append(rows.offsets[1:] - rows.offsets[0] + len(self._values))
        self._values.append(rows.flat)

    def read(self, start: int, stop: int) -> Ragged:
        """Return consecutive rows, copied to memory."""
        offsets = self._offsets.read(slice(start, stop + 1))
        return Ragged(
            self._values.read(slice(int(offsets[0]), int(offsets[-1]))), offsets - offsets[0]
        )

    def mapped(self) -> Ragged:
        """Return all rows, mapped to memory."""
        return Ragged(self._values.mapped(), self._offsets.mapped())


class SortedRuns:
    """Sorted runs of records in a temporary file, merged by ranges of their field `key`."""

    def __init__(self, dtype: DTypeLike) -> None:
        self._records = SpilledColumn(dtype)
        self._starts = [0]

    def __len__(self) -> int:
        return len(self._starts) - 1

    def add(self, records: NDArray[Any]) -> None:
        """Add a run, sorted by key."""
        self._records.append(records)
        self._starts.append(len(self._records))

    def read(self, run: int) -> NDArray[Any]:
        """Return a run, copied to memory."""
        return self._records.read(slice(self._starts[run], self._starts[run + 1]))

    def merged(self, rows: int) -> Iterator[NDArray[Any]]:
        """Yield the records of all runs for one range of keys after the other, about `rows` at a time."""
        keys = self._records.mapped()["key"]
        runs = [keys[start:stop] for start, stop in pairwise(self._starts)]
        step = max(1, rows // (4 * len(runs)))
        sample = np.sort(np.concatenate([run[::step] for run in runs]))
        cuts = np.unique(sample[:: max(1, rows // step)])[1:]
        ends = [
            np.append(np.searchsorted(run, cuts), len(run)) for run in runs
        ]  # of each range, by run
        before = [0] * len(runs)
        for after in zip(*ends, strict=True):
            spans = zip(self._starts, before, after, strict=False)
            parts = [
                self._records.read(slice(start + low, start + high)) for start, low, high in spans
            ]
            yield np.concatenate(parts)
            before = list(after)
