"""The external program fast_align: the reparameterized IBM model 2 (Dyer, Chahuneau & Smith 2013).

`diagonal` is the built-in implementation of the same model.
"""

from __future__ import annotations

import logging
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from interlace.aligners import Aligner, FittedAligner
from interlace.aligners.common.inputs import Fold, check_usable
from interlace.aligners.common.program import NumberedText, find_program, read_links, run
from interlace.aligners.common.stored import StoredAlignments
from interlace.alignment.symmetrization import Heuristic, symmetrize
from interlace.core.progress import no_progress

if TYPE_CHECKING:
    from interlace.alignment import WordPairs
    from interlace.alignment.lexicon import Lexicon
    from interlace.core.progress import Progress

log = logging.getLogger(__name__)


class FastAlign(Aligner):
    """Aligns words with the program `fast_align`, run once per direction."""

    can_save: ClassVar[bool] = False

    program: str = Field(
        "fast_align",
        description="The program: a name on the PATH, or a path. It runs with your rights, so look at this "
        "key before you run a recipe of somebody else's.",
    )
    diagonal: bool = Field(True, description="Favor links near the diagonal (-d; Dyer et al. 2013, section 2).")
    optimize: bool = Field(True, description="Learn the tension toward the diagonal (-o; the same, section 3.1).")
    variational: bool = Field(True, description="A Dirichlet prior on translations (-v; the same, section 3).")
    iterations: int = Field(5, ge=1, description="Iterations of EM (-I; the same, section 4).")
    fold: Fold = Field("lower", description="'lower': ignore case; 'none': keep words unchanged.")
    symmetrization: Heuristic = Field("grow-diag-final-and", description="Heuristic that combines both directions.")

    def fit(self, pairs: WordPairs, priors: Lexicon | None = None, progress: Progress | None = None) -> FittedAligner:
        """Run the program on all pairs, once per direction; priors are not used.

        Raises:
            MissingProgramError: the program is not installed.
            DataError: no pair has words on both sides, or the program failed.
        """
        advice = "build it from github.com/clab/fast_align, use the aligner 'diagonal', which is the same model"
        program = find_program("the aligner 'fast_align'", self.program, advice)
        numbered = NumberedText(pairs, check_usable(pairs, self.name), self.fold)
        if priors is not None:
            log.warning("fast_align: word translations are not supported; ignoring the priors")
        report = progress or no_progress
        with TemporaryDirectory(prefix="fast_align-") as folder:
            text, links = Path(folder, "text"), Path(folder, "links")
            numbered.write_joined(text)
            ways = []
            for step, reverse in enumerate(([], ["-r"])):
                report("running fast_align", step, 2)
                run(self.name, [program, "-i", str(text), *self._options(), *reverse], links)
                ways.append(read_links(self.name, links, pairs, numbered.usable))
            report("running fast_align", 2, 2)
        return StoredAlignments.of(self, pairs, symmetrize(ways[0], ways[1], self.symmetrization))

    def _options(self) -> list[str]:
        switches = {"-d": self.diagonal, "-o": self.optimize, "-v": self.variational}
        return [*(switch for switch, on in switches.items() if on), "-I", str(self.iterations)]
