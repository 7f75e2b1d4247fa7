"""Judged pairs of words: tables with a score (SimLex-999), or words and scores in files apart (SemEval-2017 task 2)."""

from __future__ import annotations

import math
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.errors import DataError, did_you_mean
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Rows = tuple[list[str], list[str], NDArray[np.float64]]


def read_table(path: Path, column: str = "") -> Rows:
    """First words, second words and scores. A first line whose score is no number is a header.

    column: the score's name in the header; empty: the third.

    Raises:
        DataError: no such column, or a line without two words and a score; names file and line.
    """
    first, second, scores, place = list[str](), list[str](), list[float](), 2
    for number, line in enumerate(read_lines(path), 1):
        cells = [cell.strip() for cell in line.split("\t")]
        if number == 1:
            if column and column not in cells:
                raise DataError(f"{path}: the header has no column {column!r}{did_you_mean(column, cells)}")
            place = cells.index(column) if column else place
            if len(cells) > place and _number(cells[place]) is None and (column or _is_header(cells)):
                continue
        if not line.strip():
            continue
        score = _number(cells[place]) if len(cells) > place else None
        if score is None or not (cells[0] and cells[1]):
            raise DataError(
                f"{path}, line {number}: expected two words and a score with tabs between, found {line[:60]!r}"
            )
        first.append(cells[0])
        second.append(cells[1])
        scores.append(score)
    return _some(path, first, second, scores)


def read_apart(words: Path, gold: Path) -> Rows:
    """The same from a file with two words a line, and one with a score a line.

    Raises:
        DataError: a line is not as expected, or one file has more lines; names file and line.
    """
    first, second, scores = list[str](), list[str](), list[float]()
    pairs = zip_longest(read_lines(words), read_lines(gold))
    for number, (line, judged) in enumerate(pairs, 1):
        if line is None or judged is None:
            short, other = (words, gold) if line is None else (gold, words)
            raise DataError(f"{short} ends before line {number}, but {other} goes on; they stand line by line")
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != 2 or not all(cells):
            raise DataError(f"{words}, line {number}: expected two words with a tab between, found {line[:60]!r}")
        score = _number(judged)
        if score is None:
            raise DataError(f"{gold}, line {number}: expected a score, found {judged[:60]!r}")
        first.append(cells[0])
        second.append(cells[1])
        scores.append(score)
    return _some(words, first, second, scores)


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _is_header(cells: list[str]) -> bool:
    """Whether no cell is a number: a damaged first row mostly holds another one, or none at all."""
    return all(cells) and all(_number(cell) is None for cell in cells)


def _some(path: Path, first: list[str], second: list[str], scores: list[float]) -> Rows:
    if not first:
        raise DataError(f"{path}: no pair of words in the file")
    return first, second, np.array(scores, np.float64)
