"""Word alignments of a sentence pair as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, radians, sin
from typing import TYPE_CHECKING

from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, model_validator

from interlace.core.ragged import Ragged
from interlace.report import svg
from interlace.report.text import clipped, language_name

if TYPE_CHECKING:
    from interlace.aligners import Alignments
    from interlace.alignment import WordPairs

_CELL = 22.0
_TYPE_SIZE = 13.0
_GAP = 7.0  # between a word and the squares
_SLOPE = radians(55)  # of target words
_KEY_LINE = 19.0


class AlignmentMatrix(BaseModel):
    """A sentence pair with its alignment links, counted from 0.

    confidence: of each link, in (0, 1]; default: 1.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    corpus: str = ""
    source: list[str]
    target: list[str]
    links: list[tuple[int, int]]
    confidence: list[float] = []

    @classmethod
    def of(cls, words: WordPairs, alignments: Alignments, row: int) -> AlignmentMatrix:
        """Return the matrix of a pair by its alignments; raise an IndexError if there is no such pair."""
        links = alignments.links
        confidence = Ragged(alignments.confidence, links.offsets - links.offsets[0])
        return cls(
            corpus="-".join(words.languages) if words.languages != ("source", "target") else "",
            source=[words.source_types[word] for word in words.source[row]],
            target=[words.target_types[word] for word in words.target[row]],
            links=links[row].tolist(),
            confidence=confidence[row].tolist(),
        )

    @model_validator(mode="after")
    def _check(self) -> AlignmentMatrix:
        source_length = len(self.source)
        target_length = len(self.target)
        for i, j in self.links:
            if not (0 <= i < source_length and 0 <= j < target_length):
                raise ValueError(
                    f"a link {i}-{j} between {source_length} and {target_length} words"
                )
        if self.confidence and len(self.confidence) != len(self.links):
            raise ValueError(f"{len(self.confidence)} confidences of {len(self.links)} links")
        return self


class _Layout:
    """Where the words and squares of a matrix are: (left, top) is the corner of the first square."""

    def __init__(self, source: Sequence[str], target: Sequence[str]) -> None:
        source_widths = [svg.text_width(word, _TYPE_SIZE) for word in source]
        target_widths = [svg.text_width(word, _TYPE_SIZE) for word in target]
        # the font is unknown, so words may be wider than estimated
        self.left = max(source_widths, default=0.0) * 1.1 + _GAP + 2
        self.top = max(target_widths, default=0.0) * sin(_SLOPE) + _GAP + _TYPE_SIZE
        self.right = self.x(len(target))
        self.bottom = self.y(len(source))
        self.width = self.right
        for column, width in enumerate(target_widths):  # sloping words go beyond the matrix
            end = self.x(column + 0.5) + width * cos(_SLOPE) + _TYPE_SIZE
            self.width = max(self.width, end)

    def x(self, column: float) -> float:
        return self.left + _CELL * column

    def y(self, row: float) -> float:
        return self.top + _CELL * row


def alignment_matrix(matrix: AlignmentMatrix) -> svg.Drawing:
    """Draw source words down, target words across, and a square for each link."""
    source = [clipped(word, 30) for word in matrix.source]
    target = [clipped(word, 30) for word in matrix.target]
    layout = _Layout(source, target)
    parts = [
        *_grid(layout, len(source), len(target)),
        *_words(layout, source, target),
        *_links(layout, matrix),
    ]
    meaning = "alignment link"
    if matrix.confidence:
        meaning += " (stronger color: higher confidence)"
    baseline = layout.bottom + 18.5
    parts.append(_square("link", 3.0, baseline - 10.0, 11.0))
    parts.append(svg.text(21.0, baseline, meaning, "tick"))
    if matrix.corpus.count("-") == 1:
        source_name, target_name = map(language_name, matrix.corpus.split("-"))
        baseline += _KEY_LINE
        languages = f"down: {source_name}, across: {target_name}"
        parts.append(svg.text(3.0, baseline, languages, "tick"))
    width = max(layout.width, 21.0 + svg.text_width(meaning, _TYPE_SIZE) + _GAP)
    links = ", ".join(f"{matrix.source[i]} – {matrix.target[j]}" for i, j in matrix.links)
    label = f"Word alignment: {links or 'none'}"
    return svg.Drawing(width + 2, baseline + 12.0, label, parts, "matrix")


def _grid(layout: _Layout, rows: int, columns: int) -> list[Markup]:
    lines = []
    for row in range(rows + 1):
        y = layout.y(row)
        lines.append(svg.line(layout.left, y, layout.right, y, "grid"))
    for column in range(columns + 1):
        x = layout.x(column)
        lines.append(svg.line(x, layout.top, x, layout.bottom, "grid"))
    return lines


def _words(layout: _Layout, source: Sequence[str], target: Sequence[str]) -> list[Markup]:
    texts = []
    for row, word in enumerate(source):
        baseline = layout.y(row + 0.5) + _TYPE_SIZE * 0.36
        texts.append(svg.text(layout.left - _GAP, baseline, word, anchor="end"))
    for column, word in enumerate(target):
        x = layout.x(column + 0.5) + _TYPE_SIZE * 0.25
        place = f"translate({x:.2f} {layout.top - _GAP:.2f}) rotate(-55)"
        texts.append(svg.element("text", word, transform=place))
    return texts


def _links(layout: _Layout, matrix: AlignmentMatrix) -> list[Markup]:
    """Return a square for each link, darker with higher confidence."""
    confidences = matrix.confidence or [1.0] * len(matrix.links)
    squares = []
    for (i, j), confidence in zip(matrix.links, confidences, strict=True):
        title = f"{matrix.source[i]} – {matrix.target[j]}, {confidence:.2f}"
        square = _square(
            "link",
            layout.x(j) + 3.0,
            layout.y(i) + 3.0,
            _CELL - 6.0,
            svg.element("title", title),
            fill_opacity=f"{0.2 + 0.8 * confidence:.3f}",
        )
        squares.append(square)
    return squares


def _square(
    class_: str,
    x: float,
    y: float,
    side: float,
    *inside: Markup,
    **attributes: object,
) -> Markup:
    return svg.element(
        "rect",
        *inside,
        class_=class_,
        x=x,
        y=y,
        width=side,
        height=side,
        rx=1.5,
        **attributes,
    )
