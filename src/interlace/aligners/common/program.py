"""External alignment programs: find them, pass text through files, and read their alignments.

Words are written as numbers, so that no spelling (`|||`, control characters, white space) can confuse a program.
Pairs without words on both sides are not written.
"""

from __future__ import annotations

import shutil
import subprocess
from io import SEEK_END
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from interlace.aligners.common.inputs import Fold, Renumbering, Vocabulary
from interlace.alignment import CHUNK
from interlace.alignment.formats import read_alignments
from interlace.core.errors import DataError, InterlaceError, MissingDependencyError, SettingsError
from interlace.core.ragged import Ragged
from interlace.text.lines import write_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from interlace.alignment import WordPairs

_QUOTED = 500  # last bytes of a failed program's standard error that the message quotes


class MissingProgramError(MissingDependencyError):
    """An external program is missing; the message says how to get it."""

    def __init__(self, needed_by: str, program: str, advice: str) -> None:
        where = "does not exist or is not executable" if "/" in program else "is not on the PATH"
        InterlaceError.__init__(
            self, f"{needed_by} runs the program {program!r}, which {where}; {advice}, or set `program` to its path"
        )


def find_program(needed_by: str, program: str, advice: str) -> str:
    """Return the path of a program, given as a name on the PATH or a path.

    Raises:
        MissingProgramError: there is no such executable.
    """
    found = shutil.which(Path(program).expanduser())
    if found is None:
        raise MissingProgramError(needed_by, program, advice)
    return found


def run(name: str, command: Sequence[str], output: Path | None = None) -> None:
    """Run a program until it exits.

    name: of the aligner, for errors. output: a file for its standard output.

    Raises:
        SettingsError: it cannot be executed.
        DataError: it failed; the message quotes the end of its standard error.
    """
    with TemporaryFile() as stderr, TemporaryFile() if output is None else output.open("wb") as stdout:
        try:
            done = subprocess.run(command, stdout=stdout, stderr=stderr, check=False, stdin=subprocess.DEVNULL)  # noqa: S603
        except OSError as error:
            raise SettingsError(f"{name}: {command[0]} cannot be run: {error.strerror}") from error
        if not done.returncode:
            return
        stderr.seek(max(0, stderr.seek(0, SEEK_END) - _QUOTED))
        lines = stderr.read().decode("utf-8", "replace").split("\n")
    status = f"exited with {done.returncode}" if done.returncode > 0 else f"was killed by signal {-done.returncode}"
    raise DataError(f"{name}: {command[0]} {status}: {' / '.join(filter(None, map(str.strip, lines)))}")


class NumberedText:
    """The usable pairs of a corpus as lines of numbers.

    usable: (n,) which pairs are written.
    source, target: the folded types of the numbers.
    """

    def __init__(self, pairs: WordPairs, usable: NDArray[np.bool_], fold: Fold) -> None:
        self.usable = usable
        self.source, self.target = Vocabulary(fold), Vocabulary(fold)
        self._pairs = pairs
        self._number = (Renumbering(pairs.source_types, self.source), Renumbering(pairs.target_types, self.target))

    def lines(self, side: int) -> Iterator[Any]:
        """Yield Arrow strings of the sources (0) or targets (1), chunk by chunk."""
        start = 0
        for chunk in self._pairs.chunks(CHUNK):
            kept = np.flatnonzero(self.usable[start : start + len(chunk)])
            start += len(chunk)
            rows = self._number[side]((chunk.source, chunk.target)[side].take(kept), grow=True)
            words = pa.array(rows.flat).cast(pa.string())
            yield pc.binary_join(pa.ListArray.from_arrays(pa.array(rows.offsets.astype(np.int32)), words), " ")

    def write(self, source: Path, target: Path) -> None:
        """Write one file per side."""
        for side, path in enumerate((source, target)):
            write_lines(path, chain.from_iterable(part.to_pylist() for part in self.lines(side)))

    def write_joined(self, path: Path) -> None:
        """Write one file of lines `source ||| target`."""
        parts = zip(self.lines(0), self.lines(1), strict=True)
        write_lines(
            path, chain.from_iterable(pc.binary_join_element_wise(*part, " ||| ").to_pylist() for part in parts)
        )


def read_links(name: str, path: Path, pairs: WordPairs, usable: NDArray[np.bool_]) -> Ragged:
    """Read the `i-j` links that a program wrote for the usable pairs, as a row for every pair.

    Raises:
        DataError: the number of lines differs, or a line is malformed.
    """
    lengths = (pairs.source.lengths[usable], pairs.target.lengths[usable])
    try:
        found = read_alignments(path, lengths, base=0, kind="pharaoh").possible
    except DataError as error:
        raise DataError(f"{name}: the program's output cannot be read: {error}") from error
    rows = np.zeros(len(usable), np.int64)
    rows[usable] = found.lengths
    return Ragged.from_lengths(found.flat, rows)
