"""Denoising auto-encoding: a sentence is reconstructed from a noised version (Lample et al. 2018).

    before  the old doctor reads three letters
    reads   <s> old the doctor [M] letters </s>
    writes  <2en>  the   old     doctor  reads  three    letters
    next    the    old   doctor  reads   three  letters  </s>

It teaches the decoder each language without translations, and makes the encoder robust to the errors of
back-translation (Conneau & Lample 2019, section 5.2).

Legend: n sentences; T tokens, U noise units (words or tokens) of all sentences; W words of all dictionaries, w of them
in one language.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from interlace.alignment.phrase_table import PhraseIndex
from interlace.core.ragged import Ragged
from interlace.core.randomness import Generator
from interlace.core.schedules import Schedule, value_at, values_of, within
from interlace.core.settings import Settings
from interlace.data import Sentences
from interlace.data.layout import SPECIALS, sentence_layout
from interlace.data.vocab import Vocab
from interlace.objectives import Batch, Prepared, Resources
from interlace.objectives.common.dictionaries import Dictionaries, Dictionary
from interlace.objectives.common.masking import Rate
from interlace.objectives.common.seq2seq import Seq2SeqObjective, decoder_layout

Distance = Annotated[Schedule, AfterValidator(lambda schedule: within(schedule, 0.0, 1000.0))]


class Noise(Settings):
    """How a sentence is noised; the steps are applied in this order, as in XLM's code."""

    shuffle: Distance = Field(
        "3",
        description="Units move by fewer places than this: they are sorted by place + U(0, shuffle); 0: no shuffling "
        "(XLM: 3). A number or a schedule over steps, as the others.",
    )
    drop: Rate = Field(
        "0.1", description="Share of units to drop; one unit always remains (XLM: 0.1)."
    )
    blank: Rate = Field(
        "0.1", description="Share of units to replace by masks, one for each token (XLM: 0.1)."
    )
    unit: Literal["word", "subword"] = Field(
        "word",
        description="Unit that is moved, dropped and masked: words (Lample et al. 2018) or subwords (XLM's code).",
    )

    def apply(self, sentences: Sentences, vocab: Vocab, step: int, rng: Generator) -> Sentences:
        """Return the noised sentences, words renumbered; raise a DataError if the vocabulary lacks a needed mask."""
        units = NoiseUnits.of(sentences, self.unit)
        scores = units.places + rng.random(len(units.rows)) * value_at(self.shuffle, step)
        order = np.lexsort((scores, units.rows))
        draws = rng.random(len(units.rows))
        kept = draws >= value_at(self.drop, step)
        # One unit of each sentence always remains: the one with the highest draw, the last of its sentence here.
        kept[np.lexsort((draws, units.rows))[np.diff(units.rows, append=-1) != 0]] = True
        rate = value_at(self.blank, step)
        masked = rng.random(len(units.rows)) < rate
        order = order[kept[order]]
        moved = Ragged.from_lengths(sentences.ids.flat, units.lengths).take(order)
        ids = moved.flat
        if rate:
            ids[np.repeat(masked[order], moved.lengths)] = vocab.mask
        rows = units.rows[order]
        tokens = np.bincount(rows, moved.lengths, minlength=len(sentences)).astype(np.int64)
        numbers = Ragged.from_lengths(order, np.bincount(rows, minlength=len(sentences))).columns()
        words = np.repeat(numbers, moved.lengths).astype(np.int32)
        return Sentences(
            Ragged.from_lengths(ids, tokens), Ragged.from_lengths(words, tokens), sentences.language
        )


@dataclass(frozen=True, kw_only=True)
class PreparedDenoise(Prepared):
    """Adds the translations of each language's words; empty without a dictionary."""

    translations: dict[str, WordTranslations]


class Denoise(Seq2SeqObjective):
    """Write a sentence after reading it with words moved, dropped and masked.

    Reads: sentences of one language per batch; with `translation_rate` also a dictionary.
    Relations: `mass` masks one span and writes only that; `back_translation` reads the model's own translation.
    Terms: `denoise`. XLM decays its weight: `weight = "0:1,100000:0.1,300000:0"`, in iterations of four updates.
    """

    term: ClassVar[str] = "denoise"

    noise: Noise = Field(default_factory=Noise, description="Noise of the sentence that is read.")
    translation_rate: Rate = Field(
        "0",
        description="Share of words to replace by a dictionary translation before the noise, a number or a schedule "
        "over steps. Word-by-word translation can initialize back-translation (Lample et al. 2018).",
    )
    dictionary: Dictionary = Field(
        default_factory=Dictionary, description="Dictionaries for translation_rate."
    )

    def model_post_init(self, _context: Any) -> None:
        """Reject a dictionary that is not used."""
        if not self.needs and self.dictionary != Dictionary():
            raise ValueError(
                "dictionary is set, but translation_rate is 0; set translation_rate too"
            )

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]
        """A dictionary, if words are translated."""
        return frozenset({"lexicon"} if any(values_of(self.translation_rate)) else ())

    def prepare(self, resources: Resources) -> PreparedDenoise:
        """Build the translation tables, if words are translated; raise a DataError without usable entries."""
        prepared = super().prepare(resources)
        tables = {}
        if self.needs:
            lexicons = resources.lexicons
            seed = resources.seed
            dictionaries = self.dictionary.prepare(lexicons, resources.vocab, self.term, seed=seed)
            prepared = replace(prepared, dictionaries=dictionaries)
            tables = word_translations(dictionaries)
        return PreparedDenoise(**vars(prepared), translations=tables)

    def for_evaluation(self) -> Self:
        """Return the objective without translated words."""
        return super().for_evaluation().model_copy(update={"translation_rate": "0"})

    def batch(
        self, examples: Sentences, prepared: PreparedDenoise, step: int, rng: Generator
    ) -> Batch:
        """Read the noised sentences, write the original ones."""
        vocab = prepared.vocab
        language = examples.language
        decoder = decoder_layout(examples.ids, vocab.target(language), vocab, self.max_length)
        table = prepared.translations.get(language)
        if table and (rate := value_at(self.translation_rate, step)):
            examples = translate_words(examples, table, rate, rng, self.max_length - SPECIALS)
        noised = self.noise.apply(examples, vocab, step, rng)
        layout = sentence_layout(noised, vocab, self.max_length)
        return self.seq2seq_batch(layout, (language,), decoder, (language,), prepared)


@dataclass(frozen=True)
class NoiseUnits:
    """Words or tokens of a batch. starts, lengths: (U,) their tokens. rows, places: (U,) sentence and position."""

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    rows: NDArray[np.int64]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, sentences: Sentences, unit: str) -> NoiseUnits:
        """Return the units; a separator inside a stream is a word by itself."""
        owner = sentences.ids.rows()
        words = sentences.words.flat
        new = np.ones(len(words), np.bool_)
        if unit == "word":
            new[1:] = (owner[1:] != owner[:-1]) | (words[1:] != words[:-1]) | (words[1:] < 0)
        starts = np.flatnonzero(new)
        rows = owner[starts]
        counts = np.bincount(rows, minlength=len(sentences))
        places = np.arange(len(starts)) - np.repeat(np.cumsum(counts) - counts, counts)
        return cls(starts, np.diff(starts, append=len(words)), rows, places)


@dataclass(frozen=True)
class WordTranslations:
    """The translations of one language's words.

    words: W rows of int32 token ids.
    own: (w,) distinct words that have a translation. others: w rows of the words that translate each.
    """

    words: Ragged
    own: NDArray[np.int64]
    others: Ragged

    @cached_property
    def index(self) -> PhraseIndex:
        """Finds the words `own` in text."""
        return PhraseIndex(self.words.take(self.own))


def word_translations(dictionaries: Dictionaries) -> dict[str, WordTranslations]:
    """Return the translations by language, from the training entries in both directions."""
    pairs: dict[str, list[NDArray[np.int64]]] = {}
    for language, _, words in dictionaries.directions():
        pairs.setdefault(language, []).append(words)
    tables = {}
    for language, columns in pairs.items():
        distinct = np.unique(np.concatenate(columns, axis=1), axis=1)
        own, counts = np.unique(distinct[0], return_counts=True)
        tables[language] = WordTranslations(
            dictionaries.words, own, Ragged.from_lengths(distinct[1], counts)
        )
    return tables


def translate_words(
    sentences: Sentences, table: WordTranslations, share: float, rng: Generator, max_tokens: int
) -> Sentences:
    """Replace a share of the words by a random translation, if the dictionary has one.

    Words keep their order and their numbers. Words are looked up in the form they have inside a line; one that the
    vocabulary spells differently at the start of a line is kept there. Once a sentence has `max_tokens`, the remaining
    words are kept, so that nothing is truncated.
    """
    ids = sentences.ids.flat
    units = NoiseUnits.of(sentences, "word")
    if not len(ids):
        return sentences
    starts = units.starts
    lengths = units.lengths
    rows = units.rows
    spans = Ragged(
        np.stack([starts, starts + lengths], axis=1), np.array([0, len(starts)])
    )  # of the text as one row
    known = table.index.find(Ragged(ids, np.array([0, len(ids)])), spans)
    known[rng.random(len(known)) >= share] = -1
    chosen = np.flatnonzero(known >= 0)
    nth = (rng.random(len(chosen)) * table.others.lengths[known[chosen]]).astype(np.int64)
    translation = table.others.flat[table.others.offsets[known[chosen]] + nth]
    # Later words may fit again after a shorter translation: every run of words left out would have lengthened the row.
    growth = np.zeros(len(starts), np.int64)
    growth[chosen] = table.words.lengths[translation] - lengths[chosen]
    grown = np.cumsum(growth)
    before = np.append(0, grown)[
        np.searchsorted(rows, np.arange(len(sentences)))
    ]  # of the sentences before
    fits = (grown - before[rows] <= (max_tokens - sentences.lengths)[rows])[chosen]
    chosen = chosen[fits]
    translation = translation[fits]
    both = Ragged.concatenate([Ragged.from_lengths(ids, lengths), table.words.take(translation)])
    which = np.arange(len(starts))
    which[chosen] = len(starts) + np.arange(len(chosen))
    words = both.take(which)
    per_row = np.bincount(rows, words.lengths, minlength=len(sentences)).astype(np.int64)
    owners = np.repeat(sentences.words.flat[starts], words.lengths)
    return Sentences(
        Ragged.from_lengths(words.flat, per_row),
        Ragged.from_lengths(owners, per_row),
        sentences.language,
    )
