"""Score a run or a checkpoint on tasks, zero-shot in every language."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from interlace.cli import Code, Json, load_plugins, output
from interlace.cli.common.options import Changes, parse_changes
from interlace.core.errors import DataError, SettingsError


def evaluate(
    model: Annotated[str, typer.Argument(help="A finished run's folder, or a checkpoint's folder or hub name.")],
    on: Annotated[list[str], typer.Option("--tasks", help="Tasks, with commas or repeated; none: the recipe's.")] = [],
    seeds: Annotated[int | None, typer.Option("--seeds", min=1, help="Fine-tuning seeds.")] = None,
    recipe: Annotated[str | None, typer.Option("--recipe", help="Recipe that says how tasks are set up.")] = None,
    into: Annotated[Path | None, typer.Option("--output", "-o", help="Where scores go; a run keeps its own.")] = None,
    changes: Changes = [],
    code: Code = [],
    as_json: Json = False,
) -> None:
    """Fine-tune on the source language and score every language; probes measure the model as it is."""
    load_plugins(code)
    from interlace.cli.common.progress import training_bar
    from interlace.cli.common.tables import score_table
    from interlace.experiments.evaluate import IncompleteError, target_of
    from interlace.experiments.evaluate import evaluate as run
    from interlace.experiments.recipe import change_recipe, read_recipe

    _must_be_no_study(Path(model))
    given = parse_changes(changes)
    target = target_of(model, read_recipe(recipe, given) if recipe else None, into)
    if given and not recipe:
        target = target.changed(change_recipe(target.recipe, given))
    names = [name.strip() for part in on for name in part.split(",") if name.strip()]
    if on and not names:
        raise SettingsError(
            f"--tasks names no task; the recipe has {', '.join(target.recipe.evaluate.tasks) or 'none'}"
        )
    failed = None
    with training_bar("fine-tuning", None) as bar:
        try:
            rows = run(target, names, seeds, lambda _name, _seed: bar)
        except IncompleteError as error:
            rows, failed = error.rows, error
    if as_json:
        output.print_json(json.dumps(rows))
    else:
        output.print(score_table(rows))
    if failed:
        raise failed


def _must_be_no_study(folder: Path) -> None:
    from interlace.experiments.studies.folder import CELLS, STUDY

    if (folder / STUDY).is_file():
        raise DataError(
            f"{folder}: a study, and not a model: its runs are the folders in {folder / CELLS}, and "
            f"`interlace study STUDY --output {folder}` scores them all, STUDY being the file or name it was run by"
        )
