"""Accurate alignment without a language model, by Gibbs samplers on whole and truncated words.

Like eflomal (Östling & Tiedemann 2016): IBM model 1, then an HMM with jumps, then fertility, with sparse priors that
are integrated out. In addition, each sampler sees words truncated to another length, and links are taken from the mean
of all posteriors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field, field_validator

from interlace.aligners import Aligner, Alignments, FittedAligner, StoredAlignments
from interlace.aligners.common.inputs import (
    Prior,
    Threads,
    Vocabularies,
    check_trainable,
    warn_about_long,
)
from interlace.alignment import Heuristic, WordPairs
from interlace.core.kernels import processors
from interlace.core.progress import Progress, no_progress
from interlace.core.ragged import Arrays

if TYPE_CHECKING:
    from interlace.aligners.gibbs.model import Cuts, SamplerModel
    from interlace.alignment.lexicon import Lexicon
    from interlace.core.ragged import AnyArray

_WAYS = ("forward", "backward")  # the samplers of a view
MAX_SWEEPS = 250  # with fertility: small texts converge within a hundred


class Gibbs(Aligner):
    """Aligns words by averaged posteriors of Gibbs samplers; the default aligner."""

    views: list[int] = Field(
        [0, 5, 4, 3],
        min_length=1,
        description="Lengths to which words are truncated, in letters (0: whole words). Each has one sampler per "
        "direction; the posteriors are averaged.",
    )
    sweeps: float = Field(
        0.5,
        gt=0,
        le=100,
        description="Factor of the number of sweeps, 5000 / sqrt(pairs), at least 2 and at most 250 (eflomal: 1).",
    )
    symmetrization: Literal["posterior"] | Heuristic = Field(
        "posterior",
        description="'posterior': links whose mean posterior reaches `threshold`; or a heuristic.",
    )
    threshold: float = Field(
        0.4, gt=0, le=1, description="Minimum mean posterior of both directions."
    )
    max_training_cells: int = Field(
        100_000_000,
        ge=1000,
        description="Maximum cells (source words x target words, summed over pairs) in memory while training, 28 bytes "
        "each and 9 more per thread beyond the first (at most two threads per view). A larger text is trained on in "
        "parts of this size, each starting from the counts of those before it.",
    )
    seed: int = Field(0, ge=0, description="Seed of the samplers.")
    threads: Threads = 0

    @field_validator("views")
    @classmethod
    def _are_lengths(cls, views: list[int]) -> list[int]:
        if min(views) < 0:
            raise ValueError(
                f"a view is a number of letters, or 0 for whole words; found {min(views)}"
            )
        return views

    def fit(
        self,
        pairs: WordPairs,
        priors: Lexicon | None = None,
        progress: Progress | None = None,
        evidence: Alignments | None = None,
    ) -> FittedGibbs:
        """Train on all pairs, in parts if they exceed `max_training_cells`; samplers start with priors as links.

        evidence: links of another aligner for these pairs, which make the samplers draw them with more probability, and
        others with less; none of pairs that `without_unusable_text` empties. It takes eight bytes more for each cell.

        Raise a DataError if no pair has words on both sides, or all such are too long.
        """
        from interlace.aligners.gibbs import sampler
        from interlace.aligners.gibbs.model import (
            Posteriors,
            cell_starts,
            evidence_factors,
            links_of,
        )

        check_trainable(pairs, self.name)
        vocabularies = Vocabularies.of()
        renumber_source, renumber_target = vocabularies.renumber(pairs)
        parts = sampler.count_parts(pairs, self.max_training_cells)
        schedule = self.sweeps_for(-(-len(pairs) // parts))
        learned: list[sampler.Learned] = []
        stored = None
        for number in range(parts):
            usable, evidence_of_part = sampler.part_of(pairs, evidence, number, parts)
            source = renumber_source(usable.source, grow=True)
            target = renumber_target(usable.target, grow=True)
            prior = Prior.of(None if number else priors, vocabularies)
            cuts = self._cuts(*vocabularies.types)
            factors = evidence_factors(evidence_of_part, source, target)
            part = sampler.TextPart((source, target), cuts, prior, factors, learned)
            report = _of_part(progress or no_progress, number, parts)
            means, learned = sampler.run_samplers(
                part, schedule, self.seed, self.threads, report, number
            )
            if parts == 1:
                starts = cell_starts(source, target)
                posteriors = Posteriors(source.offsets, target.offsets, starts, *means)
                links = links_of(posteriors, self.symmetrization, self.threshold, self.threads)
                stored = StoredAlignments.of(self, pairs, links.links, links.confidence)
                del posteriors
            # free the cells before the next part
            del means, source, target, usable, factors, part
        return FittedGibbs(self, [trained.model for trained in learned], vocabularies, stored)

    def restore(
        self,
        arrays: Mapping[str, AnyArray],
        source_types: list[str],
        target_types: list[str],
        folder: Path,  # noqa: ARG002
    ) -> FittedGibbs:
        """Rebuild a model from what `FittedGibbs.arrays` and `types` returned; raise a DataError unless they fit."""
        from interlace.aligners.gibbs.model import SamplerModel

        vocabularies = Vocabularies.of(source_types, target_types, self.name)
        models = []
        for view, cuts in enumerate(self._cuts(source_types, target_types)):
            for way, directed_cuts in zip(_WAYS, (cuts, cuts[::-1]), strict=True):
                models.append(
                    SamplerModel.restore(arrays, f"{view}.{way}", directed_cuts, self.name)
                )
        return FittedGibbs(self, models, vocabularies)

    def _cuts(self, source_types: list[str], target_types: list[str]) -> list[Cuts]:
        """Return how each view cuts the words of both sides."""
        from interlace.aligners.gibbs.model import Cut

        return [
            (Cut.of(source_types, letters), Cut.of(target_types, letters))
            for letters in self.views
        ]

    def sweeps_for(self, pairs: int) -> list[int]:
        """Return the sweeps of each of the three models for this many pairs (Östling & Tiedemann 2016: 1 : 1 : 4)."""
        most = min(max(2, round(self.sweeps * 5000 / math.sqrt(pairs))), MAX_SWEEPS)
        quarter = max(1, most // 4)
        return [max(2, quarter), quarter, most]


class FittedGibbs(FittedAligner):
    """The model of all samplers, and the links that they drew for their training pairs."""

    def __init__(
        self,
        aligner: Gibbs,
        models: list[SamplerModel],
        vocabularies: Vocabularies,
        stored: StoredAlignments | None = None,
    ) -> None:
        self.aligner: Gibbs = aligner
        self._models = models
        self._vocabularies = vocabularies
        self.stored = stored

    def align(self, pairs: WordPairs, evidence: Alignments | None = None) -> Alignments:
        """Align any pairs by a few sweeps over each pair alone; unknown words are aligned by position.

        evidence: links of another aligner, as in `Gibbs.fit`.
        """
        from interlace.aligners.gibbs.model import links_of, posteriors_of
        from interlace.aligners.gibbs.sampler import portions

        settings = self.aligner
        warn_about_long(pairs, settings.name)
        renumber_source, renumber_target = self._vocabularies.renumber(pairs)
        parts = []
        with ThreadPoolExecutor(settings.threads or processors()) as pool:
            for portion in portions(pairs):
                source = renumber_source(portion.source)
                target = renumber_target(portion.target)
                evidence_of_portion = None
                if evidence is not None:
                    rows = np.arange(len(portion)) + portion.first - pairs.first
                    evidence_of_portion = evidence.take(rows)
                posteriors = posteriors_of(
                    self._models, settings.seed, source, target, pool, evidence_of_portion
                )
                parts.append(
                    links_of(
                        posteriors,
                        settings.symmetrization,
                        settings.threshold,
                        settings.threads,
                    )
                )
        return Alignments.concatenate(parts)

    def align_training_pairs(self, pairs: WordPairs) -> Alignments:
        """Return the links drawn during training, where no pair confirms itself; else align as new pairs."""
        return self.align(pairs) if self.stored is None else self.stored.align(pairs)

    def arrays(self) -> Arrays:
        """Return the parameters of every sampler."""
        arrays = {}
        for number, model in enumerate(self._models):
            arrays.update(model.arrays(f"{number // 2}.{_WAYS[number % 2]}"))
        return arrays

    def types(self) -> tuple[list[str], list[str]]:
        """Return the folded spellings that the arrays refer to."""
        return self._vocabularies.types


def _of_part(progress: Progress, number: int, count: int) -> Progress:
    """Return a callback for the steps of one part, which reports those of all parts."""
    return lambda what, done, steps: progress(what, number * steps + done, count * steps)
