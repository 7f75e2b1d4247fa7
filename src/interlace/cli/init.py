"""Print a complete recipe to copy and change."""

from pathlib import Path
from typing import Annotated

import typer

from interlace.cli import Code, load_plugins, print_line
from interlace.cli.common import options
from interlace.cli.common.options import comma_separated


def init(
    recipe: Annotated[
        str, typer.Argument(help="A recipe to start from: see `interlace list recipes`.")
    ] = "tiny/mlm",
    into: Annotated[
        Path | None, options.output("File. Default: standard output.", default_is_standard=True)
    ] = None,
    languages: Annotated[
        str,
        typer.Option(
            "--languages",
            help="Languages of your own text, such as en,de: no toy corpus, and none of its tasks.",
        ),
    ] = "",
    code: Code = [],
) -> None:
    """Print a recipe with every key, its meaning and its default: interlace init adapt/mbert:alm > mine.toml."""
    load_plugins(code)
    from interlace.cli.common.output import lines_to
    from interlace.core.errors import DataError
    from interlace.experiments.template import recipe_template

    if into is not None and into.is_file():
        raise DataError(f"{into}: exists already; name another file")
    text = recipe_template(recipe, comma_separated(languages))
    with lines_to(into) as write:
        write(text.splitlines())
    if into is not None:
        print_line(into)
