"""Dependency trees: of texts, of treebank files, and of plain text whose parses are in other files.

Legend: L lines, W words of all lines.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain
from pathlib import Path
from typing import NamedTuple
from unicodedata import category, normalize

import numpy as np

from interlace.core.display import listed
from interlace.core.errors import DataError
from interlace.core.files import must_exist
from interlace.core.ragged import Ragged
from interlace.derived.common.arrays import Flags, Ints
from interlace.readers.conllu import Conllu
from interlace.text import Text

FileState = tuple[str, int, int]  # path, size, time of modification


@dataclass(frozen=True)
class Forest:
    """Projective dependency trees as flat arrays.

    offsets: (L + 1,) the words of each line. heads: (W,) places in the line, -1 for a root.
    relations: (W,) universal relations without subtypes. tags: (W,) universal parts of speech.
    final: (W,) which words are marks that end a tree, and keep their place.
    """

    offsets: Ints
    heads: Ints
    relations: list[str]
    tags: list[str]
    final: Flags

    @classmethod
    def of(cls, heads: Ragged, relations: Sequence[str], tags: Sequence[str]) -> Forest:
        """Build projective trees from a row of heads per line, and the relation and tag of each word.

        Crossing arcs are lifted (Nivre and Nilsson 2005), so that each word with its descendants is contiguous. A
        DataError names the line, from 1, whose heads are no tree.
        """
        from interlace.derived.common.kernels import invalid_line, projectivize

        offsets = heads.offsets - heads.offsets[0]
        lifted = heads.flat.astype(np.int64)  # (W,) places in the line
        line = invalid_line(lifted, offsets)
        if line:
            raise DataError(
                f"line {line}: its heads are no tree: one is outside of the line, or they have a cycle"
            )
        universal = [relation.partition(":")[0] for relation in relations]
        is_punctuation = np.array([relation == "punct" for relation in universal], np.bool_)
        final = np.zeros(len(lifted), np.bool_)
        projectivize(lifted, offsets, is_punctuation, final)
        return cls(offsets, lifted, universal, list(tags), final)

    def kinds(self) -> Iterator[tuple[str, str]]:
        """Yield the relation and the tag of each word."""
        return zip(self.relations, self.tags, strict=True)


def forest_of(text: Text) -> Forest:
    """Return the trees of a text; raise a DataError if it has none."""
    if text.heads is None or "deprel" not in text.tags or "pos" not in text.tags:
        raise DataError(
            "the text has no trees; read CoNLL-U with trees, or set syntax.trees to parses of the text"
        )
    relations = list(chain.from_iterable(text.tags["deprel"]))
    tags = list(chain.from_iterable(text.tags["pos"]))
    return Forest.of(text.heads, relations, tags)


def heads_of(text: Text, row: int) -> list[int]:
    """Return the places of the heads of a line of a text with trees; -1 for a root."""
    return [] if text.heads is None else text.heads[row].tolist()


def file_states(paths: Sequence[Path]) -> tuple[FileState, ...]:
    """Return names, sizes and modification times of files as cache keys; raise a DataError if one is missing."""
    states: list[FileState] = []
    for path in paths:
        state = must_exist(path, "treebank").stat()
        states.append((str(path), state.st_size, state.st_mtime_ns))
    return tuple(states)


def read_trees(files: Sequence[FileState]) -> Iterator[Text]:
    """Yield the sentences of CoNLL-U files with their trees, in chunks."""
    for path, _, _ in files:
        yield from Conllu(trees=True).read_chunks([Path(path)], [""])


Sentence = tuple[Text, int]  # a text with trees, and the number of one of its lines


@dataclass(frozen=True)
class Treebank:
    """The sentences of some files by their letters (`_plain`), and the distinct numbers of these, sorted."""

    sentences: dict[str, Sentence]
    sizes: list[int]

    def split(self, letters: str) -> list[Sentence]:
        """Return the sentences that a line consists of, long ones preferred; raise a DataError if there are none."""
        begins: dict[int, int] = {}  # position -> where the sentence that ends there begins
        waiting = [(0, 0)]
        while waiting and len(letters) not in begins:
            begin, end = waiting.pop()
            if end in begins:
                continue
            begins[end] = begin
            for size in self.sizes:
                if end + size > len(letters):
                    break
                if letters[end : end + size] in self.sentences:
                    waiting.append((end, end + size))
        if len(letters) not in begins:
            raise DataError(f"{letters[max(begins) :][:30]!r}..")
        sentences: list[Sentence] = []
        end = len(letters)
        while end:
            begin = begins[end]
            sentences.append(self.sentences[letters[begin:end]])
            end = begin
        return sentences[::-1]


@lru_cache(maxsize=4)
def _treebank(files: tuple[FileState, ...]) -> Treebank:
    """Return the sentences of these files; of those with the same letters the first."""
    sentences: dict[str, Sentence] = {}
    for text in read_trees(files):
        for row in range(len(text)):
            letters = "".join(map(_plain, text.tokens(row)))
            sentences.setdefault(letters, (text, row))
    return Treebank(sentences, sorted(set(map(len, sentences))))


def parsed(text: Text, files: Sequence[Path]) -> Forest:
    """Return the trees of a text: its own, or those of `files`; a DataError quotes a line that is not in them.

    A parse may be tokenized differently. Words of the parse inside one word of the text become one, with the head of
    the uppermost of them.
    """
    if text.heads is not None or not files:
        return forest_of(text)
    treebank = _treebank(file_states(files))
    heads: list[list[int]] = []
    relations: list[str] = []
    tags: list[str] = []
    for row, line in enumerate(text.lines):
        words = [_plain(word) for word in text.tokens(row)]
        try:
            sentences = treebank.split("".join(words))
        except DataError as error:
            raise DataError(
                f"no tree for {line[:80]!r}: {error} is in none of {listed(files)}"
            ) from None
        tree = _over_words(words, _parse_of(sentences))
        heads.append([word.head for word in tree])
        relations += [word.relation for word in tree]
        tags += [word.tag for word in tree]
    return Forest.of(Ragged.of(heads), relations, tags)


class _ParsedWord(NamedTuple):
    """A word of a tree or of several; depth: the number of words above it."""

    size: int  # letters
    head: int  # -1 for a root
    depth: int
    relation: str
    tag: str


def _parse_of(sentences: Iterable[Sentence]) -> list[_ParsedWord]:
    """Return the words of sentences in a row."""
    words: list[_ParsedWord] = []
    for text, row in sentences:
        start = len(words)
        heads = heads_of(text, row)
        relations = text.tags["deprel"][row]
        tags = text.tags["pos"][row]
        for number, form in enumerate(text.tokens(row)):
            head = heads[number]
            if head >= 0:
                head += start
            depth = _depth(heads, number)
            size = len(_plain(form))
            words.append(_ParsedWord(size, head, depth, relations[number], tags[number]))
    return words


def _over_words(words: Sequence[str], parse: Sequence[_ParsedWord]) -> list[_ParsedWord]:
    """Return the tree over the words of a line, from its parse."""
    begins = list(accumulate(map(len, words), initial=0))
    owners: list[int] = []  # of each word of the parse, the word of the line in which it begins
    # the first of the uppermost words in each word of the line
    upper: dict[int, _ParsedWord] = {}
    position = 0
    for parsed_word in parse:
        owner = bisect_right(begins, position, hi=len(words)) - 1
        owners.append(owner)
        if owner not in upper or parsed_word.depth < upper[owner].depth:
            upper[owner] = parsed_word
        position += parsed_word.size
    tree: list[_ParsedWord] = []
    for number, word in enumerate(words):
        # parts of a word of the parse depend on the previous part
        part = _ParsedWord(len(word), number - 1, 0, "goeswith", "X")
        parsed_word = upper.get(number, part)
        if number in upper and parsed_word.head >= 0:
            parsed_word = parsed_word._replace(head=owners[parsed_word.head])
        tree.append(parsed_word)
    return tree


@lru_cache(maxsize=100_000)
def _plain(word: str) -> str:
    """Return a word without blanks, case and accents, the same before and after normalization."""
    bare = "".join(word.split()).casefold()
    if bare.isascii():
        return bare
    return "".join(
        character for character in normalize("NFKD", bare) if category(character) != "Mn"
    )


def _depth(heads: Sequence[int], word: int) -> int:
    """Return how many words are above a word."""
    depth = 0
    while heads[word] >= 0:
        word = heads[word]
        depth += 1
    return depth
