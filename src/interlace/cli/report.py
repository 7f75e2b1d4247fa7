"""Write a report of runs."""

from pathlib import Path
from typing import Annotated

import typer

from interlace.cli import notes, print_line
from interlace.cli.common import options
from interlace.core.outputs import is_stream


def _is_report(path: Path) -> bool:
    from interlace.report.page import is_report

    return is_report(path)


def report(
    runs: Annotated[list[Path], typer.Argument(help="Folders of finished runs.")],
    into: Annotated[
        Path,
        options.output(
            "HTML file; figures of report.html go to report-figures/.", is_earlier=_is_report
        ),
    ] = Path("report.html"),
    baseline: Annotated[
        str,
        typer.Option(
            "--baseline",
            metavar="RUN",
            help="Run that the others are compared with. Default: the first.",
        ),
    ] = "",
) -> None:
    """Write one self-contained HTML page from one or several runs, and its figures as SVG in a folder beside it."""
    from interlace.report.page import write_report

    with notes.status(f"writing the report of {len(runs)} runs"):
        page = write_report(runs, into, baseline)
    if not is_stream(page):
        print_line(page)
