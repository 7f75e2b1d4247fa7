"""Look data over before training on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from interlace.cli import Code, Json, load_plugins, output
from interlace.cli._options import Changes, parse_changes


def check(
    what: Annotated[list[str], typer.Argument(help="A recipe; or one text file, or two as sides of translations.")],
    languages: Annotated[
        str, typer.Option("--languages", help="Of the files, such as en,de; none: as their names end.")
    ] = "",
    reader: Annotated[str, typer.Option("--reader", help="What reads files, such as tsv.")] = "lines",
    word_tokenizer: Annotated[str, typer.Option("--word-tokenizer", help="What finds the words of files.")] = "unicode",
    changes: Changes = [],
    code: Code = [],
    as_json: Json = False,
) -> None:
    """Look data over before training: encodings, counts, ratios, duplicates, scripts, leaks. Exit code 2: no build."""
    load_plugins(code)
    from interlace.cli._check import check_files, is_recipe, show
    from interlace.cli._progress import watching

    with watching() as watch:
        if is_recipe(what):
            from interlace.experiments.checking import check_recipe
            from interlace.experiments.recipe import read_recipe

            checked = check_recipe(read_recipe(what[0], parse_changes(changes)), watch)
            reports, cost = checked.reports, checked.cost
        else:
            codes = [code.strip() for code in languages.split(",") if code.strip()]
            reports, cost = check_files([Path(name) for name in what], codes, reader, word_tokenizer, watch), None
    if as_json:
        found = {"reports": [report.dump() for report in reports], "cost": cost and cost.dump()}
        output.print_json(json.dumps({**found, "failed": any(report.failed for report in reports)}))
    else:
        show(reports, cost)
    if any(report.failed for report in reports):
        raise typer.Exit(2)
