"""Check data before training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from interlace.cli import Code, Json, load_plugins, output, print_json
from interlace.cli.common.options import Changes, comma_separated, language_of, parse_changes
from interlace.cli.common.output import print_rows
from interlace.core.errors import SettingsError
from interlace.core.json_files import parse_json
from interlace.core.progress import Progress

if TYPE_CHECKING:
    from interlace.data.inspection import Finding, InspectionReport


def check(
    what: Annotated[list[str], typer.Argument(help="A recipe, one text file, or two parallel files.")],
    languages: Annotated[
        str, typer.Option("--languages", help="Languages of the files, such as en,de. Default: from the file names.")
    ] = "",
    reader: Annotated[str, typer.Option("--reader", help="Reader, such as tsv.")] = "lines",
    word_tokenizer: Annotated[str, typer.Option("--word-tokenizer", help="Word tokenizer for files.")] = "unicode",
    changes: Changes = [],
    code: Code = [],
    as_json: Json = False,
) -> None:
    """Check encodings, counts, length ratios, duplicates, scripts and contamination; exits with 2 on errors."""
    load_plugins(code)
    from interlace.cli.common.progress import watching

    with watching() as watch:
        if is_recipe(what):
            from interlace.experiments.checking import check_recipe
            from interlace.experiments.recipe import read_recipe

            reports = check_recipe(read_recipe(what[0], parse_changes(changes)), watch)
        else:
            codes = comma_separated(languages)
            reader = "squad" if reader == "lines" and Path(what[0]).suffix == ".json" else reader
            reports = check_files([Path(name) for name in what], codes, reader, word_tokenizer, watch)
    if as_json:
        failed = any(report.failed for report in reports)
        print_json({"reports": [report.dump() for report in reports], "failed": failed})
    else:
        show(reports)
    if any(report.failed for report in reports):
        raise typer.Exit(2)


_COLOUR = {"error": "bold red", "warning": "yellow", "note": "dim"}
_HEADS = ("corpus", "language", "rows", "words", "characters", "median", "99 %", "longest", "tokenized")
_FACTS = ("words", "characters", "p50", "p99", "max_words", "tokenization")


def is_recipe(what: list[str]) -> bool:
    """Return whether the only argument is a recipe."""
    path = Path(what[0])
    if len(what) == 1 and path.suffix == ".json" and path.is_file():
        return not is_squad(path)
    return len(what) == 1 and (path.suffix in {".toml", ".json"} or not (path.suffix or path.exists()))


def is_squad(path: Path) -> bool:
    """Return whether a JSON file has questions in the format of SQuAD."""
    try:
        found = parse_json(path.read_bytes(), surrogates=True)
    except ValueError:  # the error of a recipe names the fault
        return False
    return isinstance(found, dict) and isinstance(found.get("data"), list)


def check_files(
    paths: list[Path], languages: list[str], reader: str, word_tokenizer: str, progress: Progress
) -> list[InspectionReport]:
    """Check one file, or two parallel files."""
    from interlace.data.inspection import Inspector
    from interlace.readers import READERS
    from interlace.text.word_tokenizers import WORD_TOKENIZERS

    if len(paths) > 2:
        raise SettingsError(f"check takes a recipe, one file, or two files as sides; found {len(paths)}")
    languages = languages or [language_of(path) for path in paths]
    name = " | ".join(path.name for path in paths)
    inspector = Inspector(WORD_TOKENIZERS.build(word_tokenizer), {}, progress)
    return [inspector.inspect(name, READERS.build(reader), paths, languages)]


def show(reports: list[InspectionReport]) -> None:
    """Print reports and a summary."""
    sides = [(report, *side) for report in reports for side in report.facts.get("sides", {}).items()]
    cells = [
        (each.name, language, each.facts["rows"], *(side[key] for key in _FACTS)) for each, language, side in sides
    ]
    print_rows([dict(zip(_HEADS, row, strict=True)) for row in cells])
    for report in reports:
        if report.findings:
            output.print(f"\n[bold]{escape(report.name)}[/]", highlight=False)
            for finding in sorted(report.findings, key=lambda finding: list(_COLOUR).index(finding.level)):
                _show_finding(finding)
    output.print(f"\n{_verdict(reports)}", highlight=False)


def _show_finding(finding: Finding) -> None:
    count = ""
    if finding.total > 1:
        percent = 100 * finding.count / finding.total
        shown = f"{percent:.0f}" if percent >= 10 else f"{percent:.2g}"
        count = f"{finding.count:,} of {finding.total:,} ({shown} %): "
    head = f"  [{_COLOUR[finding.level]}]{finding.level}[/] [bold]{escape(finding.what)}[/]  {count}"
    output.print(head + escape(finding.about), highlight=False, soft_wrap=True)
    for example in finding.examples:
        output.print(f"      [dim]{escape(example.where)}[/]  {escape(example.text)}", highlight=False, soft_wrap=True)


def _verdict(reports: list[InspectionReport]) -> str:
    levels = [finding.level for report in reports for finding in report.findings]
    errors, warnings = levels.count("error"), levels.count("warning")
    if errors:
        return f"[bold red]{errors} error{'s' * (errors != 1)}[/]: the corpus cannot be built"
    if warnings:
        hint = "a recipe's \\[filters] can drop faulty lines, but not contamination"
        return f"[yellow]{warnings} warning{'s' * (warnings != 1)}[/]; {hint}"
    notes = levels.count("note")
    if notes:
        return f"[green]{notes} note{'s' * (notes != 1)}[/], no errors or warnings"
    return "[green]no findings[/]"
