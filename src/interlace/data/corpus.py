"""A corpus of one language on disk: subwords and words, mapped into memory. `load_dataset("arrow")` opens it too."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.data import Sentences
from interlace.data._shards import SHARD_BYTES, Store, read_meta, write_shards

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from interlace.core.ragged import Ragged
    from interlace.data.vocab import Vocab

KIND = "monolingual"


@dataclass(frozen=True)
class Sentence:
    """One row as people read it.

    tokens: its subwords, or ids as text where the corpus was opened without its vocabulary.
    words: the same, grouped by word.
    """

    language: str
    tokens: list[str]
    words: list[list[str]]

    @classmethod
    def of(cls, sentences: Sentences, row: int, vocab: Vocab | None) -> Sentence:
        """Row `row` of columns."""
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


class Corpus:
    """Sentences of one language in a folder; made by `write` or `interlace.data.build`, opened by `open`.

    meta: what the folder's `meta.json` says: languages, word tokenizer, normalisation, counts, vocabulary, sources, skipped.
    """

    def __init__(self, folder: Path, meta: Mapping[str, Any], vocab: Vocab | None, side: str = "") -> None:
        """Map what `meta` names; of translations one side, `source` or `target` (see `ParallelCorpus.sides`)."""
        self.folder = folder
        self.meta = dict(meta)
        self.vocab = vocab
        self._ids, self._words = (f"{side}_{name}" if side else name for name in ("ids", "words"))
        self._store = Store(folder, meta["shards"])

    @classmethod
    def open(cls, folder: Path | str, vocab: Vocab | None = None) -> Corpus:
        """Map the folder into memory.

        Raises:
            DataError: the folder is missing, damaged or truncated, or was built with another vocabulary than `vocab`.
        """
        folder = Path(folder)
        return cls(folder, read_meta(folder, KIND, vocab), vocab)

    @classmethod
    def write(
        cls,
        folder: Path | str,
        chunks: Iterable[Sentences],
        *,
        language: str,
        vocab: Vocab,
        word_tokenizer: str,
        about: Mapping[str, Any] | None = None,
        shard_bytes: int = SHARD_BYTES,
    ) -> Corpus:
        """Write chunk after chunk and open the result; the folder appears whole or not at all.

        about: further entries of `meta.json` (sources, skipped); read after the last chunk.

        Raises:
            DataError: there are no rows, or the disk is full.
        """
        folder = Path(folder)
        meta = description(KIND, [language], vocab, word_tokenizer)

        def columns() -> Iterator[Mapping[str, Ragged]]:
            for chunk in chunks:
                meta["counts"]["rows"] += len(chunk)
                count_side(meta, language, chunk)
                yield {"ids": chunk.ids, "words": chunk.words}
            meta.update(about or {})

        write_shards(folder, columns(), meta, shard_bytes)
        return cls.open(folder, vocab)

    @property
    def language(self) -> str:
        """The language of all rows."""
        return str(self.meta["languages"][0])

    @property
    def languages(self) -> tuple[str, ...]:
        """The one language, as parallel corpora name theirs."""
        return (self.language,)

    @property
    def word_tokenizer(self) -> str:
        """The name of what found the words."""
        return str(self.meta["word_tokenizer"])

    @property
    def counts(self) -> dict[str, Any]:
        """`rows`, and by language `subwords` and `words`."""
        return dict(self.meta["counts"])

    @cached_property
    def lengths(self) -> NDArray[np.int32]:
        """(rows,) subwords a row."""
        return self._store.lengths(self._ids)

    @cached_property
    def flats(self) -> list[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        """(ids, words) of all rows one after another, a pair of arrays a shard, not copied."""
        return list(zip(self._store.flats(self._ids), self._store.flats(self._words), strict=True))

    def __len__(self) -> int:
        return len(self._store)

    def __getitem__(self, row: int) -> Sentence:
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of a corpus of {len(self)}")
        return Sentence.of(self.take([row % len(self)]), 0, self.vocab)

    def __repr__(self) -> str:
        return f"Corpus({str(self.folder)!r}, language={self.language!r}, rows={len(self)})"

    def take(self, rows: NDArray[Any] | Sequence[int]) -> Sentences:
        """The named rows, copied out of the mapped shards."""
        ids, words = self._store.take((self._ids, self._words), rows)
        return Sentences(ids, words, self.language)

    def frequencies(self, size: int) -> NDArray[np.int64]:
        """(size,) how often each subword stands in the corpus; one pass over all shards."""
        return frequencies([ids for ids, _ in self.flats], size)


def frequencies(flats: Iterable[NDArray[np.int32]], size: int) -> NDArray[np.int64]:
    """(size,) counts of ids over several arrays."""
    total = np.zeros(size, np.int64)
    for ids in flats:
        total += np.bincount(ids, minlength=size)
    return total


def description(kind: str, languages: Sequence[str], vocab: Vocab, word_tokenizer: str) -> dict[str, Any]:
    """A `meta.json` without rows."""
    return {
        "kind": kind,
        "languages": list(languages),
        "word_tokenizer": word_tokenizer,
        "counts": {"rows": 0, "subwords": dict.fromkeys(languages, 0), "words": dict.fromkeys(languages, 0)},
        "vocabulary": {"name": vocab.name, "fingerprint": vocab.fingerprint, "size": vocab.size},
        "sources": [],
        "skipped": 0,
    }


def count_side(meta: Mapping[str, Any], language: str, chunk: Sentences) -> None:
    """Add a chunk's subwords, and the words that have some, to the counts."""
    owners, rows = chunk.words.flat, chunk.words.rows()
    first = np.ones(len(owners), np.bool_)
    first[1:] = (owners[1:] != owners[:-1]) | (rows[1:] != rows[:-1])
    meta["counts"]["subwords"][language] += len(owners)
    meta["counts"]["words"][language] += int((first & (owners >= 0)).sum())
