"""Mapping one language's vectors onto another's: Procrustes, refinement and the unsupervised criterion.

Conneau et al. 2018, sections 2.2 to 2.4. Methods differ in the initial rotation.

Legend: n words of the mapped language, m of the pivot, H width. A mapping W is (H, H); x is mapped to x W.
"""

import logging
import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.json_files import JsonObject
from interlace.core.neighbors import (
    Csls,
    mean_neighbor_similarity,
    mutual_nearest,
    nearest,
    nearest_among_sample,
    unit,
)
from interlace.core.progress import Progress, no_progress
from interlace.core.ragged import AnyArray, FloatArray
from interlace.core.randomness import Purpose, generator
from interlace.core.settings import Settings
from interlace.embeddings import (
    CrossLingualVectors,
    EmbeddingMethod,
    EmbeddingSources,
    WordVectors,
)
from interlace.embeddings.common.skipgram import SkipGram, vectors_of

log = logging.getLogger(__name__)

_MIN_IMPROVEMENT = 1e-6  # of the mean similarity, to reset the patience

Floats = FloatArray
_NEIGHBORS = 10  # k of CSLS (Conneau et al. 2018, section 2.3)
_REFINEMENT_WORDS = 15_000  # most frequent words for refinement, as in MUSE
CRITERION_WORDS = 10_000  # and for the criterion (Conneau et al. 2018, section 2.4)
# of the pivot; MUSE searches all words, but only keeps pairs within the first 15,000
_CRITERION_CANDIDATES = 15_000


@dataclass(frozen=True)
class Refined:
    """A rotation, and the criterion before and after each refinement."""

    rotation: Floats  # (H, H)
    history: list[float]


@dataclass(frozen=True)
class Start:
    """A refined rotation, and a record of how it was found."""

    refined: Refined
    record: JsonObject


class Mapping(Settings):
    """How languages are mapped into the space of one of them."""

    pivot: str = Field(
        "en", description="The language onto whose space all others are rotated."
    )
    normalization: list[Literal["unit", "center"]] = Field(
        ["unit", "center", "unit"],
        description="Normalization steps before mapping: length 1, mean 0 over the words. Empty: none (Conneau et al. "
        "2018); distant languages need it (Artetxe et al. 2018, section 3).",
    )
    refinements: int = Field(
        5,
        ge=0,
        description="Iterations of Procrustes on mutual nearest words (Conneau et al. 2018, section 2.2).",
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
        20_000,
        ge=2,
        description="Most frequent words of each language for stochastic induction (there: 20,000).",
    )
    patience: int = Field(
        50,
        ge=1,
        description="Iterations of stochastic induction without improvement (there: 50).",
    )

    def normalized(self, vectors: Floats) -> Floats:
        """(n, H) the vectors after all normalization steps."""
        for step in self.normalization:
            if step == "unit":
                vectors = unit(vectors)
            else:
                vectors = np.asarray(vectors - vectors.mean(axis=0), np.float32)
        return vectors


@dataclass(frozen=True)
class MappedPair:
    """A language to map and the pivot, both normalized."""

    source: WordVectors
    target: WordVectors
    mapping: Mapping
    seed: int = 0

    def solve(self, source_rows: AnyArray, target_rows: AnyArray) -> Floats:
        """(H, H) the rotation that maps these source words closest to these target words."""
        return procrustes(self.source.vectors[source_rows], self.target.vectors[target_rows])

    def criterion(self, rotation: Floats) -> float:
        """Return the mean cosine of frequent words to their CSLS translations (section 2.4)."""
        source = self.source.vectors[:CRITERION_WORDS]
        target = self.target.vectors[:_CRITERION_CANDIDATES]
        mapped = unit(source @ rotation)
        candidates = unit(target)
        scorer = Csls.of(candidates, mapped, _NEIGHBORS)
        translations = nearest(mapped, candidates, scorer)
        cosines = (mapped * candidates[translations]).sum(axis=1)
        return float(cosines.mean())

    def refine(self, rotation: Floats) -> Refined:
        """Return the best rotation by the criterion, and the criterion before and after each iteration."""
        rotations = [rotation]
        history = [self.criterion(rotation)]
        if self.mapping.sampled_fraction < 1:
            rotation = self._induce_stochastically(rotation)
            rotations.append(rotation)
            history.append(self.criterion(rotation))
        for _ in range(self.mapping.refinements):
            mapped = unit(self.source.vectors[:_REFINEMENT_WORDS] @ rotation)
            target = unit(self.target.vectors[:_REFINEMENT_WORDS])
            source_rows, target_rows = mutual_nearest(mapped, target, _NEIGHBORS)
            if not len(source_rows):
                break
            rotation = self.solve(source_rows, target_rows)
            rotations.append(rotation)
            history.append(self.criterion(rotation))
        return Refined(rotations[history.index(max(history))], history)

    def _induce_stochastically(self, rotation: Floats) -> Floats:
        """Return the rotation after stochastic dictionary induction.

        Artetxe, Labaka & Agirre (2018, section 3.3): a dictionary in both directions, induced by CSLS from a random
        sample of similarities, whose fraction doubles when the pairs stop improving, until all are used.
        """
        mapping = self.mapping
        fraction = mapping.sampled_fraction
        best_similarity = -math.inf
        without_improvement = 0
        source = self.source.vectors[: mapping.sampled_words]
        target = unit(self.target.vectors[: mapping.sampled_words])
        rng = generator(Purpose.VECTORS, self.seed, 0, 4)
        while True:
            mapped = unit(source @ rotation)
            source_means = mean_neighbor_similarity(mapped, target, _NEIGHBORS)
            target_means = mean_neighbor_similarity(target, mapped, _NEIGHBORS)
            rows, translations, forward = nearest_among_sample(
                mapped, target, Csls(target_means, source_means), fraction, rng
            )
            target_rows, back_translations, backward = nearest_among_sample(
                target, mapped, Csls(source_means, target_means), fraction, rng
            )
            rotation = self.solve(
                np.concatenate([rows, back_translations]),
                np.concatenate([translations, target_rows]),
            )
            similarity = (forward + backward) / 2
            if similarity > best_similarity + _MIN_IMPROVEMENT:
                best_similarity = similarity
                without_improvement = 0
            else:
                without_improvement += 1
            if without_improvement >= mapping.patience:
                if fraction >= 1:
                    return rotation
                fraction = min(1.0, 2 * fraction)
                without_improvement = 0


def nearest_orthogonal(matrix: AnyArray) -> Floats:
    """(H, H) the orthogonal matrix nearest to a matrix U S V': U V'."""
    u, _, v = np.linalg.svd(matrix)
    return np.asarray(u @ v, np.float32)


def procrustes(source: Floats, target: Floats) -> Floats:
    """(H, H) the orthogonal W that minimizes |source W - target| (Schönemann 1966): U V' of source' target = U S V'."""
    product = np.asarray(source, np.float64).T @ np.asarray(target, np.float64)
    return nearest_orthogonal(product)


class MappingMethod(EmbeddingMethod):
    """A method that trains each language alone, or uses existing vectors, and rotates them onto the pivot."""

    skipgram: SkipGram = Field(
        default_factory=SkipGram, description="fastText training of each language."
    )
    mapping: Mapping = Field(
        default_factory=Mapping, description="Mapping of languages into one space."
    )

    @property
    def max_words(self) -> int:
        """As many words as are kept of trained vectors."""
        return self.skipgram.max_words

    @abstractmethod
    def start(self, pair: MappedPair, sources: EmbeddingSources, progress: Progress) -> Start:
        """Find and refine a rotation onto the pivot, with a record; raise a DataError if nothing connects the two."""

    def fit(
        self, sources: EmbeddingSources, seed: int = 0, progress: Progress | None = None
    ) -> CrossLingualVectors:
        """Train each language alone; return the vectors, all except the pivot's rotated as `start` finds."""
        progress = progress or no_progress
        mapping = self.mapping
        if mapping.pivot not in sources.languages:
            hint = did_you_mean(mapping.pivot, sources.languages)
            raise SettingsError(
                f"mapping.pivot = {mapping.pivot!r}, but it has no vectors or text{hint}"
            )
        vectors = {}
        for language in sources.languages:
            own_vectors = self._vectors(language, sources, seed, progress)
            vectors[language] = own_vectors.with_vectors(
                mapping.normalized(own_vectors.vectors)
            )
        pivot = vectors[mapping.pivot]
        about = {}
        for language, source in vectors.items():
            if language == mapping.pivot:
                continue
            if source.width != pivot.width:
                raise DataError(
                    f"vectors of {language!r} have width {source.width}, of {mapping.pivot!r} {pivot.width}"
                )
            progress(f"mapping {language} onto {mapping.pivot}", 0, mapping.refinements)
            start = self.start(MappedPair(source, pivot, mapping, seed), sources, progress)
            history = start.refined.history
            vectors[language] = source.with_vectors(source.vectors @ start.refined.rotation)
            about[language] = {
                **start.record,
                "criterion": [round(value, 4) for value in history],
            }
            log.info("%s onto %s: criterion %.3f", language, mapping.pivot, max(history))
        return CrossLingualVectors(vectors, {"onto": mapping.pivot, "mappings": about})

    def _vectors(
        self, language: str, sources: EmbeddingSources, seed: int, progress: Progress
    ) -> WordVectors:
        """Return the vectors of a language alone: existing ones, or trained on its text."""
        if language in sources.vectors:
            return sources.vectors[language].top(self.skipgram.max_words)
        lines = sources.texts[language]
        trained = self.skipgram.train(language, lines, seed, progress)
        return vectors_of(trained, language, self.skipgram.words_of(lines))
