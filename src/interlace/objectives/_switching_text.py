"""Switched sentences as lines of text: what the subwords of `_switching_rows` are the tokens of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.objectives._switching import OF_SOURCE
from interlace.objectives._switching_joins import blank_before, character_kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.objectives._switching import Switched
    from interlace.text import Text, TextPairs


class LineWriter:
    """Writes switched sentences of some pairs: the matrix sentence's characters with those of other phrases between.

    translations: the text of what the table knows, OF_SOURCE and OF_TARGET phrases.
    """

    def __init__(self, pairs: TextPairs, translations: tuple[Sequence[str], Sequence[str]] = ((), ())) -> None:
        self._sides = (_Side(pairs.source), _Side(pairs.target))
        self._translations = translations

    def lines(self, switched: Switched) -> list[str]:
        """The line of each switched sentence."""
        matrix = switched.matrix.tolist()
        found = [_Line(self._sides[side], row) for row, side in enumerate(matrix)]
        inserted = switched.inserted
        rows, pieces, places = (
            values[inserted].tolist() for values in (switched.pieces.rows(), switched.pieces.flat, switched.places.flat)
        )
        for row, (side, of, start, stop), (begin, end) in zip(rows, pieces, places, strict=True):
            if side >= OF_SOURCE:
                found[row].exchange(begin, end, self._translations[side - OF_SOURCE][of], own=True)
            else:
                text = self._sides[side]
                found[row].exchange(begin, end, text.phrase(of, start, stop), own=text.has_blank(of, start))
        return [line.text() for line in found]


class _Side:
    """One side's lines and the spans of their words."""

    def __init__(self, text: Text) -> None:
        self.lines = text.lines
        self._spans = text.words.flat.tolist()
        self._offsets = (text.words.offsets - text.words.offsets[0]).tolist()

    def span(self, row: int, word: int) -> tuple[int, int]:
        start, end = self._spans[self._offsets[row] + word]
        return start, end

    def phrase(self, row: int, start: int, stop: int) -> str:
        return self.lines[row][self.span(row, start)[0] : self.span(row, stop - 1)[1]]

    def has_blank(self, row: int, word: int) -> bool:
        """Whether a blank stands before the word, as it would before a line's first."""
        return word == 0 or self.lines[row][self.span(row, word)[0] - 1].isspace()


class _Line:
    """A line whose words are exchanged from left to right."""

    def __init__(self, side: _Side, row: int) -> None:
        self._side, self._row, self._line = side, row, side.lines[row]
        self._done, self._at = "", 0

    def exchange(self, start: int, stop: int, phrase: str, *, own: bool) -> None:
        """Put a phrase in the place of words; `own` says whether a blank stands before it in its own sentence."""
        done = self._done + self._line[self._at : self._side.span(self._row, start)[0]]
        if start and phrase:
            bare = done.rstrip()
            meet = character_kind(bare[-1]), character_kind(phrase[0])
            place = len(bare) < len(done)
            if place != blank_before(place, own, *meet):
                done = bare if place else f"{done} "
        self._done, self._at = done + phrase, self._side.span(self._row, stop - 1)[1]

    def text(self) -> str:
        return self._done + self._line[self._at :]
