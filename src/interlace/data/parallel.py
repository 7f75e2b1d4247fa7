"""A corpus of translations on disk: both sides of each pair, and optionally their word links and phrases.

Links and phrases may stand in the corpus's own folder, where they were written with the pairs, or be laid beside it
(`with_alignments`): those of a recipe do, so that neither a new vocabulary nor a new aligner makes both be built again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.data import Pairs, Sentences
from interlace.data._shards import SHARD_BYTES, Store, narrow, read_meta, write_shards
from interlace.data.corpus import Corpus, Sentence, count_side, description, frequencies

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from interlace.data.aligned import WordAlignments
    from interlace.data.phrases import PhraseStore
    from interlace.data.vocab import Vocab

KIND = "parallel"
_SIDES = ("source", "target")
_WIDTHS = {"links": 2, "phrases": 4}  # stored flat, so many numbers an entry


@dataclass(frozen=True)
class Pair:
    """One row as people read it; `links` are (source word, target word) pairs."""

    source: Sentence
    target: Sentence
    links: list[tuple[int, int]] | None = None

    def __str__(self) -> str:
        links = "" if self.links is None else "\n" + " ".join(f"{i}-{j}" for i, j in self.links)
        return f"{self.source}\n{self.target}{links}"


class ParallelCorpus:
    """Pairs of two languages in a folder; made by `write` or `interlace.data.build`, opened by `open`.

    meta: what the folder's `meta.json` says: languages, word tokenizer, normalisation, counts, vocabulary, sources, skipped.
    aligned, store: the words and links laid beside it, and the phrases in them; or None.
    knows: whether pairs come with what the phrase table knows of their spans.
    """

    def __init__(self, folder: Path, meta: Mapping[str, Any], vocab: Vocab | None) -> None:
        self.folder = folder
        self.meta = dict(meta)
        self.vocab = vocab
        self.aligned: WordAlignments | None = None
        self.store: PhraseStore | None = None
        self.knows = False
        self._store = Store(folder, meta["shards"])

    @classmethod
    def open(cls, folder: Path | str, vocab: Vocab | None = None) -> ParallelCorpus:
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
        chunks: Iterable[Pairs],
        *,
        languages: tuple[str, str],
        vocab: Vocab,
        word_tokenizer: str,
        about: Mapping[str, Any] | None = None,
        shard_bytes: int = SHARD_BYTES,
    ) -> ParallelCorpus:
        """Write chunk after chunk and open the result; links and phrases are kept where all chunks have them.

        about: further entries of `meta.json` (sources, skipped); read after the last chunk.

        Raises:
            DataError: there are no rows, or the disk is full.
        """
        folder = Path(folder)
        meta = description(KIND, languages, vocab, word_tokenizer)

        def columns() -> Iterator[Mapping[str, Ragged]]:
            for chunk in chunks:
                meta["counts"]["rows"] += len(chunk)
                for language, side in zip(languages, (chunk.source, chunk.target), strict=True):
                    count_side(meta, language, side)
                yield _columns(chunk)
            meta.update(about or {})

        write_shards(folder, columns(), meta, shard_bytes)
        return cls.open(folder, vocab)

    def with_alignments(
        self, aligned: WordAlignments, store: PhraseStore | None = None, *, known: bool = False
    ) -> ParallelCorpus:
        """The same corpus with these links, row by row, and with the phrases that were found in them.

        known: whether `take` also gives what the phrase table knows, which costs time where nobody wants it.

        Raises:
            DataError: they are of other languages, of another word tokenizer's words, or of more or fewer pairs.
        """
        for what, mine, theirs in (
            ("languages", self.languages, aligned.languages),
            ("word_tokenizer", self.word_tokenizer, aligned.word_tokenizer),
            ("pairs", len(self), len(aligned)),
        ):
            if mine != theirs:
                raise DataError(
                    f"{aligned.folder}: {what} {theirs!r}, but the corpus {self.folder} has {mine!r}; "
                    f"align the text that the corpus was built from"
                )
        corpus = ParallelCorpus(self.folder, self.meta, self.vocab)
        corpus.aligned, corpus.store, corpus.knows = aligned, store, known
        return corpus

    @property
    def languages(self) -> tuple[str, str]:
        """The languages of the source and target side."""
        source, target = self.meta["languages"]
        return str(source), str(target)

    @property
    def language(self) -> str:
        """Both languages in one name, such as `en-de`."""
        return "-".join(self.languages)

    @property
    def word_tokenizer(self) -> str:
        """The name of what found the words."""
        return str(self.meta["word_tokenizer"])

    @property
    def counts(self) -> dict[str, Any]:
        """`rows`, and by language `subwords` and `words`."""
        return dict(self.meta["counts"])

    @property
    def sides(self) -> tuple[Corpus, Corpus]:
        """Source and target as corpora of one language: the same files mapped once more, nothing is copied."""
        source, target = (self._alone(side, language) for side, language in zip(_SIDES, self.languages, strict=True))
        return source, target

    @cached_property
    def lengths(self) -> NDArray[np.int32]:
        """(rows,) subwords of both sides together."""
        source, target = self.side_lengths
        return source + target

    @cached_property
    def side_lengths(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """(rows,) subwords of each side."""
        return self._store.lengths("source_ids"), self._store.lengths("target_ids")

    def __len__(self) -> int:
        return len(self._store)

    def __getitem__(self, row: int) -> Pair:
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of a corpus of {len(self)}")
        pairs = self.take([row % len(self)])
        links = None if pairs.links is None else [(int(i), int(j)) for i, j in pairs.links[0]]
        return Pair(Sentence.of(pairs.source, 0, self.vocab), Sentence.of(pairs.target, 0, self.vocab), links)

    def __repr__(self) -> str:
        return f"ParallelCorpus({str(self.folder)!r}, languages={self.languages!r}, rows={len(self)})"

    def take(self, rows: NDArray[Any] | Sequence[int]) -> Pairs:
        """The named rows, copied out of the mapped shards."""
        source, target = (
            self._side(side, language, rows) for side, language in zip(_SIDES, self.languages, strict=True)
        )
        if self.aligned is None:
            return Pairs(source, target, self._spans("links", rows), self._spans("phrases", rows))
        found = self.aligned.take(rows)
        if self.store is None:
            return Pairs(source, target, found.links, self._spans("phrases", rows), found.confidence)
        phrases, scores = self.store.take(rows)
        known = self.store.known(rows, self.vocab) if self.knows and self.vocab is not None else None
        return Pairs(source, target, found.links, phrases, found.confidence, scores, known)

    def frequencies(self, size: int) -> NDArray[np.int64]:
        """(size,) how often each subword stands on either side; one pass over all shards."""
        return frequencies([ids for side in _SIDES for ids in self._store.flats(f"{side}_ids")], size)

    def _side(self, side: str, language: str, rows: NDArray[Any] | Sequence[int]) -> Sentences:
        ids, words = self._store.take((f"{side}_ids", f"{side}_words"), rows)
        return Sentences(ids, words, language)

    def _alone(self, side: str, language: str) -> Corpus:
        counts = {"rows": len(self)} | {what: {language: self.counts[what][language]} for what in ("subwords", "words")}
        return Corpus(self.folder, {**self.meta, "languages": [language], "counts": counts}, self.vocab, side)

    def _spans(self, name: str, rows: NDArray[Any] | Sequence[int]) -> Ragged | None:
        if name not in self._store.columns:
            return None
        flat = self._store.take((name,), rows)[0]
        return Ragged(flat.values.reshape(-1, _WIDTHS[name]), flat.offsets // _WIDTHS[name])


def _columns(pairs: Pairs) -> dict[str, Ragged]:
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
