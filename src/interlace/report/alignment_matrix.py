"""Word alignments of a sentence pair as a matrix."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, radians, sin

from interlace.report import svg
from interlace.report.text import clipped, language_name, render
from interlace.text import LanguagePair

_CELL = 22.0
_TYPE_SIZE = 13.0
_GAP = 7.0  # between a word and the squares
_SLOPE = radians(55)  # of target words


@dataclass(frozen=True)
class AlignmentMatrix:
    """A sentence pair with its alignment links, counted from 0, and their confidence in (0, 1].

    languages: of source and target, for the key; None if they are unknown.
    """

    source: Sequence[str]
    target: Sequence[str]
    links: Sequence[tuple[int, int]]
    confidence: Sequence[float]
    languages: LanguagePair | None = None


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
    if matrix.languages is not None:
        source_name, target_name = map(language_name, matrix.languages)
        keys.append(f"down: {source_name}, across: {target_name}")
    ends = [right, *(21 + svg.text_width(key, _TYPE_SIZE) + _GAP for key in keys)]
    for column, width in enumerate(target_widths):  # sloping words go beyond the matrix
        ends.append(left + _CELL * (column + 0.5) + width * cos(_SLOPE) + _TYPE_SIZE)
    body = render(
        "matrix",
        matrix=matrix,
        source=source,
        target=target,
        links=list(zip(matrix.links, matrix.confidence, strict=True)),
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
    return svg.Drawing(
        max(ends) + 2,
        height,
        f"Word alignment: {pairs or 'none'}",
        body,
        "matrix",
    )
