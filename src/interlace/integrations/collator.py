"""Batches of our objectives for transformers' `Trainer` and torch's `DataLoader`.

`ObjectiveCollator.map` turns text into columns of subwords, words and phrases, once; calling the collator turns rows of
these columns into a batch, with the code of the objective itself. Legend: B sequences, L tokens of the longest.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.alignment import WordPairs
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.phrase_rules import TableRules
from interlace.alignment.phrase_table import PhraseTable
from interlace.alignment.phrases import phrase_pairs
from interlace.core.display import listed
from interlace.core.errors import DataError, SettingsError
from interlace.core.ragged import Int32Array, Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data import Pairs, Sentences
from interlace.data.packing import PackedSentences, Streams
from interlace.data.vocab import Vocab
from interlace.models.families import Traits, traits_of
from interlace.objectives import OBJECTIVES, Batch, Objective, Resources
from interlace.objectives.alm import Alm
from interlace.objectives.clm import Clm
from interlace.text import Text, TextPairs
from interlace.text.columns import TextColumns
from interlace.text.types import WordTypes

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.aligners import FittedAligner

log = logging.getLogger(__name__)
Columns = dict[str, list[Any]]

TEXT = "text"
TRANSLATION = "translation"
LANGUAGE = "language"
# Values per entry of a row of these columns; of the others one.
_WIDTHS = {"links": 2, "phrases": 4, "scores": 4, "source_spans": 2, "target_spans": 2}
_FLOATS = {"confidence", "scores"}
# Losses that are a cross-entropy of the vocabulary head.
_LABELS_ONLY = (Objective.loss, Clm.loss, Alm.loss)


def collator(
    objective: str,
    tokenizer: Any,
    *,
    languages: Sequence[str] = (),
    aligned: Any = None,
    lexicon: Lexicon | None = None,
    model: Any = None,
    running_text: bool = False,
    **settings: Any,
) -> ObjectiveCollator:
    """Return a data collator that makes the batches of an objective.

    Args:
        objective: a name of `interlace list objectives`, such as `"mlm"`, `"tlm"`, `"alm"`.
        tokenizer: of transformers, or its folder or hub name.
        languages: of the text, or source and target: keys of the column `translation`. Default: those of `aligned`.
        aligned: the result of `interlace.align`, for objectives that read word alignments or phrases. Its phrases are
            counted once, and its aligner aligns the text that `map` gets.
        lexicon: the result of `interlace.lexicon`, for objectives that read a dictionary of `languages`.
        model: a transformers model or configuration: its language embeddings and maximum length.
        running_text: for objectives that read running text, `map` joins lines to sequences of `max_length` tokens.
        settings: of the objective, and `seed`.

    Raises:
        SettingsError: an unknown objective or setting, one that needs a decoder, or missing alignments or dictionary.
    """
    seed = int(settings.pop("seed", 0))
    learner: Objective = OBJECTIVES.get(objective).read(settings, f"collator {objective!r}")
    if model is None:
        limit = min(int(getattr(tokenizer, "model_max_length", 512)), 1 << 20)
        traits = Traits("encoder", limit)
    else:
        traits = traits_of(getattr(model, "config", model))
    if "max_length" not in settings:
        max_length = min(learner.max_length, traits.max_length)
        learner = learner.model_copy(update={"max_length": max_length})
    word_tokenizer = "unicode"
    aligner = None
    phrases = None
    if aligned is not None:
        word_tokenizer = aligned.pairs.word_tokenizer
        aligner = aligned.aligner
        languages = languages or aligned.pairs.languages
        if "phrases" in learner.needs:
            phrases = Phrases.of(learner, aligned)
    objective_collator = ObjectiveCollator(
        learner,
        vocab_of(tokenizer),
        traits,
        languages=tuple(languages) or ("",),
        seed=seed,
        lexicon=lexicon,
        word_tokenizer=word_tokenizer,
        aligner=aligner,
        phrases=phrases,
        running_text=running_text,
    )
    objective_collator.check()
    return objective_collator


@dataclass(frozen=True)
class ObjectiveCollator:
    """Makes the batches of an objective from rows; a pure function of the rows, the seed and the step."""

    objective: Objective
    vocab: Vocab
    traits: Traits
    languages: tuple[str, ...] = ("",)
    seed: int = 0
    lexicon: Lexicon | None = None
    word_tokenizer: str = "unicode"
    aligner: FittedAligner | None = None
    phrases: Phrases | None = None
    running_text: bool = False

    def check(self) -> None:
        """Check that the objective can be trained outside a recipe, and that its resources are given.

        Raises:
            SettingsError: it cannot, or they are not.
        """
        objective = self.objective
        limit = self.traits.max_length
        needs_lexicon = "lexicon" in objective.needs
        needs_two_languages = objective.reads is Pairs or needs_lexicon
        is_stream = objective.streams and objective.packed_length() is None
        problems = {
            "needs a decoder; train it by a recipe": objective.architecture == "seq2seq",
            f"max_length exceeds the model's maximum of {limit}": objective.max_length > limit,
            "masking.weighting needs the token frequencies of a recipe": objective.needs_frequencies,
            "target_choice = 'table_argmax' needs a recipe; use 'in_pair'": "known"
            in objective.needs,
            "give word alignments, aligned=interlace.align(pairs)": (
                bool(objective.needs - {"lexicon"}) and self.aligner is None
            ),
            "give a dictionary, lexicon=interlace.lexicon(...)": needs_lexicon
            and self.lexicon is None,
            "running_text needs an objective of running text, such as clm": (
                self.running_text and not is_stream
            ),
            "give two languages, such as languages=('en', 'de')": (
                needs_two_languages and len(self.languages) != 2
            ),
        }
        for problem, applies in problems.items():
            if applies:
                raise SettingsError(f"{objective.name}: {problem}")
        _ = self.prepared

    @cached_property
    def prepared(self) -> Any:
        """What every batch of the objective needs."""
        lexicons = {}
        if self.lexicon is not None:
            lexicons[self.languages[0], self.languages[1]] = self.lexicon
        resources = Resources(
            self.vocab, self.traits, seed=self.seed, lexicons=lexicons, languages=self.languages
        )
        return self.objective.prepare(resources)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that `map` makes and a batch is made from."""
        if self.objective.reads is not Pairs:
            return ("input_ids", "words", LANGUAGE)
        columns: tuple[str, ...] = ("source_ids", "source_words", "target_ids", "target_words")
        if "links" in self.objective.needs:
            columns += ("links", "confidence")
        if "phrases" in self.objective.needs:
            columns += ("phrases", "scores")
        if "text" in self.objective.needs:
            columns += (
                "source_characters",
                "source_spans",
                "target_characters",
                "target_spans",
            )
        return columns

    # ---- text to columns ----

    def map(self, rows: Mapping[str, Any]) -> Columns:
        """Return the columns of text, for `dataset.map(collator.map, batched=True, remove_columns=...)`.

        rows: a batch of a dataset: with the column `translation`, or the column `text` in the first language. An
            objective that reads single sentences reads both sides of translations.

        Raises:
            DataError: there are no such columns, or a row is no text.
        """
        sides = self._sides(rows)
        encoded = [
            Sentences.concatenate(list(self.vocab.encode_texts([side]))) for side in sides
        ]
        columns: Columns = {name: [] for name in self.columns}
        if self.objective.reads is Pairs:
            self._extend(columns, _columns_of_pairs(self._pairs(sides, encoded)))
        else:
            for language_number, sentences in enumerate(encoded):
                packed = self._packed(sentences)
                self._extend(columns, {"input_ids": packed.ids, "words": packed.words})
                columns[LANGUAGE] += [language_number] * len(packed)
        if not columns[self.columns[0]]:
            log.warning(
                "%s: no sequence is left of a mapped batch; map more rows at a time (batch_size)",
                self.objective.name,
            )
        return columns

    @staticmethod
    def _extend(columns: Columns, ragged: Mapping[str, Ragged]) -> None:
        """Append rows, each as one flat list of numbers, to the columns of these names."""
        for name, rows in ragged.items():
            if name in columns:
                columns[name] += [row.reshape(-1) for row in rows]

    def _sides(self, rows: Mapping[str, Any]) -> list[Text]:
        """Return the text of a dataset's batch by language; raise a DataError if it has none."""
        if TRANSLATION in rows and any(self.languages):
            sides = []
            for language in self.languages:
                lines = [(row or {}).get(language) for row in rows[TRANSLATION]]
                sides.append(self._text(lines, language))
            return sides
        if TEXT in rows and self.objective.reads is not Pairs:
            return [self._text(rows[TEXT], self.languages[0])]
        raise DataError(
            f"the rows have the columns {listed(rows)}; expected {TEXT!r} for objectives of single sentences, or "
            f'{TRANSLATION!r} and a collator of two languages, such as languages=("en", "de")'
        )

    def _text(self, lines: Sequence[Any], language: str) -> Text:
        for number, line in enumerate(lines, 1):
            if not isinstance(line, str):
                raise DataError(
                    f"row {number} of a mapped batch: expected text of the language {language!r}, found {line!r}"
                )
        joined = [" ".join(line.splitlines()) for line in lines]
        return Text.of(joined, language, self.word_tokenizer)

    def _pairs(self, sides: Sequence[Text], encoded: Sequence[Sentences]) -> Pairs:
        """Return sentence pairs with the links and phrases that the objective needs."""
        pairs: Pairs = self._packed(Pairs(encoded[0], encoded[1]))
        if self.aligner is None or not self.objective.needs:
            return pairs
        words = WordPairs.of([TextPairs(sides[0], sides[1])])
        alignments = self.aligner.align(words)
        pairs = replace(
            pairs,
            links=alignments.links,
            confidence=Ragged(alignments.confidence, alignments.links.offsets),
        )
        if "text" in self.objective.needs:
            pairs = replace(pairs, text=(TextColumns.of(sides[0]), TextColumns.of(sides[1])))
        if self.phrases is not None:
            pairs = self.phrases.find(pairs, words)
        return pairs

    def _packed(self, examples: Any) -> Any:
        """Return whole sentences packed into long sequences, or running text cut into them, as the settings say."""
        length = self.objective.packed_length()
        if length is not None:
            fits = np.logical_and.reduce([side <= length for side in examples.side_lengths])
            packed: Any = PackedSentences(
                examples, length, self.vocab.end, np.flatnonzero(fits)
            )
        elif self.running_text:
            packed = Streams(examples, self.objective.max_length - 2, self.vocab.end)
        else:
            return examples
        return packed.take(np.arange(len(packed)))

    # ---- columns to batches ----

    def batches(
        self, rows: Sequence[Mapping[str, Any]], step: int | None = None
    ) -> list[Batch]:
        """Return the objective's batch of rows of `map`'s columns; of single sentences, a batch a language.

        step: key of the masks, as in our own loop. None: the key is the content of the rows, so that masks depend
            neither on worker processes nor on interruptions, and differ between epochs if rows are shuffled.

        Raises:
            DataError: a column is missing. SettingsError: masking follows a schedule, and there is no step.
        """
        examples = self._examples(rows)
        slot = 0
        if step is None:
            step = 0
            slot = self._key_of(examples)
        rng = generator(Purpose.BATCH, self.seed, step, slot)
        return [self.objective.batch(part, self.prepared, step, rng) for part in examples]

    def _examples(self, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Return rows as one `Pairs`, or as `Sentences` by language."""
        missing = [name for name in self.columns if name not in rows[0]]
        if missing:
            raise DataError(
                f"{self.objective.name}: the rows lack {listed(missing)}; make them with "
                "dataset.map(collator.map, batched=True), and set remove_unused_columns=False in TrainingArguments"
            )
        columns: dict[str, Any] = {name: _column(rows, name) for name in self.columns}
        if self.objective.reads is Pairs:
            return [_pairs_of(columns, self.languages)]
        sentences = Sentences(columns["input_ids"], columns["words"], "")
        language_numbers = columns[LANGUAGE].flat  # (B,)
        by_language = []
        for number in np.unique(language_numbers):
            of_language = sentences.take(language_numbers == number)
            by_language.append(replace(of_language, language=self.languages[number]))
        return by_language

    def _key_of(self, examples: Sequence[Any]) -> int:
        """Return a hash of the examples' tokens; raise a SettingsError if masking depends on the step."""
        rate = getattr(getattr(self.objective, "masking", None), "rate", "")
        if ":" in rate:
            raise SettingsError(
                f"masking.rate = {rate!r} depends on the step; give it, or use a number"
            )
        digest = blake2b(digest_size=8)
        for part in examples:
            sentences = part.source if isinstance(part, Pairs) else part
            digest.update(sentences.ids.flat.tobytes())
        return int.from_bytes(digest.digest())

    def __call__(
        self, rows: Sequence[Mapping[str, Any]], step: int | None = None
    ) -> dict[str, Tensor]:
        """Return the inputs of a transformers model, all (B, L): `input_ids`, `attention_mask`, `labels` and others.

        `labels` are -100 where nothing is predicted, and shifted by one for a causal model, as transformers expects.

        Raises:
            SettingsError: the objective has further losses or heads, which only `interlace.pretrain` trains.
        """
        import torch
        from torch.nn.utils.rnn import pad_sequence

        if type(self.objective).loss not in _LABELS_ONLY:
            raise SettingsError(
                f"{self.objective.name} has a loss of its own; train it with interlace.pretrain"
            )
        columns: dict[str, list[Tensor]] = {}  # sequences of all batches by input
        for batch in self.batches(rows, step):
            labels = np.full_like(batch.inputs["input_ids"], -100, np.int64)
            labels[batch.at[0], batch.at[1] + int(self.causal)] = batch.labels
            inputs = {"attention_mask": np.ones_like(labels), **batch.inputs, "labels": labels}
            for name, array in inputs.items():
                columns.setdefault(name, []).extend(torch.from_numpy(array))
        padding = {"labels": -100, "input_ids": self.vocab.pad}
        padded = {}
        for name, column in columns.items():
            padded[name] = pad_sequence(
                column, batch_first=True, padding_value=padding.get(name, 0)
            )
        return padded

    def loss(self, outputs: Any, labels: Tensor, num_items_in_batch: Any = None) -> Tensor:
        """Return the mean cross-entropy over all predictions of an update: the `compute_loss_func` of a `Trainer`.

        Without it, several models of transformers average each micro-batch by itself, whatever it predicts.
        """
        from torch.nn.functional import cross_entropy

        logits = outputs["logits"]
        if self.causal:
            logits = logits[:, :-1]
            labels = labels[:, 1:]
        if num_items_in_batch is None:
            num_items_in_batch = (labels != -100).sum()
        total: Tensor = cross_entropy(
            logits.flatten(0, 1).float(), labels.flatten(), reduction="sum"
        )
        return total / num_items_in_batch

    @property
    def causal(self) -> bool:
        """Whether tokens are predicted from those before them."""
        return self.objective.architecture == "causal"


@dataclass(frozen=True)
class Phrases:
    """The phrases of aligned text, counted once, which are looked up in each mapped batch."""

    table: PhraseTable
    rules: TableRules
    source_types: WordTypes
    target_types: WordTypes

    @classmethod
    def of(cls, objective: Any, aligned: Any) -> Phrases:
        """Count the phrases of aligned pairs, as long as the objective exchanges them."""
        from interlace.alignment.phrase_counts import count_phrases  # compiles loops

        longest = max(
            TableRules().max_phrase_length, objective.code_switching.max_phrase_length
        )
        rules = TableRules(max_phrase_length=longest)
        alignments = aligned.alignments
        confidence = alignments.confidence
        table = count_phrases(
            aligned.pairs.types, alignments.links, rules, confidence=confidence
        )
        return cls(table, rules, WordTypes(table.source_types), WordTypes(table.target_types))

    def find(self, pairs: Any, words: WordPairs) -> Any:
        """Return the pairs with those of their phrases that are in the table, and the phrases' scores."""
        spans = phrase_pairs(
            words.source.lengths,
            words.target.lengths,
            pairs.links,
            self.rules,
            confidence=pairs.confidence.flat,
        )
        source = _renumbered(words.source, self.source_types.find(words.source_types))
        target = _renumbered(words.target, self.target_types.find(words.target_types))
        phrases, rows = self.table.select(source, target, spans)
        scores = self.table.scores[rows][:, [2, 0, 3, 1]]  # from the order of Moses to `Pairs`
        return replace(pairs, phrases=phrases, scores=Ragged(scores, phrases.offsets))


def _renumbered(words: Ragged, numbers: Int32Array) -> Ragged:
    """Return words with other numbers of their types."""
    return Ragged(numbers[words.flat], words.offsets - words.offsets[0])


def _columns_of_pairs(pairs: Pairs) -> dict[str, Ragged]:
    """Return all columns that pairs have."""
    columns = {
        "source_ids": pairs.source.ids,
        "source_words": pairs.source.words,
        "target_ids": pairs.target.ids,
        "target_words": pairs.target.words,
        "links": pairs.links,
        "confidence": pairs.confidence,
        "phrases": pairs.phrases,
        "scores": pairs.scores,
    }
    if pairs.text is not None:
        source, target = pairs.text
        columns["source_characters"] = source.characters
        columns["source_spans"] = source.words
        columns["target_characters"] = target.characters
        columns["target_spans"] = target.words
    return {name: column for name, column in columns.items() if column is not None}


def _pairs_of(columns: Mapping[str, Ragged], languages: Sequence[str]) -> Pairs:
    """Return the pairs that `_columns_of_pairs` returned the columns of."""
    text = None
    if "source_spans" in columns:
        text = (
            TextColumns(columns["source_characters"], columns["source_spans"]),
            TextColumns(columns["target_characters"], columns["target_spans"]),
        )
    return Pairs(
        Sentences(columns["source_ids"], columns["source_words"], languages[0]),
        Sentences(columns["target_ids"], columns["target_words"], languages[1]),
        links=columns.get("links"),
        confidence=columns.get("confidence"),
        phrases=columns.get("phrases"),
        scores=columns.get("scores"),
        text=text,
    )


def vocab_of(tokenizer: Any) -> Vocab:
    """Return the vocabulary of a fast transformers tokenizer, or of a folder or hub name.

    Raises:
        SettingsError: it is no tokenizer. DataError: it has no fast form, or lacks a special token of encoders.
    """
    if isinstance(tokenizer, (str, Path)):
        return Vocab.load(tokenizer)
    if not hasattr(tokenizer, "save_pretrained"):
        raise SettingsError(
            f"expected a tokenizer of transformers, or its name, found {type(tokenizer).__name__}"
        )
    with TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        vocab = Vocab.load(folder)
    vocab.name = str(tokenizer.name_or_path) or type(tokenizer).__name__
    return vocab


def _column(rows: Sequence[Mapping[str, Any]], name: str) -> Ragged:
    width = _WIDTHS.get(name, 1)
    dtype = np.float32 if name in _FLOATS else np.int32
    parts = [np.asarray(row[name], dtype).reshape(-1) for row in rows]
    flat = np.concatenate(parts)
    if width > 1:
        flat = flat.reshape(-1, width)
    return Ragged.from_lengths(flat, [len(part) // width for part in parts])
