"""Points over a horizontal axis of percent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from interlace.report import axes, svg
from interlace.report.text import number

_WIDTH = 380.0
_LEFT = 40.0
_RIGHT = 366.0
_TOP = 62.0
_BOTTOM = 222.0
_DISC = 1  # the style whose marker is a filled circle


@dataclass(frozen=True)
class ScatterPoint:
    """A point; `colour` and `shape` name its style."""

    x: float
    y: float
    colour: str
    shape: str
    title: str


def scatter(
    title: str,
    points: Sequence[ScatterPoint],
    colours: Mapping[str, int],
    shapes: Mapping[str, int],
) -> svg.Drawing:
    """Draw points over a horizontal axis of percent."""
    low = min(0.0, *(point.y for point in points))
    high = max(1.0, *(point.y for point in points))
    margin = (high - low) * 0.08
    across = axes.Scale(0.0, 100.0, _LEFT, _RIGHT - 10)
    up = axes.Scale(low - margin, high + margin, _BOTTOM, _TOP)
    parts = []
    for value in axes.ticks(low, high, 4):
        parts += svg.value_line(up(value), _LEFT, _RIGHT, number(value, 0))
    parts += [
        svg.text(across(value), _BOTTOM + 16, value, "tick", "middle")
        for value in (0, 25, 50, 75, 100)
    ]
    for point in points:
        colour = colours[point.colour]
        parts.append(
            svg.marker(
                across(point.x), up(point.y), shapes[point.shape], point.title, colour=colour
            )
        )
    colour_keys = svg.key_lines(colours, 34, _WIDTH, shape=_DISC)
    shape_keys = svg.key_lines(
        shapes, 34 + svg.KEY_LINE + colour_keys.extra_height, _WIDTH, colour=0
    )
    keys = svg.KeyLines(
        [*colour_keys.parts, *shape_keys.parts], colour_keys.extra_height + shape_keys.extra_height
    )
    label = f"{title}: " + "; ".join(point.title for point in points)
    return svg.Drawing(
        _WIDTH, 246 + keys.extra_height, label, svg.below(title, keys, parts), "dots"
    )
