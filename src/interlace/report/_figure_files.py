"""Every figure of a page as a file of its own, SVG and PNG, in the page's light colours.

Figures on the page follow its style sheet and its theme. Alone they need rules of their own, without variables: the
rules of the sheet that reach a figure's classes, filled in.
"""

from __future__ import annotations

import logging
import re
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from interlace.core.files import atomic
from interlace.report._picture_file import FONTS, pixels
from interlace.report._svg import STROKE
from interlace.report._templates import style

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from interlace.report import Section

log = logging.getLogger(__name__)

_EDGE = 12.0
_NARROW = re.compile(r'<div class="on-narrow">.*?</svg></div>', re.DOTALL)  # a second drawing of the same figure
_FIGURE = re.compile(r"<svg[^>]*>.*?</svg>", re.DOTALL)
_HEAD = re.compile(
    r'<svg(?: class="(?P<class>[^"]*)")? viewBox="0 0 (?P<w>[\d.]+) (?P<h>[\d.]+)"[^>]*?aria-label="(?P<label>[^"]*)"[^>]*>'
)
_MARK = re.compile(r'scale\((?P<by>[\d.]+)\)" class="mark[^"]*"')
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_VARIABLE = re.compile(r"var\(--(\w+)\)")


def write_figures(sections: Mapping[str, Section], folder: Path) -> list[Path]:
    """Write the figures of all sections as `SECTION-NUMBER.svg` and `.png` into a folder; old ones there are replaced.

    Without the package resvg_py there are no PNG files, which is logged.
    """
    found = {f"{name.replace('_', '-')}-{number}": figure
             for name, section in sections.items() for number, figure in enumerate(_figures(section), 1)}  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    ours = re.compile(f"(?:{'|'.join(name.replace('_', '-') for name in sections)})-\\d+\\.(?:svg|png)")
    for path in folder.iterdir():
        if ours.fullmatch(path.name):
            path.unlink()
    can = _can_draw()
    written = []
    for name, figure in found.items():
        whole, size = alone(figure)
        written.append(_write(folder / f"{name}.svg", str(whole).encode()))
        if can:
            written.append(_write(folder / f"{name}.png", pixels(whole, size)))
    return written


def alone(figure: str) -> tuple[Markup, tuple[float, float]]:
    """A figure of the page as an SVG document that needs nothing else, and its size."""
    head = _HEAD.match(figure)
    if head is None:
        message = f"no figure of ours: {figure[:80]!r}"
        raise ValueError(message)
    width, height = float(head["w"]) + 2 * _EDGE, float(head["h"]) + 2 * _EDGE
    classes = set(re.findall(r'class="([^"]*)"', figure))
    rules = _rules(frozenset(name for names in classes for name in names.split()))
    body = _MARK.sub(
        lambda mark: f'{mark[0]} style="stroke-width:{STROKE / float(mark["by"]):.3f}"', figure[head.end() :]
    )
    root = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{head["class"] or ""}" width="{width:g}" height="{height:g}" '
        f'viewBox="{-_EDGE:g} {-_EDGE:g} {width:g} {height:g}" role="img"><title>{head["label"]}</title>'
        f"<style>{rules}</style>"
        f'<rect x="{-_EDGE:g}" y="{-_EDGE:g}" width="{width:g}" height="{height:g}" fill="{_colours()["paper"]}"/>'
    )
    return Markup(root + body), (width, height)  # noqa: S704 - escaped when the figure was made


def _figures(section: Section) -> Iterator[str]:
    """Figures that are more than a key, each once."""
    for figure in _FIGURE.findall(_NARROW.sub("", str(section.body))):
        head = _HEAD.match(figure)
        if head and head["class"] != "key":
            yield figure


@cache
def _colours() -> dict[str, str]:
    """The light theme's."""
    return dict(re.findall(r"--(\w+): (#\w+);", str(style()).partition("}")[0]))


@cache
def _rules(classes: frozenset[str]) -> str:
    """The rules of the style sheet for these classes, without variables."""
    sheet = re.sub(r"/\*.*?\*/", "", str(style()), flags=re.DOTALL)
    sheet = re.sub(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", sheet)
    known = {"svg", "text", *(f".{name}" for name in classes)}
    styles = sorted(name for name in classes if re.fullmatch(r"c\d", name))
    found = [f"svg {{ font-family: {FONTS}; }} text {{ fill: {_colours()['ink']}; }}"]
    for selectors, body in _RULE.findall(sheet):
        mine = [selector.strip() for selector in selectors.split(",") if set(selector.split()) <= known]
        if mine and "--c:" not in body and "font-family" not in body:
            found += _filled(mine, body, styles)
    return "\n".join(found)


def _filled(selectors: list[str], body: str, styles: list[str]) -> Iterator[str]:
    """A rule with its variables filled in; one that hangs on a style's colour becomes a rule for each style."""
    for name in styles if "var(--c)" in body else [""]:
        whole = ", ".join(f"{selector}.{name}" if name else selector for selector in selectors)
        plain = body.replace("var(--c)", _colours().get(name, ""))
        plain = _VARIABLE.sub(lambda variable: _colours().get(variable[1], "none"), plain)
        yield f"{whole} {{{plain.replace('currentColor', _colours()['ink'])}}}"


def _can_draw() -> bool:
    try:
        import resvg_py  # noqa: F401
    except ImportError:
        log.warning("figures are written as SVG alone; for PNG too: pip install resvg_py")
        return False
    return True


def _write(path: Path, data: bytes) -> Path:
    with atomic(path) as partial:
        partial.write_bytes(data)
    return path
