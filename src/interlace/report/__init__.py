"""Registry of report sections: results as figures and one self-contained HTML page.

A section is a module with a function of its own name that takes the runs and returns a `Section`. A part that a run
lacks leaves a quiet sentence; a section that nothing in the runs can fill is left out. The page asks for nothing from
outside: styles and figures stand in the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlace.core.errors import DataError
from interlace.core.files import atomic
from interlace.core.registry import Registry
from interlace.report._cells import Cell, Difference
from interlace.report._figure_files import write_figures
from interlace.report._page import page
from interlace.report._run import Run, read_runs
from interlace.report._scores import Line, TaskTable, zero_shot_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from markupsafe import Markup

__all__ = [
    "ORDER",
    "SECTIONS",
    "Cell",
    "Difference",
    "Line",
    "Run",
    "Section",
    "TaskTable",
    "section_order",
    "write_report",
    "zero_shot_table",
]


@dataclass(frozen=True)
class Section:
    """A heading, a plain sentence or two that say what to see, and what is shown (safe HTML, made by a template).

    Without a body there is nothing to show, and pages leave the section out.
    """

    title: str
    lead: str
    body: Markup


SECTIONS: Registry[Section] = Registry(__name__, "report section")

ORDER = (
    "zero_shot",
    "heat_map",
    "translation",
    "published",
    "transfer",
    "data_size",
    "embedding",
    "before_after",
    "diagnostics",
    "perplexity",
    "losses",
    "errors",
    "samples",
    "link_matrix",
    "recipe",
    "shares",
    "cost",
    "provenance",
)
"""What the reader wants first stands first: results, why, how it was learnt, and at the end how to do it again."""


_ALWAYS = {"zero_shot"}  # without scores it says how to get them


def section_order() -> list[str]:
    """Names of all sections in the order of the page; guests stand after our own, by name."""
    names = SECTIONS.names()
    return [name for name in ORDER if name in names] + [name for name in names if name not in ORDER]


def write_report(runs: Sequence[Path], into: Path) -> Path:
    """Write one HTML page about the run folders to the file `into`, and return it; an old page is replaced whole.

    The figures stand beside it too, in a folder named like the page (`report/` for `report.html`), as SVG and PNG.

    Raises:
        DataError: a run folder is missing, is none, or holds a damaged file; or `into` cannot be written.
    """
    read = read_runs(runs)
    found = {name: SECTIONS.get(name)(read) for name in section_order()}
    sections = {name: section for name, section in found.items() if name in _ALWAYS or section.body.strip()}
    _write(page(read, sections), into)
    _write_beside(sections, into.with_suffix("") if into.suffix else into.with_name(f"{into.name}-figures"))
    return into


def _write_beside(sections: Mapping[str, Section], folder: Path) -> None:
    try:
        write_figures(sections, folder)
    except OSError as error:
        raise DataError(f"{folder}: figures cannot be written: {error.strerror or error}") from None


def _write(text: str, into: Path) -> None:
    """Whole or not at all, so that a reader never sees half a page."""
    if into.is_dir():
        raise DataError(f"{into}: is a folder; name the file of the report, for instance {into / 'report.html'}")
    try:
        with atomic(into) as partial:
            partial.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DataError(f"{into}: cannot be written: {error.strerror or error}") from None
