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
from interlace.derived.common.arrays import Flags, Ints
from interlace.derived.common.texts import first_words
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


def forest_of(text: Text) -> Forest:
    """Return the trees of a text; raise a DataError if it has none."""
    if text.heads is None or "deprel" not in text.tags or "pos" not in text.tags:
        raise DataError(
            "the text has no trees; read CoNLL-U with trees, or set syntax.trees to parses of the text"
        )
    relations = list(chain.from_iterable(text.tags["deprel"]))
    tags = list(chain.from_iterable(text.tags["pos"]))
    return Forest.of(text.heads, relations, tags)


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


_PREFIX = 12  # characters by which sentences are looked up


@dataclass(frozen=True)
class Treebank:
    """The sentences of some files, to be found by their characters, with arrays over their words.

    numbers: normalized sentence -> its row. sizes: first characters -> the sizes of the sentences that begin with them,
    long ones first; short sentences are there under all their characters. letters: (sentences,) characters of each.
    words: a row per sentence of the numbers of its words. starts: where a word begins in its sentence's characters.
    steps: number of its head minus its own, 0 for a root. depths: number of words above it.
    """

    numbers: dict[str, int]
    sizes: dict[str, list[int]]
    letters: Ints
    words: Ragged
    starts: Ints
    steps: Ints
    depths: Ints
    relations: NDArray[np.object_]
    tags: NDArray[np.object_]

    def rows(self, letters: str) -> list[int]:
        """Return the sentences that a line consists of, long ones preferred; raise a DataError if there are none."""
        begins: dict[int, int] = {}  # position -> where the sentence that ends there begins
        waiting = [(0, 0)]
        while waiting and len(letters) not in begins:
            begin, end = waiting.pop()
            if end not in begins:
                begins[end] = begin
                ends = list(self._sentence_ends(letters, end))
                waiting += [(end, next_end) for next_end in reversed(ends)]
        if len(letters) not in begins:
            raise DataError(f"{letters[max(begins) :][:30]!r}..")
        rows: list[int] = []
        end = len(letters)
        while end:
            rows.append(self.numbers[letters[begins[end] : end]])
            end = begins[end]
        return rows[::-1]

    def _sentence_ends(self, letters: str, start: int) -> Iterator[int]:
        """Yield the ends of the sentences that begin here, long ones first."""
        for length in range(min(_PREFIX, len(letters) - start), 0, -1):
            for size in self.sizes.get(letters[start : start + length], ()):
                if letters[start : start + size] in self.numbers:
                    yield start + size


def parsed(text: Text, files: Sequence[Path]) -> Forest:
    """Return the trees of a text: its own, or those of `files`; a DataError quotes a line that is not in them.

    A parse may be tokenized differently. Words of the parse inside one word of the text become one, with the head of
    the uppermost of them.
    """
    if text.heads is not None or not files:
        return forest_of(text)
    treebank = _treebank(file_states(files))
    types, numbers = distinct(text)
    plain = [_plain(word) for word in types]
    sizes = np.array([len(word) for word in plain], np.int64)
    letters = "".join(np.array(plain, object)[numbers])
    begins = np.append(0, np.cumsum(sizes[numbers]))  # (W + 1,) the letters before each word
    offsets = text.words.offsets - text.words.offsets[0]
    line_bounds = begins[offsets].tolist()
    sentences: list[list[int]] = []
    for line, (start, stop) in zip(text.lines, pairwise(line_bounds), strict=True):
        try:
            sentences.append(treebank.rows(letters[start:stop]))
        except DataError as error:
            raise DataError(
                f"no tree for {line[:80]!r}: {error} is in none of {listed(files)}"
            ) from None
    return _over_words(text, begins[:-1], treebank, Ragged.of(sentences, np.int64))


_PART_RELATION = "goeswith"  # of parts of a word of the parse
_PART_TAG = "X"


def _over_words(
    text: Text,
    begins: Ints,
    treebank: Treebank,
    sentences: Ragged,
) -> Forest:
    """Return trees over the words of a text.

    Legend: S sentences in the text's lines, P words of these parses.

    begins: (W,) the letters before each word. sentences: those of each line.
    """
    parses = treebank.words.take(sentences.flat)
    words = parses.flat  # (P,)
    letters = treebank.letters[sentences.flat]  # (S,)
    sentence_begins = np.cumsum(letters) - letters  # (S,) the letters before each
    positions = treebank.starts[words] + sentence_begins[parses.rows()]
    owners = np.searchsorted(begins, positions, "right") - 1  # (P,) the text's word that holds each
    upper = np.full(len(begins), -1)  # (W,) the first of the uppermost words in it
    downward = np.argsort(treebank.depths[words], kind="stable")
    upper[owners[downward[::-1]]] = downward[::-1]
    starts = first_words(text.words)
    heads = np.arange(len(begins)) - 1  # parts of a word of the parse depend on the previous part
    relations = np.full(len(begins), _PART_RELATION, object)
    tags = np.full(len(begins), _PART_TAG, object)
    has_parse = upper >= 0
    upper = upper[has_parse]
    steps = treebank.steps[words[upper]]
    is_root = steps == 0
    roots = starts[has_parse] - 1
    heads[has_parse] = np.where(is_root, roots, owners[upper + steps])
    relations[has_parse] = treebank.relations[words[upper]]
    tags[has_parse] = treebank.tags[words[upper]]
    rows = Ragged.from_lengths(heads - starts, text.words.lengths)
    return Forest.of(rows, relations.tolist(), tags.tolist())


def _plain(word: str) -> str:
    """Return a word without blanks, case and accents, the same before and after normalization."""
    bare = "".join(word.split()).casefold()
    if bare.isascii():
        return bare
    return "".join(
        character for character in normalize("NFKD", bare) if category(character) != "Mn"
    )


@lru_cache(maxsize=4)
def _treebank(files: tuple[FileState, ...]) -> Treebank:
    """Return the sentences of these files; of those with the same letters the first."""
    numbers: dict[str, int] = {}
    sizes: dict[str, set[int]] = {}
    lengths: list[int] = []
    starts: list[int] = []
    steps: list[int] = []
    depths: list[int] = []
    relations: list[str] = []
    tags: list[str] = []
    for chunk in read_trees(files):
        for row in range(len(chunk)):
            words = [_plain(word) for word in chunk.tokens(row)]
            letters = "".join(words)
            if letters in numbers:
                continue
            numbers[letters] = len(numbers)
            sizes.setdefault(letters[:_PREFIX], set()).add(len(letters))
            lengths.append(len(words))
            heads = [] if chunk.heads is None else chunk.heads[row].tolist()
            start = 0
            for number, word in enumerate(words):
                starts.append(start)
                start += len(word)
                steps.append(0 if heads[number] < 0 else heads[number] - number)
                depths.append(_depth(heads, number))
            relations += chunk.tags["deprel"][row]
            tags += chunk.tags["pos"][row]
    return Treebank(
        numbers=numbers,
        sizes={prefix: sorted(counts, reverse=True) for prefix, counts in sizes.items()},
        letters=np.fromiter(map(len, numbers), np.int64, len(numbers)),
        words=Ragged.from_lengths(np.arange(len(starts)), lengths),
        starts=np.array(starts, np.int64),
        steps=np.array(steps, np.int64),
        depths=np.array(depths, np.int64),
        relations=np.array(relations, object),
        tags=np.array(tags, object),
    )


def _depth(heads: Sequence[int], word: int) -> int:
    """Return how many words are above a word."""
    depth = 0
    while heads[word] >= 0:
        word = heads[word]
        depth += 1
    return depth
