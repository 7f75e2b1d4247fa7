"""Figures: lines over steps, dots, scatter plots; shaded tables, alignment matrices, maps of words."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import cos, radians, sin

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from interlace.report import svg
from interlace.report.runs import AlignmentMatrix, ConceptWords
from interlace.report.svg import below
from interlace.report.text import clipped, language_name, language_names, number, significant

_Array = NDArray[np.float64]
_Label = tuple[float, float, str, _Array]

WIDTH, _RIGHT = 380.0, 366.0
_TYPE = 12.0
_DISC = 1  # the style whose marker is a filled circle


def _value_axis(
    values: Sequence[float], up: Callable[[float], float], ends: tuple[float, float], shown: Callable[[float], str]
) -> list[Markup]:
    """Return a horizontal line between `ends` with its number for each value."""
    left, right = ends
    return [
        part
        for value in values
        for part in (
            svg.line(left, up(value), right, up(value), "grid"),
            svg.text(left - 6, up(value) + 4, shown(value), "tick", "end"),
        )
    ]


def _whole(value: float) -> str:
    return number(value, 0)


@dataclass(frozen=True)
class Curve:
    """Values over steps in the style of a run; `label` is drawn at the line's end."""

    label: str
    style: int
    points: list[tuple[float, float]]


@dataclass(frozen=True)
class Domain:
    """The range of both axes; `log`: whether the vertical axis is logarithmic."""

    steps: tuple[float, float]
    values: tuple[float, float]
    log: bool = False


def finite(points: Sequence[tuple[float, float | None]]) -> list[tuple[float, float]]:
    """Return the points with a finite value."""
    return [(step, value) for step, value in points if value is not None and math.isfinite(value)]


def smoothed(points: list[tuple[float, float]], most: int = 60) -> tuple[list[tuple[float, float]], int]:
    """Return means over equal stretches, at most `most` points, and the number of points in a stretch."""
    size = max(1, math.ceil(len(points) / most))
    parts = [points[start : start + size] for start in range(0, len(points), size)]
    return [(sum(s for s, _ in part) / len(part), sum(v for _, v in part) / len(part)) for part in parts], size


def domain(curves: Sequence[Curve], log: bool = False) -> Domain:
    """Return the range of all curves; logarithmic only if all values are positive."""
    points = [point for curve in curves for point in curve.points]
    steps, values = [step for step, _ in points], [value for _, value in points]
    low, high = min(values), max(values)
    log = log and low > 0
    margin = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    edges = (low / 1.15, high * 1.15) if log else (low - margin if low < 0 or low > margin else 0.0, high + margin)
    return Domain((min(0.0, *steps) if len(steps) > 1 else 0.0, max(*steps, 1.0) if steps else 1.0), edges, log)


def line_panel(title: str, curves: Sequence[Curve], span: Domain, unit: str) -> svg.Drawing:
    """Draw curves over steps; `unit` names the vertical axis for screen readers."""
    width, height, left, top, bottom = 340.0, 190.0, 40.0, 34.0, 162.0
    last = [significant(curve.points[-1][1]) for curve in curves]
    several = len({curve.label for curve in curves}) > 1
    ends = [f"{clipped(curve.label, 12)} " * several + value for curve, value in zip(curves, last, strict=True)]
    right = width - max(svg.text_width(end, _TYPE) for end in ends) - 14
    across, up = svg.scale(*span.steps, left, right), svg.scale(*span.values, bottom, top, span.log)
    values = svg.log_ticks(*span.values) if span.log else svg.ticks(*span.values)
    parts = [
        svg.text(0, 14, title, "title"),
        *_value_axis(values, up, (left, right), lambda v: _whole(v) if v.is_integer() else significant(v, 2)),
        svg.text(left, height - 8, _whole(span.steps[0]), "tick", "start"),
        svg.text(right, height - 8, f"step {_whole(span.steps[1])}", "tick", "end"),
        *(svg.path([(across(step), up(value)) for step, value in curve.points], curve.style) for curve in curves),
    ]
    points = [(across(curve.points[-1][0]), up(curve.points[-1][1])) for curve in curves]
    heights, edge = svg.apart([y + 4 for _, y in points], _TYPE + 2, top, bottom + 4), max(x for x, _ in points)
    for curve, words, (x, y), level in zip(curves, ends, points, heights, strict=True):
        parts.append(svg.marker(x, y, curve.style, f"{curve.label}: {words}", half=3.2))
        parts.append(svg.text(edge + 8, level, words, f"name c{curve.style % svg.STYLES}"))
    spoken = ", ".join(f"{curve.label} {value}" for curve, value in zip(curves, last, strict=True))
    return svg.Drawing(width, height, f"{title}: {unit}; at the last step {spoken}", parts, "panel")


@dataclass(frozen=True)
class Dot:
    """A marked value with its range, and its text for hover."""

    style: int
    mean: float
    low: float
    high: float
    title: str


@dataclass(frozen=True)
class DotRow:
    """A row of dots; `mean` rows are set apart by a rule."""

    name: str
    dots: Sequence[Dot]
    mean: bool = False


def dot_chart(
    title: str,
    rows: Sequence[DotRow],
    ends: tuple[float, float],
    keys: Mapping[str, int] | None = None,
    *,
    names_above: bool = False,
) -> svg.Drawing:
    """Draw rows of dots over a common horizontal axis, from top to bottom.

    Dots of a row are a little above each other, so that equal values do not hide each other.

    ends: of the axis. keys: name -> style, drawn under the title. names_above: for long names of rows.
    """
    left = 12.0 if names_above else min(10 + max(svg.text_width(row.name, _TYPE) for row in rows), 0.5 * WIDTH)
    height, top = (32.0, 68.0) if names_above else (27.0, 40.0 if keys is None else 60.0)
    across = svg.scale(*ends, left, _RIGHT)
    bottom = top + height * len(rows) + 8 * any(row.mean for row in rows)
    parts: list[Markup] = []
    for value in svg.ticks(*ends, 5):
        parts += [svg.line(across(value), top - (22 if names_above else 12), across(value), bottom - 8, "grid")]
        parts += [svg.text(across(value), bottom + 8, number(value, 0 if value.is_integer() else 1), "tick", "middle")]
    for place, row in enumerate(rows):
        y = top + height * place + 8 * row.mean
        if row.mean:
            parts.append(svg.line(0, y - height / 2 - 4, WIDTH, y - height / 2 - 4, "rule"))
        if names_above:
            parts.append(svg.text(0, y - 9, svg.fitted(row.name, 11.0, _RIGHT), "tick"))
        else:
            parts.append(svg.text(0, y + 4, svg.fitted(row.name, _TYPE, left - 8), "row mean" if row.mean else "row"))
        means = [across(dot.mean) for dot in row.dots]
        if len(means) > 1:
            parts.append(svg.line(min(means), y, max(means), y, "gap"))
        lane = 4.5 if len(means) < 4 else 13.5 / len(means)
        for rank, dot in enumerate(row.dots):
            level = y + (rank - (len(means) - 1) / 2) * lane
            parts += svg.whisker(across(dot.low), level, across(dot.high), level, dot.style)
            parts.append(svg.marker(across(dot.mean), level, dot.style, dot.title))
    label = f"{title}: " + "; ".join(f"{row.name} " + ", ".join(dot.title for dot in row.dots) for row in rows)
    drawn_keys, more = svg.key_lines(keys or {}, 34, WIDTH)
    return svg.Drawing(WIDTH, bottom + 16 + more, label, below(title, drawn_keys, parts, more), "dots")


@dataclass(frozen=True)
class ScatterPoint:
    """A point; `colour` and `shape` name its style."""

    x: float
    y: float
    colour: str
    shape: str
    title: str


def scatter(
    title: str, points: Sequence[ScatterPoint], colours: Mapping[str, int], shapes: Mapping[str, int]
) -> svg.Drawing:
    """Draw points over a horizontal axis of percent."""
    values = [point.y for point in points]
    low, high = min(0.0, *values), max(1.0, *values)
    margin = (high - low) * 0.08
    across, up = svg.scale(0.0, 100.0, 40.0, _RIGHT - 10), svg.scale(low - margin, high + margin, 222.0, 62.0)
    parts = _value_axis(svg.ticks(low, high, 4), up, (40, _RIGHT), _whole)
    parts += [svg.text(across(value), 238, value, "tick", "middle") for value in (0, 25, 50, 75, 100)]
    for point in points:
        shape, colour = shapes[point.shape], colours[point.colour]
        parts.append(svg.marker(across(point.x), up(point.y), shape, point.title, colour=colour))
    first, more = svg.key_lines(colours, 34, WIDTH, shape=_DISC)
    second, further = svg.key_lines(shapes, 34 + svg.KEY_LINE + more, WIDTH, colour=0)
    more += further
    label = f"{title}: " + "; ".join(point.title for point in points)
    return svg.Drawing(WIDTH, 246 + more, label, below(title, [*first, *second], parts, more), "dots")


@dataclass(frozen=True)
class Shade:
    """A shaded cell: its text, a smaller line below, how dark it is (0 to 1), and whether it has a frame."""

    words: str
    below: str = ""
    dark: float = 0.0
    framed: bool = False
    title: str = ""


def heat_map(
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[Shade | None]],
    label: str,
    width: float = 62.0,
    height: float = 34.0,
) -> svg.Drawing:
    """Draw a table of shaded cells; None leaves a cell empty."""
    space, max_opacity = 8.0, 0.42  # between names and cells; of a cell, so that text on the colour stays readable
    left = max([svg.text_width(row, 13.0) * 1.06 for row in rows], default=0.0) + space  # the font is unknown
    heads = [_broken(column, width) for column in columns]
    top = 14.0 * max(map(len, heads), default=1) + space / 2
    parts: list[Markup] = []
    for place, head in enumerate(heads):
        for row, words in enumerate(reversed(head)):
            parts.append(svg.text(left + width * (place + 0.5), top - space / 2 - 14.0 * row, words, "tick", "middle"))
    for row, name in enumerate(rows):
        y = top + height * row
        parts.append(svg.text(left - space, y + height / 2 + 4.3, name, anchor="end"))
        for column, cell in enumerate(cells[row]):
            if cell is None:
                continue
            x = left + width * column
            box = {"x": x + 1, "y": y + 1, "width": width - 2, "height": height - 2, "rx": 1.5}
            title = [svg.element("title", cell.title)] if cell.title else []
            opacity = f"{max_opacity * min(max(cell.dark, 0.0), 1.0):.3f}"
            parts.append(svg.element("rect", *title, class_="link", fill_opacity=opacity, **box))
            if cell.framed:
                parts.append(svg.element("rect", class_="sure", **box))
            middle, level = x + width / 2, y + height / 2
            parts.append(svg.text(middle, level + (-1.5 if cell.below else 4.3), cell.words, anchor="middle"))
            if cell.below:
                parts.append(svg.text(middle, level + 11.0, cell.below, "tick", "middle"))
    return svg.Drawing(left + width * len(columns) + 2, top + height * len(rows) + 2, label, parts, "matrix")


def _broken(words: str, width: float) -> list[str]:
    """Break a name between words and after hyphens into lines that fit a column."""
    lines = [""]
    for part in re.findall(r"[^\s-]+-?\s*|-\s*", words):
        if lines[-1] and svg.text_width((lines[-1] + part).rstrip(), 11.0) > width - 4:
            lines.append("")
        lines[-1] += part
    return [svg.fitted(each.rstrip(), 11.0, width - 4) for each in lines]


def alignment_matrix(matrix: AlignmentMatrix) -> svg.Drawing:
    """Draw source words down, target words across, a square for each link, and gold links as outlines."""
    cell, size, gap, slope = 22.0, 13.0, 7.0, radians(55)  # gap: between a word and the squares
    source, target = ([clipped(word, 30) for word in side] for side in (matrix.source, matrix.target))
    left = max([svg.text_width(word, size) * 1.1 for word in source], default=0.0) + gap + 2  # the font is unknown
    top = max([svg.text_width(word, size) for word in target], default=0.0) * sin(slope) + gap + size
    right, bottom = left + cell * len(target), top + cell * len(source)

    def square(link: tuple[int, int], inset: float, class_: str, *inside: Markup, **attributes: object) -> Markup:
        place = {"x": left + cell * link[1] + inset, "y": top + cell * link[0] + inset}
        side = cell - 2 * inset
        return svg.element("rect", *inside, class_=class_, **place, width=side, height=side, rx=1.5, **attributes)

    parts = [svg.line(left, top + cell * row, right, top + cell * row, "grid") for row in range(len(source) + 1)]
    parts += [svg.line(left + cell * at, top, left + cell * at, bottom, "grid") for at in range(len(target) + 1)]
    for row, word in enumerate(source):
        parts.append(svg.text(left - gap, top + cell * (row + 0.5) + size * 0.36, word, anchor="end"))
    for column, word in enumerate(target):
        x, y = left + cell * (column + 0.5) + size * 0.25, top - gap
        parts.append(svg.element("text", word, transform=f"translate({x:.2f} {y:.2f}) rotate(-55)"))
    confidences = matrix.confidence or [1.0] * len(matrix.links)
    for (i, j), confidence in zip(matrix.links, confidences, strict=True):
        title = svg.element("title", f"{matrix.source[i]} – {matrix.target[j]}, {confidence:.2f}")
        parts.append(square((i, j), 3.0, "link", title, fill_opacity=f"{0.2 + 0.8 * confidence:.3f}"))
    sure, possible = set(matrix.sure or ()), set(matrix.possible or ())
    parts += [square(link, 1.4, "sure" if link in sure else "possible") for link in sorted(sure | possible)]

    keys = []  # class of a mark, meaning
    if matrix.corpus.count("-") == 1:
        keys.append(("", "down: {}, across: {}".format(*map(language_name, matrix.corpus.split("-")))))
    keys.append(("link", "alignment link" + " (stronger color: higher confidence)" * bool(matrix.confidence)))
    keys += [("sure", "gold link")] * (matrix.sure is not None or matrix.possible is not None)
    keys += [("possible", "possible gold link")] * bool(possible - sure)
    for row, (kind, words) in enumerate(keys):
        y = bottom + 19.0 * row
        if kind:
            parts.append(svg.element("rect", class_=kind, x=3.0, y=y + 8.5, width=11.0, height=11.0, rx=1.5))
        parts.append(svg.text(21.0 if kind else 3.0, y + 18.5, words, "tick"))
    beyond = [
        svg.text_width(word, size) * cos(slope) + cell * (0.5 - len(target) + place) + size
        for place, word in enumerate(target)
    ]
    width = max(right + max(beyond, default=0.0), max(svg.text_width(words, size) for _, words in keys) + 19.0 + gap)
    links = ", ".join(f"{matrix.source[i]} – {matrix.target[j]}" for i, j in matrix.links)
    label = f"Word alignment: {links}" if links else "No word alignment"
    return svg.Drawing(width + 2, bottom + 19.0 * (len(keys) + 0.6), label, parts, "matrix")


_ASPECT = 0.8  # height of a map by its width
_HALF, _WORD = 3.4, 12.0  # half the width of a point, type size


def word_map(words: ConceptWords, places: _Array, styles: Mapping[str, int], width: float) -> svg.Drawing:
    """Draw words as points, translations joined by lines, with as many labels as fit.

    places: (words, 2) coordinates. styles: of languages.
    """
    points = map_points(places, width)
    joins = "".join(
        f"M{points[one, 0]:.1f} {points[one, 1]:.1f}L{points[other, 0]:.1f} {points[other, 1]:.1f}"
        for one, other in words.pairs
    )
    parts = [svg.element("path", d=joins, class_="links")]  # one path, so that crossing lines do not darken each other
    for (x, y), (_, language, word) in zip(points.tolist(), words.words, strict=True):
        parts.append(svg.marker(x, y, styles[language], f"{word} ({language_name(language)})", _HALF))
    for index, (x, y, anchor, _) in map_labels(words, points, styles, width).items():
        _, language, word = words.words[index]
        place = {"x": x, "y": y + _WORD * 0.36, "text_anchor": anchor, "lang": language}
        parts.append(svg.element("text", word, class_=f"word c{styles[language] % svg.STYLES}", **place))
    label = f"Map of {len(words.words)} words in {language_names(list(styles))}"
    return svg.Drawing(width, width * _ASPECT, label, parts, "map")


def map_points(places: _Array, width: float) -> _Array:
    """Return (words, 2) points in the middle of the picture, both axes on one scale."""
    points = places * (1.0, -1.0)
    points -= points.min(axis=0)
    size = np.array([width, width * _ASPECT])
    points *= ((size - 32.0) / np.maximum(points.max(axis=0), 1e-9)).min()
    placed: _Array = points + (size - points.max(axis=0)) / 2
    return placed


def map_labels(words: ConceptWords, points: _Array, styles: Mapping[str, int], width: float) -> dict[int, _Label]:
    """Place labels around their points greedily, words of the first language first; return those that fit.

    A label has its place and text anchor, and the box that nothing else may overlap: left, top, right, bottom.
    """
    boxes = np.concatenate([points - _HALF, points + _HALF], axis=1)
    placed: dict[int, _Label] = {}
    sides = ((1, 0.0), (-1, 0.0), (0, -1.0), (0, 1.0), (1, -0.7), (1, 0.7), (-1, -0.7), (-1, 0.7))
    space, away = 1.5, _HALF + 3.0  # minimum distance of labels from each other, and from their points
    for index, (_, _, word) in sorted(enumerate(words.words), key=lambda one: (styles[one[1][1]] > 0, one[0])):
        wide = svg.text_width(word, _WORD) * 1.06 + 1  # the font is unknown
        for side, level in sides:
            x = float(points[index, 0]) + side * away
            y = float(points[index, 1]) + level * (_WORD / 2 + (away - 1 if side == 0 else 0))
            left = x - wide * (1 - side) / 2
            box = np.array([left - space, y - _WORD / 2 - space, left + wide + space, y + _WORD / 2 + space])
            inside = (box >= 0).all() and box[2] <= width and box[3] <= width * _ASPECT
            if inside and not ((boxes[:, :2] < box[2:]) & (boxes[:, 2:] > box[:2])).all(axis=1).any():
                boxes = np.vstack([boxes, box])
                placed[index] = x, y, ("middle", "start", "end")[side], box
                break
    return placed
