"""Trees for lines of plain text: found by their characters in parses that stand in other files.

A parse may have cut other words than the text has. Words of the parse that lie in one word of the text become one,
with the head of the uppermost of them.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category, normalize

import numpy as np

from interlace.errors import DataError
from interlace.ragged import Ragged
from interlace.synthetic._forest import Forest
from interlace.synthetic._treebanks import Stamp, forest_of, read_trees, stamps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.text import Text

_SHORT = 12  # characters by which sentences are looked up


class Parse(NamedTuple):
    """A sentence without its blanks; for each word where it begins in that, its head (-1: none), relation and tag."""

    letters: str
    starts: list[int]
    heads: list[int]
    relations: list[str]
    tags: list[str]


def parsed(text: Text, files: Sequence[Path]) -> Forest:
    """The trees of a text: its own, or those of `files`.

    Raises:
        DataError: it has none and no files are named, or a line is not in them; quotes the line.
    """
    if text.heads is not None or not files:
        return _own(text)
    book = _book(stamps(files))
    trees = [_tree(line, text.words[number], book, files) for number, line in enumerate(text.lines)]
    heads = Ragged.of([tree.heads for tree in trees])
    relations = list(chain.from_iterable(tree.relations for tree in trees))
    tags = list(chain.from_iterable(tree.tags for tree in trees))
    return Forest.of(heads, relations, tags)


def _own(text: Text) -> Forest:
    try:
        return forest_of(text)
    except DataError as error:
        raise DataError(
            f"the change 'syntax': {error}; read CoNLL-U files with trees, or name parses of the text by syntax.trees"
        ) from None


@lru_cache(maxsize=4)
def _book(files: tuple[Stamp, ...]) -> dict[str, list[Parse]]:
    """Parses by the first characters of their sentences, long sentences first."""
    book: dict[str, dict[str, Parse]] = {}
    for path, _, _ in files:
        for parse in _parses(path):
            book.setdefault(parse.letters[:_SHORT], {}).setdefault(parse.letters, parse)
    return {short: sorted(found.values(), key=lambda parse: -len(parse.letters)) for short, found in book.items()}


def _parses(path: str) -> Iterator[Parse]:
    for chunk in read_trees(path):
        if chunk.heads is None:
            continue
        for number, heads in enumerate(chunk.heads):
            words = [_letters(word) for word in chunk.tokens(number)]
            starts = np.cumsum([0, *map(len, words)])[:-1].tolist()
            tags = [chunk.tags[kind][number] for kind in ("deprel", "pos")]
            yield Parse("".join(words), starts, heads.tolist(), *tags)


def _tree(line: str, words: NDArray[np.int32], book: dict[str, list[Parse]], files: Sequence[Path]) -> Parse:
    """The trees of all sentences of a line, over the line's own words."""
    spelt = [_letters(line[start:end]) for start, end in words.tolist()]
    letters = "".join(spelt)
    whole = Parse(letters, [], [], [], [])
    at = 0
    while at < len(letters):
        found = next((one for one in _candidates(book, letters, at) if letters.startswith(one.letters, at)), None)
        if found is None:
            where = ", ".join(map(str, files))
            raise DataError(f"no tree for {line[:80]!r}: {letters[at : at + 30]!r}.. is in none of {where}")
        base = len(whole.starts)
        whole.starts.extend(at + start for start in found.starts)
        whole.heads.extend(head + base if head >= 0 else -1 for head in found.heads)
        whole.relations.extend(found.relations)
        whole.tags.extend(found.tags)
        at += len(found.letters)
    bounds = np.cumsum([0, *map(len, spelt)])
    return _over_words(whole, bounds)


def _candidates(book: dict[str, list[Parse]], letters: str, at: int) -> Iterator[Parse]:
    """Sentences that may begin here, long ones first; one shorter than the key stands under all of itself."""
    for length in range(min(_SHORT, len(letters) - at), 0, -1):
        yield from (one for one in book.get(letters[at : at + length], ()))


def _over_words(parse: Parse, bounds: NDArray[np.int64]) -> Parse:
    """The tree over the line's words; `bounds` (words + 1,) is where they begin among its letters."""
    owners = (np.searchsorted(bounds, parse.starts, "right") - 1).tolist()
    depths = [_depth(parse.heads, word) for word in range(len(owners))]
    upper: dict[int, int] = {}
    for word, owner in enumerate(owners):
        if owner not in upper or depths[word] < depths[upper[owner]]:
            upper[owner] = word
    heads, relations, tags = [], [], []
    for own in range(len(bounds) - 1):
        word = upper.get(own, -1)
        if word < 0:  # a part of a word of the parse: it depends on the part before
            heads.append(own - 1)
            relations.append("goeswith")
            tags.append("X")
            continue
        heads.append(owners[parse.heads[word]] if parse.heads[word] >= 0 else -1)
        relations.append(parse.relations[word])
        tags.append(parse.tags[word])
    return Parse(parse.letters, bounds[:-1].tolist(), heads, relations, tags)


def _depth(heads: Sequence[int], word: int) -> int:
    depth = 0
    while heads[word] >= 0:
        word, depth = heads[word], depth + 1
    return depth


def _letters(word: str) -> str:
    """What is the same in text as it was parsed and as a recipe normalises it: no blanks, one case, no accents."""
    letters = "".join(word.split()).casefold()
    if letters.isascii():
        return letters
    return "".join(one for one in normalize("NFKD", letters) if category(one) != "Mn")
