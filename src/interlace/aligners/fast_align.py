"""The program fast_align, if it is installed: the reparameterised IBM model 2.

Dyer, Chahuneau & Smith (2013). `diagonal` is the same model built in; this member is for comparing and for those who
have the program at hand.
"""

from __future__ import annotations

import logging
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from interlace.aligners import Aligner, FittedAligner
from interlace.aligners._folding import Fold
from interlace.aligners._program import Numbered, find_program, read_links, run
from interlace.aligners._stored import Stored
from interlace.aligners._usable import check_usable
from interlace.alignment.symmetrization import Heuristic, symmetrize

if TYPE_CHECKING:
    from interlace.alignment import WordPairs
    from interlace.alignment.lexicon import Lexicon
    from interlace.core.progress import Progress

log = logging.getLogger(__name__)


class FastAlign(Aligner):
    """Links by the program `fast_align`, run once a direction."""

    can_save: ClassVar[bool] = False

    program: str = Field(
        "fast_align",
        description="The program: a name on the PATH, or where it stands. It runs with your rights, so look at this "
        "key before you run a recipe of somebody else's.",
    )
    diagonal: bool = Field(True, description="Favour links near the diagonal (-d; Dyer et al. 2013, section 2).")
    optimise: bool = Field(True, description="Learn how strongly (-o; the same, section 3.1).")
    variational: bool = Field(True, description="A Dirichlet prior on translations (-v; the same, section 3).")
    iterations: int = Field(5, ge=1, description="Rounds of expectation and maximisation (-I; the same, section 4).")
    fold: Fold = Field("lower", description="'lower': words that differ in case are one; 'none': as they are.")
    symmetrization: Heuristic = Field("grow-diag-final-and", description="How links of both directions become one set.")

    def fit(self, pairs: WordPairs, priors: Lexicon | None = None, progress: Progress | None = None) -> FittedAligner:
        """Run the program on all pairs, once each way; it has no use for priors.

        Raises:
            MissingProgramError: it is not installed.
            DataError: no pair has words on both sides, or the program failed.
        """
        advice = "build it from github.com/clab/fast_align, take the aligner 'diagonal', which is the same model"
        program = find_program("the aligner 'fast_align'", self.program, advice)
        numbered = Numbered(pairs, check_usable(pairs, self.name), self.fold)
        if priors is not None:
            log.warning("fast_align: the program takes no word translations; the priors are left out")
        tell = progress or (lambda *_: None)
        with TemporaryDirectory(prefix="fast_align-") as folder:
            text, links = Path(folder, "text"), Path(folder, "links")
            numbered.write_joined(text)
            ways = []
            for step, reverse in enumerate(([], ["-r"])):
                tell("running fast_align", step, 2)
                run(self.name, [program, "-i", str(text), *self._options(), *reverse], links)
                ways.append(read_links(self.name, links, pairs, numbered.usable))
            tell("running fast_align", 2, 2)
        return Stored.of(self, pairs, symmetrize(ways[0], ways[1], self.symmetrization))

    def _options(self) -> list[str]:
        switches = {"-d": self.diagonal, "-o": self.optimise, "-v": self.variational}
        return [*(switch for switch, on in switches.items() if on), "-I", str(self.iterations)]
