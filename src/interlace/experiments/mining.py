"""Bitext mining: pairs of lines of two texts that are translations, by margin scores (Artetxe & Schwenk 2019).

Vectors of lines, and the nearest lines of the other text, are artifacts of `CHUNK` lines each. So an interrupted run
resumes, and of a text that has grown only new chunks are encoded. Vectors are mapped from files; memory grows with the
lines and with their k neighbors.

Legend: n distinct source lines, m distinct target lines, k neighbors, p pairs, D dimensions of vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from interlace.core.errors import DataError
from interlace.core.json_files import JsonObject
from interlace.core.neighbors import Neighbors, nearest_both_ways, unit
from interlace.core.progress import current_progress, reporting
from interlace.core.ragged import BoolArray, FloatArray, IntArray
from interlace.data.artifacts import Artifact
from interlace.data.store import mapped
from interlace.experiments.run import hash_of
from interlace.experiments.sentence_encoder import SentenceEncoder
from interlace.text.lines import read_lines

CHUNK = 1 << 15  # lines of an artifact

Strategy = Literal["forward", "backward", "intersect", "max"]


@dataclass(frozen=True)
class MinedPairs:
    """Pairs of lines, those with the highest scores first: numbers of lines (p,), and margin scores (p,)."""

    source: IntArray
    target: IntArray
    scores: FloatArray

    def where(self, is_kept: BoolArray) -> MinedPairs:
        """Return the pairs where (p,) `is_kept` is true."""
        return MinedPairs(self.source[is_kept], self.target[is_kept], self.scores[is_kept])


def distinct_lines(path: Path) -> list[str]:
    """Return the lines of a file once each, without empty ones; tabs become spaces.

    Raise a DataError if there are none.
    """
    lines = dict.fromkeys(line.replace("\t", " ").strip() for line in read_lines(path))
    lines.pop("", None)
    if not lines:
        raise DataError(f"{path}: has no text; expected a sentence a line")
    return list(lines)


def mine(source: EncodedLines, target: EncodedLines, k: int, strategy: Strategy) -> MinedPairs:
    """Return pairs of lines with their scores, which `mined_pairs` selects; k: neighbors by which it scores."""
    forward: list[Neighbors] = []
    backward: list[Neighbors] = []
    for chunk in source.chunks:
        from_chunk, into_chunk = NearestLines(chunk, target, k).get()
        forward.append(from_chunk)
        backward = [Neighbors.nearest([*backward, into_chunk.shifted(chunk.first)], k)]
    return mined_pairs(Neighbors.concatenate(forward), backward[0], strategy)


def mined_pairs(forward: Neighbors, backward: Neighbors, strategy: Strategy) -> MinedPairs:
    """Select pairs from the k nearest target lines of n source lines, and the k nearest source lines of m target lines.

    The score is the ratio of the cosine to the mean of both lines' mean cosines to their neighbors (Artetxe & Schwenk
    2019, section 3.1, "ratio"). Candidates are each line's best neighbor. Strategies (section 3.2): those of the source
    lines (`forward`), those of the target lines (`backward`), the common ones (`intersect`), or all of them by score,
    each line only once (`max`).
    """
    source_means = forward.cosines.mean(axis=1)  # (n,)
    target_means = backward.cosines.mean(axis=1)  # (m,)
    best_target, target_scores = _best(forward, source_means, target_means)
    best_source, source_scores = _best(backward, target_means, source_means)
    sources = np.arange(len(best_target))
    targets = np.arange(len(best_source))
    from_source = MinedPairs(sources, best_target, target_scores)
    from_target = MinedPairs(best_source, targets, source_scores)
    if strategy == "forward":
        pairs = from_source
    elif strategy == "backward":
        pairs = from_target
    elif strategy == "intersect":
        pairs = from_source.where(best_source[best_target] == sources)
    else:
        pairs = MinedPairs(
            np.concatenate([sources, best_source]),
            np.concatenate([best_target, targets]),
            np.concatenate([target_scores, source_scores]),
        )
    order = np.argsort(-pairs.scores, kind="stable")
    pairs = MinedPairs(pairs.source[order], pairs.target[order], pairs.scores[order])
    return pairs.where(_first_uses(pairs)) if strategy == "max" else pairs


def _best(
    neighbors: Neighbors, means: FloatArray, candidate_means: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Return the neighbor of each line with the highest score, and its score."""
    both_means = (means[:, None] + candidate_means[neighbors.numbers]) / 2
    scores = neighbors.cosines / np.maximum(both_means, np.finfo(np.float32).eps)
    best = scores.argmax(axis=1)
    rows = np.arange(len(best))
    return neighbors.numbers[rows, best].astype(np.int64), scores[rows, best]


def _first_uses(pairs: MinedPairs) -> BoolArray:
    """(p,) which pairs have no line that an earlier of these pairs has."""
    used_sources: set[int] = set()
    used_targets: set[int] = set()
    is_first = np.zeros(len(pairs.source), np.bool_)
    lines = zip(pairs.source.tolist(), pairs.target.tolist(), strict=True)
    for number, (source, target) in enumerate(lines):
        if source not in used_sources and target not in used_targets:
            is_first[number] = True
            used_sources.add(source)
            used_targets.add(target)
    return is_first


@dataclass(frozen=True)
class EncodedLines:
    """A text's lines, in chunks of encoded lines."""

    chunks: list[LineVectors]

    @classmethod
    def of(
        cls, name: str, lines: Sequence[str], language: str, encoder: SentenceEncoder
    ) -> EncodedLines:
        """Encode the lines that are not in the cache; name: of the text, for messages."""
        chunks = []
        for first in range(0, len(lines), CHUNK):
            chunk_lines = lines[first : first + CHUNK]
            chunk = LineVectors(name, first, len(lines), chunk_lines, language, encoder)
            chunk.ensure_built()
            chunks.append(chunk)
        return cls(chunks)


@dataclass(frozen=True, eq=False)
class LineVectors(Artifact[FloatArray]):
    """The vectors of a chunk of lines, with length 1.

    text: name of the text. first: number of the first line, of `total` ones.
    """

    kind = "vectors"

    text: str
    first: int
    total: int
    lines: Sequence[str]
    language: str
    encoder: SentenceEncoder

    def __str__(self) -> str:
        return f"vectors of {self.text}, {len(self.lines):,} lines from {self.first + 1:,}"

    @cached_property
    def key(self) -> JsonObject:
        """The lines and the model."""
        return {
            "lines": hash_of("\n".join(self.lines).encode()),
            "language": self.language,
            "model": self.encoder.key,
            "version": 1,
        }

    def build(self, folder: Path) -> None:
        """Encode the lines."""
        progress = current_progress()

        def show(_task: str, done: int, _total: int) -> None:
            progress(f"encoding {self.text}", self.first + done, self.total)

        with reporting(show):
            vectors = self.encoder.vectors(self.lines, self.language)
        np.save(folder / "vectors.npy", unit(vectors), allow_pickle=False)

    def open(self, folder: Path) -> FloatArray:
        """Map the (lines, D) vectors."""
        vectors: FloatArray = mapped(folder / "vectors.npy")
        return vectors


@dataclass(frozen=True, eq=False)
class NearestLines(Artifact[tuple[Neighbors, Neighbors]]):
    """The k nearest target lines of a chunk of source lines, and the k nearest of these for each target line."""

    kind = "neighbors"

    source: LineVectors
    target: EncodedLines
    k: int

    def __str__(self) -> str:
        return f"neighbors of the {self.source}"

    @cached_property
    def key(self) -> JsonObject:
        """The vectors."""
        targets = [chunk.id for chunk in self.target.chunks]
        return {"source": self.source.id, "targets": targets, "k": self.k, "version": 1}

    def build(self, folder: Path) -> None:
        """Compare all vectors."""
        source = self.source
        progress = current_progress()
        forward: list[Neighbors] = []
        backward = []
        vectors = source.get()
        for chunk in self.target.chunks:
            from_source, into_source = nearest_both_ways(vectors, chunk.get(), self.k)
            forward = [Neighbors.nearest([*forward, from_source.shifted(chunk.first)], self.k)]
            backward.append(into_source)
            share = (chunk.first + len(chunk.lines)) / chunk.total
            done = source.first + round(share * len(source.lines))
            progress("searching translations", done, source.total)
        _write_neighbors(folder, "forward", forward[0])
        _write_neighbors(folder, "backward", Neighbors.concatenate(backward))

    def open(self, folder: Path) -> tuple[Neighbors, Neighbors]:
        """Map the neighbors in both directions."""
        return _map_neighbors(folder, "forward"), _map_neighbors(folder, "backward")


def _write_neighbors(folder: Path, direction: str, neighbors: Neighbors) -> None:
    np.save(folder / f"{direction}.numbers.npy", neighbors.numbers, allow_pickle=False)
    np.save(folder / f"{direction}.cosines.npy", neighbors.cosines, allow_pickle=False)


def _map_neighbors(folder: Path, direction: str) -> Neighbors:
    numbers = mapped(folder / f"{direction}.numbers.npy")
    return Neighbors(numbers, mapped(folder / f"{direction}.cosines.npy"))
