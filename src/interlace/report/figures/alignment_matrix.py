"""Word alignments of a sentence pair as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import cos, radians, sin
from typing import TYPE_CHECKING, Any

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

Link = tuple[int, int]


class AlignmentMatrix(BaseModel):
    """A sentence pair with its alignment links, counted from 0.

    confidence: of each link, in (0, 1]; default: 1. sure, possible: gold links; None without gold.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    corpus: str = ""
    source: list[str]
    target: list[str]
    links: list[tuple[int, int]]
    confidence: list[float] = []
    sure: list[tuple[int, int]] | None = None
    possible: list[tuple[int, int]] | None = None

    @classmethod
    def of(
        cls,
        words: WordPairs,
        alignments: Alignments,
        row: int,
        **gold: Any,
    ) -> AlignmentMatrix:
        """Return the matrix of a pair by its alignments; raise an IndexError if there is no such pair."""
        links = alignments.links
        confidence = Ragged(alignments.confidence, links.offsets - links.offsets[0])
        return cls(
            corpus="-".join(words.languages) if words.languages != ("source", "target") else "",
            source=[words.source_types[word] for word in words.source[row]],
            target=[words.target_types[word] for word in words.target[row]],
            links=links[row].tolist(),
            confidence=confidence[row].tolist(),
            **gold,
        )

    @model_validator(mode="after")
    def _check(self) -> AlignmentMatrix:
        source_length = len(self.source)
        target_length = len(self.target)
        for i, j in [*self.links, *(self.sure or ()), *(self.possible or ())]:
            if not (0 <= i < source_length and 0 <= j < target_length):
                raise ValueError(
                    f"a link {i}-{j} between {source_length} and {target_length} words"
                )
        if self.confidence and len(self.confidence) != len(self.links):
            raise ValueError(f"{len(self.confidence)} confidences of {len(self.links)} links")
        return self


@dataclass(frozen=True)
class _Key:
    """A line below the matrix: the class of a mark, or none, and its meaning."""

    kind: str
    words: str


@dataclass(frozen=True)
class _Layout:
    """Where the words and squares of a matrix are."""

    source: Sequence[str]
    target: Sequence[str]

    @cached_property
    def left(self) -> float:
        # the font is unknown, so words may be wider than estimated
        return (
            max((svg.text_width(word, _TYPE_SIZE) * 1.1 for word in self.source), default=0.0)
            + _GAP
            + 2
        )

    @cached_property
    def top(self) -> float:
        longest = max((svg.text_width(word, _TYPE_SIZE) for word in self.target), default=0.0)
        return longest * sin(_SLOPE) + _GAP + _TYPE_SIZE

    @property
    def right(self) -> float:
        return self.x(len(self.target))

    @property
    def bottom(self) -> float:
        return self.y(len(self.source))

    def x(self, column: float) -> float:
        return self.left + _CELL * column

    def y(self, row: float) -> float:
        return self.top + _CELL * row

    def overhang(self) -> float:
        """Return how far the sloping target words go beyond the matrix."""
        ends = []
        for column, word in enumerate(self.target):
            length = svg.text_width(word, _TYPE_SIZE) * cos(_SLOPE)
            ends.append(length + _CELL * (0.5 - len(self.target) + column) + _TYPE_SIZE)
        return max(ends, default=0.0)

    def square(
        self, link: Link, inset: float, class_: str, *inside: Markup, **attributes: object
    ) -> Markup:
        row, column = link
        side = _CELL - 2 * inset
        return svg.element(
            "rect",
            *inside,
            class_=class_,
            x=self.x(column) + inset,
            y=self.y(row) + inset,
            width=side,
            height=side,
            rx=1.5,
            **attributes,
        )


def alignment_matrix(matrix: AlignmentMatrix) -> svg.Drawing:
    """Draw source words down, target words across, a square for each link, and gold links as outlines."""
    layout = _Layout(
        [clipped(word, 30) for word in matrix.source], [clipped(word, 30) for word in matrix.target]
    )
    keys = _keys(matrix)
    parts = [*_grid(layout), *_words(layout), *_links(layout, matrix), *_gold(layout, matrix)]
    for line, key in enumerate(keys):
        parts += _key_line(key, layout.bottom + _KEY_LINE * line)
    key_width = max(svg.text_width(key.words, _TYPE_SIZE) for key in keys) + 19.0 + _GAP
    width = max(layout.right + layout.overhang(), key_width)
    links = ", ".join(f"{matrix.source[i]} – {matrix.target[j]}" for i, j in matrix.links)
    label = f"Word alignment: {links}" if links else "No word alignment"
    return svg.Drawing(
        width + 2, layout.bottom + _KEY_LINE * (len(keys) + 0.6), label, parts, "matrix"
    )


def _grid(layout: _Layout) -> list[Markup]:
    ys = [layout.y(row) for row in range(len(layout.source) + 1)]
    xs = [layout.x(column) for column in range(len(layout.target) + 1)]
    horizontal = [
        svg.line(
            layout.left,
            y,
            layout.right,
            y,
            "grid",
        )
        for y in ys
    ]
    vertical = [
        svg.line(
            x,
            layout.top,
            x,
            layout.bottom,
            "grid",
        )
        for x in xs
    ]
    return horizontal + vertical


def _words(layout: _Layout) -> list[Markup]:
    parts = []
    for row, word in enumerate(layout.source):
        baseline = layout.y(row + 0.5) + _TYPE_SIZE * 0.36
        parts.append(
            svg.text(
                layout.left - _GAP,
                baseline,
                word,
                anchor="end",
            )
        )
    for column, word in enumerate(layout.target):
        x = layout.x(column + 0.5) + _TYPE_SIZE * 0.25
        y = layout.top - _GAP
        parts.append(
            svg.element(
                "text",
                word,
                transform=f"translate({x:.2f} {y:.2f}) rotate(-55)",
            )
        )
    return parts


def _links(layout: _Layout, matrix: AlignmentMatrix) -> list[Markup]:
    """Return a square for each link, darker with higher confidence."""
    confidences = matrix.confidence or [1.0] * len(matrix.links)
    parts = []
    for (i, j), confidence in zip(matrix.links, confidences, strict=True):
        title = svg.element("title", f"{matrix.source[i]} – {matrix.target[j]}, {confidence:.2f}")
        parts.append(
            layout.square(
                (i, j),
                3.0,
                "link",
                title,
                fill_opacity=f"{0.2 + 0.8 * confidence:.3f}",
            )
        )
    return parts


def _gold(layout: _Layout, matrix: AlignmentMatrix) -> list[Markup]:
    """Return an outline for each gold link."""
    sure = set(matrix.sure or ())
    links = sorted(sure | set(matrix.possible or ()))
    return [
        layout.square(
            link,
            1.4,
            "sure" if link in sure else "possible",
        )
        for link in links
    ]


def _keys(matrix: AlignmentMatrix) -> list[_Key]:
    keys = []
    if matrix.corpus.count("-") == 1:
        source, target = matrix.corpus.split("-")
        keys.append(_Key("", f"down: {language_name(source)}, across: {language_name(target)}"))
    explained = " (stronger color: higher confidence)" if matrix.confidence else ""
    keys.append(_Key("link", f"alignment link{explained}"))
    if matrix.sure is not None or matrix.possible is not None:
        keys.append(_Key("sure", "gold link"))
    if set(matrix.possible or ()) - set(matrix.sure or ()):
        keys.append(_Key("possible", "possible gold link"))
    return keys


def _key_line(key: _Key, y: float) -> list[Markup]:
    if not key.kind:
        return [svg.text(3.0, y + 18.5, key.words, "tick")]
    mark = svg.element(
        "rect",
        class_=key.kind,
        x=3.0,
        y=y + 8.5,
        width=11.0,
        height=11.0,
        rx=1.5,
    )
    return [mark, svg.text(21.0, y + 18.5, key.words, "tick")]
