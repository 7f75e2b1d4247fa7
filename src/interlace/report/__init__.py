"""Reports: results of runs as one HTML page with figures, and the tables of studies.

The page is one file that loads nothing from elsewhere. Its sections are entries of the registry
`interlace.report.sections`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.core.errors import DataError
from interlace.core.files import atomic
from interlace.report.page import page
from interlace.report.runs import all_scores, read_runs
from interlace.report.sections import Section, sections_of
from interlace.report.svg import write_figures

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from interlace.scores import ScoreTable

__all__ = ["Section", "read_scores", "write_report"]


def read_scores(runs: Sequence[Path]) -> ScoreTable:
    """Return the scores in run folders as one table; its `system` is the column on the report page.

    Raises:
        DataError: a folder is missing, is no run folder, or has a damaged file.
    """
    return all_scores(read_runs(runs))


def write_report(runs: Sequence[Path], into: Path) -> Path:
    """Write an HTML page about run folders to the file `into`, and return it.

    The figures are also written as SVG and PNG to a folder with the name of the page (`report/` for `report.html`).

    Raises:
        DataError: a run folder is missing, is none, or has a damaged file; or `into` cannot be written.
    """
    read = read_runs(runs)
    sections = sections_of(read)
    if into.is_dir():
        raise DataError(f"{into}: is a folder; name the file of the report, for instance {into / 'report.html'}")
    folder = into.with_suffix("") if into.suffix else into.with_name(f"{into.name}-figures")
    try:
        with atomic(into) as partial:
            partial.write_text(page(read, sections), encoding="utf-8")
        write_figures({section.anchor: section.figures for section in sections if section.figures}, folder)
    except OSError as error:
        raise DataError(f"{error.filename or into}: cannot be written: {error.strerror or error}") from None
    return into
