"""The external program fast_align: the reparameterized IBM model 2 (Dyer, Chahuneau & Smith 2013).

`diagonal` is the built-in implementation of the same model.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from interlace.aligners.common.program import ExternalAligner, NumberedText, Program, run
from interlace.alignment.lexicon import Lexicon
from interlace.core.progress import Progress
from interlace.core.ragged import Ragged


class FastAlign(ExternalAligner):
    """Aligns words with the program `fast_align`, run once per direction; priors are not used."""

    advice: ClassVar[str] = (
        "build it from github.com/clab/fast_align, use the aligner 'diagonal', which is the same model"
    )

    program: Program = "fast_align"
    diagonal: bool = Field(True, description="Favor links near the diagonal (-d; Dyer et al. 2013, section 2).")
    optimize: bool = Field(True, description="Learn the tension toward the diagonal (-o; the same, section 3.1).")
    variational: bool = Field(True, description="A Dirichlet prior on translations (-v; the same, section 3).")
    iterations: int = Field(5, ge=1, description="Iterations of EM (-I; the same, section 4).")

    def _directions(
        self, program: str, text: NumberedText, folder: Path, priors: Lexicon | None, progress: Progress
    ) -> tuple[Ragged, Ragged]:
        if priors is not None:
            logging.getLogger(__name__).warning("fast_align: word translations are not supported; ignoring the priors")
        text.write_joined(folder / "text")
        switches = {"-d": self.diagonal, "-o": self.optimize, "-v": self.variational}
        options = [*(switch for switch, on in switches.items() if on), "-I", str(self.iterations)]
        ways = []
        for step, reverse in enumerate(([], ["-r"])):
            progress("running fast_align", step, 2)
            run(self.name, [program, "-i", str(folder / "text"), *options, *reverse], folder / "links")
            ways.append(text.read_links(self.name, folder / "links"))
        progress("running fast_align", 2, 2)
        return ways[0], ways[1]
