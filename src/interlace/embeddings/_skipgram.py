"""fastText's skip-gram with subwords (Bojanowski et al. 2017), by gensim: vectors of the words of one text.

Several threads would take pieces of text in an order that nobody controls, so one is the default: then equal text,
settings and seed give equal vectors.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError, MissingDependencyError
from interlace.core.progress import no_progress
from interlace.core.randomness import Purpose, generator
from interlace.core.settings import Settings
from interlace.embeddings import WordVectors

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from interlace.core.progress import Progress

log = logging.getLogger(__name__)


class SkipGram(Settings):
    """How fastText learns; the defaults are its own but for the width, which is that of MUSE's vectors."""

    width: int = Field(300, ge=2, description="Width of the vectors (Conneau et al. 2018, section 3.1: 300).")
    window: int = Field(5, ge=1, description="Words of context on each side, at most.")
    epochs: int = Field(5, ge=1, description="Passes over the text.")
    least: int = Field(5, ge=1, description="How often a word must be met.")
    most: int = Field(
        200_000, ge=2, description="Words kept, the most frequent (Conneau et al. 2018, section 3.1: 200,000)."
    )
    negatives: int = Field(5, ge=1, description="Words drawn against each word of the context.")
    learning_rate: float = Field(0.05, gt=0, description="Learning rate at the start; it falls to 0 in a line.")
    subsample: float = Field(
        1e-4, ge=0, le=1, description="Words with a greater share of the text are passed over now and then."
    )
    shortest: int = Field(3, ge=1, description="Characters of the shortest character n-grams.")
    longest: int = Field(6, ge=0, description="Characters of the longest ones; less than `shortest`: none are used.")
    buckets: int = Field(
        2_000_000, ge=1, description="Vectors that character n-grams share; each takes 4 x width bytes."
    )
    threads: int = Field(1, ge=1, description="Threads; with more than one, no two runs give the same vectors.")

    def train(
        self, what: str, lines: Iterable[Sequence[str]], seed: int = 0, progress: Progress | None = None
    ) -> Spoken:
        """Learn from lines of words, which are read `epochs` + 1 times; `what` names the text in errors and to `progress`.

        Raises:
            DataError: no word is met as often as it must be.
            MissingDependencyError: gensim is not installed.
        """
        fast_text = _gensim()
        shape = {"vector_size": self.width, "window": self.window, "epochs": self.epochs, "sg": 1}
        grams = {"min_n": self.shortest, "max_n": self.longest, "bucket": self.buckets}
        draws = {"negative": self.negatives, "sample": self.subsample, "alpha": self.learning_rate, "min_alpha": 1e-6}
        model = fast_text(**shape, **grams, **draws, min_count=self.least, workers=self.threads, seed=_seed(seed))
        model.build_vocab(corpus_iterable=_lists(lines))
        if len(model.wv) == 0:
            raise DataError(
                f"word vectors of {what}: no word stands in it {self.least} times; lower 'skipgram.least', or give "
                "more text"
            )
        model.train(
            corpus_iterable=_lists(lines),
            total_examples=model.corpus_count,
            epochs=self.epochs,
            callbacks=[_told(what, self.epochs, progress or no_progress)],
        )
        return Spoken(model.wv)

    def words_of(self, lines: Iterable[Sequence[str]]) -> list[str]:
        """The words of a text that are met often enough, the most frequent first; of equals, as they come."""
        counts: Counter[str] = Counter()
        for line in lines:
            counts.update(line)
        return [word for word, count in counts.most_common(self.most) if count >= self.least]


class Spoken:
    """Vectors that gensim learnt, by word."""

    def __init__(self, keyed: Any) -> None:
        self._keyed = keyed

    def of(self, language: str, words: list[str]) -> WordVectors:
        """The vectors of these words, which all were learnt."""
        rows = [self._keyed.key_to_index[word] for word in words]
        return WordVectors(language, words, np.asarray(self._keyed.vectors[rows], np.float32))


class _lists:  # noqa: N801 - stands for a function whose result can be read again
    """Lines as gensim wants them: lists."""

    def __init__(self, lines: Iterable[Sequence[str]]) -> None:
        self._lines = lines

    def __iter__(self) -> Any:
        return map(list, self._lines)


def _seed(seed: int) -> int:
    return int(generator(Purpose.VECTORS, seed, 0, 3).integers(2**31))


def _gensim() -> Any:
    try:
        from gensim.models.fasttext import FastText
    except ImportError:
        raise MissingDependencyError("learning word vectors from text", "gensim") from None
    logging.getLogger("gensim").setLevel(logging.WARNING)
    return FastText


def _told(what: str, epochs: int, progress: Progress) -> Any:
    """Tells of each pass that is done."""
    from gensim.models.callbacks import CallbackAny2Vec

    class Told(CallbackAny2Vec):  # type: ignore[misc] # gensim has no types
        def __init__(self) -> None:
            self.done = 0

        def on_epoch_end(self, _model: Any) -> None:
            self.done += 1
            progress(f"fastText on {what}", self.done, epochs)

    return Told()
