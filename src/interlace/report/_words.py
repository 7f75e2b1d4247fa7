"""Words that translate each other with their vectors before and after training, from `words.safetensors`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.errors import DataError
from interlace.report._parts import Embedding

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

_NEIGHBOURS = 12.0  # t-SNE's perplexity: about so many words count as near; fewer where there are few


@dataclass(frozen=True)
class Words:
    """concepts: a word by language each; before, after: (W, H) the vectors of all these words in order."""

    concepts: list[dict[str, str]]
    before: Vectors
    after: Vectors

    @property
    def named(self) -> list[tuple[int, str, str]]:
        """(concept, language, word) of each vector."""
        return [(row, language, word) for row, words in enumerate(self.concepts) for language, word in words.items()]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Each concept's first word with each other word of it."""
        firsts: dict[int, int] = {}
        found = []
        for place, (concept, _, _) in enumerate(self.named):
            if firsts.setdefault(concept, place) != place:
                found.append((firsts[concept], place))
        return found

    def cosine(self, vectors: Vectors) -> tuple[float, float]:
        """Mean cosine of translations, and of other words of the same two languages."""
        unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        cosines = unit @ unit.T
        sides = [(self.named[one][1], self.named[other][1]) for one, other in self.pairs]
        languages = np.array([language for _, language, _ in self.named])
        mates = np.array(self.pairs)
        near = cosines[mates[:, 0], mates[:, 1]]
        blocks = [cosines[np.ix_(languages == one, languages == other)] for one, other in sides]
        far = [(block.sum() - np.trace(block)) / max(block.size - len(block), 1) for block in blocks]
        return float(near.mean()), float(np.mean(far))

    def drawn(self, vectors: Vectors) -> Embedding:
        """The vectors in two dimensions by t-SNE (van der Maaten & Hinton 2008), the same on every call."""
        from sklearn.manifold import TSNE

        spread = min(_NEIGHBOURS, max((len(vectors) - 1) / 4, 1.0))
        unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        points = TSNE(perplexity=spread, init="pca", random_state=0, n_jobs=1).fit_transform(unit)
        words: list[Any] = [
            {"word": word, "language": language, "x": float(x), "y": float(y), "concept": concept}
            for (concept, language, word), (x, y) in zip(self.named, points, strict=True)
        ]
        return Embedding(method="tsne", words=words, pairs=self.pairs)


def read_words(path: Path) -> Words | None:
    """The words of a run; None where it keeps none, or fewer than can be drawn.

    Raises:
        DataError: the file is damaged.
    """
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        return None
    try:
        with safe_open(path, "np") as file:
            concepts = json.loads((file.metadata() or {})["concepts"])
            words = Words(concepts, file.get_tensor("before"), file.get_tensor("after"))
    except (SafetensorError, KeyError, ValueError) as error:
        raise DataError(f"{path}: damaged: {error}") from error
    if not len(words.named) == len(words.before) == len(words.after):
        raise DataError(
            f"{path}: damaged: {len(words.named)} words, {len(words.before)} and {len(words.after)} vectors"
        )
    return words if len(words.concepts) > 2 and words.pairs else None
