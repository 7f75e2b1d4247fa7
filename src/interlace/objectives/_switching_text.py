"""Switched sentences as lines of text: what the subwords of `_switching_rows` are the tokens of."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from interlace.objectives._switching import OF_SOURCE
from interlace.objectives._switching_rows import blanks_of_its_own

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.objectives._switching import Switched
    from interlace.text import Text, TextPairs

    Piece = tuple[tuple[int, int, int, int], tuple[int, int], bool]  # a piece, its place, whether it brings its blank


def switched_lines(
    pairs: TextPairs, switched: Switched, translations: tuple[Sequence[str], Sequence[str]] = ((), ())
) -> list[str]:
    """The line of each switched sentence: the matrix sentence's characters with those of other phrases between.

    translations: the text of what the table knows, OF_SOURCE and OF_TARGET phrases.
    """
    sides = (pairs.source, pairs.target)
    own = blanks_of_its_own(switched, (pairs.source.language, pairs.target.language)).tolist()
    flat = list(
        zip(map(tuple, switched.pieces.flat.tolist()), map(tuple, switched.places.flat.tolist()), own, strict=True)
    )
    rows = [flat[a:b] for a, b in pairwise(switched.pieces.offsets.tolist())]
    matrix = switched.matrix.tolist()
    return [_line(sides, matrix[row], row, rows[row], translations) for row in range(len(rows))]


def _line(
    sides: tuple[Text, Text],
    matrix: int,
    row: int,
    pieces: Sequence[Piece],
    translations: tuple[Sequence[str], Sequence[str]],
) -> str:
    line, spans = sides[matrix].lines[row], sides[matrix].words[row]
    parts, at = [], 0
    for (side, of, start, stop), (first, last), own in pieces:
        if side == matrix:
            continue
        parts.append(line[at : spans[first][0]])
        if side >= OF_SOURCE:
            parts.append(" " * own + translations[side - OF_SOURCE][of])
        else:
            parts.append(" " * (own and _has_blank(sides[side], of, start)) + _phrase(sides[side], of, start, stop))
        at = spans[last - 1][1]
    return "".join([*parts, line[at:]])


def _phrase(text: Text, row: int, start: int, stop: int) -> str:
    spans = text.words[row]
    return text.lines[row][spans[start][0] : spans[stop - 1][1]]


def _has_blank(text: Text, row: int, word: int) -> bool:
    """Whether a blank stands before the word in its own line, as it would before a line's first."""
    return word == 0 or text.lines[row][text.words[row][word][0] - 1].isspace()
