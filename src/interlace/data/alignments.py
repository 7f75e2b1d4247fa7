"""Text, word alignments and phrases of a corpus's pairs, stored without a vocabulary.

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

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from interlace.data import KnownPhrases, RowNumbers
from interlace.data.store import ColumnFolder, mapped, read_meta, write_columns
from interlace.text import TextPairs
from interlace.text.columns import LINE_FEED, TextColumns
from interlace.text.lines import read_lines, write_lines
from interlace.text.running import running_text

ALIGNED_KIND = "aligned"
PHRASES_KIND = "phrases"
TEXT_KIND = "text"
_TABLE = "table"  # the folder of the phrase table
_SIDES = ("source", "target")


class StoredText(ColumnFolder):
    """The lines of n pairs and the spans of their words in a folder; created by `write`, opened by `open`.

    Lines are stored in UTF-8, each with a line feed.
    """

    @classmethod
    def open(cls, folder: Path | str) -> StoredText:
        """Map the folder into memory; raise a DataError if the folder is missing, damaged or truncated."""
        folder = Path(folder)
        return cls(folder, read_meta(folder, TEXT_KIND))

    @classmethod
    def write(
        cls,
        folder: Path | str,
        chunks: Iterable[TextPairs],
        *,
        languages: Sequence[str],
        word_tokenizer: str,
    ) -> StoredText:
        """Write the lines and words of all pairs and open the result; raise a DataError if there are none."""
        counts = {"rows": 0}
        meta = {
            "kind": TEXT_KIND,
            "languages": list(languages),
            "word_tokenizer": word_tokenizer,
            "counts": counts,
        }

        def columns() -> Iterator[Mapping[str, Ragged]]:
            for chunk in chunks:
                counts["rows"] += len(chunk)
                stored: dict[str, Ragged] = {}
                for name, text in zip(_SIDES, (chunk.source, chunk.target), strict=True):
                    stored[f"{name}_lines.bytes"] = _utf8(text.lines)
                    stored[f"{name}_words.spans"] = text.words
                yield stored

        write_columns(Path(folder), columns(), meta)
        return cls.open(folder)

    def take(self, rows: RowNumbers) -> tuple[TextColumns, TextColumns]:
        """Return a copy of the source and target lines of the given rows."""
        return self._side("source", rows), self._side("target", rows)

    def _side(self, name: str, rows: RowNumbers) -> TextColumns:
        string = self._columns[f"{name}_lines.bytes"].take(rows).flat.tobytes().decode()
        (words,) = self._take(rows, f"{name}_words.spans")
        return TextColumns.read(string, words)


def _utf8(lines: Sequence[str]) -> Ragged:
    """Return the bytes of each line and a line feed."""
    content = np.frombuffer("\n".join([*lines, ""]).encode(), np.uint8)
    return Ragged(content, np.append(0, np.flatnonzero(content == LINE_FEED) + 1))


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
        meta: dict[str, Any] = {
            "kind": ALIGNED_KIND,
            "counts": {"rows": 0, "links": 0},
            **(about or {}),
        }
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
        return self._read_types("source", 0), self._read_types("target", 1)

    def _read_types(self, side: str, number: int) -> list[str]:
        path = must_exist(self.folder / f"{side}.words", "list of words")
        words = list(read_lines(path))
        expected = self.meta["types"][number]
        if len(words) != expected:
            raise DataError(
                f"{path}: {len(words)} words, {expected} were written; align the corpus again"
            )
        return words

    def take(self, rows: RowNumbers) -> Links:
        """Return a copy of the links of the given rows."""
        links, grades = self._take(rows, "links.pairs", "links.confidence")
        return Links(
            links, Ragged((grades.values / np.float32(255)).astype(np.float32), grades.offsets)
        )

    def words(self, rows: RowNumbers) -> tuple[Ragged, Ragged]:
        """Return copies of the word types of the given rows, source and target."""
        (source,) = self._take(rows, "source.types")
        (target,) = self._take(rows, "target.types")
        return source, target

    def chunks(self, rows: int = CHUNK) -> Iterator[tuple[WordPairs, Links]]:
        """Yield all pairs and their links in slices of at most `rows` rows; only one slice is in memory."""
        for start in range(0, len(self), rows):
            numbers = np.arange(start, min(start + rows, len(self)))
            yield self._word_pairs(*self.words(numbers), start), self.take(numbers)

    def _word_pairs(self, source: Ragged, target: Ragged, first: int = 0) -> WordPairs:
        return WordPairs(
            source, target, *self.types, self.languages, self.word_tokenizer, first=first
        )

    def whole(self, spool: Path) -> tuple[WordPairs, Links]:
        """Return all pairs and their links, mapped from temporary files on the disk of a folder."""
        source = SpilledRows(np.int32, (), spool)
        target = SpilledRows(np.int32, (), spool)
        links = SpilledRows(np.int32, (2,), spool)
        confidence = SpilledRows(np.float32, (), spool)
        for words, chunk_links in self.chunks():
            source.append(words.source)
            target.append(words.target)
            links.append(chunk_links.links)
            confidence.append(chunk_links.confidence)
        words = self._word_pairs(source.mapped(), target.mapped())
        return words, Links(links.mapped(), confidence.mapped())


def _check(folder: Path, words: WordPairs, links: Ragged, confidence: NDArray[np.float32]) -> None:
    """Raise a DataError if links, which may come from other programs and files, do not fit the words."""
    if len(links) != len(words) or len(confidence) != len(links.flat):
        raise DataError(
            f"{folder}: {len(links)} rows of links with {len(links.flat)} links and {len(confidence)} confidences "
            f"for {len(words)} pairs"
        )
    rows = links.rows()
    for side, column in enumerate((words.source, words.target)):
        positions = links.flat[:, side]
        beyond = np.flatnonzero((positions < 0) | (positions >= column.lengths[rows]))
        if len(beyond):
            row = int(rows[beyond[0]])
            raise DataError(
                f"{folder}: pair {words.first + row + 1} has a link to {_SIDES[side]} word {positions[beyond[0]]}, "
                f"counted from 0, but only {column.lengths[row]} words"
            )


class PhraseStore(ColumnFolder):
    """Phrases of n pairs in a folder; created by `write`, opened by `open`."""

    def __init__(self, folder: Path, meta: Mapping[str, Any], alignments: WordAlignments) -> None:
        super().__init__(folder, meta)
        self.alignments = alignments

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
            "counts": {
                "rows": len(alignments),
                **alignments.counts,
                "phrases": 0,
                "table": len(table),
            },
        }

        def columns() -> Iterator[Mapping[str, Ragged]]:
            for words, chunk_links in alignments.chunks():
                lengths = (words.source.lengths, words.target.lengths)
                confidence = chunk_links.confidence.flat
                spans = phrase_pairs(*lengths, chunk_links.links, rules, confidence=confidence)
                kept, rows = table.select(words.source, words.target, spans)
                meta["counts"]["phrases"] += len(kept.flat)
                yield {
                    "phrases.spans": kept,
                    "phrases.entries": Ragged(rows.astype(np.int32), kept.offsets),
                }

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

    def known(self, rows: RowNumbers) -> tuple[KnownPhrases, KnownPhrases]:
        """Return the spans of source and target that are in the table, with their most likely translations."""
        words = self.alignments.words(rows)
        types = self.alignments.types
        max_length = int(self.meta["rules"]["max_phrase_length"])
        source_index, target_index = self._indexes
        source = self.table.known(0, words[0], source_index, types[1], max_length)
        target = self.table.known(1, words[1], target_index, types[0], max_length)
        return source, target

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
        order = np.lexsort(
            (-table.scores[:, 1], -table.counts[:, 2], -table.scores[:, 0], table.entries[:, 1])
        )
        first = np.searchsorted(table.entries[order, 1], np.arange(len(table.target)))
        best = (table.best.astype(np.int32), order[first].astype(np.int32))
        return cls((table.source, table.target), table.entries, table.scores[:, [2, 0, 3, 1]], best)

    @classmethod
    def open(cls, folder: Path) -> PhraseTableColumns:
        """Map the files of `write`; raise a DataError if a file is missing or damaged."""
        source, target = (
            Ragged(_mapped(folder / side), _mapped(folder / f"{side}_offsets")) for side in _SIDES
        )
        best = (_mapped(folder / "source_best"), _mapped(folder / "target_best"))
        return cls((source, target), _mapped(folder / "entries"), _mapped(folder / "scores"), best)

    def known(
        self, side: int, words: Ragged, index: PhraseIndex, other_types: list[str], max_length: int
    ) -> KnownPhrases:
        """Return the spans of a side's words that are in the table, with their most likely translations.

        index: of the phrases of that side. other_types: the spellings of the other side.
        max_length: maximum number of words of a span.
        """
        spans = all_spans(words, max_length)
        phrases = index.find(words, spans)
        is_known = phrases >= 0
        best = self.best[side][phrases[is_known]]
        translations, numbers = np.unique(self.entries[best, 1 - side], return_inverse=True)
        lines = running_text(self.phrases[1 - side].take(translations), other_types)
        return KnownPhrases(select_links(spans, is_known), self.scores[best, side], numbers, lines)

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
    columns = words.columns()
    max_lengths = np.repeat(words.lengths, words.lengths) - columns  # (W,) of spans from each word
    positions, extra_words = np.nonzero(np.arange(max_length) < max_lengths[:, None])
    starts = columns[positions]
    spans = np.stack([starts, starts + extra_words + 1], axis=1).astype(np.int32)
    return Ragged.from_lengths(spans, np.bincount(words.rows()[positions], minlength=len(words)))


def _mapped(path: Path) -> NDArray[Any]:
    return mapped(path.with_suffix(".npy"), "extract phrases again")
