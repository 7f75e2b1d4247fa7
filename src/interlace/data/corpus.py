"""Tokenized corpora on disk: sentences of one language, or pairs of two with optional alignments and phrases.

Alignments and phrases are stored in the corpus's own folder if they were written with the pairs, or in folders of their
own (`ParallelCorpus.with_alignments`), so that a new vocabulary or a new aligner does not require rebuilding both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.data import Pairs, Sentences
from interlace.data.store import SHARD_BYTES, ColumnStore, narrow, read_meta, write_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Self

    from numpy.typing import NDArray

    from interlace.data import RowNumbers
    from interlace.data.alignments import WordAlignments
    from interlace.data.phrases import PhraseStore
    from interlace.data.vocab import Vocab

_SIDES = ("source", "target")
_WIDTHS = {"links": 2, "phrases": 4}  # stored flat, with so many values per entry


@dataclass(frozen=True)
class DecodedSentence:
    """One row for display.

    tokens: its subwords, or ids as text if the corpus was opened without its vocabulary.
    words: the tokens grouped by word.
    """

    language: str
    tokens: list[str]
    words: list[list[str]]

    @classmethod
    def of(cls, sentences: Sentences, row: int, vocab: Vocab | None) -> DecodedSentence:
        """Decode one row."""
        ids, owners = sentences.ids[row], sentences.words[row].tolist()
        tokens = vocab.tokens(ids) if vocab is not None else [str(number) for number in ids.tolist()]
        words: list[list[str]] = []
        for place, (token, owner) in enumerate(zip(tokens, owners, strict=True)):
            if place and owner == owners[place - 1]:
                words[-1].append(token)
            else:
                words.append([token])
        return cls(sentences.language, tokens, words)

    def __str__(self) -> str:
        return f"{self.language}: {' | '.join(' '.join(word) for word in self.words)}"


@dataclass(frozen=True)
class DecodedPair:
    """One row for display; `links` are (source word, target word) pairs."""

    source: DecodedSentence
    target: DecodedSentence
    links: list[tuple[int, int]] | None = None

    def __str__(self) -> str:
        links = "" if self.links is None else "\n" + " ".join(f"{i}-{j}" for i, j in self.links)
        return f"{self.source}\n{self.target}{links}"


class _StoredCorpus:
    """A folder of columns with a vocabulary."""

    KIND: ClassVar[str]

    def __init__(self, folder: Path, meta: Mapping[str, Any], vocab: Vocab | None) -> None:
        self.folder = folder
        self.meta = dict(meta)
        self.vocab = vocab
        self._store = ColumnStore(folder, meta["shards"])

    @classmethod
    def open(cls, folder: Path | str, vocab: Vocab | None = None) -> Self:
        """Map the folder into memory.

        Raises:
            DataError: the folder is missing, damaged or truncated, or was built with another vocabulary than `vocab`.
        """
        folder = Path(folder)
        return cls(folder, read_meta(folder, cls.KIND, vocab), vocab)

    @classmethod
    def write(
        cls,
        folder: Path | str,
        chunks: Iterable[Sentences] | Iterable[Pairs],
        *,
        languages: Sequence[str],
        vocab: Vocab,
        word_tokenizer: str,
        about: Mapping[str, Any] | None = None,
        shard_bytes: int = SHARD_BYTES,
    ) -> Self:
        """Write the chunks and open the result; the folder appears whole or not at all.

        languages: one for each side.
        about: further entries of `meta.json` (sources, skipped); read after the last chunk.

        Raises:
            DataError: there are no rows, or the disk is full.
        """
        folder = Path(folder)
        counts = {"rows": 0, "subwords": dict.fromkeys(languages, 0), "words": dict.fromkeys(languages, 0)}
        meta = {
            "kind": cls.KIND,
            "languages": list(languages),
            "word_tokenizer": word_tokenizer,
            "counts": counts,
            "vocabulary": {"name": vocab.name, "fingerprint": vocab.fingerprint, "size": vocab.size},
            "sources": [],
            "skipped": 0,
        }

        def columns() -> Iterator[Mapping[str, Ragged]]:
            for chunk in chunks:
                sides = [chunk] if isinstance(chunk, Sentences) else [chunk.source, chunk.target]
                _count(counts, languages, sides)
                yield {"ids": chunk.ids, "words": chunk.words} if isinstance(chunk, Sentences) else _pair_columns(chunk)
            meta.update(about or {})

        write_columns(folder, columns(), meta, shard_bytes)
        return cls.open(folder, vocab)

    @property
    def languages(self) -> tuple[str, ...]:
        """The language of each side."""
        return tuple(self.meta["languages"])

    @property
    def language(self) -> str:
        """The language, or both of a parallel corpus as one name such as `en-de`."""
        return "-".join(self.languages)

    @property
    def word_tokenizer(self) -> str:
        """The name of the word tokenizer."""
        return str(self.meta["word_tokenizer"])

    @property
    def counts(self) -> dict[str, Any]:
        """`rows`, and by language `subwords` and `words`."""
        return dict(self.meta["counts"])

    def __len__(self) -> int:
        return len(self._store)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.folder)!r}, language={self.language!r}, rows={len(self)})"

    def _row(self, row: int) -> int:
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of a corpus of {len(self)}")
        return row % len(self)


class Corpus(_StoredCorpus):
    """Sentences of one language in a folder; created by `write` or `interlace.data.build`, opened by `open`.

    meta: contents of `meta.json`: languages, word tokenizer, normalization, counts, vocabulary, sources, skipped.
    """

    KIND = "monolingual"

    def __init__(self, folder: Path, meta: Mapping[str, Any], vocab: Vocab | None, side: str = "") -> None:
        """Map the folder; `side` is `source` or `target` of a parallel corpus (see `ParallelCorpus.sides`)."""
        super().__init__(folder, meta, vocab)
        self._ids, self._words = (f"{side}_{name}" if side else name for name in ("ids", "words"))

    @cached_property
    def lengths(self) -> NDArray[np.int32]:
        """(rows,) subwords per row."""
        return self._store.lengths(self._ids)

    @property
    def side_lengths(self) -> tuple[NDArray[np.int32], ...]:
        """(rows,) subwords per row of the only side."""
        return (self.lengths,)

    @cached_property
    def flats(self) -> list[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        """(ids, words) of all rows, a pair of arrays per shard, not copied."""
        return list(zip(self._store.flats(self._ids), self._store.flats(self._words), strict=True))

    def __getitem__(self, row: int) -> DecodedSentence:
        return DecodedSentence.of(self.take([self._row(row)]), 0, self.vocab)

    def take(self, rows: RowNumbers) -> Sentences:
        """Return a copy of the given rows."""
        ids, words = self._store.take((self._ids, self._words), rows)
        return Sentences(ids, words, self.language)

    def frequencies(self, size: int) -> NDArray[np.int64]:
        """(size,) count of each subword id; one pass over all shards."""
        return _frequencies([ids for ids, _ in self.flats], size)


class ParallelCorpus(_StoredCorpus):
    """Pairs of two languages in a folder; created by `write` or `interlace.data.build`, opened by `open`.

    meta: contents of `meta.json`: languages, word tokenizer, normalization, counts, vocabulary, sources, skipped.
    alignments, phrases: stored in folders of their own; or None.
    with_known: whether `take` looks up the phrase table's entries for the pairs' spans.
    """

    KIND = "parallel"

    def __init__(self, folder: Path, meta: Mapping[str, Any], vocab: Vocab | None) -> None:
        super().__init__(folder, meta, vocab)
        self.alignments: WordAlignments | None = None
        self.phrases: PhraseStore | None = None
        self.with_known = False

    def with_alignments(
        self, alignments: WordAlignments, phrases: PhraseStore | None = None, *, known: bool = False
    ) -> ParallelCorpus:
        """Return the same corpus with these alignments, row by row, and with the phrases extracted from them.

        known: whether `take` also looks up the phrase table's entries for all spans, which takes time.

        Raises:
            DataError: languages, word tokenizer or number of pairs differ.
        """
        for what, mine, theirs in (
            ("languages", self.languages, alignments.languages),
            ("word tokenizer", self.word_tokenizer, alignments.word_tokenizer),
            ("pairs", len(self), len(alignments)),
        ):
            if mine != theirs:
                raise DataError(
                    f"{alignments.folder}: {what} {theirs!r}, but the corpus {self.folder} has {mine!r}; "
                    f"align the text that the corpus was built from"
                )
        corpus = ParallelCorpus(self.folder, self.meta, self.vocab)
        corpus.alignments, corpus.phrases, corpus.with_known = alignments, phrases, known
        return corpus

    @property
    def languages(self) -> tuple[str, str]:
        """The languages of source and target."""
        source, target = self.meta["languages"]
        return source, target

    @property
    def sides(self) -> tuple[Corpus, Corpus]:
        """Source and target as corpora of one language; they map the same files, nothing is copied."""
        source, target = (
            self._as_corpus(side, language) for side, language in zip(_SIDES, self.languages, strict=True)
        )
        return source, target

    @cached_property
    def lengths(self) -> NDArray[np.int32]:
        """(rows,) subwords of both sides together."""
        source, target = self.side_lengths
        return source + target

    @cached_property
    def side_lengths(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """(rows,) subwords of the source, and (rows,) of the target."""
        return self._store.lengths("source_ids"), self._store.lengths("target_ids")

    def __getitem__(self, row: int) -> DecodedPair:
        pairs = self.take([self._row(row)])
        links = None if pairs.links is None else [(int(i), int(j)) for i, j in pairs.links[0]]
        source, target = (DecodedSentence.of(side, 0, self.vocab) for side in (pairs.source, pairs.target))
        return DecodedPair(source, target, links)

    def take(self, rows: RowNumbers) -> Pairs:
        """Return a copy of the given rows."""
        source, target = (self._side(side, rows) for side in (0, 1))
        if self.alignments is None:
            return Pairs(source, target, self._spans("links", rows), self._spans("phrases", rows))
        found = self.alignments.take(rows)
        if self.phrases is None:
            return Pairs(source, target, found.links, self._spans("phrases", rows), found.confidence)
        phrases, scores = self.phrases.take(rows)
        known = self.phrases.known(rows, self.vocab) if self.with_known and self.vocab is not None else None
        return Pairs(source, target, found.links, phrases, found.confidence, scores, known)

    def frequencies(self, size: int) -> NDArray[np.int64]:
        """(size,) count of each subword id on both sides; one pass over all shards."""
        return _frequencies([ids for side in _SIDES for ids in self._store.flats(f"{side}_ids")], size)

    def _side(self, side: int, rows: RowNumbers) -> Sentences:
        ids, words = self._store.take((f"{_SIDES[side]}_ids", f"{_SIDES[side]}_words"), rows)
        return Sentences(ids, words, self.languages[side])

    def _as_corpus(self, side: str, language: str) -> Corpus:
        counts = {"rows": len(self)} | {what: {language: self.counts[what][language]} for what in ("subwords", "words")}
        return Corpus(self.folder, {**self.meta, "languages": [language], "counts": counts}, self.vocab, side)

    def _spans(self, name: str, rows: RowNumbers) -> Ragged | None:
        if name not in self._store.columns:
            return None
        flat = self._store.take((name,), rows)[0]
        return Ragged(flat.values.reshape(-1, _WIDTHS[name]), flat.offsets // _WIDTHS[name])


def _frequencies(flats: Iterable[NDArray[np.int32]], size: int) -> NDArray[np.int64]:
    total = np.zeros(size, np.int64)
    for ids in flats:
        total += np.bincount(ids, minlength=size)
    return total


def _count(counts: dict[str, Any], languages: Sequence[str], sides: Sequence[Sentences]) -> None:
    """Add a chunk's rows, subwords, and words that have a subword."""
    counts["rows"] += len(sides[0])
    for language, side in zip(languages, sides, strict=True):
        owners, rows = side.words.flat, side.words.rows()
        first = np.ones(len(owners), np.bool_)
        first[1:] = (owners[1:] != owners[:-1]) | (rows[1:] != rows[:-1])
        counts["subwords"][language] += len(owners)
        counts["words"][language] += int((first & (owners >= 0)).sum())


def _pair_columns(pairs: Pairs) -> dict[str, Ragged]:
    columns = {
        "source_ids": pairs.source.ids,
        "source_words": pairs.source.words,
        "target_ids": pairs.target.ids,
        "target_words": pairs.target.words,
    }
    for name, spans in (("links", pairs.links), ("phrases", pairs.phrases)):
        if spans is not None:
            columns[name] = Ragged(narrow(spans.values.reshape(-1)), spans.offsets * _WIDTHS[name])
    return columns
