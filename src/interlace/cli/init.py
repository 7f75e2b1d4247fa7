"""Print a shipped recipe to copy and change."""

from pathlib import Path
from typing import Annotated

import typer

from interlace.cli import print_line
from interlace.cli.common import options


def init(
    recipe: Annotated[
        str, typer.Argument(help="A recipe to start from: see `interlace list recipes`.")
    ] = "tiny/mlm",
    into: Annotated[
        Path | None, options.output("File. Default: standard output.", default_is_standard=True)
    ] = None,
) -> None:
    """Print the file of a recipe, to copy and change: interlace init adapt/mbert > mine.toml."""
    from interlace.cli.common.output import lines_to
    from interlace.core.errors import DataError
    from interlace.experiments.recipe import RECIPES
    from interlace.text.lines import read_lines

    if into is not None and into.is_file():
        raise DataError(f"{into}: exists already; name another file")
    file = RECIPES.find(recipe, shared=True)
    with lines_to(into) as write:
        write(read_lines(file.path))
    if into is not None:
        print_line(into)
