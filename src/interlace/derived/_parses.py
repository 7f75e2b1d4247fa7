"""Trees for lines of plain text: found by their characters in parses that stand in other files.

A parse may have cut other words than the text has. Words of the parse that lie in one word of the text become one,
with the head of the uppermost of them.

Legend: L lines, W words of all lines, P words of all parses that were found.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING
from unicodedata import category, normalize

import numpy as np

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.derived._forest import Forest
from interlace.derived._treebanks import Stamp, forest_of, read_trees, stamps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.text import Text

_SHORT = 12  # characters by which sentences are looked up


@dataclass(frozen=True)
class Book:
    """All sentences of some files.

    numbers: a sentence as `_plain` leaves it -> its row. short: the lengths of the sentences that begin with the first
    characters of one, long ones first. sizes: (sentences,) characters.
    columns: a row a sentence of a row a word: where the word begins in the sentence, its head (-1: none), how many
    heads are above it, the numbers of its relation and part of speech.
    names: relations and parts of speech by number.
    """

    numbers: dict[str, int]
    short: dict[str, list[int]]
    sizes: NDArray[np.int64]
    columns: Ragged
    names: NDArray[np.object_]

    def rows(self, letters: str) -> list[int] | None:
        """The sentences that a line is made of, as long as they can be; None if it is of none."""
        whole = self.numbers.get(letters)
        if whole is not None:
            return [whole]
        rows: list[int] = []
        ways = [self._beginnings(letters, 0)]  # at each sentence, what else it could be
        dead: set[int] = set()  # where no way goes on from
        ends = [0]
        while ways and ends[-1] < len(letters):
            row = next(ways[-1], None) if ends[-1] not in dead else None
            if row is None:
                dead.add(ends.pop())
                ways.pop()
                if rows:
                    rows.pop()
                continue
            rows.append(row)
            ends.append(ends[-1] + int(self.sizes[row]))
            ways.append(self._beginnings(letters, ends[-1]))
        return rows if ways else None

    def furthest(self, letters: str) -> int:
        """How far sentences reach from the beginning of a line."""
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
        """Sentences that may begin here, long ones first; one shorter than the key stands under all of itself."""
        for length in range(min(_SHORT, len(letters) - at), 0, -1):
            for size in self.short.get(letters[at : at + length], ()):
                row = self.numbers.get(letters[at : at + size])
                if row is not None:
                    yield row


def parsed(text: Text, files: Sequence[Path]) -> Forest:
    """The trees of a text: its own, or those of `files`.

    Raises:
        DataError: it has none and no files are named, or a line is not in them; quotes the line.
    """
    if text.heads is not None or not files:
        return _own(text)
    book = _book(stamps(files))
    all_letters = _letters(text)
    found = []
    for line, letters in zip(text.lines, all_letters, strict=True):
        rows = book.rows(letters)
        if rows is None:
            at = book.furthest(letters)
            where = ", ".join(map(str, files))
            raise DataError(f"no tree for {line[:80]!r}: {letters[at : at + 30]!r}.. is in none of {where}")
        found.append(rows)
    return _over_words(text, all_letters, book, Ragged.of(found, np.int64))


def _own(text: Text) -> Forest:
    try:
        return forest_of(text)
    except DataError as error:
        raise DataError(
            f"the change 'syntax': {error}; read CoNLL-U files with trees, or name parses of the text by syntax.trees"
        ) from None


def _letters(text: Text) -> list[str]:
    """What is looked up of each line: what its words leave of `_plain`."""
    lines = ["".join(line.split()) for line in text.lines]
    if _hold_all(text, lines):
        return [_plain(line) for line in lines]
    return ["".join(map(_plain, text.tokens(number))) for number in range(len(text))]


def _plain(word: str) -> str:
    """A word without blanks, case and accents: the same as it was parsed and as a recipe normalises it."""
    bare = "".join(word.split()).casefold()
    return bare if bare.isascii() else "".join(one for one in normalize("NFKD", bare) if category(one) != "Mn")


def _hold_all(text: Text, letters: Sequence[str]) -> bool:
    """Whether the words of each line are as long as its letters: they hold all but the blanks, and no blank."""
    sizes = np.bincount(text.words.rows(), np.diff(text.words.flat)[:, 0], len(text))
    return bool((sizes == np.fromiter(map(len, letters), np.int64, len(text))).all())


def _begins(text: Text, letters: Sequence[str]) -> NDArray[np.int64]:
    """(W,) how many letters stand before each word, over all lines; `letters` are those of each line."""
    if _hold_all(text, letters):
        sizes: NDArray[np.int64] = np.diff(text.words.flat)[:, 0].astype(np.int64)
    else:
        words = chain.from_iterable(map(text.tokens, range(len(text))))
        sizes = np.fromiter((len(_plain(word)) for word in words), np.int64, len(text.words.flat))
    begins: NDArray[np.int64] = np.cumsum(sizes) - sizes
    return begins


def _over_words(text: Text, letters: Sequence[str], book: Book, rows: Ragged) -> Forest:
    """The trees over the words of the text.

    letters: of each line. rows: a row a line, of sentences.
    """
    begins = _begins(text, letters)
    found = book.columns.take(rows.flat)
    sizes = book.sizes[rows.flat]
    of = found.rows()
    starts, heads, depths, *labels = found.flat.T  # (P,)
    owners = np.searchsorted(begins, starts + (np.cumsum(sizes) - sizes)[of], "right") - 1
    order = np.lexsort((depths, owners))
    first = order[np.append(True, np.diff(owners[order]) > 0)[: len(order)]]
    upper = np.full(len(begins), -1)
    upper[owners[first]] = first
    offsets = text.words.offsets - text.words.offsets[0]
    above = np.arange(len(begins)) - 1  # a part of a word of the parse depends on the part before
    whole = np.flatnonzero(upper >= 0)
    head = heads[upper[whole]]
    inside = owners[np.maximum(head, 0) + found.offsets[:-1][of[upper[whole]]]]
    base = np.repeat(offsets[:-1], np.diff(offsets))
    above[whole] = np.where(head < 0, base[whole] - 1, inside)
    relations, tags = (
        book.names[np.where(upper >= 0, codes[upper], usual)] for codes, usual in zip(labels, (0, 1), strict=True)
    )
    return Forest.of(Ragged((above - base).astype(np.int32), offsets), relations.tolist(), tags.tolist())


@lru_cache(maxsize=4)
def _book(files: tuple[Stamp, ...]) -> Book:
    """The sentences of these files; of those with the same letters the first."""
    numbers: dict[str, int] = {}
    names = {"goeswith": 0, "X": 1}  # of a part of a word of the parse
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
    return Book(
        numbers,
        {key: sorted(sizes, reverse=True) for key, sizes in short.items()},
        np.fromiter(map(len, numbers), np.int64, len(numbers)),
        Ragged.from_lengths(np.concatenate(columns or [np.empty((0, 5), np.int32)]), map(len, columns)),
        np.array(list(names), object),
    )


def _depths(heads: NDArray[np.int32]) -> NDArray[np.int64]:
    """How many words are above each."""
    above = heads.copy()
    depths = np.zeros(len(heads), np.int64)
    while (above >= 0).any():
        depths += above >= 0
        above = np.where(above >= 0, heads[above], -1)
    return depths
