"""The program eflomal, if it is installed: Bayesian alignment by Gibbs sampling.

Östling & Tiedemann (2016). It is licensed under the GPL and stays outside: it is started as a program and read through
files. It draws anew every time, so two runs differ a little.
"""

from __future__ import annotations

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
from interlace.text.lines import write_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlace.alignment import WordPairs
    from interlace.alignment.lexicon import Lexicon
    from interlace.core.progress import Progress


class Eflomal(Aligner):
    """Links by the program `eflomal-align`."""

    can_save: ClassVar[bool] = False

    program: str = Field(
        "eflomal-align",
        description="The program: a name on the PATH, or where it stands. It runs with your rights, so look at this "
        "key before you run a recipe of somebody else's.",
    )
    model: int = Field(
        3,
        ge=1,
        le=3,
        description="1: words; 2: and jumps; 3: and fertility (Östling & Tiedemann 2016, section 2).",
    )
    length: float = Field(
        1.0, gt=0, description="Sampling iterations, relative to what the program takes for text of this size."
    )
    samplers: int = Field(3, ge=1, description="Independent samplers whose counts are added (the same, section 2).")
    null_prior: float = Field(0.2, gt=0, lt=1, description="Prior probability of a word without link.")
    prior_weight: float = Field(1.0, gt=0, description="Pseudo-counts for each count of a lexicon given as prior.")
    fold: Fold = Field("lower", description="'lower': words that differ in case are one; 'none': as they are.")
    symmetrization: Heuristic = Field("grow-diag-final-and", description="How links of both directions become one set.")

    def fit(self, pairs: WordPairs, priors: Lexicon | None = None, progress: Progress | None = None) -> FittedAligner:
        """Run the program on all pairs.

        Raises:
            MissingProgramError: it is not installed.
            DataError: no pair has words on both sides, or the program failed.
        """
        program = find_program("the aligner 'eflomal'", self.program, "install it with `pip install eflomal`")
        numbered = Numbered(pairs, check_usable(pairs, self.name), self.fold)
        tell = progress or (lambda *_: None)
        with TemporaryDirectory(prefix="eflomal-") as name:
            folder = Path(name)
            numbered.write(folder / "source", folder / "target")
            options = ["-p", str(folder / "priors")] if priors is not None else []
            if priors is not None:
                write_lines(folder / "priors", _prior_lines(priors, numbered, self.prior_weight))
            tell("running eflomal", 0, 1)
            run(self.name, [program, *self._options(folder), *options])
            tell("running eflomal", 1, 1)
            forward, backward = (
                read_links(self.name, folder / way, pairs, numbered.usable) for way in ("forward", "backward")
            )
        return Stored.of(self, pairs, symmetrize(forward, backward, self.symmetrization))

    def _options(self, folder: Path) -> list[str]:
        files = {"-s": "source", "-t": "target", "-f": "forward", "-r": "backward"}
        numbers = {"-m": self.model, "-l": self.length, "--n-samplers": self.samplers, "--null-prior": self.null_prior}
        options = {option: str(folder / file) for option, file in files.items()}
        options |= {option: str(number) for option, number in numbers.items()}
        return ["--overwrite", *(part for option in options.items() for part in option)]


def _prior_lines(priors: Lexicon, numbered: Numbered, weight: float) -> Iterator[str]:
    """The lexicon's entries whose words the corpus has, as eflomal reads priors: kind, source, target, count."""
    sides = ((priors.source_types, numbered.source), (priors.target_types, numbered.target))
    source, target = (vocabulary.find(spellings) for spellings, vocabulary in sides)
    counts: dict[tuple[int, int], float] = {}
    for (i, j), count in zip(priors.entries.tolist(), priors.counts.tolist(), strict=True):
        entry = int(source[i]), int(target[j])
        if min(entry) >= 0:  # entries that differ in case only are one
            counts[entry] = counts.get(entry, 0.0) + weight * count
    return (f"LEX\t{i}\t{j}\t{count:.6g}" for (i, j), count in sorted(counts.items()))
