"""Dependency trees: of texts, of treebank files, and of plain text whose parses are in other files.

Legend: L lines, W words of all lines, P words of all parses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import category, normalize

import numpy as np

from interlace.core.errors import DataError
from interlace.core.files import must_exist
from interlace.core.ragged import Ragged
from interlace.derived.common.labels import numbered
from interlace.readers.conllu import Conllu

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from interlace.text import Text

FileState = tuple[str, int, int]  # path, size, time of modification
_SHORT = 12  # characters by which sentences are looked up


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

        Crossing arcs are lifted (Nivre and Nilsson 2005), so that each word with its descendants is contiguous.

        Raises:
            DataError: heads are no trees; names the line, from 1.
        """
        from interlace.derived.common.tree_kernels import projectivize

        own = heads.flat.astype(np.int64)
        offsets = heads.offsets - heads.offsets[0]
        _must_be_trees(own, offsets)
        codes, names = numbered(relations, len(own))
        names = [name.partition(":")[0] for name in names]
        final = np.zeros(len(own), np.bool_)
        projectivize(own, offsets, np.array([name == "punct" for name in names], np.bool_)[codes], final)
        return cls(offsets, own, np.array(names, object)[codes].tolist(), list(tags), final)


def _must_be_trees(heads: NDArray[np.int64], offsets: NDArray[np.int64]) -> None:
    """Reject cycles and heads outside the line: following heads in doubled steps must leave the line."""
    lengths = np.diff(offsets)
    base = np.repeat(offsets[:-1], lengths)
    wrong = (heads < -1) | (heads >= np.repeat(lengths, lengths))
    nowhere = len(heads)
    up = np.append(np.where((heads < 0) | wrong, nowhere, heads + base), nowhere)
    for _ in range(int(lengths.max(initial=1)).bit_length()):
        up = up[up]
    wrong |= up[:-1] != nowhere
    if wrong.any():
        line = int(np.searchsorted(offsets, np.flatnonzero(wrong)[0], "right"))
        raise DataError(f"line {line}: its heads are no tree: one is outside of the line, or they have a cycle")


def forest_of(text: Text) -> Forest:
    """Return the trees of a text that has them.

    Raises:
        DataError: it has none.
    """
    if text.heads is None or "deprel" not in text.tags or "pos" not in text.tags:
        raise DataError("the text has no trees: heads, relations and parts of speech are needed")
    return Forest.of(text.heads, *(list(chain.from_iterable(text.tags[kind])) for kind in ("deprel", "pos")))


# ---- treebank files ----


def file_states(paths: Sequence[Path]) -> tuple[FileState, ...]:
    """Return names, sizes and modification times of files, as cache keys.

    Raises:
        DataError: a file is missing.
    """
    found = [(path, must_exist(path, "treebank").stat()) for path in paths]
    return tuple((str(path), stat.st_size, stat.st_mtime_ns) for path, stat in found)


def read_trees(path: str) -> Iterator[Text]:
    """Yield the sentences of a CoNLL-U file with their trees, in chunks."""
    yield from Conllu(trees=True).read_chunks([Path(path)], [""])


# ---- parses of plain text ----


@dataclass(frozen=True)
class Treebank:
    """The sentences of some files, to be found by their characters.

    numbers: normalized sentence -> its row. short: first characters -> the lengths of the sentences that begin with
    them, long ones first. sizes: (sentences,) characters.
    columns: per sentence a row per word: its start in the sentence, its head (-1: none), its depth, and the numbers of
    its relation and part of speech.
    names: relations and parts of speech by number.
    """

    numbers: dict[str, int]
    short: dict[str, list[int]]
    sizes: NDArray[np.int64]
    columns: Ragged
    names: NDArray[np.object_]

    def rows(self, letters: str) -> list[int] | None:
        """Return the sentences that a line consists of, long ones preferred; None if there are none."""
        whole = self.numbers.get(letters)
        if whole is not None:
            return [whole]
        rows: list[int] = []
        ways = [self._beginnings(letters, 0)]  # remaining candidates at each sentence
        failed: set[int] = set()  # positions without a continuation
        ends = [0]
        while ways and ends[-1] < len(letters):
            row = next(ways[-1], None) if ends[-1] not in failed else None
            if row is None:
                failed.add(ends.pop())
                ways.pop()
                if rows:
                    rows.pop()
                continue
            rows.append(row)
            ends.append(ends[-1] + int(self.sizes[row]))
            ways.append(self._beginnings(letters, ends[-1]))
        return rows if ways else None

    def furthest(self, letters: str) -> int:
        """Return how many characters of a line sentences can cover from its start."""
        reached, left = 0, [0]
        seen = {0}
        while left:
            at = left.pop()
            reached = max(reached, at)
            ends = {at + int(self.sizes[row]) for row in self._beginnings(letters, at)} - seen
            seen |= ends
            left.extend(ends)
        return reached

    def _beginnings(self, letters: str, at: int) -> Iterator[int]:
        """Yield the sentences that begin here, long ones first; short ones are stored under all their characters."""
        for length in range(min(_SHORT, len(letters) - at), 0, -1):
            for size in self.short.get(letters[at : at + length], ()):
                row = self.numbers.get(letters[at : at + size])
                if row is not None:
                    yield row


def parsed(text: Text, files: Sequence[Path]) -> Forest:
    """Return the trees of a text: its own, or those of `files`.

    A parse may be tokenized differently. Words of the parse inside one word of the text become one, with the head of
    the uppermost of them.

    Raises:
        DataError: it has none and no files are given, or a line is not in them; quotes the line.
    """
    if text.heads is not None or not files:
        return _own(text)
    treebank = _treebank(file_states(files))
    all_letters = _letters(text)
    found = []
    for line, letters in zip(text.lines, all_letters, strict=True):
        rows = treebank.rows(letters)
        if rows is None:
            at = treebank.furthest(letters)
            where = ", ".join(map(str, files))
            raise DataError(f"no tree for {line[:80]!r}: {letters[at : at + 30]!r}.. is in none of {where}")
        found.append(rows)
    return _over_words(text, all_letters, treebank, Ragged.of(found, np.int64))


def _own(text: Text) -> Forest:
    try:
        return forest_of(text)
    except DataError as error:
        raise DataError(
            f"the transformation 'syntax': {error}; read CoNLL-U with trees, or set syntax.trees to parses of the text"
        ) from None


def _letters(text: Text) -> list[str]:
    """Return the normalized characters of each line's words, by which sentences are found."""
    lines = ["".join(line.split()) for line in text.lines]
    if _hold_all(text, lines):
        return [_plain(line) for line in lines]
    return ["".join(map(_plain, text.tokens(number))) for number in range(len(text))]


def _plain(word: str) -> str:
    """Return a word without blanks, case and accents, the same before and after normalization."""
    bare = "".join(word.split()).casefold()
    return bare if bare.isascii() else "".join(one for one in normalize("NFKD", bare) if category(one) != "Mn")


def _hold_all(text: Text, letters: Sequence[str]) -> bool:
    """Whether the words of each line contain all its letters and no blanks."""
    sizes = np.bincount(text.words.rows(), np.diff(text.words.flat)[:, 0], len(text))
    return bool((sizes == np.fromiter(map(len, letters), np.int64, len(text))).all())


def _begins(text: Text, letters: Sequence[str]) -> NDArray[np.int64]:
    """(W,) the number of letters before each word, over all lines; `letters`: of each line."""
    if _hold_all(text, letters):
        sizes: NDArray[np.int64] = np.diff(text.words.flat)[:, 0].astype(np.int64)
    else:
        words = chain.from_iterable(map(text.tokens, range(len(text))))
        sizes = np.fromiter((len(_plain(word)) for word in words), np.int64, len(text.words.flat))
    begins: NDArray[np.int64] = np.cumsum(sizes) - sizes
    return begins


def _over_words(text: Text, letters: Sequence[str], treebank: Treebank, rows: Ragged) -> Forest:
    """Return the trees over the words of the text.

    letters: of each line. rows: the sentences of each line.
    """
    begins = _begins(text, letters)
    found = treebank.columns.take(rows.flat)
    sizes = treebank.sizes[rows.flat]
    of = found.rows()
    starts, heads, depths, *labels = found.flat.T  # (P,)
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


@lru_cache(maxsize=4)
def _treebank(files: tuple[FileState, ...]) -> Treebank:
    """Return the sentences of these files; of those with the same letters the first."""
    numbers: dict[str, int] = {}
    names = {"goeswith": 0, "X": 1}  # for parts of a word of the parse
    columns: list[NDArray[np.int32]] = []
    for path, _, _ in files:
        for chunk in read_trees(path):
            if chunk.heads is None:
                continue
            for row, heads in enumerate(chunk.heads):
                words = [_plain(word) for word in chunk.tokens(row)]
                if numbers.setdefault("".join(words), len(columns)) < len(columns):
                    continue
                starts = np.cumsum([0, *map(len, words)])[:-1]
                labels = [
                    [names.setdefault(one, len(names)) for one in chunk.tags[kind][row]] for kind in ("deprel", "pos")
                ]
                columns.append(np.stack([starts, heads, _depths(heads), *labels], axis=1).astype(np.int32))
    short: dict[str, set[int]] = {}
    for letters in numbers:
        short.setdefault(letters[:_SHORT], set()).add(len(letters))
    return Treebank(
        numbers,
        {key: sorted(sizes, reverse=True) for key, sizes in short.items()},
        np.fromiter(map(len, numbers), np.int64, len(numbers)),
        Ragged.from_lengths(np.concatenate(columns or [np.empty((0, 5), np.int32)]), map(len, columns)),
        np.array(list(names), object),
    )


def _depths(heads: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the depth of each word."""
    above = heads.copy()
    depths = np.zeros(len(heads), np.int64)
    while (above >= 0).any():
        depths += above >= 0
        above = np.where(above >= 0, heads[above], -1)
    return depths
