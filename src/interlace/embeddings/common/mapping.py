"""Mapping one language's vectors onto another's: Procrustes, refinement and the unsupervised criterion.

Conneau et al. 2018, sections 2.2 to 2.4. Methods differ in the initial rotation.

Legend: n words of the mapped language, m of the pivot, H width. A mapping W is (H, H); x is mapped to x W.
"""

import logging
import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.neighbors import Csls, mean_neighbor_similarity, mutual_nearest, nearest, nearest_among_sample, unit
from interlace.core.progress import Progress, no_progress
from interlace.core.randomness import Purpose, generator
from interlace.core.settings import Settings
from interlace.embeddings import CrossLingualVectors, EmbeddingMethod, EmbeddingSources, WordVectors
from interlace.embeddings.common.skipgram import SkipGram, vectors_of

log = logging.getLogger(__name__)

_MIN_IMPROVEMENT = 1e-6  # of the mean similarity, to reset the patience

Floats = NDArray[np.float32]
_REFINEMENT_WORDS = 15_000  # most frequent words for refinement, as in MUSE
CRITERION_WORDS = 10_000  # and for the criterion (Conneau et al. 2018, section 2.4)
_CRITERION_CANDIDATES = 15_000  # of the pivot; MUSE searches all words, but only keeps pairs within the first 15,000

Refined = tuple[Floats, list[float]]  # a rotation, and the criterion before and after each refinement
Start = tuple[Refined, dict[str, Any]]  # also a record of how the rotation was found


class Mapping(Settings):
    """How languages are mapped into the space of one of them."""

    pivot: str = Field("en", description="The language onto whose space all others are rotated.")
    normalization: list[Literal["unit", "center"]] = Field(
        ["unit", "center", "unit"],
        description="Normalization steps before mapping: length 1, mean 0 over the words. Empty: none (Conneau et al. "
        "2018); distant languages need it (Artetxe et al. 2018, section 3).",
    )
    refinements: int = Field(
        5, ge=0, description="Iterations of Procrustes on mutual nearest words (Conneau et al. 2018, section 2.2)."
    )
    sampled_fraction: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Below 1: precede refinement by stochastic dictionary induction, which pairs words in both "
        "directions among a random sample of this fraction of all similarities, drawn again in each iteration. It "
        "doubles after `patience` iterations without improvement. Leaves poor starts, such as few identical words "
        "(Artetxe et al. 2018, section 3.3: 0.1).",
    )
    sampled_words: int = Field(
        20_000, ge=2, description="Most frequent words of each language for stochastic induction (there: 20,000)."
    )
    patience: int = Field(50, ge=1, description="Iterations of stochastic induction without improvement (there: 50).")
    neighbors: int = Field(10, ge=1, description="k of CSLS (Conneau et al. 2018, section 2.3: 10).")

    def normalized(self, vectors: Floats) -> Floats:
        """(n, H) the vectors after all normalization steps."""
        for step in self.normalization:
            vectors = unit(vectors) if step == "unit" else np.asarray(vectors - vectors.mean(axis=0), np.float32)
        return vectors


@dataclass(frozen=True)
class MappedPair:
    """A language to map and the pivot, both normalized."""

    source: WordVectors
    target: WordVectors
    mapping: Mapping
    seed: int = 0

    def solve(self, rows: NDArray[Any], others: NDArray[Any]) -> Floats:
        """(H, H) the rotation that maps these source words closest to these target words."""
        return procrustes(self.source.vectors[rows], self.target.vectors[others])

    def criterion(self, rotation: Floats) -> float:
        """Return the mean cosine of frequent words to their CSLS translations (section 2.4)."""
        mapped = unit(self.source.vectors[:CRITERION_WORDS] @ rotation)
        others = unit(self.target.vectors[:_CRITERION_CANDIDATES])
        found = nearest(mapped, others, Csls.of(others, mapped, self.mapping.neighbors))
        return float((mapped * others[found]).sum(axis=1).mean())

    def refine(self, rotation: Floats) -> Refined:
        """Return the best rotation by the criterion, and the criterion before and after each iteration."""
        best, history = rotation, [self.criterion(rotation)]
        if self.mapping.sampled_fraction < 1:
            rotation, iterations = self._induce_stochastically(rotation)
            found = self.criterion(rotation)
            best = rotation if found > history[0] else best
            log.info("%d iterations of stochastic induction: criterion %.3f -> %.3f", iterations, history[0], found)
            history.append(found)
        for _ in range(self.mapping.refinements):
            mapped = unit(self.source.vectors[:_REFINEMENT_WORDS] @ rotation)
            target = unit(self.target.vectors[:_REFINEMENT_WORDS])
            rows, others = mutual_nearest(mapped, target, self.mapping.neighbors)
            if not len(rows):
                break
            rotation = self.solve(rows, others)
            found = self.criterion(rotation)
            best = rotation if found > max(history) else best
            history.append(found)
        return best, history

    def _induce_stochastically(self, rotation: Floats) -> tuple[Floats, int]:
        """Return the rotation after stochastic dictionary induction, and the number of iterations.

        Artetxe, Labaka & Agirre (2018, section 3.3): a dictionary in both directions, induced by CSLS from a random
        sample of similarities, whose fraction doubles when the pairs stop improving, until all are used.
        """
        mapping, fraction, best, since, iterations = self.mapping, self.mapping.sampled_fraction, -math.inf, 0, 0
        count = mapping.sampled_words
        source, others = self.source.vectors[:count], unit(self.target.vectors[:count])
        rng = generator(Purpose.VECTORS, self.seed, 0, 4)
        while True:
            mapped = unit(source @ rotation)
            one, other = (
                mean_neighbor_similarity(*each, mapping.neighbors) for each in ((mapped, others), (others, mapped))
            )
            rows, found, forward = nearest_among_sample(mapped, others, Csls(other, one), fraction, rng)
            back, backward_found, backward = nearest_among_sample(others, mapped, Csls(one, other), fraction, rng)
            rotation = self.solve(np.concatenate([rows, backward_found]), np.concatenate([found, back]))
            iterations += 1
            mean = (forward + backward) / 2
            best, since = (mean, 0) if mean > best + _MIN_IMPROVEMENT else (best, since + 1)
            if since >= mapping.patience:
                if fraction >= 1:
                    return rotation, iterations
                fraction, since = min(1.0, 2 * fraction), 0


def procrustes(source: Floats, target: Floats) -> Floats:
    """(H, H) the orthogonal W that minimizes |source W - target| (Schönemann 1966): U V' of source' target = U S V'."""
    product = np.asarray(source, np.float64).T @ np.asarray(target, np.float64)
    left, _, right = np.linalg.svd(product)
    return np.asarray(left @ right, np.float32)


class MappingMethod(EmbeddingMethod):
    """A method that trains each language alone, or uses existing vectors, and rotates them onto the pivot."""

    skipgram: SkipGram = Field(default_factory=SkipGram, description="fastText training of each language.")
    mapping: Mapping = Field(default_factory=Mapping, description="Mapping of languages into one space.")

    @property
    def max_words(self) -> int:
        """As many words as are kept of trained vectors."""
        return self.skipgram.max_words

    @abstractmethod
    def start(self, pair: MappedPair, sources: EmbeddingSources, progress: Progress) -> Start:
        """Find and refine a rotation onto the pivot, with a record; raise a DataError if nothing connects the two."""

    def fit(self, sources: EmbeddingSources, seed: int = 0, progress: Progress | None = None) -> CrossLingualVectors:
        """Train each language alone; return the vectors, all except the pivot's rotated as `start` finds."""
        progress, mapping = progress or no_progress, self.mapping
        if mapping.pivot not in sources.languages:
            hint = did_you_mean(mapping.pivot, sources.languages)
            raise SettingsError(f"mapping.pivot = {mapping.pivot!r}, but it has no vectors or text{hint}")
        alone = {}
        for language in sources.languages:
            if language in sources.vectors:
                own = sources.vectors[language].top(self.skipgram.max_words)
            else:
                lines = sources.texts[language]
                trained = self.skipgram.train(language, lines, seed, progress)
                own = vectors_of(trained, language, self.skipgram.words_of(lines))
            alone[language] = own.with_vectors(mapping.normalized(own.vectors))
        pivot, about = alone[mapping.pivot], {}
        for language, own in alone.items():
            if language == mapping.pivot:
                continue
            if own.width != pivot.width:
                raise DataError(f"vectors of {language!r} have width {own.width}, of {mapping.pivot!r} {pivot.width}")
            progress(f"mapping {language} onto {mapping.pivot}", 0, mapping.refinements)
            (rotation, history), record = self.start(MappedPair(own, pivot, mapping, seed), sources, progress)
            alone[language] = own.with_vectors(own.vectors @ rotation)
            about[language] = {**record, "criterion": [round(value, 4) for value in history]}
            log.info("%s onto %s: criterion %.3f, refined %.3f", language, mapping.pivot, history[0], max(history))
        return CrossLingualVectors(alone, {"onto": mapping.pivot, "mappings": about})
