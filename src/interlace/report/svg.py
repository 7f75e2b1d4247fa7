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


def element(name: str, *children: object, **attributes: object) -> Markup:
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

    def __html__(self) -> str:
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
        """Return an SVG document with the page's rules for the drawing, in light and dark colours."""
        light = "\n".join(self._rules_of(_LIGHT))
        dark = "\n".join(self._rules_of(_DARK))
        style = f"<style>{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}</style>"
        left = -_FILE_MARGIN
        width = self.width + 2 * _FILE_MARGIN
        height = self.height + 2 * _FILE_MARGIN
        return element(
            "svg",
            element("title", self.label),
            Markup(style),  # noqa: S704 - our own file
            element("rect", x=left, y=left, width=width, height=height, class_="paper"),
            *self.parts,
            xmlns="http://www.w3.org/2000/svg",
            class_=self.kind or None,
            width=width,
            height=height,
            viewBox=" ".join(_plain(value) for value in (left, left, width, height)),
            role="img",
        )

    def _rules_of(self, theme: int) -> list[str]:
        """Return the style rules of a theme for the classes of the drawing."""
        classes = {self.kind}
        for attribute in re.findall(r'class="([^"]*)"', "".join(self.parts)):
            classes |= set(attribute.split())
        return [rule.text for rule in _rules(theme) if rule.applies_to(classes)]

    def _repr_svg_(self) -> str:
        return str(self.document())


def style_sheet() -> str:
    """Return the style sheet of figures."""
    return (files("interlace.report") / "templates" / "figure.css").read_text(encoding="utf-8")


_LIGHT = 0
_DARK = 1


@cache
def _colours(theme: int) -> dict[str, str]:
    """Return the colours of a theme by variable."""
    return dict(re.findall(r"--(\w+): (#\w+);", style_sheet().split("}")[theme]))


@dataclass(frozen=True)
class _Rule:
    """A rule of the style sheet, with the classes that each of its selectors needs."""

    selectors: Sequence[frozenset[str]]
    text: str

    def applies_to(self, classes: set[str]) -> bool:
        return any(selector <= classes for selector in self.selectors)


@cache
def _rules(theme: int) -> list[_Rule]:
    """Return the style sheet in the colours of a theme, without variables, which few programs know."""
    colours = _colours(theme)
    basic = (
        f"svg {{ font-family: {_FONTS}; }} text {{ fill: {colours['ink']}; }} "
        f".paper {{ fill: {colours['paper']}; }}"
    )
    rules = [_Rule([frozenset()], basic)]
    sheet = re.sub(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", style_sheet())
    for names, body in re.findall(r"([^{}]+)\{([^{}]*)\}", sheet):
        if ":root" in names or "--c:" in body or "font-family" in body:
            continue
        selectors = [name.strip() for name in names.split(",")]
        if "var(--c)" not in body:
            rules.append(_rule(selectors, body, colours))
            continue
        for style in range(STYLES):
            styled = body.replace("var(--c)", colours.get(f"c{style}", ""))
            rules.append(_rule([f"{selector}.c{style}" for selector in selectors], styled, colours))
    return rules


def _rule(selectors: Sequence[str], body: str, colours: Mapping[str, str]) -> _Rule:
    """Return a rule whose variables are filled in."""
    body = body.replace("currentColor", colours["ink"])
    body = re.sub(r"var\(--(\w+)\)", lambda variable: colours.get(variable[1], "none"), body)
    classes = [frozenset(re.findall(r"\.([\w-]+)", selector)) for selector in selectors]
    return _Rule(classes, f"{', '.join(selectors)} {{{body}}}")


def text(x: float, y: float, words: object, class_: str = "", anchor: str | None = None) -> Markup:
    """Return a line of text; `anchor` is start, middle or end."""
    return element("text", words, x=x, y=y, class_=class_ or None, text_anchor=anchor)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """Return a straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def value_line(y: float, left: float, right: float, words: str) -> list[Markup]:
    """Return the line of a value on a vertical axis, with the value at its left end."""
    return [line(left, y, right, y, "grid"), text(left - 6, y + 4, words, "tick", "end")]


def path(points: Sequence[tuple[float, float]], style: int) -> Markup:
    """Return a line through points in the colour and dashes of a style."""
    steps = "L".join(f"{_plain(float(x))} {_plain(float(y))}" for x, y in points)
    style %= STYLES
    return element(
        "path", d=f"M{steps}", class_=f"curve c{style}", stroke_dasharray=_DASHES[style] or None
    )


def whisker(x1: float, y1: float, x2: float, y2: float, style: int) -> list[Markup]:
    """Return the line of a range in the colour of a style; nothing for an empty range."""
    if (x1, y1) == (x2, y2):
        return []
    return [line(x1, y1, x2, y2, f"whisker c{style % STYLES}")]


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
        return element("circle", inside, cx=x, cy=y, r=half, class_=class_)
    scaled = re.sub(r"-?\d*\.?\d+", lambda number: _plain(float(number[0]) * half), shape.outline)
    return element(
        "path", inside, d=scaled, transform=f"translate({_plain(x)} {_plain(y)})", class_=class_
    )


def key(style: int, with_line: bool = False) -> Drawing:
    """Return a marker, or a stretch of line, for running text."""
    if with_line:
        return Drawing(26, 12, "", [path([(1, 6), (25, 6)], style)], "key")
    return Drawing(12, 12, "", [marker(6, 6, style)], "key")


KEY_LINE = 18.0  # height of a line of keys


@dataclass(frozen=True)
class KeyLines:
    """Markers with names, and the height of the lines after the first."""

    parts: Sequence[Markup]
    extra_height: float


def key_lines(
    styles: Mapping[str, int],
    y: float,
    width: float,
    shape: int | None = None,
    colour: int | None = None,
) -> KeyLines:
    """Return markers with names in as many lines as they need.

    y: baseline of the first line. width: of the figure. shape, colour: the style that gives all their shape or colour.
    """
    parts: list[Markup] = []
    x = 6.0
    extra_height = 0.0
    for full_name, style in styles.items():
        name = fitted(full_name, 11.0, width - 15)
        key_width = 22 + text_width(name, 11.0)
        if x > 6 and x + key_width - 13 > width:
            x = 6.0
            extra_height += KEY_LINE
        baseline = y + extra_height
        key_shape = style if shape is None else shape
        key_colour = style if colour is None else colour
        parts.append(marker(x, baseline - 4, key_shape, colour=key_colour))
        parts.append(text(x + 9, baseline, name, "tick"))
        x += key_width
    return KeyLines(parts, extra_height)


def below(title: str, keys: KeyLines, drawn: Sequence[Markup]) -> list[Markup]:
    """Return title and keys with the parts below, moved down by the height of further lines of keys."""
    if keys.extra_height:
        drawn = [element("g", *drawn, transform=f"translate(0 {keys.extra_height:g})")]
    return [text(0, 14, title, "title"), *keys.parts, *drawn]


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


def fitted(words: str, size: float, width: float) -> str:
    """Return a name, cut in the middle if it is wider than `width`."""
    length = len(words)
    shown = words
    while length > 2 and text_width(shown, size) > width:
        length -= 1
        shown = words[: (length + 1) // 2] + "\u2026" + words[-(length // 2) :]
    return shown
