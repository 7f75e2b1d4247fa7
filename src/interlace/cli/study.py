"""Run a study: a grid of experiments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interlace.cli import Code, completion, load_plugins, notes, output, print_json, print_line
from interlace.cli.common import options
from interlace.cli.common.options import parse_changes
from interlace.cli.common.output import print_rows, print_table
from interlace.core.display import listed
from interlace.core.json_files import JsonObject

if TYPE_CHECKING:
    from interlace.experiments.studies import Study


def study(
    name: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="A TOML file, or a shipped study such as tiny/quick.",
            autocompletion=completion("studies"),
        ),
    ],
    into: Annotated[
        Path | None, options.output("Folder of the study. Optional with --dry-run.", kind="run")
    ] = None,
    only: Annotated[
        str, typer.Option("--only", help="Pattern of cell or system names, such as 'alm*'.")
    ] = "*",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list the cells and their states.")
    ] = False,
    changes: Annotated[
        list[str],
        typer.Option(
            "--set",
            help="Change a key of the study, such as seeds=[0]; set.KEY: of all its recipes (repeatable).",
        ),
    ] = [],
    code: Code = [],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the comparisons, or the cells, as JSON.")
    ] = False,
) -> None:
    """Run all unfinished cells (system and seed) of a study and compare its systems; rerun the command to resume.

    Cells run one after the other; several of the same command, on one or several machines, share them.
    """
    load_plugins(code)
    from interlace.core.errors import SettingsError
    from interlace.experiments.studies import read_study

    settings, folder = read_study(
        name, parse_changes(changes, "key=value, such as seeds=[0] or set.train.steps=100")
    )
    if dry_run:
        _list_cells(settings, folder, into, only, as_json=as_json)
        return
    if into is None:
        raise SettingsError("--output FOLDER is missing; or --dry-run to list the cells")
    from interlace.experiments.studies.folder import CELLS, LOG, StudyFolder
    from interlace.experiments.studies.running import run_study

    outcome = run_study(settings, folder, into, only=only, code=code)
    with StudyFolder(into).lock():
        _show_results(settings, folder, into, as_json=as_json)
    if outcome.failed:
        print_line(f"{len(outcome.failed)} of {len(outcome.cells)} cells failed:", notes)
        for cell, reason in outcome.failed.items():
            print_line(f"  {cell}: {reason}; log: {into / CELLS / cell / LOG}", notes)
        raise typer.Exit(1)


def _list_cells(
    settings: Study, folder: Path, into: Path | None, only: str, *, as_json: bool
) -> None:
    """Print the cells and their states, and what unfinished ones miss."""
    from interlace.experiments.studies import cells_of, matching
    from interlace.experiments.studies.folder import StudyFolder
    from interlace.experiments.studies.running import missing_of_cells

    study_folder = StudyFolder(into) if into else None
    rows: list[JsonObject] = []
    unfinished = []
    for cell in matching(cells_of(settings, folder), only):
        state = "waiting" if study_folder is None else study_folder.status(cell)
        row = {
            "cell": cell.name,
            "recipe": settings.systems[cell.system].recipe,
            "model": cell.model or "",
            "tasks": list(cell.tasks),
            "seeds": cell.fine_tuning_seeds,
            "state": state,
        }
        rows.append(row)
        if state != "finished":
            unfinished.append(cell)
    missing = missing_of_cells(unfinished, study_folder)
    if as_json:
        print_json(rows)
    else:
        print_rows(rows)
        print_line(f"{len(rows)} cells", notes)
    for message, systems in missing.items():
        print_line(f"note: {listed(systems)} cannot run: {message}", notes)


def _show_results(settings: Study, folder: Path, into: Path, *, as_json: bool) -> None:
    """Print the main table and the paths of the other results, and write the report."""
    from interlace.core.errors import DataError
    from interlace.experiments.studies import cells_of
    from interlace.experiments.studies.folder import StudyFolder
    from interlace.report.page import write_report
    from interlace.report.study import COMPARISONS, TABLES, summarize

    tables = summarize(settings, folder, into)
    if not tables:
        return
    if as_json:
        output.print_json((into / COMPARISONS).read_text(encoding="utf-8"))
    else:
        print_table(tables[0])
        print_line(f"tables: {into / TABLES}")
    runs = StudyFolder(into).finished_runs(cells_of(settings, folder))
    if not runs:
        return
    page = into / "report.html"
    try:
        write_report(runs, page)
    except DataError as error:  # the tables are valid without a report
        print_line(f"no report: {error}", notes)
        return
    if not as_json:
        print_line(f"report: {page}")
