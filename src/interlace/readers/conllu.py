"""CoNLL-U treebanks (Universal Dependencies): lines, syntactic words, part-of-speech tags and dependency trees.

A multiword token (`4-5 don't`) appears in the line as it is written. If the forms of its words concatenate to that,
each word gets its own part; otherwise (German `am` = an + dem) the first word gets all of it, and the others are left
out with their tags and counted. Empty nodes (`8.1`) are skipped.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from sys import intern
from typing import NamedTuple

from pydantic import Field

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.readers import Reader
from interlace.readers.common.text import (
    TaggedLine,
    sentences_of,
    tagged_text,
    texts_of,
)
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
    head: str
    relation: str
    line: int  # of the file

    @property
    def is_multiword(self) -> bool:
        return self.last > self.first


@dataclass
class _Sentence(TaggedLine):
    """A line, the spans of its words, their tags and tokens.

    left_out: words without a span, each with the id of the word that has the characters of both.
    heads, relations: if trees are read, the index of each word's head (-1: root) and the relation to it.
    """

    words: list[_Token] = field(default_factory=list)
    left_out: list[tuple[_Token, int]] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)


class Conllu(Reader):
    """Treebanks: syntactic words with universal part-of-speech tags in `tags["pos"]`.

    With `trees`, `heads` has the head of each word and `tags["deprel"]` the relation to it.
    """

    language_counts = (1,)

    trees: bool = Field(
        False, description="Whether to read heads and relations; an error if the file has none."
    )

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text]:
        """Read one file after another. Lines are rebuilt from tokens; those that differ from `# text` are counted."""

        def text_of(chunk: list[_Sentence]) -> Text:
            text = tagged_text(chunk, languages[0], "pos", "conllu")
            if not self.trees:
                return text
            text.tags["deprel"] = [sentence.relations for sentence in chunk]
            return replace(text, heads=Ragged.of([sentence.heads for sentence in chunk]))

        yield from texts_of(self, paths, languages, self._sentences, text_of)

    def _sentences(self, path: Path, notes: Counter[str]) -> Iterator[_Sentence]:
        for first_line, lines in sentences_of(path):
            tokens: list[_Token] = []
            stated_line: str | None = None  # in `# text`
            for number, line in enumerate(lines, first_line):
                match = _TEXT.fullmatch(line)
                if match:
                    stated_line = match[1].strip()
                elif not line.startswith("#"):
                    tokens += _tokens(path, number, line)
            if tokens:
                sentence = _sentence(tokens, notes)
                if stated_line not in {None, sentence.line}:
                    notes["lines that differ from # text"] += 1
                if self.trees:
                    _add_tree(path, sentence)
                yield sentence


def _tokens(path: Path, number: int, line: str) -> list[_Token]:
    """Return the token of a line; none for an empty node."""
    cells = line.split("\t")
    if len(cells) != _COLUMNS:
        raise DataError(
            f"{path}, line {number}: {len(cells)} tab-separated columns, CoNLL-U has {_COLUMNS}"
        )
    match = _ID.fullmatch(cells[0])
    if match is None:
        raise DataError(
            f"{path}, line {number}: {cells[0]!r} is not a CoNLL-U id such as 4, 4-5 or 8.1"
        )
    if match[3] is not None:
        return []
    token = _Token(
        first=int(match[1]),
        last=int(match[2] or match[1]),
        form=cells[1].strip(),
        tag=intern(cells[3]),  # one string per tag instead of one per word
        space="SpaceAfter=No" not in cells[9].split("|"),
        head=cells[6],
        relation=intern(cells[7]),
        line=number,
    )
    return [token]


def _sentence(tokens: list[_Token], notes: Counter[str]) -> _Sentence:
    """Return the line of the tokens, the words and their spans."""
    sentence = _Sentence("", [], [])
    covered = 0  # words up to this id belong to the last multiword token
    for index, token in enumerate(tokens):
        if token.first <= covered and not token.is_multiword:
            continue
        words = [token]
        if token.is_multiword:
            covered = token.last
            words = _words_of(token, tokens[index + 1 :])
            if not _is_spelt_by(token, words):
                for word in words[1:]:
                    sentence.left_out.append((word, words[0].first))
                    notes[LEFT_OUT] += 1
                words = words[:1]
        start = len(sentence.line)
        for word in words:
            form = token.form
            if len(words) > 1:
                form = word.form
            end = start + len(form)
            if end > start:
                sentence.spans.append((start, end))
                sentence.words.append(word)
                sentence.tags.append(word.tag)
            start = end
        sentence.line += token.form
        if token.space:
            sentence.line += " "
    sentence.line = sentence.line.rstrip(" ")
    return sentence


def _words_of(multiword: _Token, following: list[_Token]) -> list[_Token]:
    words = []
    for token in following:
        if not token.is_multiword and token.first <= multiword.last:
            words.append(token)
    return words


def _is_spelt_by(multiword: _Token, words: list[_Token]) -> bool:
    """Return whether the forms of words concatenate to a multiword token, but for their case."""
    spelling = "".join(word.form for word in words)
    has_same_length = len(spelling) == len(multiword.form)
    return has_same_length and spelling.lower() == multiword.form.lower()


def _add_tree(path: Path, sentence: _Sentence) -> None:
    """Find the heads and relations of the words of a sentence.

    A word that was left out is merged with the word that has its characters: dependents of one become dependents of the
    other, which depends on the head of the uppermost of them.
    """
    positions: dict[int, int] = {}  # of words, by id
    for position, word in enumerate(sentence.words):
        positions[word.first] = position
    merged: dict[int, _Token] = {}  # words that were left out, by id
    for word, kept_id in sentence.left_out:
        if kept_id in positions:
            merged[word.first] = word
            positions[word.first] = positions[kept_id]
    for word in sentence.words:
        uppermost = _uppermost(path, word, positions, merged)
        sentence.relations.append(uppermost.relation)
        head = _ROOT
        if uppermost.head != "0":
            head = positions[int(uppermost.head)]
        sentence.heads.append(head)
    _check_cycles(path, sentence)


def _check_cycles(path: Path, sentence: _Sentence) -> None:
    """Raise a DataError if a word is its own ancestor."""
    heads = sentence.heads
    for position, word in enumerate(sentence.words):
        ancestor = heads[position]
        for _ in heads:
            if ancestor in {_ROOT, position}:
                break
            ancestor = heads[ancestor]
        if ancestor == position:
            raise DataError(
                f"{path}, line {word.line}: the word is in a cycle of heads; expected a tree"
            )


def _uppermost(
    path: Path, word: _Token, positions: dict[int, int], merged: dict[int, _Token]
) -> _Token:
    """Return the word among those at its position that depends on none of the others."""
    position = positions[word.first]
    for _ in range(len(merged) + 1):
        is_id = word.head.isascii() and word.head.isdigit()
        if word.head != "0" and not (is_id and int(word.head) in positions):
            raise DataError(
                f"{path}, line {word.line}: head {word.head!r} is not a word of the sentence; expected its id, or 0"
            )
        head = merged.get(int(word.head))
        if head is None or positions[head.first] != position:
            return word
        word = head
    return word
