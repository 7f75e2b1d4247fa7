"""Check data before training."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from interlace.cli import Code, Json, load_plugins, notes, output, print_json
from interlace.cli.common.options import Changes, language_names, language_of, parse_changes
from interlace.cli.common.output import print_rows
from interlace.core.errors import SettingsError
from interlace.core.progress import Progress

if TYPE_CHECKING:
    from interlace.data.findings import Finding
    from interlace.data.inspection import InspectionReport

# by level, the most serious first
_COLORS = {"error": "bold red", "warning": "yellow", "note": "dim"}


def check(
    what: Annotated[
        list[str], typer.Argument(help="A recipe, one text file, or two parallel files.")
    ],
    languages: Annotated[
        str,
        typer.Option(
            "--languages",
            help="Languages of the files, such as en,de. Default: from the file names.",
        ),
    ] = "",
    reader: Annotated[
        str,
        typer.Option("--reader", help="Reader of the files, such as tsv. Default: by suffix."),
    ] = "",
    changes: Changes = [],
    code: Code = [],
    as_json: Json = False,
) -> None:
    """Check encoding, length ratios, duplicates, identical sides, scripts and contamination; exits with 2 on errors."""
    load_plugins(code)
    from interlace.core.bars import watching

    with watching(notes) as watch:
        if not reader and is_recipe(what):
            from interlace.experiments.checking import check_recipe
            from interlace.experiments.recipe import read_recipe

            reports = check_recipe(read_recipe(what[0], parse_changes(changes)), watch)
        else:
            paths = [Path(name) for name in what]
            names = language_names(languages, len(paths))
            reports = [check_files(paths, names, reader, watch)]
    failed = any(report.failed for report in reports)
    if as_json:
        print_json({"reports": [report.dump() for report in reports], "failed": failed})
    else:
        show(reports)
    if failed:
        raise typer.Exit(2)


def is_recipe(what: list[str]) -> bool:
    """Return whether the only argument is a recipe."""
    path = Path(what[0])
    is_name = not path.suffix and not path.exists()
    return len(what) == 1 and (path.suffix in {".toml", ".json"} or is_name)


def check_files(
    paths: list[Path], languages: list[str], reader: str, progress: Progress
) -> InspectionReport:
    """Check one file, or two parallel files."""
    from interlace.data.inspection import Inspector
    from interlace.readers import READERS, reader_for

    if len(paths) > 2:
        raise SettingsError(
            f"check takes a recipe, one file, or two files as sides; found {len(paths)}"
        )
    languages = languages or [language_of(path) for path in paths]
    name = " | ".join(path.name for path in paths)
    inspector = Inspector("unicode", progress=progress)
    return inspector.inspect(
        name, READERS.build(reader or reader_for(paths[0])), paths, languages
    )


def show(reports: list[InspectionReport]) -> None:
    """Print reports and a summary."""
    rows = []
    for report in reports:
        for language, counts in report.facts.get("sides", {}).items():
            about = {"corpus": report.name, "language": language, "rows": report.facts["rows"]}
            rows.append({**about, **counts})
    if rows:
        print_rows(rows)
    levels: Counter[str] = Counter()
    for report in reports:
        if report.findings:
            output.print(f"\n[bold]{escape(report.name)}[/]", highlight=False)
        for level, color in _COLORS.items():
            for finding in report.findings:
                if finding.level == level:
                    _show_finding(finding, color)
                    levels[level] += 1
    counts_by_level = ", ".join(f"{level}s: {levels[level]}" for level in _COLORS)
    output.print(f"\n{counts_by_level}", highlight=False)


def _show_finding(finding: Finding, color: str) -> None:
    share = ""
    if finding.total > 1:
        percent = 100 * finding.count / finding.total
        share = f"{finding.count:,} of {finding.total:,} ({percent:.3g} %): "
    head = f"  [{color}]{finding.level}[/] [bold]{escape(finding.what)}[/]  {share}"
    lines = [head + escape(finding.about)]
    for example in finding.examples:
        lines.append(f"      [dim]{escape(example.where)}[/]  {escape(example.text)}")
    for line in lines:
        output.print(line, highlight=False, soft_wrap=True)
