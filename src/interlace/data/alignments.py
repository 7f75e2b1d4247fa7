"""Text, word alignments and phrases of a corpus's pairs, stored without a vocabulary.

So a new vocabulary needs no new alignment, and a new alignment needs no new corpus. Row i is the same pair as row i of
a `ParallelCorpus` that was read from the same files; see `ParallelCorpus.annotated`. Integers are stored in the
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

import numpy as np

from interlace.alignment import CHUNK, WordPairs
from interlace.alignment.links import check_links, select_links
from interlace.alignment.phrase_rules import TableRules
from interlace.alignment.phrase_table import PhraseIndex, PhraseTable
from interlace.alignment.phrases import phrase_pairs
from interlace.alignment.spill import SpilledRows
from interlace.core.json_files import JsonMapping, JsonObject
from interlace.core.ragged import AnyArray, FloatArray, Ragged
from interlace.data import KnownPhrases, RowNumbers
from interlace.data.store import ColumnFolder, read_meta, write_columns
from interlace.text import TextPairs
from interlace.text.columns import LINE_FEED, TextColumns
from interlace.text.running import running_text

_SIDES = ("source", "target")


class StoredText(ColumnFolder):
    """The lines of n pairs and the spans of their words in a folder; created by `write`, opened by `open`.

    Lines are stored in UTF-8, each with a line feed.
    """

    KIND = "text"

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
            "kind": cls.KIND,
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
    text = "\n".join([*lines, ""])
    content = np.frombuffer(text.encode(), np.uint8)
    ends = np.flatnonzero(content == LINE_FEED) + 1
    return Ragged(content, np.append(0, ends))


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

    KIND = "aligned"

    @classmethod
    def write(
        cls,
        folder: Path | str,
        chunks: Iterable[tuple[WordPairs, Ragged, FloatArray]],
    ) -> WordAlignments:
        """Write chunks of words, their links, and the confidence of each link; open the result.

        chunks: slices of one `WordPairs`, in order.
        Raise a DataError if there are no rows, or a link is beyond its sentence.
        """
        folder = Path(folder)
        counts = {"rows": 0, "links": 0}
        meta: JsonObject = {"kind": cls.KIND, "counts": counts}

        def columns() -> Iterator[Mapping[str, Ragged]]:
            for words, links, confidence in chunks:
                # links may come from other programs and files
                check_links(
                    words.source.lengths,
                    words.target.lengths,
                    links,
                    words.first,
                )
                meta.update(
                    languages=list(words.languages), word_tokenizer=words.word_tokenizer
                )
                counts["rows"] += len(words)
                counts["links"] += len(links.flat)
                grades = np.clip(np.rint(confidence * 255), 1, 255).astype(np.uint8)
                yield {
                    "source.types": words.source,
                    "target.types": words.target,
                    "links.pairs": links,
                    "links.confidence": Ragged(grades, links.offsets - links.offsets[0]),
                }
            if counts["rows"]:
                yield {
                    "source_types.bytes": _utf8(words.source_types),
                    "target_types.bytes": _utf8(words.target_types),
                }

        write_columns(folder, columns(), meta)
        return cls.open(folder)

    @cached_property
    def types(self) -> tuple[list[str], list[str]]:
        """The spelling of each word type of source and target."""
        return self._spellings("source_types.bytes"), self._spellings("target_types.bytes")

    def _spellings(self, column: str) -> list[str]:
        lines = self._columns[column].flat.tobytes().decode()
        return lines.split("\n")[:-1]  # each ends with a line feed

    def take(self, rows: RowNumbers) -> Links:
        """Return a copy of the links of the given rows."""
        links, grades = self._take(rows, "links.pairs", "links.confidence")
        confidence = grades.values / np.float32(255)
        return Links(links, Ragged(confidence.astype(np.float32), grades.offsets))

    def words(self, rows: RowNumbers) -> tuple[Ragged, Ragged]:
        """Return copies of the word types of the given rows, source and target."""
        (source,) = self._take(rows, "source.types")
        (target,) = self._take(rows, "target.types")
        return source, target

    def chunks(self, rows: int = CHUNK) -> Iterator[tuple[WordPairs, Links]]:
        """Yield all pairs and their links in slices of at most `rows` rows; only one slice is in memory."""
        for start in range(0, len(self), rows):
            stop = min(start + rows, len(self))
            numbers = np.arange(start, stop)
            source, target = self.words(numbers)
            words = self._word_pairs(source, target, start)
            yield words, self.take(numbers)

    def _word_pairs(
        self,
        source: Ragged,
        target: Ragged,
        first: int = 0,
    ) -> WordPairs:
        return WordPairs(
            source,
            target,
            *self.types,
            self.languages,
            self.word_tokenizer,
            first=first,
        )

    def whole(self, spool: Path) -> tuple[WordPairs, Links]:
        """Return all pairs and their links, mapped from temporary files.

        spool: the folder of these files; not one that is replaced while they are mapped, which Windows refuses.
        """
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


class PhraseStore(ColumnFolder):
    """Phrases of n pairs in a folder; created by `write`, opened by `open`."""

    KIND = "phrases"

    def __init__(
        self,
        folder: Path,
        meta: JsonMapping,
        alignments: WordAlignments,
    ) -> None:
        super().__init__(folder, meta)
        self.alignments = alignments

    @classmethod
    def open(cls, folder: Path | str, alignments: WordAlignments) -> PhraseStore:  # type: ignore[override]
        """Map the folder into memory; raise a DataError if it is damaged, or written from other alignments."""
        folder = Path(folder)
        store = cls(folder, read_meta(folder, cls.KIND), alignments)
        alignments.check_same_rows(store, "extract phrases again")
        return store

    @classmethod
    def write(
        cls,
        folder: Path | str,
        alignments: WordAlignments,
        table: PhraseTable,
        rules: TableRules,
    ) -> PhraseStore:
        """Find the phrases of all pairs that are in the table, in one pass, and open the result.

        table: counted from the same words, so that both have the same word types.
        """
        meta: JsonObject = {
            "kind": cls.KIND,
            "languages": list(alignments.languages),
            "word_tokenizer": alignments.word_tokenizer,
            "max_phrase_length": rules.max_phrase_length,
            "counts": {**alignments.counts, "phrases": 0},
        }

        def columns() -> Iterator[Mapping[str, Ragged]]:
            for words, chunk_links in alignments.chunks():
                lengths = (words.source.lengths, words.target.lengths)
                confidence = chunk_links.confidence.flat
                spans = phrase_pairs(
                    *lengths,
                    chunk_links.links,
                    rules,
                    confidence=confidence,
                )
                kept, rows = table.select(words.source, words.target, spans)
                meta["counts"]["phrases"] += len(kept.flat)
                yield {
                    "phrases.spans": kept,
                    "phrases.entries": Ragged(rows.astype(np.int32), kept.offsets),
                }
            yield _columns_of(PhraseTableColumns.of(table))

        folder = Path(folder)
        write_columns(folder, columns(), meta)
        return cls.open(folder, alignments)

    @cached_property
    def table(self) -> PhraseTableColumns:
        """Phrases and scores, mapped."""
        columns = self._columns
        return PhraseTableColumns(
            phrases=(columns["source_phrases.types"], columns["target_phrases.types"]),
            entries=columns["table.entries"].values,
            scores=columns["table.scores"].values,
            best=(columns["source_best.entries"].values, columns["target_best.entries"].values),
        )

    def take(self, rows: RowNumbers) -> tuple[Ragged, Ragged]:
        """Return the phrase pairs of the given rows that are in the table, and their scores, as `Pairs` has them."""
        spans, entries = self._take(rows, "phrases.spans", "phrases.entries")
        return spans, Ragged(self.table.scores[entries.values], entries.offsets)

    def known(self, rows: RowNumbers) -> tuple[KnownPhrases, KnownPhrases]:
        """Return the spans of source and target that are in the table, with their most likely translations."""
        words = self.alignments.words(rows)
        types = self.alignments.types
        max_length = int(self.meta["max_phrase_length"])
        source_index, target_index = self._indexes
        source = self.table.known(
            0,
            words[0],
            source_index,
            types[1],
            max_length,
        )
        target = self.table.known(
            1,
            words[1],
            target_index,
            types[0],
            max_length,
        )
        return source, target

    @cached_property
    def _indexes(self) -> tuple[PhraseIndex, PhraseIndex]:
        source, target = self.table.phrases
        return PhraseIndex(_int32(source)), PhraseIndex(_int32(target))


@dataclass(frozen=True)
class PhraseTableColumns:
    """The columns of a phrase table that batches need: m phrase pairs of S source and T target phrases.

    phrases: S and T rows of word types.
    entries: (m, 2) integers (source phrase, target phrase), sorted.
    scores: (m, 4) float32 (phi(target|source), phi(source|target), lex(target|source), lex(source|target)).
    best: (S,) and (T,) integers, the row of the most likely translation of each phrase of a side.
    """

    phrases: tuple[Ragged, Ragged]
    entries: AnyArray
    scores: FloatArray
    best: tuple[AnyArray, AnyArray]

    @classmethod
    def of(cls, table: PhraseTable) -> PhraseTableColumns:
        """Return the columns; best translations as in `PhraseTable.best`: ties by count, lexical weight, order."""
        target_rows = table.entries[:, 1]
        probabilities = table.scores[:, 0]
        lexical_weights = table.scores[:, 1]
        counts = table.counts[:, 2]
        order = np.lexsort((-lexical_weights, -counts, -probabilities, target_rows))
        targets = np.arange(len(table.target))
        first = np.searchsorted(target_rows[order], targets)
        source_best = table.best.astype(np.int32)
        target_best = order[first].astype(np.int32)
        scores = table.scores[:, [2, 0, 3, 1]].astype(np.float32, copy=False)
        phrases = (table.source, table.target)
        return cls(
            phrases,
            table.entries,
            scores,
            (source_best, target_best),
        )

    def known(
        self,
        side: int,
        words: Ragged,
        index: PhraseIndex,
        other_types: list[str],
        max_length: int,
    ) -> KnownPhrases:
        """Return the spans of a side's words that are in the table, with their most likely translations.

        index: of the phrases of that side. other_types: the spellings of the other side.
        max_length: maximum number of words of a span.
        """
        spans = all_spans(words, max_length)
        phrases = index.find(words, spans)
        is_known = phrases >= 0
        best = self.best[side][phrases[is_known]]
        # numpy sorts 32 bits fastest; small tables are stored in fewer
        translated = self.entries[best, 1 - side].astype(np.int32)
        translations, numbers = np.unique(translated, return_inverse=True)
        lines = running_text(self.phrases[1 - side].take(translations), other_types)
        return KnownPhrases(select_links(spans, is_known), numbers, lines)


def _columns_of(table: PhraseTableColumns) -> dict[str, Ragged]:
    """Return a table as columns; those without rows of their own have a single row."""
    source, target = table.phrases
    source_best, target_best = table.best
    return {
        "source_phrases.types": source,
        "target_phrases.types": target,
        "source_best.entries": _single_row(source_best),
        "target_best.entries": _single_row(target_best),
        "table.entries": _single_row(table.entries),
        "table.scores": _single_row(table.scores),
    }


def _int32(rows: Ragged) -> Ragged:
    return Ragged(rows.values.astype(np.int32), rows.offsets)


def _single_row(values: AnyArray) -> Ragged:
    return Ragged.from_lengths(values, [len(values)])


def all_spans(words: Ragged, max_length: int) -> Ragged:
    """Return all half-open spans of at most `max_length` words in each row, sorted.

    A row of 3 words with a maximum of 2 has the spans 0-1, 0-2, 1-2, 1-3 and 2-3.
    """
    columns = words.columns()  # (W,)
    row_lengths = np.repeat(words.lengths, words.lengths)
    max_lengths = row_lengths - columns  # (W,) of spans from each word
    is_within = np.arange(max_length) < max_lengths[:, None]  # (W, max_length)
    positions, extra_words = np.nonzero(is_within)
    starts = columns[positions]
    ends = starts + extra_words + 1
    spans = np.stack([starts, ends], axis=1).astype(np.int32)
    lengths = np.bincount(words.rows()[positions], minlength=len(words))
    return Ragged.from_lengths(spans, lengths)
