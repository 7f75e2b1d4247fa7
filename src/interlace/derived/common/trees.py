"""Dependency trees: of texts, of treebank files, and of plain text whose parses are in other files.

Legend: L lines, W words of all lines, P words of all parses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise
from pathlib import Path
from unicodedata import category, normalize

import numpy as np
from numpy.typing import NDArray

from interlace.core.display import listed
from interlace.core.errors import DataError
from interlace.core.files import must_exist
from interlace.core.ragged import Ragged
from interlace.derived.common.labels import numbered
from interlace.readers.conllu import Conllu
from interlace.text import Text
from interlace.text.types import distinct

FileState = tuple[str, int, int]  # path, size, time of modification


@dataclass(frozen=True)
class Forest:
    """Projective dependency trees as flat arrays.

    offsets: (L + 1,) the words of each line. heads: (W,) places in the line, -1 for a root.
    relations: (W,) universal relations without subtypes. tags: (W,) universal parts of speech.
    final: (W,) which words are marks that end a tree, and keep their place.
    """

    offsets: NDArray[np.int64]
    heads: NDArray[np.int64]
    relations: list[str]
    tags: list[str]
    final: NDArray[np.bool_]

    @classmethod
    def of(cls, heads: Ragged, relations: Sequence[str], tags: Sequence[str]) -> Forest:
        """Build projective trees from a row of heads per line, and the relation and tag of each word.

        Crossing arcs are lifted (Nivre and Nilsson 2005), so that each word with its descendants is contiguous. A
        DataError names the line, from 1, whose heads are no tree.
        """
        from interlace.derived.common.kernels import projectivize

        own, lengths = heads.flat.astype(np.int64), heads.lengths
        offsets = heads.offsets - heads.offsets[0]
        wrong = (own < -1) | (own >= np.repeat(lengths, lengths))
        up = np.append(np.where((own < 0) | wrong, len(own), own + np.repeat(offsets[:-1], lengths)), len(own))
        for _ in range(int(lengths.max(initial=1)).bit_length()):
            up = up[up]  # in doubled steps every word must leave the line
        wrong |= up[:-1] != len(own)
        if wrong.any():
            line = int(np.searchsorted(offsets, np.flatnonzero(wrong)[0], "right"))
            raise DataError(f"line {line}: its heads are no tree: one is outside of the line, or they have a cycle")
        codes, names = numbered(relations, len(own))
        names = [name.partition(":")[0] for name in names]
        final = np.zeros(len(own), np.bool_)
        projectivize(own, offsets, np.array([name == "punct" for name in names], np.bool_)[codes], final)
        return cls(offsets, own, np.array(names, object)[codes].tolist(), list(tags), final)


def forest_of(text: Text) -> Forest:
    """Return the trees of a text; raise a DataError if it has none."""
    if text.heads is None or "deprel" not in text.tags or "pos" not in text.tags:
        raise DataError("the text has no trees: heads, relations and parts of speech are needed")
    return Forest.of(text.heads, *(list(chain.from_iterable(text.tags[kind])) for kind in ("deprel", "pos")))


def file_states(paths: Sequence[Path]) -> tuple[FileState, ...]:
    """Return names, sizes and modification times of files as cache keys; raise a DataError if one is missing."""
    found = [(path, must_exist(path, "treebank").stat()) for path in paths]
    return tuple((str(path), stat.st_size, stat.st_mtime_ns) for path, stat in found)


def read_trees(files: Sequence[FileState]) -> Iterator[Text]:
    """Yield the sentences of CoNLL-U files with their trees, in chunks."""
    for path, _, _ in files:
        yield from Conllu(trees=True).read_chunks([Path(path)], [""])


_PREFIX = 12  # characters by which sentences are looked up


@dataclass(frozen=True)
class Treebank:
    """The sentences of some files, to be found by their characters.

    numbers: normalized sentence -> its row. sizes: first characters -> the sizes of the sentences that begin with them,
    long ones first; short sentences are there under all their characters. letters: (sentences,) characters of each.
    columns: per sentence a row per word: its start in the sentence, its head (-1: none), its depth, and the numbers of
    its relation and part of speech.
    names: relations and parts of speech by number.
    """

    numbers: dict[str, int]
    sizes: dict[str, list[int]]
    letters: NDArray[np.int64]
    columns: Ragged
    names: NDArray[np.object_]

    def rows(self, letters: str) -> list[int] | None:
        """Return the sentences that a line consists of, long ones preferred; None if there are none."""
        if letters in self.numbers:
            return [self.numbers[letters]]
        ends = [0]
        ways = [self._sentence_ends(letters, 0)]  # remaining candidates at each sentence
        failed: set[int] = set()  # positions without a continuation
        while ways and ends[-1] < len(letters):
            end = next(ways[-1], None) if ends[-1] not in failed else None
            if end is None:
                failed.add(ends.pop())
                ways.pop()
                continue
            ends.append(end)
            ways.append(self._sentence_ends(letters, end))
        return [self.numbers[letters[start:end]] for start, end in pairwise(ends)] if ways else None

    def furthest(self, letters: str) -> int:
        """Return how many characters of a line sentences can cover from its start."""
        reached, left = {0}, [0]
        while left:
            ends = set(self._sentence_ends(letters, left.pop())) - reached
            reached |= ends
            left.extend(ends)
        return max(reached)

    def _sentence_ends(self, letters: str, at: int) -> Iterator[int]:
        """Yield the ends of the sentences that begin here, long ones first."""
        for length in range(min(_PREFIX, len(letters) - at), 0, -1):
            for size in self.sizes.get(letters[at : at + length], ()):
                if letters[at : at + size] in self.numbers:
                    yield at + size


def parsed(text: Text, files: Sequence[Path]) -> Forest:
    """Return the trees of a text: its own, or those of `files`; a DataError quotes a line that is not in them.

    A parse may be tokenized differently. Words of the parse inside one word of the text become one, with the head of
    the uppermost of them.
    """
    if text.heads is not None or not files:
        try:
            return forest_of(text)
        except DataError as error:
            cure = "read CoNLL-U with trees, or set syntax.trees to parses of the text"
            raise DataError(f"the transformation 'syntax': {error}; {cure}") from None
    treebank = _treebank(file_states(files))
    types, numbers = distinct(text)
    plain = [_plain(word) for word in types]
    ends = np.append(0, np.cumsum(np.array([len(word) for word in plain], np.int64)[numbers]))
    letters = "".join(np.array(plain, object)[numbers])
    bounds = ends[text.words.offsets - text.words.offsets[0]].tolist()
    found = []
    for line, (start, stop) in zip(text.lines, pairwise(bounds), strict=True):
        rows = treebank.rows(letters[start:stop])
        if rows is None:
            rest = letters[start:stop][treebank.furthest(letters[start:stop]) :]
            where = listed(files)
            raise DataError(f"no tree for {line[:80]!r}: {rest[:30]!r}.. is in none of {where}")
        found.append(rows)
    return _over_words(text, ends[:-1], treebank, Ragged.of(found, np.int64))


def _over_words(text: Text, begins: NDArray[np.int64], treebank: Treebank, rows: Ragged) -> Forest:
    """Return trees over words; begins: (W,) the letters before each. rows: the sentences of each line."""
    found = treebank.columns.take(rows.flat)
    of = found.rows()
    starts, heads, depths, *labels = found.flat.T  # (P,)
    sizes = treebank.letters[rows.flat]
    owners = np.searchsorted(begins, starts + (np.cumsum(sizes) - sizes)[of], "right") - 1
    order = np.lexsort((depths, owners))
    first = order[np.append(True, np.diff(owners[order]) > 0)[: len(order)]]
    upper = np.full(len(begins), -1)
    upper[owners[first]] = first
    offsets = text.words.offsets - text.words.offsets[0]
    above = np.arange(len(begins)) - 1  # parts of a word of the parse depend on the previous part
    whole = np.flatnonzero(upper >= 0)
    head = heads[upper[whole]]
    inside = owners[np.maximum(head, 0) + found.offsets[:-1][of[upper[whole]]]]
    base = np.repeat(offsets[:-1], np.diff(offsets))
    above[whole] = np.where(head < 0, base[whole] - 1, inside)
    relations, tags = (
        treebank.names[np.where(upper >= 0, codes[upper], usual)] for codes, usual in zip(labels, (0, 1), strict=True)
    )
    return Forest.of(Ragged((above - base).astype(np.int32), offsets), relations.tolist(), tags.tolist())


def _plain(word: str) -> str:
    """Return a word without blanks, case and accents, the same before and after normalization."""
    bare = "".join(word.split()).casefold()
    return bare if bare.isascii() else "".join(one for one in normalize("NFKD", bare) if category(one) != "Mn")


@lru_cache(maxsize=4)
def _treebank(files: tuple[FileState, ...]) -> Treebank:
    """Return the sentences of these files; of those with the same letters the first."""
    numbers: dict[str, int] = {}
    names = {"goeswith": 0, "X": 1}  # for parts of a word of the parse
    columns: list[NDArray[np.int32]] = []
    for chunk in read_trees(files):
        for row, heads in enumerate(chunk.heads or ()):
            words = [_plain(word) for word in chunk.tokens(row)]
            if numbers.setdefault("".join(words), len(columns)) < len(columns):
                continue
            starts = np.cumsum([0, *map(len, words)])[:-1]
            above, depths = heads, np.zeros(len(heads), np.int64)
            while (above >= 0).any():
                depths += above >= 0
                above = np.where(above >= 0, heads[above], -1)
            labels = [
                [names.setdefault(one, len(names)) for one in chunk.tags[kind][row]] for kind in ("deprel", "pos")
            ]
            columns.append(np.stack([starts, heads, depths, *labels], axis=1).astype(np.int32))
    sizes: dict[str, set[int]] = {}
    for letters in numbers:
        sizes.setdefault(letters[:_PREFIX], set()).add(len(letters))
    return Treebank(
        numbers,
        {key: sorted(found, reverse=True) for key, found in sizes.items()},
        np.fromiter(map(len, numbers), np.int64, len(numbers)),
        Ragged.from_lengths(np.concatenate(columns or [np.empty((0, 5), np.int32)]), map(len, columns)),
        np.array(list(names), object),
    )
