"""Rotating one language's vectors onto another's: Procrustes, refinement and the criterion without a dictionary.

Conneau et al. 2018, sections 2.2 to 2.4. What a method adds is where the first rotation comes from.

Legend: n words of the language that is moved, m of the pivot, H width. A mapping W is (H, H); x is moved to x W.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.neighbors import MarginScorer, mutual, nearest, unit
from interlace.core.progress import no_progress
from interlace.core.settings import Settings
from interlace.embeddings import CrossLingualVectors, EmbeddingMethod, WordVectors
from interlace.embeddings._self_learning import self_learnt
from interlace.embeddings._skipgram import SkipGram

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from interlace.core.progress import Progress
    from interlace.embeddings import EmbeddingSources

    Floats = NDArray[np.float32]
    Refined = tuple[Floats, list[float]]
    """A rotation, and the criterion before and after each round that led to it."""

    Start = Callable[["Sides"], tuple[Refined, dict[str, Any]]]
    """Finds a rotation and refines it, and tells how it went."""

log = logging.getLogger(__name__)


class Mapping(Settings):
    """How languages are brought into the space of one of them."""

    pivot: str = Field("en", description="The language whose space all others are rotated into.")
    normalise: list[Literal["unit", "centre"]] = Field(
        ["unit", "centre", "unit"],
        description="What is done to the vectors first, in turn: length 1, mean 0 over the words. None: as they are "
        "(Conneau et al. 2018); distant languages need it (Artetxe et al. 2018, section 3).",
    )
    rounds: int = Field(
        5, ge=0, description="Refinements: Procrustes on mutual nearest words (Conneau et al. 2018, section 2.2)."
    )
    drawn: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Below 1, before these refinements: pairs are found, in both directions, among this share of all "
        "similarities, drawn anew each round; it doubles whenever they have not come nearer for `patience` rounds. It "
        "leads away from a poor start, such as few words that both languages write alike (Artetxe et al. 2018, section "
        "3.3: 0.1).",
    )
    drawn_on: int = Field(
        20_000, ge=2, description="Words of each language that such rounds may pair, the most frequent (there: 20,000)."
    )
    patience: int = Field(50, ge=1, description="Rounds without coming nearer, of such rounds (there: 50).")
    refined_on: int = Field(
        15_000, ge=2, description="Words of each language that refinement may pair, the most frequent (MUSE: 15,000)."
    )
    judged_on: int = Field(
        10_000,
        ge=1,
        description="Words of the criterion, the most frequent (Conneau et al. 2018, section 2.4: 10,000).",
    )
    judged_among: int = Field(
        15_000,
        ge=1,
        description="Words of the pivot among which the criterion finds translations, the most frequent (MUSE: among "
        "all, of which it keeps pairs within the first 15,000).",
    )
    neighbours: int = Field(10, ge=1, description="k of CSLS (Conneau et al. 2018, section 2.3: 10).")

    def normalised(self, vectors: Floats) -> Floats:
        """(n, H) the vectors as they are mapped and kept."""
        for step in self.normalise:
            vectors = unit(vectors) if step == "unit" else np.asarray(vectors - vectors.mean(axis=0), np.float32)
        return vectors


@dataclass(frozen=True)
class Sides:
    """Two languages: what is moved, and where to. Vectors are normalised as the mapping says."""

    source: WordVectors
    target: WordVectors
    mapping: Mapping
    seed: int = 0

    def induced(self, rotation: Floats) -> tuple[NDArray[Any], NDArray[Any]]:
        """Rows of frequent words that are each other's nearest by CSLS."""
        most = self.mapping.refined_on
        moved, others = unit(self.source.vectors[:most] @ rotation), unit(self.target.vectors[:most])
        return mutual(moved, others, self.mapping.neighbours)

    def solved(self, rows: NDArray[Any], others: NDArray[Any]) -> Floats:
        """(H, H) the rotation that brings these words of the source nearest to those of the target."""
        return procrustes(self.source.vectors[rows], self.target.vectors[others])

    def criterion(self, rotation: Floats) -> float:
        """Mean cosine of frequent words to the words that CSLS takes for their translations (section 2.4)."""
        moved = unit(self.source.vectors[: self.mapping.judged_on] @ rotation)
        others = unit(self.target.vectors[: self.mapping.judged_among])
        found, _ = nearest(moved, others, MarginScorer.csls(others, moved, self.mapping.neighbours))
        return float((moved * others[found]).sum(axis=1).mean())

    def refined(self, rotation: Floats) -> Refined:
        """The best rotation by the criterion of all rounds, and the criterion before the first and after each.

        Rounds on drawn pairs count as one, the first.
        """
        best, history = rotation, [self.criterion(rotation)]
        if self.mapping.drawn < 1:
            best, rounds = self_learnt(self, rotation)
            rotation, found = best, self.criterion(best)
            log.info("%d rounds on drawn pairs: criterion %.3f, before %.3f", rounds, found, history[0])
            history.append(found)
        for _ in range(self.mapping.rounds):
            rows, others = self.induced(rotation)
            if not len(rows):
                break
            rotation = self.solved(rows, others)
            found = self.criterion(rotation)
            best = rotation if found > max(history) else best
            history.append(found)
        return best, history


def procrustes(source: Floats, target: Floats) -> Floats:
    """(H, H) the orthogonal W with the least |source W - target| (Schönemann 1966): U V' of source' target = U S V'."""
    product = np.asarray(source, np.float64).T @ np.asarray(target, np.float64)
    left, _, right = np.linalg.svd(product)
    return np.asarray(left @ right, np.float32)


class Mapped(EmbeddingMethod):
    """A method that learns each language alone, or is given its vectors, and rotates it onto the pivot."""

    skipgram: SkipGram = Field(default_factory=SkipGram, description="How fastText learns each language alone.")
    mapping: Mapping = Field(default_factory=Mapping, description="How languages are brought into one space.")

    @property
    def most(self) -> int:
        """As many as are kept of words that are learnt."""
        return self.skipgram.most


def mapped(
    sources: EmbeddingSources,
    skipgram: SkipGram,
    mapping: Mapping,
    seed: int,
    progress: Progress | None,
    start: Start,
) -> CrossLingualVectors:
    """Vectors of each language alone, all but the pivot's then rotated as `start` finds.

    Raises:
        DataError: two languages differ in width. SettingsError: the pivot is none of the languages.
    """
    progress = progress or no_progress
    if mapping.pivot not in sources.languages:
        hint = did_you_mean(mapping.pivot, sources.languages)
        raise SettingsError(f"mapping.pivot = {mapping.pivot!r}, but there are no vectors or text of it{hint}")
    alone = {language: _alone(language, sources, skipgram, seed, progress) for language in sources.languages}
    alone = {language: own.moved(mapping.normalised(own.vectors)) for language, own in alone.items()}
    pivot, about = alone[mapping.pivot], {}
    for language, own in alone.items():
        if language == mapping.pivot:
            continue
        if own.width != pivot.width:
            raise DataError(f"vectors of {language!r} are {own.width} wide, those of {mapping.pivot!r} {pivot.width}")
        sides = Sides(own, pivot, mapping, seed)
        progress(f"rotating {language} onto {mapping.pivot}", 0, mapping.rounds)
        (rotation, history), told = start(sides)
        alone[language] = own.moved(own.vectors @ rotation)
        about[language] = {**told, "criterion": [round(value, 4) for value in history]}
        log.info("%s onto %s: criterion %.3f, refined %.3f", language, mapping.pivot, history[0], max(history))
    return CrossLingualVectors(alone, {"onto": mapping.pivot, "mappings": about})


def _alone(language: str, sources: EmbeddingSources, skipgram: SkipGram, seed: int, progress: Progress) -> WordVectors:
    """A language's own vectors: those that are given, or learnt from its text."""
    if language in sources.given:
        return sources.given[language].top(skipgram.most)
    lines = sources.texts[language]
    return skipgram.train(language, lines, seed, progress).of(language, skipgram.words_of(lines))
