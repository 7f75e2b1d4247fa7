"""Pre-train what a recipe says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from interlace.cli import Code, output, take_guests
from interlace.cli._options import Changes, parse_changes


def pretrain(
    recipe: Annotated[str, typer.Argument(help="A TOML file, or a shipped recipe such as tiny/mlm.")],
    into: Annotated[Path, typer.Option("--into", help="The run's folder.")],
    changes: Changes = [],
    code: Code = [],
) -> None:
    """Pre-train what a recipe says; the same command goes on where a stopped run left off."""
    take_guests(code)
    from interlace.cli._progress import training_bar
    from interlace.recipes import read_recipe
    from interlace.recipes.pretrain import pretrain as run

    read = read_recipe(recipe, parse_changes(changes))
    with training_bar(read.name, read.train.steps) as watch:
        model = run(read, into, watch)
    output.print(str(model), soft_wrap=True, highlight=False)
