"""Words, word alignments and phrases of a corpus's pairs, stored without a vocabulary.

So a new vocabulary needs no new alignment, and a new alignment needs no new corpus. Row i is the same pair as row i of
a `ParallelCorpus` that was read from the same files; see `ParallelCorpus.with_alignments`. Integers are stored in the
smallest type: two bytes a link, one its confidence, one to four a word.

A phrase of the source (and likewise of the target) can be replaced by

    in_pair       the phrase it was extracted with in this very pair: `PhraseStore.take`
    table_argmax  the table's most likely translation, from the whole corpus: `PhraseStore.known`

Extracted phrases are looked up in the table once, in one pass over words and links, and stored: eight bytes a phrase
pair, four for its spans and four for its row in the table, which holds the scores. A batch then gathers from mapped
files, without compiled code or an index in memory. The table's translations are looked up batch by batch: they would
take more space than the corpus, because most spans have one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interlace.alignment import CHUNK, WordPairs
from interlace.alignment.links import select_links
from interlace.alignment.phrase_table import PhraseIndex, PhraseTable, TableRules
from interlace.alignment.phrases import phrase_pairs
from interlace.alignment.spill import SpilledRows
from interlace.core.errors import DataError
from interlace.core.files import must_exist
from interlace.core.ragged import Ragged
from interlace.data import KnownPhrases, RowNumbers, Sentences
from interlace.data.store import ColumnFolder, mapped, read_meta, write_columns
from interlace.data.vocab import Vocab
from interlace.text.lines import read_lines, write_lines
from interlace.text.running import running_text

ALIGNED_KIND, PHRASES_KIND = "aligned", "phrases"
_TABLE = "table"  # the folder of the phrase table
_ENCODED_AT_ONCE = 50_000
_SIDES = ("source", "target")


@dataclass(frozen=True)
class Links:
    """Links of n pairs.

    links: n rows of (source word, target word) int32.
    confidence: n rows of float32 in (0, 1], one per link, in steps of 1/255.
    """

    links: Ragged
    confidence: Ragged


class WordAlignments(ColumnFolder):
    """Word types and links of n pairs in a folder; created by `write`, opened by `open`."""

    @classmethod
    def open(cls, folder: Path | str) -> WordAlignments:
        """Map the folder into memory; raise a DataError if the folder is missing, damaged or truncated."""
        folder = Path(folder)
        return cls(folder, read_meta(folder, ALIGNED_KIND))

    @classmethod
    def write(
        cls,
        folder: Path | str,
        chunks: Iterable[tuple[WordPairs, Ragged, NDArray[np.float32]]],
        *,
        about: Mapping[str, Any] | None = None,
    ) -> WordAlignments:
        """Write chunks of words, their links, and the confidence of each link; open the result.

        chunks: slices of one `WordPairs`, in order. about: further entries of `meta.json`.
        Raise a DataError if there are no rows, or a link is beyond its sentence.
        """
        folder = Path(folder)
        meta: dict[str, Any] = {"kind": ALIGNED_KIND, "counts": {"rows": 0, "links": 0}, **(about or {})}
        types: list[list[str]] = [[], []]

        def columns() -> Iterator[Mapping[str, Ragged]]:
            for words, links, confidence in chunks:
                _check(folder, words, links, confidence)
                meta.update(languages=list(words.languages), word_tokenizer=words.word_tokenizer)
                meta["counts"]["rows"] += len(words)
                meta["counts"]["links"] += len(links.flat)
                types[:] = [words.source_types, words.target_types]
                grades = np.clip(np.rint(confidence * 255), 1, 255).astype(np.uint8)
                yield {
                    "source.types": words.source,
                    "target.types": words.target,
                    "links.pairs": links,
                    "links.confidence": Ragged(grades, links.offsets - links.offsets[0]),
                }
            meta["types"] = [len(spellings) for spellings in types]

        def write_types(into: Path) -> None:
            for side, words in zip(_SIDES, types, strict=True):
                write_lines(into / f"{side}.words", words)

        write_columns(folder, columns(), meta, write_types)
        return cls.open(folder)

    @cached_property
    def types(self) -> tuple[list[str], list[str]]:
        """The spelling of each word type of source and target."""
        found = []
        for side, count in zip(_SIDES, self.meta["types"], strict=True):
            path = must_exist(self.folder / f"{side}.words", "list of words")
            found.append(list(read_lines(path)))
            if len(found[-1]) != count:
                raise DataError(f"{path}: {len(found[-1])} words, {count} were written; align the corpus again")
        return found[0], found[1]

    def take(self, rows: RowNumbers) -> Links:
        """Return a copy of the links of the given rows."""
        links, grades = self._take(rows, "links.pairs", "links.confidence")
        return Links(links, Ragged((grades.values / np.float32(255)).astype(np.float32), grades.offsets))

    def words(self, rows: RowNumbers) -> tuple[Ragged, Ragged]:
        """Return copies of the word types of the given rows, source and target."""
        (source,), (target,) = self._take(rows, "source.types"), self._take(rows, "target.types")
        return source, target

    def chunks(self, rows: int = CHUNK) -> Iterator[tuple[WordPairs, Links]]:
        """Yield all pairs and their links in slices of at most `rows` rows; only one slice is in memory."""
        for start in range(0, len(self), rows):
            some = np.arange(start, min(start + rows, len(self)))
            yield WordPairs(*self.words(some), *self.types, self.languages, self.word_tokenizer, start), self.take(some)

    def whole(self, spool: Path) -> tuple[WordPairs, Links]:
        """Return all pairs and their links, mapped from temporary files on the disk of a folder."""
        kinds = (np.int32, ()), (np.int32, ()), (np.int32, (2,)), (np.float32, ())
        columns = [SpilledRows(kind, width, spool) for kind, width in kinds]
        for words, found in self.chunks():
            for column, rows in zip(columns, (words.source, words.target, found.links, found.confidence), strict=True):
                column.append(rows)
        source, target, links, confidence = (column.mapped() for column in columns)
        return WordPairs(source, target, *self.types, self.languages, self.word_tokenizer), Links(links, confidence)


def _check(folder: Path, words: WordPairs, links: Ragged, confidence: NDArray[np.float32]) -> None:
    """Raise a DataError if links, which may come from other programs and files, do not fit the words."""
    if len(links) != len(words) or len(confidence) != len(links.flat):
        raise DataError(
            f"{folder}: {len(links)} rows of links with {len(links.flat)} links and {len(confidence)} confidences "
            f"for {len(words)} pairs"
        )
    rows = links.rows()
    for side, column in enumerate((words.source, words.target)):
        beyond = (links.flat[:, side] < 0) | (links.flat[:, side] >= column.lengths[rows])
        if beyond.any():
            at = int(np.flatnonzero(beyond)[0])
            row, word = int(rows[at]), int(links.flat[at, side])
            raise DataError(
                f"{folder}: pair {words.first + row + 1} has a link to {_SIDES[side]} word {word}, "
                f"counted from 0, but only {int(column.lengths[row])} words"
            )


class PhraseStore(ColumnFolder):
    """Phrases of n pairs in a folder; created by `write`, opened by `open`."""

    def __init__(self, folder: Path, meta: Mapping[str, Any], alignments: WordAlignments) -> None:
        super().__init__(folder, meta)
        self.alignments = alignments
        self._encoded: tuple[str, tuple[Sentences, Sentences]] | None = None  # with the vocabulary's fingerprint

    @classmethod
    def open(cls, folder: Path | str, alignments: WordAlignments) -> PhraseStore:
        """Map the folder into memory; raise a DataError if it is damaged, or written from other alignments."""
        folder = Path(folder)
        store = cls(folder, read_meta(folder, PHRASES_KIND), alignments)
        alignments.check_same_rows(store, "extract phrases again")
        return store

    @classmethod
    def write(
        cls, folder: Path | str, alignments: WordAlignments, table: PhraseTable, rules: TableRules
    ) -> PhraseStore:
        """Find the phrases of all pairs that are in the table, in one pass, and open the result.

        table: counted from the same words, so that both have the same word types; another one raises a DataError.
        """
        if [table.source_types, table.target_types] != list(alignments.types):
            raise DataError(
                f"{folder}: the phrase table was counted from other words than those of {alignments.folder}"
            )
        meta: dict[str, Any] = {
            "kind": PHRASES_KIND,
            "languages": list(alignments.languages),
            "word_tokenizer": alignments.word_tokenizer,
            "rules": rules.dump(),
            "counts": {"rows": len(alignments), **alignments.counts, "phrases": 0, "table": len(table)},
        }

        def columns() -> Iterator[Mapping[str, Ragged]]:
            for words, found in alignments.chunks():
                lengths = (words.source.lengths, words.target.lengths)
                spans = phrase_pairs(*lengths, found.links, rules, confidence=found.confidence.flat)
                kept, rows = table.select(words.source, words.target, spans)
                meta["counts"]["phrases"] += len(kept.flat)
                yield {"phrases.spans": kept, "phrases.entries": Ragged(rows.astype(np.int32), kept.offsets)}

        folder = Path(folder)
        write_columns(folder, columns(), meta, PhraseTableColumns.of(table).write)
        return cls.open(folder, alignments)

    @cached_property
    def table(self) -> PhraseTableColumns:
        """Phrases and scores, mapped."""
        return PhraseTableColumns.open(self.folder / _TABLE)

    def take(self, rows: RowNumbers) -> tuple[Ragged, Ragged]:
        """Return the phrase pairs of the given rows that are in the table, and their scores, as `Pairs` has them."""
        spans, entries = self._take(rows, "phrases.spans", "phrases.entries")
        return spans, Ragged(self.table.scores[entries.values], entries.offsets)

    def known(self, rows: RowNumbers, vocab: Vocab) -> tuple[KnownPhrases, KnownPhrases]:
        """Return the spans in the table with their most likely translations, encoded by `read_encoded` or now."""
        source, target = self.alignments.words(rows)
        encoded = self.encoded(vocab)
        return self._known(0, source, encoded[1]), self._known(1, target, encoded[0])

    def encoded(self, vocab: Vocab) -> tuple[Sentences, Sentences]:
        """Return source and target phrases of the table as subwords inside a line; empty if never a translation."""
        if self._encoded is None or self._encoded[0] != vocab.fingerprint:
            table = self.table
            wanted = [np.unique(table.entries[table.best[1 - side], side]) for side in (0, 1)]
            source, target = (self._encode(side, wanted[side], vocab) for side in (0, 1))
            self._encoded = (vocab.fingerprint, (source, target))
        return self._encoded[1]

    def write_encoded(self, vocab: Vocab, into: Path) -> None:
        """Write the result of `encoded`, which takes minutes for millions of phrases, into a folder."""
        for name, side in zip(_SIDES, self.encoded(vocab), strict=True):
            np.save(into / f"{name}_ids.npy", side.ids.flat)
            np.save(into / f"{name}_words.npy", side.words.flat)
            np.save(into / f"{name}_offsets.npy", side.ids.offsets)

    def read_encoded(self, vocab: Vocab, folder: Path) -> None:
        """Map the result of `encoded` for this vocabulary; raise a DataError if a file is missing or damaged."""
        sides = []
        for name, language in zip(_SIDES, self.alignments.languages, strict=True):
            offsets = _mapped(folder / f"{name}_offsets")
            ids, words = (Ragged(_mapped(folder / f"{name}_{column}"), offsets) for column in ("ids", "words"))
            sides.append(Sentences(ids, words, language))
        self._encoded = (vocab.fingerprint, (sides[0], sides[1]))

    def _encode(self, side: int, wanted: NDArray[np.int64], vocab: Vocab) -> Sentences:
        """Return a row per phrase: those with the wanted (sorted) numbers as subwords, all others empty."""
        phrases, types = self.table.phrases[side], self.alignments.types[side]
        language, tokenizer = self.alignments.languages[side], self.alignments.word_tokenizer
        parts = []
        for start in range(0, len(wanted), _ENCODED_AT_ONCE):
            some = phrases.take(wanted[start : start + _ENCODED_AT_ONCE])
            parts.append(vocab.encode_phrases(running_text(some, types, language, tokenizer)))
        lengths = np.zeros(len(phrases), np.int64)
        lengths[wanted] = np.concatenate([np.zeros(0, np.int64), *(part.lengths for part in parts)])
        ids, words = (
            np.concatenate([np.zeros(0, np.int32), *(getattr(part, name).flat for part in parts)])
            for name in ("ids", "words")
        )
        return Sentences(Ragged.from_lengths(ids, lengths), Ragged.from_lengths(words, lengths), language)

    def _known(self, side: int, words: Ragged, others: Sentences) -> KnownPhrases:
        every = all_spans(words, int(self.meta["rules"]["max_phrase_length"]))
        found = self._indexes[side].find(words, every)
        spans, phrases = select_links(every, found >= 0), found[found >= 0]
        best = self.table.best[side][phrases]
        return KnownPhrases(spans, self.table.scores[best, side], others.take(self.table.entries[best, 1 - side]))

    @cached_property
    def _indexes(self) -> tuple[PhraseIndex, PhraseIndex]:
        source, target = self.table.phrases
        return PhraseIndex(source), PhraseIndex(target)


@dataclass(frozen=True)
class PhraseTableColumns:
    """The columns of a phrase table that batches need: m phrase pairs of S source and T target phrases.

    phrases: S and T rows of int32 word types.
    entries: (m, 2) int32 (source phrase, target phrase), sorted.
    scores: (m, 4) float32 (phi(target|source), phi(source|target), lex(target|source), lex(source|target)).
    best: (S,) and (T,) int32, the row of the most likely translation of each phrase of a side.
    """

    phrases: tuple[Ragged, Ragged]
    entries: NDArray[np.int32]
    scores: NDArray[np.float32]
    best: tuple[NDArray[np.int32], NDArray[np.int32]]

    @classmethod
    def of(cls, table: PhraseTable) -> PhraseTableColumns:
        """Return the columns; best translations as in `PhraseTable.best`: ties by count, lexical weight, order."""
        order = np.lexsort((-table.scores[:, 1], -table.counts[:, 2], -table.scores[:, 0], table.entries[:, 1]))
        first = np.searchsorted(table.entries[order, 1], np.arange(len(table.target)))
        best = (table.best.astype(np.int32), order[first].astype(np.int32))
        return cls((table.source, table.target), table.entries, table.scores[:, [2, 0, 3, 1]], best)

    @classmethod
    def open(cls, folder: Path) -> PhraseTableColumns:
        """Map the files of `write`; raise a DataError if a file is missing or damaged."""
        source, target = (Ragged(_mapped(folder / side), _mapped(folder / f"{side}_offsets")) for side in _SIDES)
        best = (_mapped(folder / "source_best"), _mapped(folder / "target_best"))
        return cls((source, target), _mapped(folder / "entries"), _mapped(folder / "scores"), best)

    def write(self, into: Path) -> None:
        """Write a folder `table` of numpy files."""
        folder = into / _TABLE
        folder.mkdir()
        for side, phrases, best in zip(_SIDES, self.phrases, self.best, strict=True):
            np.save(folder / f"{side}.npy", phrases.flat.astype(np.int32, copy=False))
            np.save(folder / f"{side}_offsets.npy", phrases.offsets - phrases.offsets[0])
            np.save(folder / f"{side}_best.npy", best)
        np.save(folder / "entries.npy", self.entries)
        np.save(folder / "scores.npy", np.ascontiguousarray(self.scores, np.float32))


def all_spans(words: Ragged, max_length: int) -> Ragged:
    """Return all half-open spans of at most `max_length` words in each row, sorted."""
    rest = np.repeat(words.lengths, words.lengths) - words.columns()
    places, more = np.nonzero(np.arange(max_length) < rest[:, None])
    starts = words.columns()[places]
    spans = np.stack([starts, starts + more + 1], axis=1).astype(np.int32)
    return Ragged.from_lengths(spans, np.bincount(words.rows()[places], minlength=len(words)))


def _mapped(path: Path) -> NDArray[Any]:
    return mapped(path.with_suffix(".npy"), "extract phrases again")
