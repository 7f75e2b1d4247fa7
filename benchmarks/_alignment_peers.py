"""Run eflomal and systran-align (fast_align) as external programs and read their links.

Both get lower-cased words as numbers, so that no spelling can confuse them, without pairs that have an empty side.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from interlace.aligners.common.inputs import Vocabularies
from interlace.alignment.formats import read_alignments
from interlace.core.ragged import Ragged
from interlace.text.lines import write_lines

if TYPE_CHECKING:
    from interlace.alignment import WordPairs

SYSTRAN = """
import sys, systran_align
text, *names = sys.argv[1:]
systran_align.generate_alignment_probabilities(
    text, *names, favor_diagonal=True, optimize_tension=True, variational_bayes=True
)
with open(text) as file:
    sides = zip(*([side.split() for side in line.split(" ||| ")] for line in file))
for row in systran_align.Aligner(*names).align_batch(*map(list, sides)):
    print(*(f"{i}-{j}" for i, j in row["alignments"]))
"""


@dataclass(frozen=True)
class Eflomal:
    """The program eflomal (Östling & Tiedemann 2016) with its defaults; it takes no seed."""

    program: str

    @classmethod
    def find(cls, python: str | None) -> Eflomal | None:
        """Look for the program in the folder of an interpreter and on the PATH."""
        folder = f"{Path(python).parent}{os.pathsep}" if python else ""
        program = shutil.which("eflomal-align", path=folder + os.environ.get("PATH", ""))
        return cls(program) if program else None

    def command(self, folder: Path) -> list[str]:
        """Return the command that aligns `source` and `target` of a folder into `forward` and `backward`."""
        files = {"-s": "source", "-t": "target", "-f": "forward", "-r": "backward"}
        paths = (
            part for option, name in files.items() for part in (option, str(folder / name))
        )
        return [self.program, "--overwrite", *paths]

    def links(self, pairs: WordPairs) -> tuple[Ragged, Ragged]:
        """Return the links of the forward and of the backward direction."""
        text = NumberedText(pairs)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            text.write(folder / "source", folder / "target")
            subprocess.run(self.command(folder), check=True, capture_output=True)
            return text.read_links(folder / "forward"), text.read_links(folder / "backward")


@dataclass(frozen=True)
class Systran:
    """systran-align: fast_align (Dyer et al. 2013) as a Python extension, with its own symmetrization."""

    python: str

    @classmethod
    def find(cls, python: str | None) -> Systran | None:
        """Check that an interpreter has the extension."""
        if not python:
            return None
        done = subprocess.run(
            [python, "-c", "import systran_align"], check=False, capture_output=True
        )
        return None if done.returncode else cls(python)

    def links(self, pairs: WordPairs) -> Ragged:
        text = NumberedText(pairs)
        with tempfile.TemporaryDirectory() as name:
            files = [Path(name, file) for file in ("text", "forward", "backward", "links")]
            write_lines(files[0], map(" ||| ".join, zip(*text.lines, strict=True)))
            with files[3].open("wb") as output:
                subprocess.run(
                    [self.python, "-c", SYSTRAN, *map(str, files[:3])],
                    check=True,
                    stdout=output,
                )
            return text.read_links(files[3])


class NumberedText:
    """The pairs with words on both sides as lines of numbers, by side."""

    def __init__(self, pairs: WordPairs) -> None:
        self._usable = (pairs.source.lengths > 0) & (pairs.target.lengths > 0)
        self._sides = [side.take(self._usable) for side in (pairs.source, pairs.target)]
        numbered = zip(Vocabularies.of("lower").renumber(pairs), self._sides, strict=True)
        self.lines = [
            [" ".join(map(str, row)) for row in number(side, grow=True)]
            for number, side in numbered
        ]

    def write(self, *paths: Path) -> None:
        """Write one file per side."""
        for path, lines in zip(paths, self.lines, strict=True):
            write_lines(path, lines)

    def read_links(self, path: Path) -> Ragged:
        """Read the `i-j` links that a program wrote, as a row for every pair."""
        lengths = (self._sides[0].lengths, self._sides[1].lengths)
        found = read_alignments(path, lengths, base=0, kind="pharaoh").possible
        rows = np.zeros(len(self._usable), np.int64)
        rows[self._usable] = found.lengths
        return Ragged.from_lengths(found.flat, rows)
