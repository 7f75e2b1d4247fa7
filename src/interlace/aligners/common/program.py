"""External alignment programs: find them, pass text through files, and read their alignments.

Words are written as numbers, so that no spelling (`|||`, control characters, white space) can confuse a program.
Pairs without words on both sides are not written.
"""

from __future__ import annotations

import shutil
import subprocess
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from io import SEEK_END
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field

from interlace.aligners import Aligner, StoredAlignments
from interlace.aligners.common.inputs import Fold, Vocabularies, check_usable
from interlace.alignment import CHUNK, WordPairs
from interlace.alignment.formats import read_alignments
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.symmetrization import Heuristic, symmetrize
from interlace.core.errors import DataError, InterlaceError, MissingDependencyError, SettingsError
from interlace.core.progress import Progress, no_progress
from interlace.core.ragged import Ragged
from interlace.text.lines import write_lines

Program = Annotated[
    str,
    Field(
        description="The program: a name on the PATH, or a path. It runs with your rights, so look at this key before "
        "you run a recipe of somebody else's."
    ),
]


class ExternalAligner(Aligner):
    """An aligner that runs an external program on all pairs."""

    can_save: ClassVar[bool] = False
    advice: ClassVar[str]  # how to get the program

    program: Program
    fold: Fold = "lower"
    symmetrization: Heuristic = Field("grow-diag-final-and", description="Heuristic that combines both directions.")

    def fit(
        self, pairs: WordPairs, priors: Lexicon | None = None, progress: Progress | None = None
    ) -> StoredAlignments:
        """Run the program on all pairs.

        Raises:
            MissingProgramError: the program is not installed.
            DataError: no pair has words on both sides, or the program failed.
        """
        program = shutil.which(Path(self.program).expanduser())
        if program is None:
            raise MissingProgramError(f"the aligner {self.name!r}", self.program, self.advice)
        text = NumberedText(pairs, check_usable(pairs, self.name), self.fold)
        with TemporaryDirectory(prefix=f"{self.name}-") as folder:
            forward, backward = self._directions(program, text, Path(folder), priors, progress or no_progress)
        return StoredAlignments.of(self, pairs, symmetrize(forward, backward, self.symmetrization))

    @abstractmethod
    def _directions(
        self, program: str, text: NumberedText, folder: Path, priors: Lexicon | None, progress: Progress
    ) -> tuple[Ragged, Ragged]:
        """Return the links of both directions, a row per pair. folder: for the program's files."""


class MissingProgramError(MissingDependencyError):
    """An external program is missing; the message says how to get it."""

    def __init__(self, needed_by: str, program: str, advice: str) -> None:
        where = "does not exist or is not executable" if "/" in program else "is not on the PATH"
        InterlaceError.__init__(
            self, f"{needed_by} runs the program {program!r}, which {where}; {advice}, or set `program` to its path"
        )


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
        stderr.seek(max(0, stderr.seek(0, SEEK_END) - 500))
        lines = stderr.read().decode("utf-8", "replace").split("\n")
    status = f"exited with {done.returncode}" if done.returncode > 0 else f"was killed by signal {-done.returncode}"
    raise DataError(f"{name}: {command[0]} {status}: {' / '.join(filter(None, map(str.strip, lines)))}")


class NumberedText:
    """The usable pairs of a corpus as lines of numbers.

    usable: (n,) which pairs are written. vocabularies: the folded types of the numbers.
    """

    def __init__(self, pairs: WordPairs, usable: NDArray[np.bool_], fold: Fold) -> None:
        self.pairs, self.usable, self.vocabularies = pairs, usable, Vocabularies.of(fold)
        self._number = self.vocabularies.renumber(pairs)

    def _lines(self, side: int) -> Iterator[Any]:
        """Yield Arrow strings of the sources (0) or targets (1), chunk by chunk."""
        start = 0
        for chunk in self.pairs.chunks(CHUNK):
            kept = np.flatnonzero(self.usable[start : start + len(chunk)])
            start += len(chunk)
            rows = self._number[side]((chunk.source, chunk.target)[side].take(kept), grow=True)
            words = pa.array(rows.flat).cast(pa.string())
            yield pc.binary_join(pa.ListArray.from_arrays(pa.array(rows.offsets.astype(np.int32)), words), " ")

    def write(self, source: Path, target: Path) -> None:
        """Write one file per side."""
        for side, path in enumerate((source, target)):
            write_lines(path, chain.from_iterable(part.to_pylist() for part in self._lines(side)))

    def write_joined(self, path: Path) -> None:
        """Write one file of lines `source ||| target`."""
        joined = (pc.binary_join_element_wise(*parts, " ||| ") for parts in zip(*map(self._lines, (0, 1)), strict=True))
        write_lines(path, chain.from_iterable(part.to_pylist() for part in joined))

    def read_links(self, name: str, path: Path) -> Ragged:
        """Read the `i-j` links that a program wrote for the usable pairs, as a row for every pair.

        name: of the aligner, for errors.

        Raises:
            DataError: the number of lines differs, or a line is malformed.
        """
        lengths = (self.pairs.source.lengths[self.usable], self.pairs.target.lengths[self.usable])
        try:
            found = read_alignments(path, lengths, base=0, kind="pharaoh").possible
        except DataError as error:
            raise DataError(f"{name}: the program's output cannot be read: {error}") from error
        rows = np.zeros(len(self.usable), np.int64)
        rows[self.usable] = found.lengths
        return Ragged.from_lengths(found.flat, rows)
