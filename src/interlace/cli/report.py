"""Write one self-contained page from one or several runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from interlace.cli import output


def report(
    runs: Annotated[list[Path], typer.Argument(help="Folders of finished runs.")],
    into: Annotated[Path, typer.Option("--into", help="The page's file.")] = Path("report.html"),
) -> None:
    """Write one self-contained HTML page from one or several runs."""
    from interlace.report import write_report

    output.print(str(write_report(runs, into)), soft_wrap=True, highlight=False)
