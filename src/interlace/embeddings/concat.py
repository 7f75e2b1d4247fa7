"""Concat: one fastText skip-gram on the concatenated text of all languages (the baseline of XLM, table 5).

Languages are connected only by the words and character n-grams that they spell alike. A word of two languages has the
same vector in both.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import Field

from interlace.core.errors import DataError
from interlace.core.progress import Progress
from interlace.embeddings import CrossLingualVectors, EmbeddingMethod, EmbeddingSources
from interlace.embeddings.common.skipgram import SkipGram, vectors_of


class Concat(EmbeddingMethod):
    """Trains one model on all texts."""

    needs = frozenset({"texts"})
    joint = True

    skipgram: SkipGram = Field(default_factory=SkipGram, description="fastText training.")

    def fit(
        self, sources: EmbeddingSources, seed: int = 0, progress: Progress | None = None
    ) -> CrossLingualVectors:
        """Train on all texts together; existing vectors are rejected, dictionaries are not used."""
        if sources.vectors or not sources.texts:
            raise DataError(
                "concat trains on the text of all languages; it cannot use existing vectors"
            )
        words: dict[str, list[str]] = {}
        for language, lines in sources.texts.items():
            words[language] = self.skipgram.words_of(lines)
            if not words[language]:
                raise DataError(
                    f"concat: no word of {language!r} occurs {self.skipgram.min_count} times in its text; lower "
                    "'skipgram.min_count', or use more text"
                )
        text = (
            next(iter(sources.texts.values()))
            if len(words) == 1
            else Interleaved(sources.texts)
        )
        trained = self.skipgram.train(" + ".join(words), text, seed, progress)
        vectors = {}
        for language, language_words in words.items():
            vectors[language] = vectors_of(trained, language, language_words)
        return CrossLingualVectors(vectors)


class Interleaved:
    """Lines of all texts, each text spread evenly over the whole, because the learning rate decays along the way."""

    def __init__(self, texts: Mapping[str, Iterable[Sequence[str]]]) -> None:
        self._texts = list(texts.values())
        self._counts = [sum(1 for _ in lines) for lines in self._texts]

    def __iter__(self) -> Iterator[Sequence[str]]:
        readers = [iter(lines) for lines in self._texts]
        done = [0] * len(readers)
        for _ in range(sum(self._counts)):
            shares = [  # where the middle of a text's next line is; beyond 1 at its end
                (lines_done + 0.5) / count if lines_done < count else 2.0
                for lines_done, count in zip(done, self._counts, strict=True)
            ]
            text = shares.index(min(shares))
            done[text] += 1
            yield next(readers[text])
