"""Aligners that are programs of others: found, fed through files, and their links read back. Never imported.

Words go out as numbers. A program then cannot stumble over what words are made of (`|||`, control characters, blanks
that one program splits at and another does not), and pairs without words on both sides are not shown to it at all.
"""

from __future__ import annotations

import shutil
import subprocess
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from interlace.align._folding import Fold, Renumbering, Vocabulary
from interlace.errors import DataError, InterlaceError, MissingDependencyError, SettingsError
from interlace.links import CHUNK
from interlace.links._keys import ordered
from interlace.text.lines import write_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from interlace.links import WordPairs
    from interlace.ragged import Ragged

_LAST_WORDS = 5  # lines of a failed program that its error quotes


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


def run(name: str, command: Sequence[str]) -> bytes:
    """What a program writes to its standard output.

    Raises:
        SettingsError: it is no program.
        DataError: it failed; the message holds its last words.
    """
    try:
        done = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)  # noqa: S603
    except OSError as error:
        raise SettingsError(f"{name}: {command[0]} cannot be run: {error.strerror}") from error
    if done.returncode:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip().split("\n")[-_LAST_WORDS:]
        ended = f"ended with {done.returncode}" if done.returncode > 0 else f"was ended by signal {-done.returncode}"
        raise DataError(f"{name}: {command[0]} {ended}: " + " / ".join(filter(None, map(str.strip, said))))
    return done.stdout


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


def read_links(name: str, data: bytes, usable: NDArray[np.bool_]) -> Ragged:
    """The `i-j` links that a program gave for the usable pairs, as a row for every pair.

    Raises:
        DataError: there are not as many lines, or other things in them.
    """
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    dashes = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("-"))
    if len(ends) != usable.sum():
        raise DataError(f"{name}: the program gave {len(ends)} lines of links for {int(usable.sum())} pairs")
    numbers = np.array(data.replace(b"-", b" ").split(), np.bytes_)
    if len(numbers) != 2 * len(dashes) or not np.char.isdigit(numbers).all():
        raise DataError(f"{name}: the program gave something else than links such as `0-0 1-2`")
    rows = np.flatnonzero(usable)[np.searchsorted(ends, dashes)]
    return ordered(rows, numbers.astype(np.int32).reshape(-1, 2), len(usable))


def _numbers(rows: Ragged) -> Any:
    """A line a row: its numbers with blanks between, as Arrow strings."""
    spelt = pa.array(rows.flat).cast(pa.string())
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(rows.offsets.astype(np.int32)), spelt), " ")
