"""Write the embedded toy corpus in standard formats."""

from pathlib import Path
from typing import Annotated

import typer

from interlace.cli import Code, load_plugins, notes, print_line
from interlace.cli.common import options
from interlace.cli.common.options import comma_separated
from interlace.core.json_files import JsonObject


def toy(
    into: Annotated[Path, options.output("The folder to write.", kind="folder")],
    languages: Annotated[
        str,
        typer.Option("--languages", help="Language codes, separated by commas. Default: all."),
    ] = "",
    pairs: Annotated[
        int | None,
        typer.Option(
            "--pairs",
            min=1,
            max=1_000_000,
            help="Translation pairs with English per language; other text in proportion.",
        ),
    ] = None,
    code: Code = [],
) -> None:
    """Write the toy corpus: text, aligned translations, tags, names, NLI, questions, lexicons."""
    load_plugins(code)
    from interlace.toy.corpus import write_toy
    from interlace.toy.settings import ToyCorpus

    settings: JsonObject = {}
    if pairs:
        settings |= ToyCorpus.sizes(pairs)
    if languages:
        settings["languages"] = comma_separated(languages)
    with notes.status("writing the toy corpus"):
        write_toy(ToyCorpus(**settings), into)
    print_line(into)
