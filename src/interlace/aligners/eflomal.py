"""The external program eflomal: Bayesian alignment by Gibbs sampling (Östling & Tiedemann 2016).

It is licensed under the GPL, therefore it is run as a separate program. It has no seed, so two runs differ slightly.
"""

from __future__ import annotations

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
from interlace.text.lines import write_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlace.alignment import WordPairs
    from interlace.alignment.lexicon import Lexicon
    from interlace.core.progress import Progress


class Eflomal(Aligner):
    """Aligns words with the program `eflomal-align`."""

    can_save: ClassVar[bool] = False

    program: str = Field(
        "eflomal-align",
        description="The program: a name on the PATH, or a path. It runs with your rights, so look at this "
        "key before you run a recipe of somebody else's.",
    )
    model: int = Field(
        3,
        ge=1,
        le=3,
        description="1: IBM model 1; 2: with jumps; 3: with fertility (Östling & Tiedemann 2016, section 2).",
    )
    length: float = Field(
        1.0, gt=0, description="Sampling iterations, relative to the program's default for the size of the text."
    )
    samplers: int = Field(3, ge=1, description="Independent samplers whose counts are summed (the same, section 2).")
    null_prior: float = Field(0.2, gt=0, lt=1, description="Prior probability of an unaligned word.")
    prior_weight: float = Field(1.0, gt=0, description="Pseudo-counts per count of a prior lexicon.")
    fold: Fold = Field("lower", description="'lower': ignore case; 'none': keep words unchanged.")
    symmetrization: Heuristic = Field("grow-diag-final-and", description="Heuristic that combines both directions.")

    def fit(self, pairs: WordPairs, priors: Lexicon | None = None, progress: Progress | None = None) -> FittedAligner:
        """Run the program on all pairs.

        Raises:
            MissingProgramError: the program is not installed.
            DataError: no pair has words on both sides, or the program failed.
        """
        program = find_program("the aligner 'eflomal'", self.program, "install it with `pip install eflomal`")
        numbered = NumberedText(pairs, check_usable(pairs, self.name), self.fold)
        report = progress or no_progress
        with TemporaryDirectory(prefix="eflomal-") as name:
            folder = Path(name)
            numbered.write(folder / "source", folder / "target")
            options = ["-p", str(folder / "priors")] if priors is not None else []
            if priors is not None:
                write_lines(folder / "priors", _prior_lines(priors, numbered, self.prior_weight))
            report("running eflomal", 0, 1)
            run(self.name, [program, *self._options(folder), *options])
            report("running eflomal", 1, 1)
            forward, backward = (
                read_links(self.name, folder / way, pairs, numbered.usable) for way in ("forward", "backward")
            )
        return StoredAlignments.of(self, pairs, symmetrize(forward, backward, self.symmetrization))

    def _options(self, folder: Path) -> list[str]:
        files = {"-s": "source", "-t": "target", "-f": "forward", "-r": "backward"}
        numbers = {"-m": self.model, "-l": self.length, "--n-samplers": self.samplers, "--null-prior": self.null_prior}
        options = {option: str(folder / file) for option, file in files.items()}
        options |= {option: str(number) for option, number in numbers.items()}
        return ["--overwrite", *(part for option in options.items() for part in option)]


def _prior_lines(priors: Lexicon, numbered: NumberedText, weight: float) -> Iterator[str]:
    """Yield the lexicon's entries whose words occur in the corpus, in eflomal's format: kind, source, target, count."""
    sides = ((priors.source_types, numbered.source), (priors.target_types, numbered.target))
    source, target = (vocabulary.find(spellings) for spellings, vocabulary in sides)
    counts: dict[tuple[int, int], float] = {}
    for (i, j), count in zip(priors.entries.tolist(), priors.counts.tolist(), strict=True):
        entry = int(source[i]), int(target[j])
        if min(entry) >= 0:  # entries that are equal after folding are summed
            counts[entry] = counts.get(entry, 0.0) + weight * count
    return (f"LEX\t{i}\t{j}\t{count:.6g}" for (i, j), count in sorted(counts.items()))
