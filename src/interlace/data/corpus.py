"""Tokenized corpora on disk: sentences of one language, or pairs of two with optional alignments and phrases.

Alignments, phrases and text are in folders of their own (`ParallelCorpus.annotated`), so that a new vocabulary or
a new aligner does not require rebuilding both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from interlace.core.json_files import JsonMapping, JsonObject
from interlace.core.ragged import AnyArray, Int32Array, IntArray, Ragged
from interlace.data import Pairs, RowNumbers, Sentences
from interlace.data.alignments import PhraseStore, StoredText, WordAlignments
from interlace.data.store import ColumnFolder, write_columns

_BLOCK = 1 << 22  # values counted at a time


class _StoredCorpus(ColumnFolder):
    """A folder of subwords with their words."""

    GROUPS: ClassVar[tuple[str, ...]]  # of the columns of each side

    def __init__(
        self,
        folder: Path,
        meta: JsonMapping,
        groups: tuple[str, ...] = (),
    ) -> None:
        super().__init__(folder, meta)
        self._groups = groups or self.GROUPS

    @classmethod
    def write(
        cls,
        folder: Path | str,
        chunks: Iterable[Sentences] | Iterable[Pairs],
        *,
        languages: Sequence[str],
        word_tokenizer: str,
        notes: Mapping[str, int] | None = None,
        can_be_empty: bool = False,
    ) -> Self:
        """Write the chunks and open the result; the folder appears whole or not at all.

        notes: counts of rows that are left out, by reason; read after the last chunk.
        Raise a DataError if there are no rows (unless `can_be_empty`).
        """
        counts: JsonObject = {"rows": 0, "subwords": dict.fromkeys(languages, 0)}
        meta: JsonObject = {
            "kind": cls.KIND,
            "languages": list(languages),
            "word_tokenizer": word_tokenizer,
            "counts": counts,
        }

        def columns() -> Iterator[Mapping[str, Ragged]]:
            for chunk in chunks:
                counts["rows"] += len(chunk)
                sides = (
                    [chunk] if isinstance(chunk, Sentences) else [chunk.source, chunk.target]
                )
                stored: dict[str, Ragged] = {}
                for language, group, side in zip(
                    languages,
                    cls.GROUPS,
                    sides,
                    strict=True,
                ):
                    counts["subwords"][language] += len(side.ids.flat)
                    stored[f"{group}.ids"] = side.ids
                    stored[f"{group}.words"] = side.words
                yield stored
            meta["notes"] = {reason: count for reason, count in (notes or {}).items() if count}

        write_columns(
            Path(folder),
            columns(),
            meta,
            can_be_empty=can_be_empty,
        )
        return cls.open(folder)

    @property
    def language(self) -> str:
        """The language, or both of a parallel corpus as one name such as `en-de`."""
        return "-".join(self.languages)

    @cached_property
    def side_lengths(self) -> tuple[Int32Array, ...]:
        """(rows,) subwords per row of each side."""
        side_lengths = []
        for group in self._groups:
            lengths = self._columns[f"{group}.ids"].lengths
            side_lengths.append(lengths.astype(np.int32))
        return tuple(side_lengths)

    @cached_property
    def lengths(self) -> Int32Array:
        """(rows,) subwords per row of all sides together."""
        return reduce(np.add, self.side_lengths)

    def frequencies(self, size: int) -> IntArray:
        """(size,) count of each subword id on all sides; one pass over the corpus."""
        total = np.zeros(size, np.int64)
        for group in self._groups:
            ids = self._columns[f"{group}.ids"].values
            for start in range(0, len(ids), _BLOCK):
                total += np.bincount(ids[start : start + _BLOCK], minlength=size)
        return total

    def slices(self, rows: int) -> Iterator[Any]:
        """Yield ids and words of at most `rows` rows at a time, as views of the mapped files."""
        for start in range(0, len(self), rows):
            stop = start + rows
            sides = []
            for group, language in zip(self._groups, self.languages, strict=True):
                ids = self._columns[f"{group}.ids"]
                words = self._columns[f"{group}.words"]
                side = Sentences(ids.slice(start, stop), words.slice(start, stop), language)
                sides.append(side)
            yield sides[0] if len(sides) == 1 else Pairs(sides[0], sides[1])

    def _side(self, number: int, rows: RowNumbers) -> Sentences:
        group = self._groups[number]
        ids, words = self._take(rows, f"{group}.ids", f"{group}.words")
        return Sentences(ids, words, self.languages[number])


class Corpus(_StoredCorpus):
    """Sentences of one language in a folder; created by `write` or `interlace.data.build`, opened by `open`."""

    KIND = "monolingual"
    GROUPS = ("text",)

    @property
    def flat(self) -> tuple[AnyArray, AnyArray]:
        """(T,) ids and words of all rows as they are stored: mapped, in the smallest type of integers."""
        (group,) = self._groups
        ids = self._columns[f"{group}.ids"]
        words = self._columns[f"{group}.words"]
        return ids.values, words.values

    def take(self, rows: RowNumbers) -> Sentences:
        """Return a copy of the given rows."""
        return self._side(0, rows)


class ParallelCorpus(_StoredCorpus):
    """Pairs of two languages in a folder; created by `write` or `interlace.data.build`, opened by `open`.

    alignments, phrases, text: stored in folders of their own; or None.
    with_known: whether `take` looks up the phrase table's entries for the pairs' spans.
    """

    KIND = "parallel"
    GROUPS = ("source", "target")
    alignments: WordAlignments | None = None
    phrases: PhraseStore | None = None
    text: StoredText | None = None
    with_known = False

    def annotated(
        self,
        alignments: WordAlignments | None = None,
        phrases: PhraseStore | None = None,
        *,
        text: StoredText | None = None,
        known: bool = False,
    ) -> ParallelCorpus:
        """Return the same corpus with alignments, row by row, and with the phrases extracted from them.

        text: the lines of the pairs. known: whether `take` also looks up the phrase table's entries for all spans,
        which takes time.
        Raise a DataError if languages, word tokenizer or number of pairs differ.
        """
        if alignments is not None:
            self.check_same_rows(alignments, "align the text that the corpus was built from")
        if text is not None:
            self.check_same_rows(text, "store the text that the corpus was built from")
        corpus = ParallelCorpus(self.folder, self.meta)
        corpus.alignments = alignments
        corpus.phrases = phrases
        corpus.text = text
        corpus.with_known = known
        return corpus

    @property
    def sides(self) -> tuple[Corpus, Corpus]:
        """Source and target as corpora of one language; they map the same files, nothing is copied."""
        corpora = []
        for group, language in zip(self._groups, self.languages, strict=True):
            subwords = {language: self.counts["subwords"][language]}
            counts = {"rows": len(self), "subwords": subwords}
            meta = {**self.meta, "languages": [language], "counts": counts}
            corpora.append(Corpus(self.folder, meta, (group,)))
        return corpora[0], corpora[1]

    def take(self, rows: RowNumbers) -> Pairs:
        """Return a copy of the given rows."""
        source = self._side(0, rows)
        target = self._side(1, rows)
        text = None if self.text is None else self.text.take(rows)
        if self.alignments is None:
            return Pairs(source, target, text=text)
        links = self.alignments.take(rows)
        pairs = Pairs(
            source,
            target,
            links.links,
            confidence=links.confidence,
            text=text,
        )
        if self.phrases is None:
            return pairs
        phrases, scores = self.phrases.take(rows)
        known = self.phrases.known(rows) if self.with_known else None
        return replace(
            pairs,
            phrases=phrases,
            scores=scores,
            known=known,
        )
