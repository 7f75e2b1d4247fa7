"""Word alignments of a sentence pair as a matrix."""

from __future__ import annotations

from math import cos, radians, sin

from pydantic import BaseModel, ConfigDict, model_validator

from interlace.report import svg
from interlace.report.text import clipped, language_name, render

_CELL = 22.0
_TYPE_SIZE = 13.0
_GAP = 7.0  # between a word and the squares
_SLOPE = radians(55)  # of target words


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


def alignment_matrix(matrix: AlignmentMatrix) -> svg.Drawing:
    """Draw source words down, target words across, and a square for each link, darker with higher confidence."""
    source = [clipped(word, 30) for word in matrix.source]
    target = [clipped(word, 30) for word in matrix.target]
    source_widths = [svg.text_width(word, _TYPE_SIZE) for word in source]
    target_widths = [svg.text_width(word, _TYPE_SIZE) for word in target]
    # the font is unknown, so words may be wider than estimated
    left = max(source_widths, default=0.0) * 1.1 + _GAP + 2
    top = max(target_widths, default=0.0) * sin(_SLOPE) + _GAP + _TYPE_SIZE
    right = left + _CELL * len(target)
    bottom = top + _CELL * len(source)
    keys = ["alignment link (stronger color: higher confidence)"]
    if matrix.corpus.count("-") == 1:
        source_name, target_name = map(language_name, matrix.corpus.split("-"))
        keys.append(f"down: {source_name}, across: {target_name}")
    ends = [right, *(21 + svg.text_width(key, _TYPE_SIZE) + _GAP for key in keys)]
    for column, width in enumerate(target_widths):  # sloping words go beyond the matrix
        ends.append(left + _CELL * (column + 0.5) + width * cos(_SLOPE) + _TYPE_SIZE)
    links = []
    confidences = matrix.confidence or [1.0] * len(matrix.links)
    for (i, j), confidence in zip(matrix.links, confidences, strict=True):
        links.append((i, j, confidence))
    body = render(
        "matrix",
        matrix=matrix,
        source=source,
        target=target,
        links=links,
        keys=keys,
        cell=_CELL,
        gap=_GAP,
        left=left,
        top=top,
        right=right,
        bottom=bottom,
    )
    pairs = ", ".join(f"{matrix.source[i]} – {matrix.target[j]}" for i, j in matrix.links)
    height = bottom + 12 + 19 * len(keys)
    return svg.Drawing(max(ends) + 2, height, f"Word alignment: {pairs or 'none'}", body, "matrix")
