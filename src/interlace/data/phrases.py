"""Phrases inside the pairs of a corpus and what a phrase table knows of them, in columns beside the pairs.

Two ways to choose what stands in for a phrase of the source (and likewise of the target) are served:

    in_pair       what it was extracted with in this very pair: `PhraseStore.take`
    table_argmax  the table's likeliest translation, wherever it comes from: `PhraseStore.known`

Extracted phrases are looked up in the table once, in one pass over words and links, and stored: eight bytes a phrase
pair, four for its spans and four for its row in the table, where scores stand once. A batch then gathers from mapped
files and needs neither compiled code nor an index in memory. What the table knows is looked up as batches ask for it:
there are so many such spans that they would take more room than the corpus.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.data import KnownPhrases
from interlace.data._phrases_columns import Finder, all_spans, only
from interlace.data._phrases_encoded import encode, read, write
from interlace.data._phrases_table import TABLE, Table
from interlace.data._shards import SHARD_BYTES, Store, read_meta, write_shards

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from interlace.alignment.phrase_table import PhraseIndex, PhraseTable, TableRules
    from interlace.data import Sentences
    from interlace.data.aligned import WordAlignments
    from interlace.data.vocab import Vocab

KIND = "phrases"


class PhraseStore:
    """Phrases of n pairs in a folder; made by `write`, opened by `open`.

    meta: what the folder's `meta.json` says: languages, word tokenizer, rules, counts.
    """

    def __init__(self, folder: Path, meta: Mapping[str, Any], aligned: WordAlignments) -> None:
        self.folder = folder
        self.meta = dict(meta)
        self.aligned = aligned
        self._store = Store(folder, meta["shards"])
        self._encoded: tuple[str, tuple[Sentences, Sentences]] | None = None  # and the vocabulary's fingerprint

    @classmethod
    def open(cls, folder: Path | str, aligned: WordAlignments) -> PhraseStore:
        """Map the folder into memory.

        aligned: the words and links that it was written from.

        Raises:
            DataError: the folder is missing, damaged or truncated, or was written from other words.
        """
        folder = Path(folder)
        store = cls(folder, read_meta(folder, KIND, None), aligned)
        for what, mine, theirs in (
            ("languages", tuple(store.meta["languages"]), aligned.languages),
            ("word_tokenizer", store.meta["word_tokenizer"], aligned.word_tokenizer),
            ("pairs", len(store), len(aligned)),
            ("links", store.counts["links"], aligned.counts["links"]),
        ):
            if mine != theirs:
                raise DataError(
                    f"{folder}: {what} {mine!r}, but {aligned.folder} has {theirs!r}; extract phrases again"
                )
        return store

    @classmethod
    def write(
        cls,
        folder: Path | str,
        aligned: WordAlignments,
        table: PhraseTable,
        rules: TableRules,
        *,
        shard_bytes: int = SHARD_BYTES,
    ) -> PhraseStore:
        """Find in one pass the phrases of all pairs that stand in the table, and open the result.

        table: counted from the same words, so that its types are theirs. rules: by which phrases were extracted.

        Raises:
            DataError: the table speaks of other words, or the disk is full.
        """
        if [table.source_types, table.target_types] != list(aligned.types):
            raise DataError(f"{folder}: the phrase table was counted from other words than those of {aligned.folder}")
        finder = Finder(table, rules)
        meta: dict[str, Any] = {
            "kind": KIND,
            "languages": list(aligned.languages),
            "word_tokenizer": aligned.word_tokenizer,
            "rules": rules.dump(),
            "counts": {"rows": len(aligned), **aligned.counts, "phrases": 0, "table": len(table)},
        }

        def columns() -> Iterator[Mapping[str, Ragged]]:
            for words, found in aligned.chunks():
                chunk = finder.columns(words, found)
                meta["counts"]["phrases"] += len(chunk["entries"].flat)
                yield chunk

        folder = Path(folder)
        write_shards(folder, columns(), meta, shard_bytes, Table.of(table).write)
        return cls.open(folder, aligned)

    @property
    def counts(self) -> dict[str, int]:
        """`rows`, `links`, `phrases` (in all pairs) and `table` (rows of the phrase table)."""
        return dict(self.meta["counts"])

    @cached_property
    def table(self) -> Table:
        """Phrases and scores, mapped."""
        return Table.open(self.folder / TABLE)

    def __len__(self) -> int:
        return len(self._store)

    def __repr__(self) -> str:
        return f"PhraseStore({str(self.folder)!r}, rows={len(self)}, phrases={self.counts['phrases']})"

    def entries(self, rows: NDArray[Any] | Sequence[int]) -> Ragged:
        """The row in the table of each phrase pair of the named rows, in the order of `take`."""
        return self._store.take(("entries",), rows)[0]

    def take(self, rows: NDArray[Any] | Sequence[int]) -> tuple[Ragged, Ragged]:
        """Phrase pairs of the named rows that stand in the table, and their scores.

        Returns:
            n rows of half-open word spans (a, b, c, d), int32, sorted, each once.
            n rows of (phi(target|source), phi(source|target)), float32.
        """
        entries = self.entries(rows)
        spans = self._store.take(("spans",), rows)[0]
        offsets = entries.offsets
        return Ragged(spans.values.reshape(-1, 4), offsets), Ragged(self.table.phi[entries.values], offsets)

    def known(self, rows: NDArray[Any] | Sequence[int], vocab: Vocab) -> tuple[KnownPhrases, KnownPhrases]:
        """Spans of the source and of the target that the table knows, with its likeliest translation of each.

        The first call makes the table's index, and encodes these translations where they are not read from a folder.
        """
        source, target = self.aligned.words(rows)
        encoded = self.encoded(vocab)
        return self._known(0, source, encoded[1]), self._known(1, target, encoded[0])

    def encoded(self, vocab: Vocab) -> tuple[Sentences, Sentences]:
        """Source and target phrases of the table as subwords inside a line; empty where no phrase needs them."""
        if self._encoded is None or self._encoded[0] != vocab.fingerprint:
            table = self.table
            wanted = [np.unique(table.entries[table.best[1 - side], side]) for side in (0, 1)]
            source, target = (encode(table.phrases[side], wanted[side], side, self.aligned, vocab) for side in (0, 1))
            self._encoded = (vocab.fingerprint, (source, target))
        return self._encoded[1]

    def write_encoded(self, vocab: Vocab, into: Path) -> None:
        """Write what `encoded` gives into a folder, for `read_encoded`."""
        write(self.encoded(vocab), into)

    def read_encoded(self, vocab: Vocab, folder: Path) -> None:
        """From now on take from the folder what `encoded` gives for this vocabulary.

        Raises:
            DataError: a file is missing or damaged.
        """
        self._encoded = (vocab.fingerprint, read(folder, self.aligned.languages))

    def phrase(self, side: int, number: int) -> list[str]:
        """The words of a phrase of the table; side 0 is the source."""
        return [self.aligned.types[side][word] for word in self.table.phrases[side][number]]

    def _known(self, side: int, words: Ragged, others: Sentences) -> KnownPhrases:
        every = all_spans(words, int(self.meta["rules"]["max_phrase_length"]))
        found = self._indexes[side].find(words, every)
        spans, phrases = only(every, found >= 0), found[found >= 0]
        best = self.table.best[side][phrases]
        return KnownPhrases(spans, self.table.phi[best, side], others.take(self.table.entries[best, 1 - side]))

    @cached_property
    def _indexes(self) -> tuple[PhraseIndex, PhraseIndex]:
        from interlace.alignment.phrase_table import PhraseIndex

        source, target = self.table.phrases
        return PhraseIndex(source), PhraseIndex(target)
