"""The best links without a model of language: Gibbs samplers that see words whole and cut, both ways, and vote.

In the class of eflomal (Östling & Tiedemann 2016): IBM model 1, then jumps, then fertility, with sparse priors that are
integrated out. New here: each sampler sees words cut to another length, and links are means of posteriors of all.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field, field_validator

from interlace.aligners import Aligner, Alignments, FittedAligner
from interlace.aligners._folding import Fold, Renumbering, Vocabulary
from interlace.aligners._gibbs_pairs import portions, warn_of_long
from interlace.aligners._usable import check_usable
from interlace.alignment.symmetrization import Heuristic
from interlace.core.errors import DataError
from interlace.core.processors import processors
from interlace.core.progress import no_progress
from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from interlace.aligners._gibbs_cells import Posteriors
    from interlace.aligners._gibbs_model import Model
    from interlace.aligners._stored import Stored
    from interlace.alignment import WordPairs
    from interlace.alignment.lexicon import Lexicon
    from interlace.core.progress import Progress


MOST_SWEEPS = 250  # with fertility: ten pairs need no more than a hundred, and a few long ones would take minutes


class Gibbs(Aligner):
    """Links that samplers agree on; the default aligner."""

    views: list[int] = Field(
        [0, 5, 4, 3],
        min_length=1,
        description="A sampler each way for each: the first so many letters of a word are what it sees; 0: all.",
    )
    sweeps: float = Field(
        0.5, gt=0, le=100, description="Sweeps with fertility, in 5000 / sqrt(pairs) (eflomal: 1); from 2 to 250."
    )
    null: float = Field(
        0.2, ge=0.001, le=0.999, description="Probability of having no partner (Östling & Tiedemann 2016)."
    )
    alpha: float = Field(
        0.001, ge=1e-4, le=1, description="Dirichlet prior of each word translation, in links (the same)."
    )
    jump_alpha: float = Field(0.5, ge=0.001, le=1000, description="Dirichlet prior of each width of jumps (the same).")
    fertility_alpha: float = Field(0.5, ge=0.001, le=1000, description="Dirichlet prior of each fertility (the same).")
    symmetrization: Literal["posterior"] | Heuristic = Field(
        "posterior", description="'posterior': links whose mean probability reaches `threshold`; or a heuristic."
    )
    threshold: float = Field(0.4, gt=0, le=1, description="Least mean probability of both directions.")
    fold: Fold = Field("lower", description="'lower': words are counted without case; 'none': as they are.")
    prior_weight: float = Field(1.0, ge=0, description="Links that each count of a lexicon given as prior stands for.")
    fit_cells: int = Field(
        100_000_000,
        ge=1000,
        description="Most cells (source words x target words, summed over pairs) that samplers hold, at 28 bytes each "
        "and 9 more for each thread beyond one (two a view can run); of more, evenly spaced pairs are learnt from and "
        "all are linked by what was learnt.",
    )
    seed: int = Field(0, ge=0, description="Seed of the samplers.")
    threads: int = Field(0, ge=0, description="Threads; 0: one a core. Results do not depend on it.")

    @field_validator("views")
    @classmethod
    def _are_lengths(cls, views: list[int]) -> list[int]:
        if min(views) < 0:
            message = f"a view is a number of letters, or 0 for whole words; found {min(views)}"
            raise ValueError(message)
        return views

    def fit(self, pairs: WordPairs, priors: Lexicon | None = None, progress: Progress | None = None) -> FittedGibbs:
        """Learn from all pairs.

        priors: their counts times `prior_weight` are links that are there from the start.

        Raises:
            DataError: no pair has words on both sides.
        """
        from interlace.aligners._gibbs_fit import fit

        check_usable(pairs, self.name)
        vocabularies = (Vocabulary(self.fold), Vocabulary(self.fold))
        model, own = fit(self, pairs, priors, vocabularies, progress or no_progress)
        return FittedGibbs(self, model, vocabularies, own)

    def restore(
        self, arrays: Mapping[str, NDArray[Any]], source_types: list[str], target_types: list[str]
    ) -> FittedGibbs:
        """What `FittedGibbs.arrays` and `types` gave, usable again.

        Raises:
            DataError: an array is missing or does not fit the words, or a word is there twice.
        """
        from interlace.aligners._gibbs_model import Model, restored
        from interlace.aligners._gibbs_views import Cut

        vocabularies = (Vocabulary(self.fold, source_types), Vocabulary(self.fold, target_types))
        for side, types, own in zip(("source", "target"), (source_types, target_types), vocabularies, strict=True):
            if len(own) < len(types):
                raise DataError(f"{self.name}: damaged model: {len(types) - len(own)} {side} words are there twice")
        cuts = [(Cut.of(source_types, letters), Cut.of(target_types, letters)) for letters in self.views]
        directions = restored(arrays, cuts, self.unseen, self.name)
        return FittedGibbs(self, Model(cuts, directions, self.null, self.seed), vocabularies)

    def links(self, posteriors: Posteriors) -> Alignments:
        """Links from posteriors as `symmetrization` says."""
        from interlace.aligners._gibbs_links import joined, likely

        if self.symmetrization == "posterior":
            return likely(posteriors, self.threshold)
        return joined(posteriors, self.symmetrization)

    @property
    def unseen(self) -> float:
        """`alpha` as samplers count it: one over a whole number."""
        return 1 / round(1 / self.alpha)

    def sweeps_for(self, pairs: int) -> list[int]:
        """Sweeps of each of the three models for so many pairs (Östling & Tiedemann 2016: 1 : 1 : 4)."""
        most = min(max(2, round(self.sweeps * 5000 / math.sqrt(pairs))), MOST_SWEEPS)
        quarter = max(1, most // 4)
        return [max(2, quarter), quarter, most]


class FittedGibbs(FittedAligner):
    """What the samplers learnt, and the links that they drew for the pairs they learnt from."""

    def __init__(
        self, aligner: Gibbs, model: Model, vocabularies: tuple[Vocabulary, Vocabulary], own: Stored | None = None
    ) -> None:
        self.aligner: Gibbs = aligner
        self.model = model
        self._vocabularies = vocabularies
        self._own = own

    def align(self, pairs: WordPairs) -> Alignments:
        """Links of any pairs, by a few sweeps over each alone. Unknown words are linked by where they stand."""
        warn_of_long(pairs)
        spellings = (pairs.source_types, pairs.target_types)
        renumber = [Renumbering(*side) for side in zip(spellings, self._vocabularies, strict=True)]
        parts = [Alignments(Ragged.of([], width=2), np.zeros(0, np.float32))]
        with ThreadPoolExecutor(self.aligner.threads or processors()) as pool:
            for chunk in portions(pairs):
                rows = (renumber[0](chunk.source), renumber[1](chunk.target))
                parts.append(self.aligner.links(self.model.posteriors(*rows, pool)))
        links = Ragged.concatenate([part.links for part in parts])
        return Alignments(links, np.concatenate([part.confidence for part in parts]))

    def align_training_pairs(self, pairs: WordPairs) -> Alignments:
        """Links of the pairs it was fitted on: those drawn while sampling, when no pair confirms itself."""
        return self.align(pairs) if self._own is None else self._own.align(pairs)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Counts and tables of every sampler."""
        return self.model.arrays()

    def types(self) -> tuple[list[str], list[str]]:
        """The folded spellings that the arrays speak of."""
        return self._vocabularies[0].types, self._vocabularies[1].types
