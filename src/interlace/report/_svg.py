"""Small parts of our figures: elements, scales, ticks, markers. All text is escaped; colours are CSS variables.

Figures are drawn at the size at which they are read on a phone (about 340 to 400 units wide) and set side by side on a
wide screen, so that their text keeps one size. `currentColor` and the classes `c0`, `c1`, ... follow the page's theme.
"""

from __future__ import annotations

import math
import unicodedata
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

STYLES = 8  # how many colours, markers and dashes there are before they repeat
DASHES = ("5 3", "", "1.5 3", "9 3 2 3", "3 2", "12 4", "2 2 6 2", "7 7")
STROKE = 1.6  # width of a marker's outline, as in the style sheet
_HALF = 4.2  # half the width of a marker

# Outlines within [-1, 1]; every other one is filled, so that neighbours also differ in grey.
_SHAPES = (
    ("circle", False),
    ("circle", True),
    ("M0 -1.15L1.1 .85H-1.1Z", True),
    ("M-.9 -.9H.9V.9H-.9Z", False),
    ("M0 -1.25L1.25 0L0 1.25L-1.25 0Z", True),
    ("M0 1.15L1.1 -.85H-1.1Z", False),
    ("M-1 -1L1 1M-1 1L1 -1", False),
    ("M0 -1.2V1.2M-1.2 0H1.2", False),
)


def element(name: str, *children: object, **attributes: object) -> Markup:
    """One element. `class_` becomes `class`, `_` becomes `-`, None leaves an attribute out; everything is escaped."""
    text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_plain(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = Markup("").join(escape(child) for child in children)
    return Markup(f"<{name}{text}>{inside}</{name}>")  # noqa: S704 - every part is escaped


def picture(width: float, height: float, label: str, parts: Iterable[Markup], class_: str = "") -> Markup:
    """A whole figure that scales with its box; `label` is what a screen reader says."""
    return element(
        "svg",
        *parts,
        class_=class_ or None,
        viewBox=f"0 0 {_plain(width)} {_plain(height)}",
        role="img",
        aria_label=label,
        style=f"--w:{_plain(width)}",
    )


def text(x: float, y: float, words: object, class_: str = "", anchor: str | None = None) -> Markup:
    """A line of text; `anchor` is start, middle or end."""
    return element("text", words, x=x, y=y, class_=class_ or None, text_anchor=anchor)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def path(points: Sequence[tuple[float, float]], style: int) -> Markup:
    """A line through the points in the colour and dashes of a style."""
    steps = "L".join(f"{_plain(x)} {_plain(y)}" for x, y in points)
    return element("path", d=f"M{steps}", class_=f"curve c{style % STYLES}", stroke_dasharray=dashes(style) or None)


def dashes(style: int) -> str:
    """The dash pattern of a style; empty for a whole line."""
    return DASHES[style % STYLES]


def marker(x: float, y: float, style: int, title: str = "", half: float = _HALF, colour: int | None = None) -> Markup:
    """The mark of a style at a point, with a title that shows when pointed at; another style may give the colour."""
    outline, filled = _SHAPES[style % STYLES]
    class_ = f"mark c{(style if colour is None else colour) % STYLES} {'full' if filled else 'open'}"
    inside = element("title", title) if title else Markup("")
    if outline == "circle":
        return element("circle", inside, cx=x, cy=y, r=half, class_=class_)
    move = f"translate({_plain(x)} {_plain(y)}) scale({_plain(half)})"
    return element("path", inside, d=outline, transform=move, class_=class_)


def key(style: int, with_line: bool = False) -> Markup:
    """A marker (or a stretch of line) to set into running text beside a name."""
    if with_line:
        return picture(26, 12, "", [path([(1, 6), (25, 6)], style)], "key")
    return picture(12, 12, "", [marker(6, 6, style)], "key")


def ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Round numbers within [low, high], about so many."""
    if not high > low:
        return [low]
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(index * step, 10) for index in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Of 1, 2, 5, 10, 20, ... those within [low, high]; only powers of ten where there would be more than five."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    found = [value for value in fine if low * 0.999 <= value <= high * 1.001]
    coarse = [value for value in found if math.log10(value) % 1 < 1e-9]
    return coarse if len(found) > 5 and len(coarse) > 1 else found


def scale(low: float, high: float, first: float, last: float, log: bool = False) -> Callable[[float], float]:
    """The straight (or logarithmic) map of [low, high] to [first, last]."""
    bend: Callable[[float], float] = math.log10 if log else float
    start, width = bend(low), (bend(high) - bend(low)) or 1.0
    return lambda value: first + (bend(value) - start) / width * (last - first)


def text_width(words: str, size: float) -> float:
    """About how wide a text is set in a sans-serif type of that size; East Asian characters count as wide."""
    ems = {"W": 1.0, "F": 1.0}
    wide = (
        0.0
        if unicodedata.combining(sign)
        else ems.get(unicodedata.east_asian_width(sign), 0.68 if sign.isupper() else 0.58)
        for sign in words
    )
    return sum(wide) * size


def fitted(words: str, size: float, width: float) -> str:
    """A name as far as that width has room for it, cut in the middle: its end may be what tells it from others."""
    if text_width(words, size) <= width:
        return words
    kept = len(words)
    while kept > 2 and text_width(words[: (kept + 1) // 2] + "\u2026" + words[-(kept // 2) :], size) > width:
        kept -= 1
    return words[: (kept + 1) // 2] + "\u2026" + words[-(kept // 2) :]


def apart(wanted: Sequence[float], least: float, low: float, high: float) -> list[float]:
    """Positions as near as may be to those wanted, in the same order, at least `least` apart and within [low, high]."""
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    placed = list(wanted)
    floor = low
    for index in order:
        placed[index] = max(placed[index], floor)
        floor = placed[index] + least
    ceiling = high
    for index in reversed(order):
        placed[index] = min(placed[index], ceiling)
        ceiling = placed[index] - least
    return placed


def _plain(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
