"""Figures as SVG: elements, scales and ticks; whole drawings on a page, in a notebook, and as files.

Text is escaped. Colours are CSS variables of the page (`figure.css`); files have those of both themes filled in.
Figures are 340 to 400 units wide, as read on a phone.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path

from markupsafe import Markup, escape

from interlace.core.display import visible
from interlace.core.errors import SettingsError
from interlace.core.files import atomic, atomic_folder, must_be_replaceable

STYLES = 8  # colours, markers and dashes before they repeat
_DASHES = ("5 3", "", "1.5 3", "9 3 2 3", "3 2", "12 4", "2 2 6 2", "7 7")
_SHAPES = (  # outlines within [-1, 1], and whether they are filled: neighbours also differ in greyscale
    ("circle", False),
    ("circle", True),
    ("M0 -1.15L1.1 .85H-1.1Z", True),
    ("M-.9 -.9H.9V.9H-.9Z", False),
    ("M0 -1.25L1.25 0L0 1.25L-1.25 0Z", True),
    ("M0 1.15L1.1 -.85H-1.1Z", False),
    ("M-1 -1L1 1M-1 1L1 -1", False),
    ("M0 -1.2V1.2M-1.2 0H1.2", False),
)
_FONTS = '"Noto Sans", "DejaVu Sans", "Segoe UI", Helvetica, Arial, sans-serif'
_MARGIN = 12.0  # of a file
_MARK = "figures.txt"  # of a folder of figures


def element(name: str, *children: object, **attributes: object) -> Markup:
    """Return an element: `class_` becomes `class`, `_` becomes `-`, None omits an attribute, everything is escaped."""
    text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_plain(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = Markup("").join(child if isinstance(child, Markup) else escape(_plain(child)) for child in children)
    return Markup(f"<{name}{text}>{inside}</{name}>")  # noqa: S704 - every part is escaped


def _plain(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return re.sub("[\ufffe\uffff]", "\N{REPLACEMENT CHARACTER}", visible(str(value)))  # not allowed in XML


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
        used = {self.kind, *re.findall(r"[\w-]+", " ".join(re.findall(r'class="([^"]*)"', "".join(self.parts))))}
        light, night = (
            [rule for classes, rule in _rules(theme) if any(each <= used for each in classes)] for theme in (0, 1)
        )
        rules = "\n".join([*light, "@media (prefers-color-scheme: dark) {", *night, "}"])
        left, width, height = -_MARGIN, self.width + 2 * _MARGIN, self.height + 2 * _MARGIN
        return element(
            "svg",
            element("title", self.label),
            Markup(f"<style>{rules}</style>"),  # noqa: S704 - our own file
            element("rect", x=left, y=left, width=width, height=height, class_="paper"),
            *self.parts,
            xmlns="http://www.w3.org/2000/svg",
            class_=self.kind or None,
            width=width,
            height=height,
            viewBox=" ".join(map(_plain, (left, left, width, height))),
            role="img",
        )

    def _repr_svg_(self) -> str:
        return str(self.document())


def style_sheet() -> str:
    """Return the style sheet of figures."""
    return (files("interlace.report") / "templates" / "figure.css").read_text(encoding="utf-8")


@cache
def _colours(theme: int) -> dict[str, str]:
    """Return the colours of a theme: 0 light, 1 dark."""
    return dict(re.findall(r"--(\w+): (#\w+);", style_sheet().split("}")[theme]))


@cache
def _rules(theme: int) -> list[tuple[list[set[str]], str]]:
    """Return (classes of each selector, rule) of the style sheet without variables, which few programs know."""
    sheet = re.sub(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", style_sheet())
    colours = _colours(theme)
    basic = (
        f"svg {{ font-family: {_FONTS}; }} text {{ fill: {colours['ink']}; }} .paper {{ fill: {colours['paper']}; }}"
    )
    found = [([set[str]()], basic)]
    for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", sheet):
        if ":root" in selectors or "--c:" in body or "font-family" in body:
            continue
        for style in range(STYLES) if "var(--c)" in body else [-1]:
            names = [f"{one.strip()}.c{style}" if style >= 0 else one.strip() for one in selectors.split(",")]
            plain = body.replace("var(--c)", colours.get(f"c{style}", "")).replace("currentColor", colours["ink"])
            plain = re.sub(r"var\(--(\w+)\)", lambda variable: colours.get(variable[1], "none"), plain)
            found.append(([set(re.findall(r"\.([\w-]+)", name)) for name in names], f"{', '.join(names)} {{{plain}}}"))
    return found


def check_figure_path(path: Path) -> None:
    """Raise a SettingsError if the suffix is not `.svg`."""
    if path.suffix != ".svg":
        raise SettingsError(f"{path}: a figure is FILE.svg")


def write_figure(drawing: Drawing, path: Path) -> None:
    """Write a drawing as SVG; raises as `check_figure_path` does."""
    check_figure_path(path)
    with atomic(path) as partial:
        partial.write_text(str(drawing.document()), encoding="utf-8")


def write_figures(figures: Mapping[str, Sequence[Drawing]], folder: Path) -> list[Path]:
    """Write figures as `NAME-NUMBER.svg` into a folder, in place of an older folder of figures."""
    check_figures_folder(folder)
    written = []
    with atomic_folder(folder) as partial:
        (partial / _MARK).write_text("Figures of a report, written by interlace.\n", encoding="utf-8")
        for name, drawings in figures.items():
            for place, drawing in enumerate(drawings, 1):
                file_name = f"{name}-{place}.svg"
                write_figure(drawing, partial / file_name)
                written.append(folder / file_name)
    return written


def check_figures_folder(folder: Path) -> None:
    """Reject a folder to write that is there and holds anything but figures of an older report."""
    must_be_replaceable(folder, _MARK, "folder of figures", ["*-*.svg"])


def text(x: float, y: float, words: object, class_: str = "", anchor: str | None = None) -> Markup:
    """Return a line of text; `anchor` is start, middle or end."""
    return element("text", words, x=x, y=y, class_=class_ or None, text_anchor=anchor)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """Return a straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def path(points: Sequence[tuple[float, float]], style: int) -> Markup:
    """Return a line through points in the colour and dashes of a style."""
    steps = "L".join(f"{_plain(float(x))} {_plain(float(y))}" for x, y in points)
    dashes = _DASHES[style % STYLES] or None
    return element("path", d=f"M{steps}", class_=f"curve c{style % STYLES}", stroke_dasharray=dashes)


def whisker(x1: float, y1: float, x2: float, y2: float, style: int) -> list[Markup]:
    """Return the line of a range in the colour of a style; nothing for an empty range."""
    return [line(x1, y1, x2, y2, f"whisker c{style % STYLES}")] if (x1, y1) != (x2, y2) else []


def marker(x: float, y: float, style: int, title: str = "", half: float = 4.2, colour: int | None = None) -> Markup:
    """Return the marker of a style with a hover title; another style may give the colour."""
    outline, filled = _SHAPES[style % STYLES]
    class_ = f"mark c{(style if colour is None else colour) % STYLES} {'full' if filled else 'open'}"
    inside = element("title", title) if title else Markup("")
    if outline == "circle":
        return element("circle", inside, cx=x, cy=y, r=half, class_=class_)
    scaled = re.sub(r"-?\d*\.?\d+", lambda found: _plain(float(found[0]) * half), outline)
    return element("path", inside, d=scaled, transform=f"translate({_plain(x)} {_plain(y)})", class_=class_)


def key(style: int, with_line: bool = False) -> Drawing:
    """Return a marker, or a stretch of line, for running text."""
    if with_line:
        return Drawing(26, 12, "", [path([(1, 6), (25, 6)], style)], "key")
    return Drawing(12, 12, "", [marker(6, 6, style)], "key")


KEY_LINE = 18.0  # height of a line of keys


def key_lines(
    styles: Mapping[str, int], y: float, width: float, shape: int | None = None, colour: int | None = None
) -> tuple[list[Markup], float]:
    """Return markers with names in as many lines as they need, and the height of the lines after the first.

    y: baseline of the first line. width: of the figure. shape, colour: the style that gives all their shape or colour.
    """
    parts: list[Markup] = []
    x, more = 6.0, 0.0
    for whole, style in styles.items():
        name = fitted(whole, 11.0, width - 15)
        wide = 22 + text_width(name, 11.0)
        if x > 6 and x + wide - 13 > width:
            x, more = 6.0, more + KEY_LINE
        mark = marker(x, y + more - 4, style if shape is None else shape, colour=style if colour is None else colour)
        parts += [mark, text(x + 9, y + more, name, "tick")]
        x += wide
    return parts, more


def below(title: str, keys: Sequence[Markup], drawn: Sequence[Markup], more: float) -> list[Markup]:
    """Return title and keys with the parts below, moved down by `more`."""
    moved = [element("g", *drawn, transform=f"translate(0 {more:g})")] if more else drawn
    return [text(0, 14, title, "title"), *keys, *moved]


def ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Return about that many round numbers within [low, high]."""
    if not high > low:
        return [low]
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(index * step, 10) for index in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return those of 1, 2, 5, 10, 20, ... within [low, high]; powers of ten alone where these are more than five."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    found = [value for value in fine if low * 0.999 <= value <= high * 1.001]
    coarse = [value for value in found if math.log10(value) % 1 < 1e-9]
    return coarse if len(found) > 5 and len(coarse) > 1 else found


def scale(low: float, high: float, first: float, last: float, log: bool = False) -> Callable[[float], float]:
    """Return the linear (or logarithmic) map of [low, high] to [first, last]."""
    bend: Callable[[float], float] = math.log10 if log else float
    start, width = bend(low), (bend(high) - bend(low)) or 1.0
    return lambda value: first + (bend(value) - start) / width * (last - first)


def text_width(words: str, size: float) -> float:
    """Estimate the width of text in a sans-serif type of that size."""
    words = visible(words)
    wide = [1.0 if unicodedata.east_asian_width(sign) in "WF" else 0.68 if sign.isupper() else 0.58 for sign in words]
    return sum(each for each, sign in zip(wide, words, strict=True) if not unicodedata.combining(sign)) * size


def fitted(words: str, size: float, width: float) -> str:
    """Return a name, cut in the middle if it is wider than `width`."""
    kept, shown = len(words), words
    while kept > 2 and text_width(shown, size) > width:
        kept -= 1
        shown = words[: (kept + 1) // 2] + "\u2026" + words[-(kept // 2) :]
    return shown


def apart(wanted: Sequence[float], distance: float, low: float, high: float) -> list[float]:
    """Return positions near those wanted, in the same order, at least `distance` apart and within [low, high]."""
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    placed = list(wanted)
    for index in order:
        placed[index] = max(placed[index], low)
        low = placed[index] + distance
    for index in reversed(order):
        placed[index] = min(placed[index], high)
        high = placed[index] - distance
    return placed
