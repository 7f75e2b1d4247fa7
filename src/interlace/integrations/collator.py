"""Batches of our objectives for transformers' `Trainer` and torch's `DataLoader`.

`ObjectiveCollator.map` turns text into columns of subwords, words and phrases, once; calling the collator turns rows of
these columns into a batch, with the code of the objective itself. Legend: B sequences, L tokens of the longest.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel

from interlace.alignment import WordPairs
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.phrase_table import PhraseTable, TableRules
from interlace.alignment.phrases import phrase_pairs
from interlace.core.display import listed
from interlace.core.errors import DataError, SettingsError
from interlace.core.ragged import Ragged
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

TEXT, TRANSLATION, LANGUAGE = "text", "translation", "language"
_SIDES = ("source", "target")
_ANNOTATIONS = ("links", "confidence", "phrases", "scores")
_WIDTHS = {"links": 2, "phrases": 4, "scores": 4, "source_spans": 2, "target_spans": 2}  # values per entry; else 1
_LABELS_ONLY = (Objective.loss, Clm.loss, Alm.loss)  # losses that are a cross-entropy of the vocabulary head


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
        languages: of the text, or source and target: keys of the column `translation`, or columns. Default: those of
            `aligned`.
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
    limit = min(int(getattr(tokenizer, "model_max_length", 512)), 1 << 20)
    traits = Traits("encoder", limit) if model is None else traits_of(getattr(model, "config", model))
    if "max_length" not in settings:
        learner = learner.model_copy(update={"max_length": min(learner.max_length, traits.max_length)})
    known: dict[str, Any] = {"languages": tuple(languages) or ("",), "lexicon": lexicon, "running_text": running_text}
    if aligned is not None:
        known |= {"word_tokenizer": aligned.pairs.word_tokenizer, "aligner": aligned.aligner}
        known["languages"] = tuple(languages) or aligned.pairs.languages
        known["phrases"] = Phrases.of(learner, aligned) if "phrases" in learner.needs else None
    made = ObjectiveCollator(learner, vocab_of(tokenizer), traits, seed=seed, **known)
    made.check()
    return made


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

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields without what they cache, so that `datasets` gives equal collators equal fingerprints."""
        kept = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return kept | {name: _without_caches(kept[name]) for name in ("vocab", "lexicon", "aligner", "phrases")}

    def check(self) -> None:
        """Check that the objective can be trained outside a recipe, and that its resources are given.

        Raises:
            SettingsError: it cannot, or they are not.
        """
        needs, longest, limit = self.objective.needs, self.objective.max_length, self.traits.max_length
        two = self.objective.reads is Pairs or self.lexicon is not None
        problems = {
            "needs a decoder; train it by a recipe (interlace pretrain)": self.objective.architecture == "seq2seq",
            f"max_length = {longest}, but the model's maximum is {limit}": longest > limit,
            "masking.weighting needs the token frequencies of a recipe": self.objective.needs_frequencies,
            "target_choice = 'table_argmax' needs a recipe; use 'in_pair'": "known" in needs,
            "give word alignments, aligned=interlace.align(pairs)": needs - {"lexicon"} and self.aligner is None,
            "give a dictionary, lexicon=interlace.lexicon(...)": "lexicon" in needs and self.lexicon is None,
            "reads no dictionary; leave out the lexicon": self.lexicon is not None and "lexicon" not in needs,
            "running_text needs an objective of running text that packs nothing, such as clm": self.running_text
            and (not self.objective.streams or self.objective.packed_length() is not None),
            "give two languages, such as languages=('en', 'de')": two and len(self.languages) != 2,
        }
        for problem in (text for text, found in problems.items() if found):
            raise SettingsError(f"{self.objective.name}: {problem}")
        _ = self.prepared

    @cached_property
    def prepared(self) -> Any:
        """What every batch of the objective needs."""
        lexicons = {} if self.lexicon is None else {(self.languages[0], self.languages[1]): self.lexicon}
        known: Any = {"seed": self.seed, "lexicons": lexicons, "languages": self.languages}
        return self.objective.prepare(Resources(self.vocab, self.traits, **known))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that `map` makes and a batch is made from."""
        if self.objective.reads is not Pairs:
            return ("input_ids", "words", LANGUAGE)
        needs = self.objective.needs
        more: tuple[str, ...] = ()
        if "links" in needs:
            more = ("links", "confidence")
        elif "phrases" in needs:
            more = ("phrases", "scores")
        if "text" in needs:
            more += ("source_characters", "source_spans", "target_characters", "target_spans")
        return ("source_ids", "source_words", "target_ids", "target_words", *more)

    # ---- text to columns ----

    def map(self, rows: Any) -> Columns:
        """Return the columns of text, for `dataset.map(collator.map, batched=True, remove_columns=...)`.

        rows: a batch of a dataset: with the column `translation`, a column for each language, or the column `text` in
            the first language; or sentence pairs of `interlace.Pairs`, aligned or not. An objective that reads single
            sentences reads both sides of pairs.

        Raises:
            DataError: there are no such columns, or a row is no text.
        """
        found: Columns = {name: [] for name in self.columns}
        for examples in self.examples(rows):
            if isinstance(examples, Pairs):
                ragged = {name: getattr(examples, name) for name in _ANNOTATIONS}
                for side in _SIDES:
                    sentences = getattr(examples, side)
                    ragged |= {f"{side}_ids": sentences.ids, f"{side}_words": sentences.words}
                for side, lines in zip(_SIDES, examples.text or (), strict=False):
                    ragged |= {f"{side}_characters": lines.characters, f"{side}_spans": lines.words}
            else:
                ragged = {"input_ids": examples.ids, "words": examples.words}
                found[LANGUAGE] += [self.languages.index(examples.language)] * len(examples)
            for name in found.keys() - {LANGUAGE}:
                found[name] += [row.reshape(-1) for row in ragged[name]]
        if not found[self.columns[0]]:
            log.warning(
                "%s: no sequence is left of a mapped batch; map more rows at a time (batch_size)", self.objective.name
            )
        return found

    def examples(self, rows: Any) -> list[Any]:
        """Return the tokenized text of the input of `map`: `Pairs`, or `Sentences` by language."""
        chunks = self._chunks(rows)
        single = isinstance(chunks[0], Text)
        texts = [chunks] if single else [[getattr(chunk, side) for chunk in chunks] for side in _SIDES]
        if unknown := {text.language for side in texts for text in side} - set(self.languages):
            raise DataError(f"text in {' and '.join(sorted(unknown))}; the collator's languages are {self.languages}")
        sides: list[Any] = [Sentences.concatenate(list(self.vocab.encode_texts(side))) for side in texts]
        if self.objective.reads is not Pairs:
            return [self._packed(side) for side in sides]
        if single:
            raise DataError(f"{self.objective.name} reads pairs; expected sentences in {' and '.join(self.languages)}")
        pairs = self._packed(Pairs(*sides))
        if self.aligner is None or not self.objective.needs:
            return [pairs]
        words = WordPairs.of(chunks)
        found = getattr(rows, "alignments", None) or self.aligner.align(words)
        confidence = Ragged(found.confidence, found.links.offsets - found.links.offsets[0])
        pairs = replace(pairs, links=found.links, confidence=confidence)
        if "text" in self.objective.needs:
            source, target = (TextColumns.concatenate([TextColumns.of(text) for text in side]) for side in texts)
            pairs = replace(pairs, text=(source, target))
        return [pairs if self.phrases is None else self.phrases.find(pairs, words)]

    def _chunks(self, rows: Any) -> list[Any]:
        """Return the text as `Text` or `TextPairs`."""
        if not isinstance(rows, Mapping):
            return list(getattr(rows, "pairs", rows).chunks)
        named = any(self.languages)
        if named and TRANSLATION in rows:
            for language in self.languages:
                if not all(language in (row or ()) for row in rows[TRANSLATION]):
                    raise DataError(f"{TRANSLATION!r} of the rows has no {language!r}; see the collator's languages")
            sides = [[row[language] for row in rows[TRANSLATION]] for language in self.languages]
        elif named and {*self.languages} <= {*rows}:
            sides = [rows[language] for language in self.languages]
        elif TEXT in rows:
            sides = [rows[TEXT]]
        else:
            wanted = f"{TRANSLATION!r}, {' and '.join(map(repr, self.languages))}, or {TEXT!r}"
            if not named:
                wanted = f'{TEXT!r}; for translations, give the collator two languages, such as languages=("en", "de")'
            raise DataError(f"the rows have the columns {listed(rows)}; expected {wanted}")
        for row, line in ((row, line) for side in sides for row, line in enumerate(side)):
            if not isinstance(line, str):
                raise DataError(f"row {row + 1} of a mapped batch: expected text, found {line!r}; filter such rows")
        texts = [
            Text.of([" ".join(line.splitlines()) for line in side], language, self.word_tokenizer)
            for side, language in zip(sides, self.languages, strict=False)
        ]
        return [texts[0] if len(texts) == 1 else TextPairs(texts[0], texts[1])]

    def _packed(self, examples: Any) -> Any:
        """Return whole sentences packed into long sequences, or running text cut into them, as the settings say."""
        length, end = self.objective.packed_length(), self.vocab.end
        if length is not None:
            fits = np.logical_and.reduce([side <= length for side in examples.side_lengths])
            packed: Any = PackedSentences(examples, length, end, np.flatnonzero(fits))
        elif self.running_text and self.objective.streams:
            packed = Streams(examples, self.objective.max_length - 2, end)
        else:
            return examples
        return packed.take(np.arange(len(packed)))

    # ---- columns to batches ----

    def gather(self, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Return rows of `map`'s columns as `Pairs`, or as `Sentences` by language.

        Raises:
            DataError: a column is missing.
        """
        if missing := [name for name in self.columns if name not in rows[0]]:
            raise DataError(
                f"{self.objective.name}: the rows lack {listed(missing)}; make them with "
                "dataset.map(collator.map, batched=True), and set remove_unused_columns=False in TrainingArguments"
            )
        found: dict[str, Any] = {name: _column(rows, name) for name in self.columns}
        if self.objective.reads is Pairs:
            for side, language in zip(_SIDES, self.languages, strict=True):
                found[side] = Sentences(found.pop(f"{side}_ids"), found.pop(f"{side}_words"), language)
            if "text" in self.objective.needs:
                found["text"] = tuple(
                    TextColumns(found.pop(f"{side}_characters"), found.pop(f"{side}_spans")) for side in _SIDES
                )
            return [Pairs(**found)]
        sentences, numbers = Sentences(found["input_ids"], found["words"], ""), found[LANGUAGE].flat
        return [replace(sentences.take(numbers == one), language=self.languages[one]) for one in np.unique(numbers)]

    def batches(self, examples: Sequence[Any], step: int | None = None, slot: int = 0) -> list[Batch]:
        """Return the objective's batch of each part of `gather`.

        step, slot: key of the masks, as in our own loop. None: the key is the content of the rows, so that masks depend
            neither on worker processes nor on interruptions, and differ between epochs if rows are shuffled.

        Raises:
            SettingsError: masking follows a schedule, and there is no step.
        """
        if step is None:
            rate = getattr(getattr(self.objective, "masking", None), "rate", "")
            if ":" in rate:
                raise SettingsError(f"masking.rate = {rate!r} depends on the step; give it, or use a number")
            parts = [part.source.ids if isinstance(part, Pairs) else part.ids for part in examples]
            slot = int.from_bytes(blake2b(b"".join(ids.flat.tobytes() for ids in parts), digest_size=8).digest())
        rng = generator(Purpose.BATCH, self.seed, step or 0, slot)
        return [self.objective.batch(part, self.prepared, step or 0, rng) for part in examples]

    def __call__(self, rows: Sequence[Mapping[str, Any]], step: int | None = None) -> dict[str, Tensor]:
        """Return the inputs of a transformers model, all (B, L): `input_ids`, `attention_mask`, `labels` and others.

        `labels` are -100 where nothing is predicted, and shifted by one for a causal model, as transformers expects.

        Raises:
            SettingsError: the objective has further losses, which only `interlace.Trainer` trains.
        """
        import torch
        from torch.nn.utils.rnn import pad_sequence

        if type(self.objective).loss not in _LABELS_ONLY:
            raise SettingsError(f"{self.objective.name} has a loss of its own; train it with interlace.Trainer")
        parts = []
        for batch in self.batches(self.gather(rows), step):
            labels = np.full_like(batch.inputs["input_ids"], -100, np.int64)
            labels[batch.at[0], batch.at[1] + self.causal] = batch.labels
            parts.append({"attention_mask": np.ones_like(labels), **batch.inputs, "labels": labels})
        fill = {"labels": -100, "input_ids": self.vocab.pad}
        columns = {name: [torch.from_numpy(row) for part in parts for row in part[name]] for name in parts[0]}
        return {
            name: pad_sequence(column, batch_first=True, padding_value=fill.get(name, 0))
            for name, column in columns.items()
        }

    def loss(self, outputs: Any, labels: Tensor, num_items_in_batch: Any = None) -> Tensor:
        """Return the mean cross-entropy over all predictions of an update: the `compute_loss_func` of a `Trainer`.

        Without it, several models of transformers average each micro-batch by itself, whatever it predicts.
        """
        from torch.nn.functional import cross_entropy

        logits = outputs["logits"]
        if self.causal:
            logits, labels = logits[:, :-1], labels[:, 1:]
        count = (labels != -100).sum() if num_items_in_batch is None else num_items_in_batch
        return cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), reduction="sum") / count

    @property
    def causal(self) -> bool:
        """Whether tokens are predicted from those before them."""
        return self.objective.architecture == "causal"


@dataclass(frozen=True)
class Phrases:
    """The phrases of aligned text, counted once, which are looked up in each mapped batch."""

    table: PhraseTable
    rules: TableRules

    @classmethod
    def of(cls, objective: Any, aligned: Any) -> Phrases:
        """Count the phrases of aligned pairs, as long as the objective exchanges them.

        Raises:
            DataError: there are none.
        """
        from interlace.alignment.phrase_counts import count_phrases  # compiles loops

        longest = max(TableRules().max_phrase_length, objective.code_switching.max_phrase_length)
        rules, types, found = TableRules(max_phrase_length=longest), aligned.pairs.types, aligned.alignments
        table = count_phrases(types, found.links, rules, confidence=found.confidence)
        if not len(table):
            raise DataError(f"{objective.name}: the {len(types)} aligned pairs have no phrases; try another aligner")
        return cls(table, rules)

    def find(self, pairs: Any, words: WordPairs) -> Any:
        """Return the pairs with those of their phrases that are in the table, and the phrases' scores."""
        lengths, confidence = (words.source.lengths, words.target.lengths), pairs.confidence.flat
        spans = phrase_pairs(*lengths, pairs.links, self.rules, confidence=confidence)
        sides = ((words.source, words.source_types), (words.target, words.target_types))
        source, target = (
            Ragged(known.find(types)[column.flat], column.offsets - column.offsets[0])
            for known, (column, types) in zip(self._types, sides, strict=True)
        )
        kept, rows = self.table.select(source, target, spans)
        return replace(pairs, phrases=kept, scores=Ragged(self.table.scores[rows][:, [2, 0, 3, 1]], kept.offsets))

    @cached_property
    def _types(self) -> tuple[WordTypes, WordTypes]:
        return WordTypes(self.table.source_types), WordTypes(self.table.target_types)


def vocab_of(tokenizer: Any) -> Vocab:
    """Return the vocabulary of a transformers tokenizer, fast or not, or of a folder or hub name.

    Raises:
        SettingsError: it is no tokenizer. DataError: it has no fast form, or lacks a special token of encoders.
    """
    if isinstance(tokenizer, (str, Path)):
        return Vocab.load(tokenizer)
    if not hasattr(tokenizer, "save_pretrained"):
        raise SettingsError(f"expected a tokenizer of transformers, or its name, found {type(tokenizer).__name__}")
    with TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        if type(tokenizer).__name__.endswith("Legacy"):  # slow; the class without this suffix reads the same files
            path = Path(folder) / "tokenizer_config.json"
            path.write_text(path.read_text(encoding="utf-8").replace("Legacy", ""), encoding="utf-8")
        vocab = Vocab.load(folder)
    vocab.name = str(tokenizer.name_or_path) or type(tokenizer).__name__
    return vocab


def _without_caches(value: Any) -> Any:
    """Return a copy of one of our objects, without the values of cached properties in it or in its attributes."""
    kind = type(value)
    if not kind.__module__.startswith("interlace.") or not hasattr(value, "__dict__") or isinstance(value, BaseModel):
        return value
    made = copy(value)
    for name in list(vars(made)):
        if isinstance(getattr(kind, name, None), cached_property):
            del vars(made)[name]
        else:
            vars(made)[name] = _without_caches(vars(made)[name])
    return made


def _column(rows: Sequence[Mapping[str, Any]], name: str) -> Ragged:
    width, dtype = _WIDTHS.get(name, 1), np.float32 if name in {"confidence", "scores"} else np.int32
    parts = [np.asarray(row[name], dtype).reshape(-1) for row in rows]
    flat = np.concatenate(parts)
    return Ragged.from_lengths(flat.reshape(-1, width) if width > 1 else flat, [len(part) // width for part in parts])
