"""Read the text that gold alignments refer to, which has formats of its own."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interlace.alignment.formats import giza_rows, json_rows
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.text import Text, TextPairs
from interlace.text.lines import read_lines

SEPARATOR = "|||"

_FREE_SEPARATOR = re.compile(r"(?:(?<=\s)|^)\|\|\|(?=\s|$)")  # surrounded by white space
_TAGGED = re.compile(r"\s*<s\s+snum\s*=\s*[\"']?(\d{1,18})[\"']?\s*>(.*?)(?:</s>)?\s*", re.DOTALL)
_NUMBERED = re.compile(r"(\d{1,18})\t(.*)", re.DOTALL)
_LOOKED_AT = 20  # lines


@dataclass(frozen=True)
class GoldText:
    """The text of n pairs with gold alignments.

    pairs: words as the alignments count them, separated by one blank.
    numbers: (n,) the number of each pair in the files; from 0 if they have none.
    """

    pairs: TextPairs
    numbers: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def lengths(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(n,) words of each source and target sentence."""
        return self.pairs.source.words.lengths, self.pairs.target.words.lengths


def check_not_numbered(path: Path) -> None:
    """Raise a DataError if the first lines are those of a gold set, whose numbers would be read as words."""
    lines = list(islice((line for line in read_lines(path) if line.strip()), _LOOKED_AT))
    if lines and all(_TAGGED.fullmatch(line) or _NUMBERED.fullmatch(line) for line in lines):
        raise DataError(
            f"{path}: its sentences are numbered, as in gold alignment sets ({lines[0][:30]!r}); name the reader "
            "'gold' (--reader gold), or 'lines' if the numbers are part of the text"
        )


def split_joined(line: str) -> tuple[str, str] | None:
    """Split `source ||| target` and strip both; None unless there is exactly one separator.

    A separator surrounded by white space or an end of the line takes precedence, so that words may contain `|||`.

    >>> split_joined("a b ||| x"), split_joined("a|||b ||| x"), split_joined("a|||x")
    (('a b', 'x'), ('a|||b', 'x'), ('a', 'x'))
    """
    found = list(_FREE_SEPARATOR.finditer(line))
    if len(found) == 1:
        return line[: found[0].start()].strip(), line[found[0].end() :].strip()
    if found or line.count(SEPARATOR) != 1:
        return None
    source, _, target = line.partition(SEPARATOR)
    return source.strip(), target.strip()


def joined_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield source and target of each line `source ||| target`, empty for an empty line; a DataError names others."""
    for number, line in enumerate(read_lines(path), 1):
        sides = split_joined(line)
        if sides is None and line.strip():
            hint = "" if SEPARATOR in line else "; if the sides are two files, name both"
            raise DataError(
                f"{path}, line {number}: {line.count(SEPARATOR)} separators {SEPARATOR!r}, expected one between source "
                f"and target: {line[:60]!r}{hint}"
            )
        yield sides or ("", "")


def read_gold_text(*paths: Path | str, languages: tuple[str, str] = ("source", "target")) -> GoldText:
    """Read the text of gold alignments; plain or gzip.

    One file holds both sides: `source ||| target`, JSON lines with `src_words` and `tgt_words`, or GIZA++'s format. Two
    files hold one side each: plain lines, `N<TAB>words`, or `<s snum=N>words</s>`; numbered sentences are matched.

    Raises:
        DataError: a file cannot be parsed (names the line), or the sides have different sentences.
    """
    files = [Path(path) for path in paths]
    if len(files) == 1:
        return _read_joined(files[0], languages)
    if len(files) != 2:
        raise DataError(f"the text of gold alignments is one file or two, found {len(files)}")
    source, target = (_read_side(path) for path in files)
    first, second = len(source[0]), len(target[0])
    if first != second:
        raise DataError(f"{files[0]} has {first} lines and {files[1]} has {second}; the sides must correspond")
    for one, other in zip(source[0], target[0], strict=True):
        if one != other:
            raise DataError(f"{files[0]} has sentence {one} where {files[1]} has {other}; the sides must correspond")
    return _text(source[0], source[1], target[1], languages)


def _read_joined(path: Path, languages: tuple[str, str]) -> GoldText:
    first = next((line for line in read_lines(path) if line.strip()), "").lstrip()
    if first.startswith("{"):
        rows = [(source, target) for source, target, _ in json_rows(path)]
        numbers = np.arange(len(rows))
    elif first.startswith("#"):
        found = sorted(giza_rows(path), key=lambda row: row[0])
        rows, numbers = [(row[1], row[2]) for row in found], np.array([row[0] for row in found], np.int64)
    else:
        rows = [(source.split(), target.split()) for source, target in joined_lines(path)]
        numbers = np.arange(len(rows))
    return _text(numbers, [source for source, _ in rows], [target for _, target in rows], languages)


def _read_side(path: Path) -> tuple[NDArray[np.int64], list[list[str]]]:
    """Read the numbers and words of one side's sentences."""
    first = next((line for line in read_lines(path) if line.strip()), "")
    pattern = next((pattern for pattern in (_TAGGED, _NUMBERED) if pattern.fullmatch(first)), None)
    if pattern is None:
        plain = [line.split() for line in read_lines(path)]
        return np.arange(len(plain)), plain
    numbers, sentences = [], []
    for number, line in enumerate(read_lines(path), 1):
        if match := pattern.fullmatch(line):
            numbers.append(int(match[1]))
            sentences.append(match[2].split())
        elif line.strip():
            raise DataError(f"{path}, line {number}: no sentence number: {line[:60]!r}")
    ordered = np.sort(numbers)
    if (repeated := ordered[1:][ordered[1:] == ordered[:-1]]).size:
        raise DataError(f"{path}: several sentences have the number {repeated[0]}")
    return np.array(numbers, np.int64), sentences


def _text(
    numbers: NDArray[np.int64], sources: list[list[str]], targets: list[list[str]], languages: tuple[str, str]
) -> GoldText:
    source, target = (_words(side, name) for side, name in zip((sources, targets), languages, strict=True))
    return GoldText(TextPairs(source, target), numbers)


def _words(sentences: list[list[str]], language: str) -> Text:
    """Join words to lines. White space inside words and empty words become `_`, so that word indices do not change."""
    replaced = 0
    lines, spans = [], []
    for sentence in sentences:
        replaced += sum(word.split() != [word] for word in sentence)
        words = ["_".join(word.split()) or "_" for word in sentence]
        ends = np.cumsum([len(word) + 1 for word in words], dtype=np.int64)
        lines.append(" ".join(words))
        spans.append([(int(end) - len(word) - 1, int(end) - 1) for word, end in zip(words, ends, strict=True)])
    notes = {"words with white space or without characters, written with '_'": replaced} if replaced else {}
    return Text(language, lines, Ragged.of(spans, width=2), notes=notes)
