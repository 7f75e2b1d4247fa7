"""Read the text that gold alignments refer to, which has formats of its own."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import numpy as np

from interlace.alignment.formats import json_rows
from interlace.core.errors import DataError
from interlace.core.ragged import IntArray
from interlace.text import LanguagePair, Text, TextPairs
from interlace.text.lines import read_lines

SEPARATOR = "|||"

_FREE_SEPARATOR = re.compile(r"(?:(?<=\s)|^)\|\|\|(?=\s|$)")  # surrounded by white space
_TAGGED = re.compile(
    r"\s*<s\s+snum\s*=\s*[\"']?(\d{1,18})[\"']?\s*>(.*?)(?:</s>)?\s*", re.DOTALL
)
_NUMBERED = re.compile(r"(\d{1,18})\t(.*)", re.DOTALL)


@dataclass(frozen=True)
class GoldText:
    """The text of n pairs with gold alignments.

    pairs: words as the alignments count them, separated by one blank.
    numbers: (n,) the number of each pair in the files; from 0 if they have none.
    """

    pairs: TextPairs
    numbers: IntArray

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def lengths(self) -> tuple[IntArray, IntArray]:
        """(n,) words of each source and target sentence."""
        return self.pairs.source.words.lengths, self.pairs.target.words.lengths


def split_joined(line: str) -> tuple[str, str] | None:
    """Split `source ||| target` and strip both; None unless there is exactly one separator.

    A separator surrounded by white space or an end of the line takes precedence, so that words may contain `|||`.

    >>> split_joined("a b ||| x"), split_joined("a|||b ||| x"), split_joined("a|||x")
    (('a b', 'x'), ('a|||b', 'x'), ('a', 'x'))
    """
    sides = _FREE_SEPARATOR.split(line)
    if len(sides) == 1:
        sides = line.split(SEPARATOR)
    if len(sides) != 2:
        return None
    source, target = sides
    return source.strip(), target.strip()


def joined_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield source and target of each line `source ||| target`, empty for an empty line; a DataError names others."""
    for number, line in enumerate(read_lines(path), 1):
        sides = split_joined(line)
        if sides is None and line.strip():
            raise DataError(
                f"{path}, line {number}: {line.count(SEPARATOR)} separators {SEPARATOR!r}, expected one between source "
                f"and target: {line[:60]!r}; if the sides are two files, name both"
            )
        yield sides or ("", "")


def read_gold_text(
    *paths: Path | str, languages: LanguagePair = ("source", "target")
) -> GoldText:
    """Read the text of gold alignments; plain or gzip.

    One file holds both sides: `source ||| target`, or JSON lines with `src_words` and `tgt_words`. Two files hold one
    side each: plain lines, `N<TAB>words`, or `<s snum=N>words</s>`; numbered sentences are matched.

    Raises:
        DataError: a file cannot be parsed (names the line), or the sides have different sentences.
    """
    files = [Path(path) for path in paths]
    if len(files) == 1:
        return _read_joined(files[0], languages)
    if len(files) != 2:
        raise DataError(f"the text of gold alignments is one file or two, found {len(files)}")
    numbers, sources = _read_side(files[0])
    target_numbers, targets = _read_side(files[1])
    for number, target_number in zip_longest(numbers, target_numbers):
        if number != target_number:
            raise DataError(
                f"{files[0]} has sentence {number} where {files[1]} has {target_number}; the sides must correspond"
            )
    return _text(numbers, sources, targets, languages)


def _read_joined(path: Path, languages: LanguagePair) -> GoldText:
    sources: list[list[str]] = []
    targets: list[list[str]] = []
    if _first_line(path).lstrip().startswith("{"):
        for pair in json_rows(path):
            sources.append(pair["src_words"])
            targets.append(pair["tgt_words"])
    else:
        for source, target in joined_lines(path):
            sources.append(source.split())
            targets.append(target.split())
    return _text(range(len(sources)), sources, targets, languages)


def _first_line(path: Path) -> str:
    """Return the first line that is not empty."""
    return next(filter(str.strip, read_lines(path)), "")


def _read_side(path: Path) -> tuple[list[int], list[list[str]]]:
    """Return the numbers and the words of the sentences of one side."""
    first_line = _first_line(path)
    if _TAGGED.fullmatch(first_line):
        pattern = _TAGGED
    elif _NUMBERED.fullmatch(first_line):
        pattern = _NUMBERED
    else:
        sentences = [line.split() for line in read_lines(path)]
        return list(range(len(sentences))), sentences
    words_of: dict[int, list[str]] = {}
    for number, line in enumerate(read_lines(path), 1):
        match = pattern.fullmatch(line)
        if match is None:
            if line.strip():
                raise DataError(f"{path}, line {number}: no sentence number: {line[:60]!r}")
            continue
        sentence_number = int(match[1])
        if sentence_number in words_of:
            raise DataError(f"{path}: several sentences have the number {sentence_number}")
        words_of[sentence_number] = match[2].split()
    return list(words_of), list(words_of.values())


def _text(
    numbers: Sequence[int],
    sources: list[list[str]],
    targets: list[list[str]],
    languages: LanguagePair,
) -> GoldText:
    pairs = TextPairs(_text_of(sources, languages[0]), _text_of(targets, languages[1]))
    return GoldText(pairs, np.array(numbers, np.int64))


def _text_of(sentences: list[list[str]], language: str) -> Text:
    """Join words to lines. White space inside words and empty words become `_`, so that word indices do not change."""
    lines = []
    for sentence in sentences:
        words = ["_".join(word.split()) or "_" for word in sentence]
        lines.append(" ".join(words))
    return Text.of(lines, language)
