"""Figures as SVG: on the page, and as documents in notebooks and files.

A figure is drawn by a template, in which colours are CSS variables of the page (`figure.css`); documents have those of
both themes filled in. Figures are 340 to 520 units wide, as read on a phone.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from markupsafe import Markup

from interlace.core.display import visible
from interlace.report.text import render

_FONTS = '"Noto Sans", "DejaVu Sans", "Segoe UI", Helvetica, Arial, sans-serif'


@dataclass(frozen=True)
class Drawing:
    """A figure: its size in units, a label for screen readers, its elements, and a class for its type size."""

    width: float
    height: float
    label: str
    body: Markup = field(repr=False)
    kind: str

    def __html__(self) -> Markup:
        """Return the SVG element for the page, which follows its style sheet."""
        return render("drawing", figure=self, theme_rules=None)

    def document(self) -> Markup:
        """Return an SVG document with the style sheet in light and dark colours, without variables."""
        return render("drawing", figure=self, theme_rules=_theme_rules())

    def _repr_svg_(self) -> str:
        return str(self.document())


@cache
def style_sheet() -> str:
    """Return the style sheet of figures."""
    return (files("interlace.report") / "templates" / "figure.css").read_text(encoding="utf-8")


@cache
def _theme_rules() -> list[Markup]:
    """Return the rules of the style sheet with light and with dark colours, for programs that know no variables."""
    variables, rules = style_sheet().split("/* rules */")
    filled_in = []
    for theme in variables.split("@media"):
        filled = rules.replace("var(--sans)", _FONTS)
        for name, colour in re.findall(r"--(\w+): (#\w+);", theme):
            filled = filled.replace(f"var(--{name})", colour)
        filled_in.append(Markup(filled))  # noqa: S704 - our own file
    return filled_in


def legend(styles: Mapping[str, int], *, with_lines: bool = False) -> Markup:
    """Return the markers, or lines, of names for running text."""
    return render("legend", styles=styles, with_lines=with_lines)


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
