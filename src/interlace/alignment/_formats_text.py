"""The text of gold links, which comes in formats of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from interlace.alignment._formats_lines import giza_rows, json_rows
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.text import Text, TextPairs
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

SEPARATOR = "|||"

_APART = re.compile(r"(?:(?<=\s)|^)\|\|\|(?=\s|$)")  # a separator that is a word of its own
_TAGGED = re.compile(r"\s*<s\s+snum\s*=\s*[\"']?(\d{1,18})[\"']?\s*>(.*?)(?:</s>)?\s*", re.DOTALL)
_NUMBERED = re.compile(r"(\d{1,18})\t(.*)", re.DOTALL)

Row = tuple[int, list[str]]  # the number of a sentence and its words


@dataclass(frozen=True)
class GoldText:
    """The text of n pairs whose links are known.

    pairs: words as the links count them, parted by one blank.
    numbers: (n,) the number the files give each pair; from 0 where they give none.
    """

    pairs: TextPairs
    numbers: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def lengths(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(n,) words of each source and of each target sentence."""
        return self.pairs.source.words.lengths, self.pairs.target.words.lengths


def halves(line: str) -> tuple[str, str] | None:
    """Source and target of `source ||| target`, without the blanks around; None where the line has no one separator.

    A separator with blanks (or an end of the line) on both sides is preferred, so that it may stand inside a word.

    >>> halves("a b ||| x"), halves("a|||b ||| x"), halves("a|||x")
    (('a b', 'x'), ('a|||b', 'x'), ('a', 'x'))
    """
    found = list(_APART.finditer(line))
    if len(found) == 1:
        return line[: found[0].start()].strip(), line[found[0].end() :].strip()
    if found or line.count(SEPARATOR) != 1:
        return None
    source, _, target = line.partition(SEPARATOR)
    return source.strip(), target.strip()


def joined_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Source and target of each line `source ||| target`; two empty ones of an empty line.

    Raises:
        DataError: a line has no separator, or it is not clear which of several parts the sides; names the line.
    """
    for number, line in enumerate(read_lines(path), 1):
        sides = halves(line)
        if sides is None and line.strip():
            raise DataError(
                f"{path}, line {number}: {line.count(SEPARATOR)} separators {SEPARATOR!r}, expected one between source "
                f"and target: {line[:60]!r}"
            )
        yield sides or ("", "")


def read_gold_text(*paths: Path | str, languages: tuple[str, str] = ("source", "target")) -> GoldText:
    """Read the text of gold links; plain or gzip.

    One file holds both sides: `source ||| target`, JSON lines with `src_words` and `tgt_words`, or GIZA++'s. Two files
    hold a side each: plain lines, `N<TAB>words`, or `<s snum=N>words</s>`; numbered sentences are matched by number.

    Raises:
        DataError: a file cannot be read so (names the line), or the sides have other sentences.
    """
    files = [Path(path) for path in paths]
    if len(files) == 1:
        return _whole(files[0], languages)
    if len(files) != 2:
        raise DataError(f"the text of gold links stands in one file or two, found {len(files)}")
    source, target = (_side(path) for path in files)
    if source[0].tolist() != target[0].tolist():
        raise DataError(_other_sentences(files, source[0], target[0]))
    return _text(source[0], source[1], target[1], languages)


def _other_sentences(files: list[Path], source: NDArray[np.int64], target: NDArray[np.int64]) -> str:
    if len(source) != len(target):
        return f"{files[0]} has {len(source)} lines and {files[1]} has {len(target)}; the sides must correspond"
    row = int(np.argmax(source != target))
    return f"{files[0]} has sentence {source[row]} where {files[1]} has {target[row]}; the sides must correspond"


def _whole(path: Path, languages: tuple[str, str]) -> GoldText:
    """Both sides from one file."""
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


def _side(path: Path) -> tuple[NDArray[np.int64], list[list[str]]]:
    """Numbers and words of one side's sentences."""
    first = next((line for line in read_lines(path) if line.strip()), "")
    take: Callable[[str], Row | None] | None = None
    if _TAGGED.fullmatch(first):
        take = _tagged
    elif _NUMBERED.fullmatch(first):
        take = _numbered
    if take is None:
        plain = [line.split() for line in read_lines(path)]
        return np.arange(len(plain)), plain
    rows = []
    for number, line in enumerate(read_lines(path), 1):
        row = take(line)
        if row is not None:
            rows.append(row)
        elif line.strip():
            raise DataError(f"{path}, line {number}: a line without the number of its sentence: {line[:60]!r}")
    return np.array([number for number, _ in rows], np.int64), [words for _, words in rows]


def _tagged(line: str) -> Row | None:
    match = _TAGGED.fullmatch(line)
    return (int(match[1]), match[2].split()) if match else None


def _numbered(line: str) -> Row | None:
    match = _NUMBERED.fullmatch(line)
    return (int(match[1]), match[2].split()) if match else None


def _text(
    numbers: NDArray[np.int64], sources: list[list[str]], targets: list[list[str]], languages: tuple[str, str]
) -> GoldText:
    source, target = (_words(side, name) for side, name in zip((sources, targets), languages, strict=True))
    return GoldText(TextPairs(source, target), numbers)


def _words(sentences: list[list[str]], language: str) -> Text:
    """Lines of words; white space inside a word, or a word of nothing, would change what links count."""
    mended = 0
    lines, spans = [], []
    for sentence in sentences:
        words = ["_".join(word.split()) or "_" for word in sentence]
        mended += sum(word != given for word, given in zip(words, sentence, strict=True))
        ends = np.cumsum([len(word) + 1 for word in words], dtype=np.int64)
        lines.append(" ".join(words))
        spans.append([(int(end) - len(word) - 1, int(end) - 1) for word, end in zip(words, ends, strict=True)])
    notes = {"words with blanks or nothing in them written with '_'": mended} if mended else {}
    return Text(language, lines, Ragged.of(spans, width=2), notes=notes)
