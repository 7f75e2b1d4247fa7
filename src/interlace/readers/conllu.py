"""CoNLL-U treebanks (Universal Dependencies): the plain line, its syntactic words, and their part of speech.

A multiword token (`4-5 don't`) stands in the line as it is written. Where the forms of its words join up to that, each
has its own part of it; where they do not (German `am` = an + dem) the first word has all of it, and the others, which
stand nowhere in the line, are left out with their tags and counted. Empty nodes (`8.1`) are passed over.
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
from interlace.readers._common import Tagged, chunks_of, one_language, tagged_text
from interlace.readers._trees import Row, Tree, tree_of
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from interlace.text import Text

LEFT_OUT = "words of multiword tokens left out"  # a note: how many
_COLUMNS = 10
_ID = re.compile(r"(\d+)(?:-(\d+)|\.(\d+))?")
_TEXT = re.compile(r"#\s*text\s*=\s?(.*)")


class _Token(NamedTuple):
    """A line of a sentence: a word (last == first), or a multiword token over words first to last."""

    first: int
    last: int
    form: str
    tag: str
    space: bool
    head: str = "_"
    relation: str = "_"
    line: int = 0  # of the file

    @property
    def several(self) -> bool:
        return self.last > self.first


class _Sentence(NamedTuple):
    """A line, the spans of its words, and the tokens that they are.

    left_out: words that stand nowhere in the line, each with the id of the one that has the characters of both.
    """

    line: str
    spans: list[tuple[int, int]]
    words: list[_Token]
    left_out: list[tuple[_Token, int]]


class Conllu(Reader):
    """Treebanks: words as syntax counts them, with part-of-speech tags in `tags["pos"]`, and their trees if asked for.

    With `trees`, the word that each depends on is in `heads` and how it does in `tags["deprel"]`.
    """

    tag: Literal["upos", "xpos"] = Field("upos", description="Universal or treebank-specific tags.")
    trees: bool = Field(False, description="Whether to read heads and relations; a file without them is refused.")

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text]:
        """The files one after another; lines are rebuilt from the tokens, and those unlike `# text` are counted."""
        language = one_language("conllu", paths, languages)
        notes: Counter[str] = Counter()
        for chunk in chunks_of(self._read(paths, notes)):
            tagged: list[Tagged] = [(one.line, one.spans, [word.tag for word in one.words]) for one, _ in chunk]
            text = tagged_text(tagged, language, "pos", "conllu", notes)
            yield self._with_trees(text, chunk) if self.trees else text
            notes.clear()

    def _read(self, paths: list[Path], notes: Counter[str]) -> Iterator[tuple[_Sentence, Tree | None]]:
        for path in paths:
            for sentence in self._sentences(path, notes):
                yield sentence, _tree(path, sentence) if self.trees else None

    @staticmethod
    def _with_trees(text: Text, chunk: list[tuple[_Sentence, Tree | None]]) -> Text:
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
            raise DataError(f"{path}: no sentence in the file")

    def _token(self, path: Path, number: int, line: str) -> _Token | None:
        cells = line.split("\t")
        if len(cells) != _COLUMNS:
            raise DataError(f"{path}, line {number}: {len(cells)} tab-separated columns, CoNLL-U has {_COLUMNS}")
        match = _ID.fullmatch(cells[0])
        if match is None:
            raise DataError(f"{path}, line {number}: {cells[0]!r} is no CoNLL-U id such as 4, 4-5 or 8.1")
        if match[3] is not None:
            return None
        first = int(match[1])
        tag = intern(cells[3] if self.tag == "upos" else cells[4])  # one string a tag, not one a word
        space = "SpaceAfter=No" not in cells[9].split("|")
        return _Token(first, int(match[2] or first), cells[1].strip(), tag, space, cells[6], intern(cells[7]), number)


def _sentence(tokens: list[_Token], stated: str | None, notes: Counter[str]) -> _Sentence:
    """The line and its words."""
    found = _Sentence("", [], [], [])
    line = ""
    covered = 0  # words up to this one belong to the multiword token last seen
    for place, token in enumerate(tokens):
        if token.first <= covered and not token.several:
            continue
        words = [token]
        if token.several:
            covered = token.last
            parts = [other for other in tokens[place + 1 :] if not other.several and other.first <= token.last]
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
        notes["lines unlike their # text"] += 1
    return found._replace(line=line)


def _tree(path: Path, sentence: _Sentence) -> Tree:
    rows = [Row(word.first, word.head, word.relation, word.line) for word in sentence.words]
    lost = [(Row(word.first, word.head, word.relation, word.line), stands) for word, stands in sentence.left_out]
    return tree_of(path, rows, lost)


def _same(joined: str, surface: str) -> bool:
    return len(joined) == len(surface) and joined.lower() == surface.lower()
