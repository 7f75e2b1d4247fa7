"""Pre-train what a recipe says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from interlace.cli import Code, load_plugins, output
from interlace.cli._options import Changes, parse_changes


def pretrain(
    recipe: Annotated[str, typer.Argument(help="A TOML file, or a shipped recipe such as tiny/mlm.")],
    into: Annotated[Path | None, typer.Option("--into", help="The run's folder.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what it would take: subwords, memory, hours here.")
    ] = False,
    changes: Changes = [],
    code: Code = [],
    as_json: Annotated[bool, typer.Option("--json", help="Print the dry run as JSON.")] = False,
) -> None:
    """Pre-train what a recipe says; the same command goes on where a stopped run left off."""
    load_plugins(code)
    from interlace.core.errors import SettingsError
    from interlace.experiments.recipe import read_recipe

    read = read_recipe(recipe, parse_changes(changes))
    if dry_run:
        from interlace.cli._costs import show
        from interlace.experiments.estimate import estimate

        show(estimate(read), as_json=as_json)
        return
    if into is None:
        raise SettingsError("--into FOLDER is missing: where the run goes; or --dry-run to see what it would take")
    from interlace.cli._progress import training_bar, watching

    if read.embeddings is not None:
        from interlace.experiments.embeddings import learn_vectors

        with watching() as told:
            vectors = learn_vectors(read, into, told)
        output.print(str(vectors), soft_wrap=True, highlight=False)
        return
    from interlace.experiments.pretrain import pretrain as run

    with training_bar(read.name, read.train.steps) as watch:
        model = run(read, into, watch)
    output.print(str(model), soft_wrap=True, highlight=False)
