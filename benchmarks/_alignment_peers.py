"""Run eflomal and systran-align (fast_align) as external programs and read their links.

Both get lower-cased words as numbers, without pairs that have an empty side.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from interlace.aligners.common.program import NumberedText, run

if TYPE_CHECKING:
    from interlace.alignment import WordPairs
    from interlace.core.ragged import Ragged

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
        paths = (part for option, name in files.items() for part in (option, str(folder / name)))
        return [self.program, "--overwrite", *paths]

    def links(self, pairs: WordPairs) -> tuple[Ragged, Ragged]:
        """Return the links of the forward and of the backward direction."""
        text = numbered_text(pairs)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            text.write(folder / "source", folder / "target")
            run("eflomal", self.command(folder))
            return text.read_links("eflomal", folder / "forward"), text.read_links("eflomal", folder / "backward")


@dataclass(frozen=True)
class Systran:
    """systran-align: fast_align (Dyer et al. 2013) as a Python extension, with its own symmetrization."""

    python: str

    @classmethod
    def find(cls, python: str | None) -> Systran | None:
        """Check that an interpreter has the extension."""
        if not python:
            return None
        done = subprocess.run([python, "-c", "import systran_align"], check=False, capture_output=True)
        return None if done.returncode else cls(python)

    def links(self, pairs: WordPairs) -> Ragged:
        text = numbered_text(pairs)
        with tempfile.TemporaryDirectory() as name:
            files = [Path(name, file) for file in ("text", "forward", "backward", "links")]
            text.write_joined(files[0])
            run("systran-align", [self.python, "-c", SYSTRAN, *map(str, files[:3])], files[3])
            return text.read_links("systran-align", files[3])


def numbered_text(pairs: WordPairs) -> NumberedText:
    return NumberedText(pairs, (pairs.source.lengths > 0) & (pairs.target.lengths > 0), "lower")
