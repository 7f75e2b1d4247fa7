"""The external program eflomal: Bayesian alignment by Gibbs sampling (Östling & Tiedemann 2016).

It is licensed under the GPL, therefore it is run as a separate program. It has no seed, so two runs differ slightly.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from interlace.aligners.common.program import ExternalAligner, NumberedText, Program, run
from interlace.alignment.lexicon import Lexicon
from interlace.core.progress import Progress
from interlace.core.ragged import Ragged
from interlace.text.lines import write_lines


class Eflomal(ExternalAligner):
    """Aligns words with the program `eflomal-align`."""

    advice: ClassVar[str] = "install it with `pip install eflomal`"

    program: Program = "eflomal-align"
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

    def _directions(
        self, program: str, text: NumberedText, folder: Path, priors: Lexicon | None, progress: Progress
    ) -> tuple[Ragged, Ragged]:
        text.write(folder / "source", folder / "target")
        options = {"-s": "source", "-t": "target", "-f": "forward", "-r": "backward"}
        if priors is not None:
            options["-p"] = "priors"
            write_lines(folder / "priors", _prior_lines(priors, text, self.prior_weight))
        options = {option: str(folder / file) for option, file in options.items()}
        numbers = {"-m": self.model, "-l": self.length, "--n-samplers": self.samplers, "--null-prior": self.null_prior}
        options |= {option: str(number) for option, number in numbers.items()}
        progress("running eflomal", 0, 1)
        run(self.name, [program, "--overwrite", *(part for option in options.items() for part in option)])
        progress("running eflomal", 1, 1)
        forward, backward = (text.read_links(self.name, folder / way) for way in ("forward", "backward"))
        return forward, backward


def _prior_lines(priors: Lexicon, text: NumberedText, weight: float) -> list[str]:
    """Return the entries whose words occur in the corpus, in eflomal's format: kind, source, target, count."""
    source, target = text.vocabularies
    numbers = source.find(priors.source_types), target.find(priors.target_types)
    counts: defaultdict[tuple[int, int], float] = defaultdict(float)
    for (i, j), count in zip(priors.entries.tolist(), priors.counts.tolist(), strict=True):
        entry = int(numbers[0][i]), int(numbers[1][j])
        if min(entry) >= 0:  # entries that are equal after folding are summed
            counts[entry] += weight * count
    return [f"LEX\t{i}\t{j}\t{count:.6g}" for (i, j), count in sorted(counts.items())]
