"""Print a shipped recipe or study to copy and change."""

from pathlib import Path
from typing import Annotated

import typer

from interlace.cli import completion, print_line
from interlace.cli.common import options


def init(
    recipe: Annotated[
        str,
        typer.Argument(
            help="See `interlace list recipes` and `interlace list studies`.",
            autocompletion=completion("recipes"),
        ),
    ] = "tiny/mlm",
    into: Annotated[
        Path | None,
        options.output("New file. Default: standard output.", default_is_standard=True),
    ] = None,
) -> None:
    """Print the file of a recipe or study, to copy and change: interlace init adapt/mbert > mine.toml."""
    from interlace.cli.common.output import lines_to
    from interlace.experiments.recipe import RECIPES
    from interlace.experiments.studies import STUDIES
    from interlace.text.lines import read_lines

    store = STUDIES if recipe in STUDIES.names() else RECIPES
    file = store.find(recipe, shared=True)
    with lines_to(into) as write:
        write(read_lines(file.path))
    if into is not None:
        print_line(into)
