"""Arrays on disk for what exceeds a memory limit.

The temporary files have no name (on Windows: are deleted when closed), so that nothing remains of a process however it
ends. `TMPDIR` chooses their disk.
"""

from pathlib import Path
from tempfile import TemporaryFile

import numpy as np
from numpy.typing import DTypeLike

from interlace.core.ragged import AnyArray, Ragged


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

    def append(self, values: AnyArray) -> None:
        """Add rows at the end."""
        self._file.seek(self._rows * self._size)
        self._file.write(np.ascontiguousarray(values, self._dtype).data)
        self._rows += len(values)

    def mapped(self) -> AnyArray:
        """Return all rows, mapped to memory; changes are written to the file."""
        self._file.flush()
        if not self._rows:  # an empty file cannot be mapped
            return np.zeros((0, *self._width), self._dtype)
        shape = (self._rows, *self._width)
        return np.memmap(self._file, self._dtype, "r+", shape=shape).view(np.ndarray)


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

    def mapped(self) -> Ragged:
        """Return all rows, mapped to memory."""
        return Ragged(self._values.mapped(), self._offsets.mapped())
