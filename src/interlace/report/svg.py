"""Figures as SVG: elements, markers and keys; whole drawings on a page, in a notebook, and as documents.

Text is escaped. Colours are CSS variables of the page (`figure.css`); files have those of both themes filled in.
Figures are 340 to 400 units wide, as read on a phone.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from markupsafe import Markup, escape

from interlace.core.display import visible

STYLES = 8  # colours, markers and dashes before they repeat
_DASHES = ("5 3", "", "1.5 3", "9 3 2 3", "3 2", "12 4", "2 2 6 2", "7 7")
_FONTS = '"Noto Sans", "DejaVu Sans", "Segoe UI", Helvetica, Arial, sans-serif'
_FILE_MARGIN = 12.0
_KEY_LINE = 18.0  # height of a line of keys


@dataclass(frozen=True)
class _Shape:
    """The outline of a marker within [-1, 1], as a path or "circle"."""

    outline: str
    is_filled: bool


# neighbours also differ in greyscale
_SHAPES = (
    _Shape("circle", is_filled=False),
    _Shape("circle", is_filled=True),
    _Shape("M0 -1.15L1.1 .85H-1.1Z", is_filled=True),
    _Shape("M-.9 -.9H.9V.9H-.9Z", is_filled=False),
    _Shape("M0 -1.25L1.25 0L0 1.25L-1.25 0Z", is_filled=True),
    _Shape("M0 1.15L1.1 -.85H-1.1Z", is_filled=False),
    _Shape("M-1 -1L1 1M-1 1L1 -1", is_filled=False),
    _Shape("M0 -1.2V1.2M-1.2 0H1.2", is_filled=False),
)


def element(
    name: str,
    *children: object,
    **attributes: object,
) -> Markup:
    """Return an element: `class_` becomes `class`, `_` becomes `-`, None omits an attribute, everything is escaped."""
    parts = [f"<{name}"]
    for key, value in attributes.items():
        if value is not None:
            attribute = key.rstrip("_").replace("_", "-")
            parts.append(f' {attribute}="{escape(_plain(value))}"')
    parts.append(">")
    parts += [child if isinstance(child, Markup) else escape(_plain(child)) for child in children]
    parts.append(f"</{name}>")
    return Markup("".join(parts))  # noqa: S704 - every part is escaped


def _plain(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return re.sub(
        "[\ufffe\uffff]", "\N{REPLACEMENT CHARACTER}", visible(str(value))
    )  # not allowed in XML


@dataclass(frozen=True)
class Drawing:
    """A figure: its parts, its size in units, a label for screen readers and a class for its type size."""

    width: float
    height: float
    label: str
    parts: Sequence[Markup] = field(repr=False)
    kind: str = ""

    def __html__(self) -> Markup:
        """Return the SVG element for the page, which follows its style sheet."""
        return element(
            "svg",
            *self.parts,
            class_=self.kind or None,
            viewBox=f"0 0 {_plain(self.width)} {_plain(self.height)}",
            role="img",
            aria_label=self.label,
            style=f"--w:{_plain(self.width)}",
        )

    def document(self) -> Markup:
        """Return an SVG document with the style sheet in light and dark colours, without variables."""
        light_rules = _filled_in(style_sheet(), _LIGHT)
        dark_rules = _filled_in(style_sheet(), _DARK)
        style = (
            f"<style>{light_rules}@media (prefers-color-scheme: dark) {{\n{dark_rules}}}</style>"
        )
        left = -_FILE_MARGIN
        width = self.width + 2 * _FILE_MARGIN
        height = self.height + 2 * _FILE_MARGIN
        return element(
            "svg",
            element("title", self.label),
            Markup(style),  # noqa: S704 - our own file
            element(
                "rect",
                x=left,
                y=left,
                width=width,
                height=height,
                class_="paper",
            ),
            *self.parts,
            xmlns="http://www.w3.org/2000/svg",
            class_=self.kind or None,
            width=width,
            height=height,
            viewBox=f"{_plain(left)} {_plain(left)} {_plain(width)} {_plain(height)}",
            role="img",
        )

    def _repr_svg_(self) -> str:
        return str(self.document())


@cache
def style_sheet() -> str:
    """Return the style sheet of figures."""
    return (files("interlace.report") / "templates" / "figure.css").read_text(encoding="utf-8")


_LIGHT = 0
_DARK = 1


def _filled_in(sheet: str, theme: int) -> str:
    """Return the rules of a style sheet with the colours of a theme, for programs that know no variables."""
    variables, rules = sheet.split("/* rules */")
    colours = dict(re.findall(r"--(\w+): (#\w+);", variables.split("@media")[theme]))
    return re.sub(
        r"var\(--(\w+)\)",
        lambda variable: colours.get(variable[1], _FONTS),
        rules,
    )


def text(
    x: float,
    y: float,
    words: object,
    class_: str = "",
    anchor: str | None = None,
) -> Markup:
    """Return a line of text; `anchor` is start, middle or end."""
    return element(
        "text",
        words,
        x=x,
        y=y,
        class_=class_ or None,
        text_anchor=anchor,
    )


def line(
    x1: float,
    y1: float,
    x2: float,
    y2: float,
    class_: str,
) -> Markup:
    """Return a straight line."""
    return element(
        "line",
        x1=x1,
        y1=y1,
        x2=x2,
        y2=y2,
        class_=class_,
    )


def value_line(
    y: float,
    left: float,
    right: float,
    words: str,
) -> list[Markup]:
    """Return the line of a value on a vertical axis, with the value at its left end."""
    return [line(left, y, right, y, "grid"), text(left - 6, y + 4, words, "tick", "end")]


def path(points: Sequence[tuple[float, float]], style: int) -> Markup:
    """Return a line through points in the colour and dashes of a style."""
    steps = "L".join(f"{_plain(float(x))} {_plain(float(y))}" for x, y in points)
    style %= STYLES
    return element(
        "path", d=f"M{steps}", class_=f"curve c{style}", stroke_dasharray=_DASHES[style] or None
    )


def marker(
    x: float, y: float, style: int, title: str = "", half: float = 4.2, colour: int | None = None
) -> Markup:
    """Return the marker of a style with a hover title; another style may give the colour."""
    shape = _SHAPES[style % STYLES]
    if colour is None:
        colour = style
    class_ = f"mark c{colour % STYLES} {'full' if shape.is_filled else 'open'}"
    inside = element("title", title) if title else Markup("")
    if shape.outline == "circle":
        return element(
            "circle",
            inside,
            cx=x,
            cy=y,
            r=half,
            class_=class_,
        )
    scaled = re.sub(
        r"-?\d*\.?\d+",
        lambda number: _plain(float(number[0]) * half),
        shape.outline,
    )
    return element(
        "path", inside, d=scaled, transform=f"translate({_plain(x)} {_plain(y)})", class_=class_
    )


def legend(styles: Mapping[str, int], *, with_lines: bool = False) -> Markup:
    """Return the markers, or lines, of names for running text."""
    spans = []
    for name, style in styles.items():
        drawing = Drawing(
            12,
            12,
            "",
            [marker(6, 6, style)],
            "key",
        )
        if with_lines:
            drawing = Drawing(
                26,
                12,
                "",
                [path([(1, 6), (25, 6)], style)],
                "key",
            )
        spans.append(element("span", drawing.__html__(), f" {name}"))
    return element("p", *spans, class_="keys")


@dataclass(frozen=True)
class KeyLines:
    """Markers with names; bottom: where they end."""

    parts: Sequence[Markup]
    bottom: float


def key_lines(
    styles: Mapping[str, int],
    top: float,
    width: float,
) -> KeyLines:
    """Return named markers side by side below `top`, in as many lines as the width of the figure needs."""
    parts: list[Markup] = []
    x = 6.0
    baseline = top + _KEY_LINE
    for full_name, style in styles.items():
        name = fitted(full_name, 11.0, width - 15)
        key_width = 22 + text_width(name, 11.0)
        if x > 6 and x + key_width - 13 > width:
            x = 6.0
            baseline += _KEY_LINE
        parts.append(marker(x, baseline - 4, style))
        parts.append(text(x + 9, baseline, name, "tick"))
        x += key_width
    return KeyLines(parts, baseline + 6)


def text_width(words: str, size: float) -> float:
    """Estimate the width of text in a sans-serif type of that size."""
    width = 0.0
    for character in visible(words):
        if unicodedata.combining(character):
            continue
        if unicodedata.east_asian_width(character) in "WF":
            width += 1.0
        else:
            width += 0.68 if character.isupper() else 0.58
    return width * size


def fitted(
    words: str,
    size: float,
    width: float,
) -> str:
    """Return a name, cut in the middle if it is wider than `width`."""
    length = len(words)
    shown = words
    while length > 2 and text_width(shown, size) > width:
        length -= 1
        shown = words[: (length + 1) // 2] + "\u2026" + words[-(length // 2) :]
    return shown
