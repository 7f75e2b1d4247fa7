"""Aligners that are programs of others: found, fed through files, and their links read back. Never imported.

Words go out as numbers. A program then cannot stumble over what words are made of (`|||`, control characters, blanks
that one program splits at and another does not), and pairs without words on both sides are not shown to it at all.
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

from interlace.aligners._folding import Fold, Renumbering, Vocabulary
from interlace.alignment import CHUNK
from interlace.alignment.formats import read_alignments
from interlace.core.errors import DataError, InterlaceError, MissingDependencyError, SettingsError
from interlace.core.ragged import Ragged
from interlace.text.lines import write_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from interlace.alignment import WordPairs

_LAST_WORDS = 500  # bytes of what a failed program said that its error quotes


class MissingProgramError(MissingDependencyError):
    """An outside program is needed; the message says how to get it."""

    def __init__(self, needed_by: str, program: str, advice: str) -> None:
        where = "is not there or may not be run" if "/" in program else "is not on the PATH"
        hint = f"{advice}, or set `program` to where it stands"
        InterlaceError.__init__(self, f"{needed_by} runs the program {program!r}, which {where}; {hint}")


def find_program(needed_by: str, program: str, advice: str) -> str:
    """The path of a program, which is a name on the PATH or a path.

    Raises:
        MissingProgramError: there is none that may be run.
    """
    found = shutil.which(Path(program).expanduser())
    if found is None:
        raise MissingProgramError(needed_by, program, advice)
    return found


def run(name: str, command: Sequence[str], output: Path | None = None) -> None:
    """Run a program to its end.

    output: a file for what it writes to its standard output.

    Raises:
        SettingsError: it is no program.
        DataError: it failed; the message holds its last words.
    """
    with TemporaryFile() as said, TemporaryFile() if output is None else output.open("wb") as written:
        try:
            done = subprocess.run(command, stdout=written, stderr=said, check=False, stdin=subprocess.DEVNULL)  # noqa: S603
        except OSError as error:
            raise SettingsError(f"{name}: {command[0]} cannot be run: {error.strerror}") from error
        if not done.returncode:
            return
        said.seek(max(0, said.seek(0, SEEK_END) - _LAST_WORDS))
        words = said.read().decode("utf-8", "replace").split("\n")
    ended = f"ended with {done.returncode}" if done.returncode > 0 else f"was ended by signal {-done.returncode}"
    raise DataError(f"{name}: {command[0]} {ended}: {' / '.join(filter(None, map(str.strip, words)))}")


class Numbered:
    """The usable pairs of a corpus as lines of numbers.

    usable: (n,) which pairs are written.
    source, target: the folded types that the numbers stand for.
    """

    def __init__(self, pairs: WordPairs, usable: NDArray[np.bool_], fold: Fold) -> None:
        self.usable = usable
        self.source, self.target = Vocabulary(fold), Vocabulary(fold)
        self._pairs = pairs
        self._number = (Renumbering(pairs.source_types, self.source), Renumbering(pairs.target_types, self.target))

    def lines(self, side: int) -> Iterator[Any]:
        """Arrow strings of the sources (0) or targets (1), chunk by chunk."""
        start = 0
        for chunk in self._pairs.chunks(CHUNK):
            kept = np.flatnonzero(self.usable[start : start + len(chunk)])
            start += len(chunk)
            rows = (chunk.source, chunk.target)[side].take(kept)
            yield _numbers(self._number[side](rows, grow=True))

    def write(self, source: Path, target: Path) -> None:
        """A file a side."""
        for side, path in enumerate((source, target)):
            write_lines(path, chain.from_iterable(part.to_pylist() for part in self.lines(side)))

    def write_joined(self, path: Path) -> None:
        """One file of both sides with ` ||| ` between."""
        parts = zip(self.lines(0), self.lines(1), strict=True)
        write_lines(
            path, chain.from_iterable(pc.binary_join_element_wise(*part, " ||| ").to_pylist() for part in parts)
        )


def read_links(name: str, path: Path, pairs: WordPairs, usable: NDArray[np.bool_]) -> Ragged:
    """The `i-j` links that a program wrote for the usable pairs, as a row for every pair.

    Raises:
        DataError: there are not as many lines, or other things in them.
    """
    lengths = (pairs.source.lengths[usable], pairs.target.lengths[usable])
    try:
        found = read_alignments(path, lengths, base=0, kind="pharaoh").possible
    except DataError as error:
        raise DataError(f"{name}: what the program wrote cannot be read: {error}") from error
    rows = np.zeros(len(usable), np.int64)
    rows[usable] = found.lengths
    return Ragged.from_lengths(found.flat, rows)


def _numbers(rows: Ragged) -> Any:
    """A line a row: its numbers with blanks between, as Arrow strings."""
    spelt = pa.array(rows.flat).cast(pa.string())
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(rows.offsets.astype(np.int32)), spelt), " ")
