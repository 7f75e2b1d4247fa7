"""Points over a horizontal axis of percent."""

from collections.abc import Sequence
from dataclasses import dataclass

from interlace.report import axes, svg
from interlace.report.text import number

_WIDTH = 380.0
_LEFT = 40.0
_RIGHT = 366.0
_TOP = 30.0
_BOTTOM = 190.0


@dataclass(frozen=True)
class ScatterPoint:
    """A point in the shape and colour of two styles, and its text for hover."""

    x: float
    y: float
    shape: int
    colour: int
    title: str


def scatter(
    title: str,
    points: Sequence[ScatterPoint],
    keys: Sequence[svg.Key],
) -> svg.Drawing:
    """Draw points over a horizontal axis of percent, with keys below."""
    low = min(0.0, *(point.y for point in points))
    high = max(1.0, *(point.y for point in points))
    margin = (high - low) * 0.08
    across = axes.Scale(0.0, 100.0, _LEFT, _RIGHT - 10)
    up = axes.Scale(
        low - margin,
        high + margin,
        _BOTTOM,
        _TOP,
    )
    parts = [svg.text(0, 14, title, "title")]
    for value in axes.ticks(low, high):
        parts += svg.value_line(
            up(value),
            _LEFT,
            _RIGHT,
            number(value, 0),
        )
    for percent in (0, 25, 50, 75, 100):
        parts.append(
            svg.text(
                across(percent),
                _BOTTOM + 16,
                percent,
                "tick",
                "middle",
            )
        )
    for point in points:
        x = across(point.x)
        parts.append(
            svg.marker(
                x,
                up(point.y),
                point.shape,
                point.title,
                colour=point.colour,
            )
        )
    key_lines = svg.key_lines(keys, _BOTTOM + 22, _WIDTH)
    spoken = "; ".join(point.title for point in points)
    drawn = [*parts, *key_lines.parts]
    return svg.Drawing(
        _WIDTH,
        key_lines.bottom,
        f"{title}: {spoken}",
        drawn,
        "dots",
    )
