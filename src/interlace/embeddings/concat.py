"""Concat: one fastText skip-gram on the text of all languages together (the baseline of XLM, table 5).

Nothing ties the languages together but the words and character n-grams that they write alike. A word of two languages
has the same vector in both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from interlace.core.errors import DataError
from interlace.embeddings import CrossLingualVectors, EmbeddingMethod, EmbeddingSources
from interlace.embeddings._skipgram import SkipGram

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from interlace.core.progress import Progress


class Concat(EmbeddingMethod):
    """Vectors of the words of each language, from one model of all their texts."""

    needs: ClassVar[frozenset[str]] = frozenset({"texts"})
    joint: ClassVar[bool] = True

    skipgram: SkipGram = Field(default_factory=SkipGram, description="How fastText learns.")

    def fit(self, sources: EmbeddingSources, seed: int = 0, progress: Progress | None = None) -> CrossLingualVectors:
        """Learn from all texts together; given vectors and dictionaries are of no use here."""
        if sources.given or not sources.texts:
            raise DataError(
                "concat learns from the text of all languages together, not from vectors that exist already"
            )
        words = {language: self.skipgram.words_of(lines) for language, lines in sources.texts.items()}
        for language, known in words.items():
            if not known:
                raise DataError(
                    f"concat: no word of {language!r} stands in its text {self.skipgram.least} times; lower "
                    "'skipgram.least', or give more text"
                )
        alone = next(iter(sources.texts.values())) if len(words) == 1 else None
        spoken = self.skipgram.train(" + ".join(words), alone or Mixed(sources.texts), seed, progress)
        return CrossLingualVectors({language: spoken.of(language, known) for language, known in words.items()})


class Mixed:
    """Lines of all texts, each language spread evenly over the whole: the learning rate falls along the way."""

    def __init__(self, texts: Mapping[str, Iterable[Sequence[str]]]) -> None:
        self._texts = list(texts.values())
        self._counts = [sum(1 for _ in lines) for lines in self._texts]

    def __iter__(self) -> Iterator[Sequence[str]]:
        readers = [iter(lines) for lines in self._texts]
        done = [0] * len(readers)
        for _ in range(sum(self._counts)):
            shares = [
                (part + 0.5) / count if part < count else 2.0 for part, count in zip(done, self._counts, strict=True)
            ]
            number = shares.index(min(shares))
            done[number] += 1
            yield next(readers[number])
