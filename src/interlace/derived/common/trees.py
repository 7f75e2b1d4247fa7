"""Dependency trees: of texts, of treebank files, and of plain text whose parses are in other files.

Legend: L lines, W words of all lines, P words of all parses.
"""

from __future__ import annotations

from array import array
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

        lengths = heads.lengths
        offsets = heads.offsets - heads.offsets[0]
        flat = heads.flat.astype(np.int64)  # (W,) places in the line
        _check_trees(flat, offsets, lengths)
        codes, names = numbered(relations, len(flat))
        universal = [name.partition(":")[0] for name in names]
        is_punctuation = np.array([name == "punct" for name in universal], np.bool_)[codes]
        final = np.zeros(len(flat), np.bool_)
        projectivize(flat, offsets, is_punctuation, final)
        return cls(offsets, flat, np.array(universal, object)[codes].tolist(), list(tags), final)


def _check_trees(
    heads: NDArray[np.int64], offsets: NDArray[np.int64], lengths: NDArray[np.int64]
) -> None:
    """Raise a DataError for a line in which some word does not lead to a root."""
    count = len(heads)
    is_outside = (heads < -1) | (heads >= np.repeat(lengths, lengths))
    has_head = (heads >= 0) & ~is_outside
    ancestors = np.full(count + 1, count)  # of each word over all lines, `count` above a root
    ancestors[:-1][has_head] = (heads + np.repeat(offsets[:-1], lengths))[has_head]
    for _ in range(int(lengths.max(initial=1)).bit_length()):
        ancestors = ancestors[ancestors]  # in doubled steps every word must leave the line
    is_wrong = is_outside | (ancestors[:-1] != count)
    if is_wrong.any():
        line = int(np.searchsorted(offsets, np.flatnonzero(is_wrong)[0], "right"))
        raise DataError(
            f"line {line}: its heads are no tree: one is outside of the line, or they have a cycle"
        )


def forest_of(text: Text) -> Forest:
    """Return the trees of a text; raise a DataError if it has none."""
    if text.heads is None or "deprel" not in text.tags or "pos" not in text.tags:
        raise DataError("the text has no trees: heads, relations and parts of speech are needed")
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
_WORD = np.dtype(
    [("start", "i4"), ("head", "i4"), ("depth", "i4"), ("relation", "i4"), ("tag", "i4")]
)


@dataclass(frozen=True)
class Treebank:
    """The sentences of some files, to be found by their characters.

    numbers: normalized sentence -> its row. sizes: first characters -> the sizes of the sentences that begin with them,
    long ones first; short sentences are there under all their characters. letters: (sentences,) characters of each.
    words: a row per sentence of records of each word: its start in the characters of the sentence, its head in the
    sentence (-1 for a root), the number of heads above it, and the numbers of relation and part of speech in `names`.
    """

    numbers: dict[str, int]
    sizes: dict[str, list[int]]
    letters: NDArray[np.int64]
    words: Ragged
    names: NDArray[np.object_]

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
        try:
            return forest_of(text)
        except DataError as error:
            cure = "read CoNLL-U with trees, or set syntax.trees to parses of the text"
            raise DataError(f"the transformation 'syntax': {error}; {cure}") from None
    treebank = _treebank(file_states(files))
    types, numbers = distinct(text)
    plain = [_plain(word) for word in types]
    lengths = np.array([len(word) for word in plain], np.int64)[numbers]  # (W,)
    letters = "".join(np.array(plain, object)[numbers])
    begins = np.append(0, np.cumsum(lengths))  # (W + 1,) the letters before each word
    line_bounds = begins[text.words.offsets - text.words.offsets[0]].tolist()
    sentences: list[list[int]] = []
    for line, (start, stop) in zip(text.lines, pairwise(line_bounds), strict=True):
        try:
            sentences.append(treebank.rows(letters[start:stop]))
        except DataError as error:
            raise DataError(
                f"no tree for {line[:80]!r}: {error} is in none of {listed(files)}"
            ) from None
    return _over_words(text, begins[:-1], treebank, Ragged.of(sentences, np.int64))


def _over_words(
    text: Text, begins: NDArray[np.int64], treebank: Treebank, sentences: Ragged
) -> Forest:
    """Return trees over the words of a text.

    Legend: S sentences in the text's lines, P words of these parses.

    begins: (W,) the letters before each word. sentences: those of each line.
    """
    parses = treebank.words.take(sentences.flat)
    words = parses.flat  # (P,)
    sentence_of = parses.rows()  # (P,)
    letters = treebank.letters[sentences.flat]  # (S,)
    sentence_begins = np.cumsum(letters) - letters  # (S,) the letters before each
    positions = words["start"] + sentence_begins[sentence_of]
    owners = np.searchsorted(begins, positions, "right") - 1  # (P,) the text's word that holds each
    upper = _uppermost(owners, words["depth"], len(begins))
    has_parse = upper >= 0
    heads_of_upper = words["head"][upper[has_parse]]
    first_in_sentence = parses.offsets[:-1][sentence_of[upper[has_parse]]]
    owners_of_heads = owners[np.maximum(heads_of_upper, 0) + first_in_sentence]
    offsets = text.words.offsets - text.words.offsets[0]
    line_starts = np.repeat(offsets[:-1], np.diff(offsets))
    heads = np.arange(len(begins)) - 1  # parts of a word of the parse depend on the previous part
    heads[has_parse] = np.where(heads_of_upper < 0, line_starts[has_parse] - 1, owners_of_heads)
    relations = np.full(len(begins), _PART_RELATION, object)
    relations[has_parse] = treebank.names[words["relation"][upper[has_parse]]]
    tags = np.full(len(begins), _PART_TAG, object)
    tags[has_parse] = treebank.names[words["tag"][upper[has_parse]]]
    rows_of_heads = Ragged((heads - line_starts).astype(np.int32), offsets)
    return Forest.of(rows_of_heads, relations.tolist(), tags.tolist())


_PART_RELATION = "goeswith"  # of parts of a word of the parse
_PART_TAG = "X"


def _uppermost(
    owners: NDArray[np.int64], depths: NDArray[np.int32], count: int
) -> NDArray[np.int64]:
    """(W,) the uppermost of the parse's words in each word of the text, -1 for a word without any."""
    order = np.lexsort((depths, owners))
    is_first = np.append(True, np.diff(owners[order]) > 0)[: len(order)]
    upper = np.full(count, -1)
    upper[owners[order[is_first]]] = order[is_first]
    return upper


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
    names: dict[str, int] = {}
    lengths: list[int] = []
    records = array("i")  # five numbers for each word
    for chunk in read_trees(files):
        for row in range(len(chunk)):
            words = [_plain(word) for word in chunk.tokens(row)]
            letters = "".join(words)
            if letters in numbers:
                continue
            numbers[letters] = len(numbers)
            lengths.append(len(words))
            heads = [] if chunk.heads is None else chunk.heads[row].tolist()
            depths = _depths(heads)
            relations = chunk.tags["deprel"][row]
            tags = chunk.tags["pos"][row]
            start = 0
            for number, word in enumerate(words):
                relation = names.setdefault(relations[number], len(names))
                tag = names.setdefault(tags[number], len(names))
                records.extend((start, heads[number], depths[number], relation, tag))
                start += len(word)
    sizes: dict[str, set[int]] = {}
    for letters in numbers:
        sizes.setdefault(letters[:_PREFIX], set()).add(len(letters))
    return Treebank(
        numbers=numbers,
        sizes={prefix: sorted(counts, reverse=True) for prefix, counts in sizes.items()},
        letters=np.fromiter(map(len, numbers), np.int64, len(numbers)),
        words=Ragged.from_lengths(np.array(records, np.int32).view(_WORD), lengths),
        names=np.array(list(names), object),
    )


def _depths(heads: Sequence[int]) -> list[int]:
    """Return how many heads are above each word."""
    depths: list[int] = []
    for word in range(len(heads)):
        depth = 0
        head = heads[word]
        while head >= 0:
            head = heads[head]
            depth += 1
        depths.append(depth)
    return depths
