"""A figure as a file of its own: SVG with the page's light colours, or PNG.

PNG is the same SVG, drawn by resvg: it joins the letters of Devanagari and Arabic and falls back to other fonts, which
drawing libraries without a text layout engine do not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from markupsafe import Markup

from interlace.core.errors import DataError, MissingDependencyError, SettingsError
from interlace.core.files import atomic
from interlace.report._svg import element
from interlace.report._templates import style

if TYPE_CHECKING:
    from pathlib import Path

    from interlace.report._matrix import Drawing

_EDGE = 12.0
_DENSITY = 2.0  # pixels of a PNG a unit
_MOST = 8000.0  # pixels of a PNG each way, so that a sentence of a thousand words does not fill the memory
_RULES = """
text {{ font: 13px {fonts}; fill: {ink}; }} .tick {{ fill: {soft}; font-size: 12px; }}
.grid {{ stroke: {rule}; stroke-width: .75; }} .link {{ fill: {c1}; }}
.sure, .possible {{ fill: none; stroke: {ink}; stroke-width: 1.75; }} .possible {{ stroke-dasharray: 3 2.5; }}
"""
FONTS = '"Noto Sans", "DejaVu Sans", "Segoe UI", Helvetica, Arial, sans-serif'


def must_be_drawable(path: Path) -> None:
    """Refuse a name that says no format that can be written.

    Raises:
        SettingsError: it ends neither in `.svg` nor in `.png`.
        MissingDependencyError: PNG needs a package that is not installed.
    """
    if path.suffix not in {".svg", ".png"}:
        raise SettingsError(f"{path}: a figure is FILE.svg or FILE.png")
    if path.suffix == ".png":
        try:
            import resvg_py  # noqa: F401
        except ImportError:
            raise MissingDependencyError("a figure as PNG", "resvg_py") from None


def write_picture(drawing: Drawing, path: Path) -> None:
    """Write a drawing as its name says.

    Raises:
        SettingsError, MissingDependencyError: as `must_be_drawable`.
        DataError: the disk is full.
    """
    must_be_drawable(path)
    source = whole(drawing)
    size = (drawing.width, drawing.height)
    data = str(source).encode("utf-8") if path.suffix == ".svg" else pixels(source, size)
    with atomic(path) as partial:
        partial.write_bytes(data)


def whole(drawing: Drawing) -> Markup:
    """The drawing as an SVG document that needs nothing else."""
    width, height = drawing.width + 2 * _EDGE, drawing.height + 2 * _EDGE
    colours = dict(re.findall(r"--(\w+): (#\w+);", str(style()).partition("}")[0]))
    rules = _RULES.format(fonts=FONTS, **colours)
    return element(
        "svg",
        element("title", drawing.label),
        Markup(f"<style>{rules}</style>"),  # noqa: S704 - our own text
        element("rect", width="100%", height="100%", fill=colours["paper"]),
        element("g", *drawing.parts, transform=f"translate({_EDGE} {_EDGE})"),
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=height,
        viewBox=f"0 0 {width:.2f} {height:.2f}",
        role="img",
    )


def pixels(source: Markup, size: tuple[float, float]) -> bytes:
    """An SVG document of that size as PNG.

    Raises:
        DataError: it cannot be drawn.
    """
    import resvg_py

    density = min(_DENSITY, _MOST / max(size))
    try:
        return bytes(resvg_py.svg_to_bytes(svg_string=str(source), zoom=density))
    except ValueError as error:
        raise DataError(f"the figure cannot be drawn as PNG: {error}; write it as .svg") from error
