"""CoNLL-U treebanks (Universal Dependencies): lines, syntactic words, part-of-speech tags and dependency trees.

A multiword token (`4-5 don't`) appears in the line as it is written. If the forms of its words concatenate to that,
each word gets its own part; otherwise (German `am` = an + dem) the first word gets all of it, and the others are left
out with their tags and counted. Empty nodes (`8.1`) are skipped.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from sys import intern
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import Field

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.readers import Reader
from interlace.readers.common.text import TaggedLine, chunks_of, one_language, tagged_text
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from interlace.text import Text

LEFT_OUT = "words of multiword tokens left out"  # the note that counts them
_COLUMNS = 10
_ID = re.compile(r"(\d+)(?:-(\d+)|\.(\d+))?")
_TEXT = re.compile(r"#\s*text\s*=\s?(.*)")
_ROOT = -1


class _Token(NamedTuple):
    """A line of a sentence: a word (last == first), or a multiword token of words first to last."""

    first: int
    last: int
    form: str
    tag: str
    space: bool
    head: str = "_"
    relation: str = "_"
    line: int = 0  # of the file

    @property
    def is_multiword(self) -> bool:
        return self.last > self.first


class _Sentence(NamedTuple):
    """A line, the spans of its words, and their tokens.

    left_out: words without a span, each with the id of the word that has the characters of both.
    """

    line: str
    spans: list[tuple[int, int]]
    words: list[_Token]
    left_out: list[tuple[_Token, int]]


class _Tree(NamedTuple):
    """For each word of a line, the index of its head (-1: root) and the relation to it."""

    heads: list[int]
    relations: list[str]


class Conllu(Reader):
    """Treebanks: syntactic words with part-of-speech tags in `tags["pos"]`.

    With `trees`, `heads` has the head of each word and `tags["deprel"]` the relation to it.
    """

    tag: Literal["upos", "xpos"] = Field("upos", description="Universal or treebank-specific tags.")
    trees: bool = Field(False, description="Whether to read heads and relations; an error if the file has none.")

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text]:
        """Read one file after another. Lines are rebuilt from tokens; those that differ from `# text` are counted."""
        language = one_language("conllu", paths, languages)
        notes: Counter[str] = Counter()
        for chunk in chunks_of(self._read(paths, notes)):
            tagged: list[TaggedLine] = [(one.line, one.spans, [word.tag for word in one.words]) for one, _ in chunk]
            text = tagged_text(tagged, language, "pos", "conllu", notes)
            yield self._with_trees(text, chunk) if self.trees else text
            notes.clear()

    def _read(self, paths: list[Path], notes: Counter[str]) -> Iterator[tuple[_Sentence, _Tree | None]]:
        for path in paths:
            for sentence in self._sentences(path, notes):
                yield sentence, _tree(path, sentence) if self.trees else None

    @staticmethod
    def _with_trees(text: Text, chunk: list[tuple[_Sentence, _Tree | None]]) -> Text:
        trees = [tree for _, tree in chunk if tree is not None]
        tags = text.tags | {"deprel": [tree.relations for tree in trees]}
        return replace(text, tags=tags, heads=Ragged.of([tree.heads for tree in trees]))

    def _sentences(self, path: Path, notes: Counter[str]) -> Iterator[_Sentence]:
        tokens: list[_Token] = []
        stated: str | None = None
        found = False
        for number, line in enumerate(read_lines(path), 1):
            if line.startswith("#"):
                match = _TEXT.fullmatch(line)
                stated = match[1] if match else stated
            elif line.strip():
                token = self._token(path, number, line)
                if token is not None:
                    tokens.append(token)
            elif tokens:
                yield _sentence(tokens, stated, notes)
                tokens, stated, found = [], None, True
        if tokens:
            yield _sentence(tokens, stated, notes)
        elif not found:
            raise DataError(f"{path}: the file holds no sentence")

    def _token(self, path: Path, number: int, line: str) -> _Token | None:
        cells = line.split("\t")
        if len(cells) != _COLUMNS:
            raise DataError(f"{path}, line {number}: {len(cells)} tab-separated columns, CoNLL-U has {_COLUMNS}")
        match = _ID.fullmatch(cells[0])
        if match is None:
            raise DataError(f"{path}, line {number}: {cells[0]!r} is not a CoNLL-U id such as 4, 4-5 or 8.1")
        if match[3] is not None:
            return None
        first = int(match[1])
        tag = intern(cells[3] if self.tag == "upos" else cells[4])  # one string per tag instead of one per word
        space = "SpaceAfter=No" not in cells[9].split("|")
        return _Token(first, int(match[2] or first), cells[1].strip(), tag, space, cells[6], intern(cells[7]), number)


def _sentence(tokens: list[_Token], stated: str | None, notes: Counter[str]) -> _Sentence:
    found = _Sentence("", [], [], [])
    line = ""
    covered = 0  # words up to this id belong to the last multiword token
    for index, token in enumerate(tokens):
        if token.first <= covered and not token.is_multiword:
            continue
        words = [token]
        if token.is_multiword:
            covered = token.last
            parts = [other for other in tokens[index + 1 :] if not other.is_multiword and other.first <= token.last]
            words = parts if _same("".join(part.form for part in parts), token.form) else parts[:1]
            if len(words) < len(parts):
                notes[LEFT_OUT] += len(parts) - len(words)
                found.left_out.extend((part, parts[0].first) for part in parts[1:])
        start = len(line)
        for word in words:
            end = start + len(word.form if len(words) > 1 else token.form)
            if end > start:
                found.spans.append((start, end))
                found.words.append(word)
            start = end
        line += token.form + (" " if token.space else "")
    line = line.rstrip(" ")
    if stated is not None and stated.strip() != line:
        notes["lines that differ from # text"] += 1
    return found._replace(line=line)


def _same(joined: str, surface: str) -> bool:
    return len(joined) == len(surface) and joined.lower() == surface.lower()


def _tree(path: Path, sentence: _Sentence) -> _Tree:
    """Return the tree over the words of a sentence.

    A word that was left out is merged with the word that has its characters: dependents of one become dependents of the
    other, which depends on the head of the uppermost of them.

    Raises:
        DataError: a head is not a word of the sentence, or the heads form a cycle; names the line.
    """
    places = {word.first: place for place, word in enumerate(sentence.words)}
    left_out = [(word, kept) for word, kept in sentence.left_out if kept in places]
    merged = {word.first: word for word, _ in left_out}
    places |= {word.first: places[kept] for word, kept in left_out}
    uppermost = [_uppermost(path, word, places, merged) for word in sentence.words]
    heads = [_ROOT if word.head == "0" else places[int(word.head)] for word in uppermost]
    for place, word in enumerate(sentence.words):
        if _in_cycle(place, heads):
            raise DataError(f"{path}, line {word.line}: the word is in a cycle of heads; expected a tree")
    return _Tree(heads, [word.relation for word in uppermost])


def _uppermost(path: Path, word: _Token, places: dict[int, int], merged: dict[int, _Token]) -> _Token:
    """Return the word among those at its place that depends on none of the others."""
    own = places[word.first]
    for _ in range(len(merged) + 1):
        if word.head != "0" and not (word.head.isascii() and word.head.isdigit() and int(word.head) in places):
            raise DataError(
                f"{path}, line {word.line}: head {word.head!r} is not a word of the sentence; expected its id, or 0"
            )
        above = merged.get(int(word.head))
        if above is None or places[above.first] != own:
            return word
        word = above
    return word


def _in_cycle(place: int, heads: Sequence[int]) -> bool:
    at, steps = heads[place], 0
    while at not in {_ROOT, place} and steps <= len(heads):
        at, steps = heads[at], steps + 1
    return at == place
