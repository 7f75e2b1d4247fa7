"""Aligners of others, which run apart from us: found where they are installed, their links read back.

Words go to them as numbers, lower-cased, without the pairs that have a side without words.
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
    """The program eflomal (Östling & Tiedemann 2016), with its defaults. It draws anew each time."""

    program: str

    @classmethod
    def find(cls, python: str | None) -> Eflomal | None:
        """The program beside this interpreter or on the PATH."""
        beside = f"{Path(python).parent}{os.pathsep}" if python else ""
        program = shutil.which("eflomal-align", path=beside + os.environ.get("PATH", ""))
        return cls(program) if program else None

    def command(self, folder: Path) -> list[str]:
        """From the files `source` and `target` of a folder to `forward` and `backward`."""
        files = {"-s": "source", "-t": "target", "-f": "forward", "-r": "backward"}
        return [
            self.program,
            "--overwrite",
            *(part for key, name in files.items() for part in (key, str(folder / name))),
        ]

    def links(self, pairs: WordPairs) -> tuple[Ragged, Ragged]:
        """What each target word and what each source word chose."""
        numbered = shown(pairs)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            numbered.write(folder / "source", folder / "target")
            run("eflomal", self.command(folder))
            forward, backward = (numbered.read_links("eflomal", folder / way) for way in ("forward", "backward"))
        return forward, backward


@dataclass(frozen=True)
class Systran:
    """systran-align: fast_align (Dyer et al. 2013) as a Python extension, which joins both directions itself."""

    python: str

    @classmethod
    def find(cls, python: str | None) -> Systran | None:
        """The extension, if this interpreter has it."""
        if not python:
            return None
        asked = subprocess.run([python, "-c", "import systran_align"], check=False, capture_output=True)
        return None if asked.returncode else cls(python)

    def links(self, pairs: WordPairs) -> Ragged:
        """Its links, the same each time."""
        numbered = shown(pairs)
        with tempfile.TemporaryDirectory() as name:
            files = [Path(name, file) for file in ("text", "forward", "backward", "links")]
            numbered.write_joined(files[0])
            run("systran-align", [self.python, "-c", SYSTRAN, *map(str, files[:3])], files[3])
            return numbered.read_links("systran-align", files[3])


def shown(pairs: WordPairs) -> NumberedText:
    """What peers are shown of the pairs."""
    return NumberedText(pairs, (pairs.source.lengths > 0) & (pairs.target.lengths > 0), "lower")
