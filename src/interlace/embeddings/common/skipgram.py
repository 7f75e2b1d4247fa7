"""fastText's skip-gram with subwords (Bojanowski et al. 2017), trained by gensim on one text.

One thread is the default: several threads read the text in a nondeterministic order, one thread gives equal vectors for
equal text, settings and seed.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, count
from typing import Any

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError, dependency_errors
from interlace.core.progress import Progress, no_progress
from interlace.core.randomness import Purpose, generator
from interlace.core.settings import Settings
from interlace.embeddings import WordVectors

_LEARNING_RATE = 0.05  # at the beginning; decays linearly
_MIN_NGRAM = 3  # characters
_MAX_NGRAM = 6


class SkipGram(Settings):
    """Settings of fastText; defaults are its own, except for the width, which is that of MUSE's vectors."""

    width: int = Field(
        300,
        ge=2,
        le=65_536,
        description="Width of the vectors (Conneau et al. 2018, section 3.1: 300).",
    )
    window: int = Field(5, ge=1, description="Maximum words of context on each side.")
    epochs: int = Field(5, ge=1, description="Passes over the text.")
    min_count: int = Field(5, ge=1, description="Minimum frequency of a word.")
    max_words: int = Field(
        200_000,
        ge=2,
        description="Number of most frequent words to keep (Conneau et al. 2018, section 3.1: 200,000).",
    )
    negatives: int = Field(5, ge=1, description="Negative samples per context word.")
    subsample: float = Field(
        1e-4,
        ge=0,
        le=1,
        description="Words of a higher relative frequency are skipped randomly.",
    )
    buckets: int = Field(
        2_000_000,
        ge=1,
        description="Hash buckets of character n-grams; each takes 4 x width bytes.",
    )
    threads: int = Field(
        1,
        ge=1,
        le=1024,
        description="Threads; with more than one, results are not reproducible.",
    )

    def train(
        self,
        what: str,
        lines: Iterable[Sequence[str]],
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Any:
        """Train on lines of words, which are iterated over `epochs` + 1 times; return gensim's `KeyedVectors`.

        what: the name of the text, for errors and `progress`.
        """
        with dependency_errors("training word vectors on text (Python 3.13 or older)"):
            from gensim.models.callbacks import CallbackAny2Vec
            from gensim.models.fasttext import FastText
        logging.getLogger("gensim").setLevel(logging.WARNING)
        epochs = self.epochs
        done = count(1)

        class Epochs(CallbackAny2Vec):  # type: ignore[misc] # gensim has no types
            def on_epoch_end(self, _model: Any) -> None:
                (progress or no_progress)(f"fastText on {what}", next(done), epochs)

        model = FastText(
            sg=1,
            vector_size=self.width,
            window=self.window,
            epochs=epochs,
            min_count=self.min_count,
            negative=self.negatives,
            sample=self.subsample,
            alpha=_LEARNING_RATE,
            min_alpha=1e-6,
            min_n=_MIN_NGRAM,
            max_n=_MAX_NGRAM,
            bucket=self.buckets,
            workers=self.threads,
            seed=int(generator(Purpose.VECTORS, seed, 0, 3).integers(2**31)),
        )
        model.build_vocab(corpus_iterable=_ListLines(lines))
        if len(model.wv) == 0:
            raise DataError(
                f"word vectors of {what}: no word occurs {self.min_count} times; lower 'skipgram.min_count', or use "
                "more text"
            )
        model.train(
            corpus_iterable=_ListLines(lines),
            total_examples=model.corpus_count,
            epochs=epochs,
            callbacks=[Epochs()],
        )
        return model.wv

    def words_of(self, lines: Iterable[Sequence[str]]) -> list[str]:
        """Return the words of a text that are frequent enough, by decreasing frequency; ties in order of occurrence."""
        counts = Counter(chain.from_iterable(lines)).most_common(self.max_words)
        return [word for word, frequency in counts if frequency >= self.min_count]


def vectors_of(trained: Any, language: str, words: list[str]) -> WordVectors:
    """Return the vectors of these words, which must be in the model; `trained` is what `SkipGram.train` returns."""
    rows = [trained.key_to_index[word] for word in words]
    return WordVectors(language, words, np.asarray(trained.vectors[rows], np.float32))


class _ListLines:
    """Lines as lists, as gensim requires; can be iterated over again."""

    def __init__(self, lines: Iterable[Sequence[str]]) -> None:
        self._lines = lines

    def __iter__(self) -> Any:
        return map(list, self._lines)
