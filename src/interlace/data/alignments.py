"""Words and word alignments of a corpus's pairs, stored without a vocabulary.

So a new vocabulary needs no new alignment, and a new alignment needs no new corpus. Row i is the same pair as row i of
a `ParallelCorpus` that was read from the same files; see `ParallelCorpus.with_alignments`.

Integers are stored in the smallest type: two bytes a link, one its confidence, one to four a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interlace.alignment import CHUNK, WordPairs
from interlace.core.errors import DataError
from interlace.core.files import must_exist
from interlace.core.ragged import Ragged
from interlace.data.store import SHARD_BYTES, ColumnFolder, narrow, read_meta, write_columns
from interlace.text.lines import read_lines, write_lines

if TYPE_CHECKING:
    from interlace.data import RowNumbers

KIND = "aligned"
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
    """Word types and links of n pairs in a folder; created by `write`, opened by `open`.

    meta: contents of `meta.json`: languages, word tokenizer, counts of rows and links, and entries of the writer.
    """

    @classmethod
    def open(cls, folder: Path | str) -> WordAlignments:
        """Map the folder into memory.

        Raises:
            DataError: the folder is missing, damaged or truncated.
        """
        folder = Path(folder)
        return cls(folder, read_meta(folder, KIND))

    @classmethod
    def write(
        cls,
        folder: Path | str,
        chunks: Iterable[tuple[WordPairs, Ragged, NDArray[np.float32]]],
        *,
        about: Mapping[str, Any] | None = None,
        shard_bytes: int = SHARD_BYTES,
    ) -> WordAlignments:
        """Write chunks of words, their links, and the confidence of each link; open the result.

        chunks: slices of one `WordPairs`, in order.
        about: further entries of `meta.json`.

        Raises:
            DataError: there are no rows, a link has an index beyond its sentence, or the disk is full.
        """
        folder = Path(folder)
        meta: dict[str, Any] = {"kind": KIND, "counts": {"rows": 0, "links": 0}, **(about or {})}
        types: list[list[str]] = [[], []]

        def columns() -> Iterator[Mapping[str, Ragged]]:
            for words, links, confidence in chunks:
                _check(folder, words, links, confidence)
                meta.update(languages=list(words.languages), word_tokenizer=words.word_tokenizer)
                meta["counts"]["rows"] += len(words)
                meta["counts"]["links"] += len(links.flat)
                types[:] = [words.source_types, words.target_types]
                offsets = links.offsets - links.offsets[0]
                grades = np.clip(np.rint(confidence * 255), 1, 255).astype(np.uint8)
                yield {
                    "source_words": Ragged(narrow(words.source.flat), words.source.offsets - words.source.offsets[0]),
                    "target_words": Ragged(narrow(words.target.flat), words.target.offsets - words.target.offsets[0]),
                    "links": Ragged(narrow(links.flat.reshape(-1)), 2 * offsets),
                    "confidence": Ragged(grades, offsets),
                }
            meta["types"] = [len(spellings) for spellings in types]

        def write_types(into: Path) -> None:
            for side, words in zip(_SIDES, types, strict=True):
                write_lines(into / f"{side}.words", words)

        write_columns(folder, columns(), meta, shard_bytes, write_types)
        return cls.open(folder)

    @property
    def languages(self) -> tuple[str, str]:
        """The languages of source and target."""
        source, target = self.meta["languages"]
        return source, target

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
        (flat,), (grades,) = self._take(rows, "links"), self._take(rows, "confidence")
        links = Ragged(flat.values.reshape(-1, 2), grades.offsets)
        return Links(links, Ragged((grades.values / np.float32(255)).astype(np.float32), grades.offsets))

    def words(self, rows: RowNumbers) -> tuple[Ragged, Ragged]:
        """Return copies of the word types of the given rows, source and target."""
        (source,), (target,) = self._take(rows, "source_words"), self._take(rows, "target_words")
        return source, target

    def chunks(self, rows: int = CHUNK) -> Iterator[tuple[WordPairs, Links]]:
        """Yield all pairs and their links in slices of at most `rows` rows; only one slice is in memory."""
        for start in range(0, len(self), rows):
            some = np.arange(start, min(start + rows, len(self)))
            yield WordPairs(*self.words(some), *self.types, self.languages, self.word_tokenizer, start), self.take(some)

    def whole(self, spool: Path) -> tuple[WordPairs, Links]:
        """Return all pairs and their links, mapped from files of four bytes a word and twelve a link.

        spool: an empty folder for these files; the caller removes it.
        """
        dtypes = {"source": "i4", "target": "i4", "links": "i4", "confidence": "f4"}
        lengths: dict[str, list[NDArray[Any]]] = {name: [] for name in dtypes}
        with ExitStack() as stack:
            files = [stack.enter_context((spool / name).open("wb")) for name in dtypes]
            for words, found in self.chunks():
                parts = (words.source, words.target, found.links, found.confidence)
                for name, rows, file in zip(dtypes, parts, files, strict=True):
                    lengths[name].append(rows.lengths)
                    file.write(rows.flat.tobytes())
        mapped = {}
        for name, dtype in dtypes.items():
            path = spool / name  # an empty file cannot be mapped
            values = np.memmap(path, np.dtype(dtype), "r") if path.stat().st_size else np.zeros(0, dtype)
            mapped[name] = Ragged.from_lengths(values, np.concatenate(lengths[name]))
        pairs = WordPairs(mapped["source"], mapped["target"], *self.types, self.languages, self.word_tokenizer)
        confidence = mapped["confidence"]
        return pairs, Links(Ragged(mapped["links"].values.reshape(-1, 2), confidence.offsets), confidence)


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
