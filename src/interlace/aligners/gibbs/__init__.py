"""Accurate alignment without a language model, by Gibbs samplers on whole and truncated words.

Like eflomal (Östling & Tiedemann 2016): IBM model 1, then an HMM with jumps, then fertility, with sparse priors that
are integrated out. In addition, each sampler sees words truncated to another length, and links are taken from the mean
of all posteriors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator

from interlace.aligners import Aligner, Alignments, FittedAligner, StoredAlignments
from interlace.aligners.common.inputs import (
    TOO_LONG,
    Fold,
    Prior,
    Threads,
    Vocabularies,
    cells_of,
    check_usable,
    warn_about_long,
)
from interlace.alignment import WordPairs
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.symmetrization import Heuristic
from interlace.core.errors import DataError
from interlace.core.processors import processors
from interlace.core.progress import Progress, no_progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.aligners.gibbs.model import GibbsModel

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
    null: float = Field(
        0.2, ge=0.001, le=0.999, description="Probability of an unaligned word (Östling & Tiedemann 2016)."
    )
    alpha: float = Field(
        0.001, ge=1e-4, le=1, description="Dirichlet prior of each word translation, in links (the same)."
    )
    symmetrization: Literal["posterior"] | Heuristic = Field(
        "posterior", description="'posterior': links whose mean posterior reaches `threshold`; or a heuristic."
    )
    threshold: float = Field(0.4, gt=0, le=1, description="Minimum mean posterior of both directions.")
    fold: Fold = "lower"
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
            raise ValueError(f"a view is a number of letters, or 0 for whole words; found {min(views)}")
        return views

    def fit(self, pairs: WordPairs, priors: Lexicon | None = None, progress: Progress | None = None) -> FittedGibbs:
        """Train on all pairs, in parts if they exceed `max_training_cells`; samplers start with priors as links.

        Raise a DataError if no pair has words on both sides, or all such are too long.
        """
        from interlace.aligners.gibbs import sampler
        from interlace.aligners.gibbs.kernels import Posteriors
        from interlace.aligners.gibbs.model import Cut, GibbsModel, cell_starts, links_of

        check_usable(pairs, self.name)
        if not cells_of(pairs).any():
            raise DataError(f"{self.name}: all pairs with words on both sides are too long: {TOO_LONG}")
        warn_about_long(pairs, self.name)
        vocabularies = Vocabularies.of(self.fold)
        renumber = vocabularies.renumber(pairs)
        priors_of = sampler.SamplerPriors(self.null, self.unseen)
        count = sampler.count_parts(pairs, self.max_training_cells)
        schedule = self.sweeps_for(-(-len(pairs) // count))
        learned: Sequence[sampler.LearnedView | None] = [None] * len(self.views)
        for number in range(count):
            text = sampler.part(pairs, number, count)
            source, target = renumber[0](text.source, grow=True), renumber[1](text.target, grow=True)
            prior = Prior.of(None if number else priors, vocabularies)
            types = vocabularies.types
            cuts = [(Cut.of(types[0], letters), Cut.of(types[1], letters)) for letters in self.views]
            views = [
                sampler.LazyView(source, target, cut, prior, before) for cut, before in zip(cuts, learned, strict=True)
            ]
            report = _of_part(progress or no_progress, number, count)
            posteriors, found = sampler.run_samplers(
                views, priors_of, schedule, self.seed, self.threads, report, number
            )
            learned = found
            if count > 1:  # free the cells before the next part
                posteriors.clear()
                del source, target, text, views
        directions = [(forward.direction, backward.direction) for forward, backward in found]
        model = GibbsModel(cuts, directions, self.null, self.seed)
        if count > 1:
            return FittedGibbs(self, model, vocabularies)
        whole = Posteriors(source.offsets, target.offsets, cell_starts(source, target), *posteriors)
        links = links_of(whole, self.symmetrization, self.threshold, self.threads)
        own = StoredAlignments.of(self, pairs, links.links, links.confidence)
        return FittedGibbs(self, model, vocabularies, own)

    def restore(
        self, arrays: Mapping[str, NDArray[Any]], source_types: list[str], target_types: list[str]
    ) -> FittedGibbs:
        """Rebuild a model from what `FittedGibbs.arrays` and `types` returned; raise a DataError unless they fit."""
        from interlace.aligners.gibbs.model import Cut, GibbsModel, restore_directions

        vocabularies = Vocabularies.of(self.fold, source_types, target_types, self.name)
        cuts = [(Cut.of(source_types, letters), Cut.of(target_types, letters)) for letters in self.views]
        directions = restore_directions(arrays, cuts, self.unseen, self.name)
        return FittedGibbs(self, GibbsModel(cuts, directions, self.null, self.seed), vocabularies)

    @property
    def unseen(self) -> float:
        """`alpha`, rounded to one over an integer, in which samplers count."""
        return 1 / round(1 / self.alpha)

    def sweeps_for(self, pairs: int) -> list[int]:
        """Return the sweeps of each of the three models for this many pairs (Östling & Tiedemann 2016: 1 : 1 : 4)."""
        most = min(max(2, round(self.sweeps * 5000 / math.sqrt(pairs))), MAX_SWEEPS)
        quarter = max(1, most // 4)
        return [max(2, quarter), quarter, most]


class FittedGibbs(FittedAligner):
    """The model of all samplers, and the links that they drew for their training pairs."""

    def __init__(
        self, aligner: Gibbs, model: GibbsModel, vocabularies: Vocabularies, own: StoredAlignments | None = None
    ) -> None:
        self.aligner: Gibbs = aligner
        self.model, self._vocabularies, self._own = model, vocabularies, own

    def align(self, pairs: WordPairs) -> Alignments:
        """Align any pairs by a few sweeps over each pair alone; unknown words are aligned by position."""
        from interlace.aligners.gibbs.model import links_of
        from interlace.aligners.gibbs.sampler import portions

        warn_about_long(pairs, self.aligner.name)
        source, target = self._vocabularies.renumber(pairs)
        rule, threshold, threads = self.aligner.symmetrization, self.aligner.threshold, self.aligner.threads
        with ThreadPoolExecutor(threads or processors()) as pool:
            posteriors = (
                self.model.posteriors(source(part.source), target(part.target), pool) for part in portions(pairs)
            )
            return Alignments.concatenate([links_of(found, rule, threshold, threads) for found in posteriors])

    def align_training_pairs(self, pairs: WordPairs) -> Alignments:
        """Return the links drawn during training, where no pair confirms itself; else align as new pairs."""
        return self.align(pairs) if self._own is None else self._own.align(pairs)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the parameters of every sampler."""
        return self.model.arrays()

    def types(self) -> tuple[list[str], list[str]]:
        """Return the folded spellings that the arrays refer to."""
        return self._vocabularies.types


def _of_part(progress: Progress, number: int, count: int) -> Progress:
    """Return a callback for the steps of one part, which reports those of all parts."""
    return lambda what, done, steps: progress(what, number * steps + done, count * steps)
