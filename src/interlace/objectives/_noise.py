"""Noise on sentences: words change places, go missing, or are hidden (Lample et al. 2018; Conneau & Lample 2019).

All of it is drawn for a whole batch at once. Legend: n rows, U units (words, or subwords) and T subwords of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import AfterValidator, Field

from interlace.core.ragged import Ragged
from interlace.core.schedules import Schedule, value_at, within
from interlace.core.settings import Settings
from interlace.data import Sentences
from interlace.objectives._masking import Rate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.core.randomness import Generator
    from interlace.data.vocab import Vocab

Distance = Annotated[Schedule, AfterValidator(lambda schedule: within(schedule, 0.0, 1000.0))]


class Noise(Settings):
    """How a sentence is disturbed; the steps come in this order, as in XLM's code."""

    shuffle: Distance = Field(
        "3",
        description="A unit moves by fewer places than this: units are sorted by place + U(0, shuffle); 0 leaves them "
        "(XLM: 3). A number or a schedule over steps, as are the others.",
    )
    drop: Rate = Field("0.1", description="Share of units that are left out; one always stays (XLM: 0.1).")
    blank: Rate = Field(
        "0.1", description="Share of units that are shown as the mask, a mask a subword, so lengths stay (XLM: 0.1)."
    )
    unit: Literal["word", "subword"] = Field(
        "word",
        description="What is moved, left out and hidden: whole words (Lample et al. 2018), or subwords (XLM's code).",
    )

    def apply(self, sentences: Sentences, vocab: Vocab, step: int, rng: Generator) -> Sentences:
        """The sentences with noise; words are numbered anew, as they then stand.

        Raises:
            DataError: something is to be hidden, and the vocabulary has no mask.
        """
        units = Units.of(sentences, self.unit)
        order = units.shuffled(value_at(self.shuffle, step), rng)
        stays = units.kept(value_at(self.drop, step), rng)
        rate = value_at(self.blank, step)
        hidden = rng.random(len(units.rows)) < rate
        order = order[stays[order]]
        index, lengths = units.gather(order)
        ids = sentences.ids.flat[index]
        if rate:
            ids[np.repeat(hidden[order], lengths)] = vocab.mask
        rows = units.rows[order]
        subwords = np.bincount(rows, lengths, minlength=len(sentences)).astype(np.int64)
        numbers = Ragged.from_lengths(order, np.bincount(rows, minlength=len(sentences))).columns()
        words = np.repeat(numbers, lengths).astype(np.int32)
        return Sentences(Ragged.from_lengths(ids, subwords), Ragged.from_lengths(words, subwords), sentences.language)


@dataclass(frozen=True)
class Units:
    """What noise works on. starts, lengths: (U,) its subwords. rows, places: (U,) where it stands."""

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    rows: NDArray[np.int64]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, sentences: Sentences, unit: str) -> Units:
        """Subwords, or the words that they belong to; a separator inside a stream is a word by itself."""
        owner, words = sentences.ids.rows(), sentences.words.flat
        new = np.ones(len(words), np.bool_)
        if unit == "word":
            new[1:] = (owner[1:] != owner[:-1]) | (words[1:] != words[:-1]) | (words[1:] < 0)
        starts = np.flatnonzero(new)
        rows = owner[starts]
        counts = np.bincount(rows, minlength=len(sentences))
        places = np.arange(len(starts)) - np.repeat(np.cumsum(counts) - counts, counts)
        return cls(starts, np.diff(starts, append=len(words)), rows, places)

    def shuffled(self, distance: float, rng: Generator) -> NDArray[np.int64]:
        """(U,) the units in their new order, row after row."""
        scores = self.places + rng.random(len(self.rows)) * distance
        return np.asarray(np.lexsort((scores, self.rows)), np.int64)

    def kept(self, share: float, rng: Generator) -> NDArray[np.bool_]:
        """(U,) which ones stay; of a row that would lose all, the one with the highest draw does."""
        draws = rng.random(len(self.rows))
        kept = draws >= share
        best = np.lexsort((draws, self.rows))[np.diff(self.rows, append=-1) != 0]  # rows ascend: the last of each
        kept[best] = True
        return kept

    def gather(self, order: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The places of the subwords of units in this order, and how many each unit has."""
        lengths = self.lengths[order]
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if len(ends) else 0
        return np.repeat(self.starts[order] - (ends - lengths), lengths) + np.arange(total), lengths
