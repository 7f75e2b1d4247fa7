"""Evaluate a run or a checkpoint."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from interlace.cli import Code, Json, load_plugins, notes, print_json, print_line
from interlace.cli.common import options
from interlace.cli.common.options import Changes, comma_separated, parse_changes
from interlace.cli.common.output import print_table
from interlace.core.display import listed
from interlace.core.errors import SettingsError


def evaluate(
    model: Annotated[
        str,
        typer.Argument(help="A finished run's folder, or a checkpoint's folder or hub name."),
    ],
    on: Annotated[
        list[str],
        typer.Option(
            "--tasks", help="Tasks, comma-separated or repeated. Default: the recipe's."
        ),
    ] = [],
    languages: Annotated[
        str,
        typer.Option(
            "--languages",
            metavar="DE,SW",
            help="Languages to score by all tasks, besides the source language. Default: those of the recipe and its "
            "tasks.",
        ),
    ] = "",
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds", min=1, help="Number of fine-tuning seeds. Default: the recipe's."
        ),
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option("--recipe", help="Recipe with task settings. Default: the run's."),
    ] = None,
    into: Annotated[
        Path | None,
        options.output(
            "Folder for scores. Default: the run's folder; of a checkpoint, evaluations/OWNER--NAME.",
            kind="run",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", metavar="DIR", help="Folder of the tasks' files. Default: the recipe's."
        ),
    ] = None,
    save_models: Annotated[
        bool,
        typer.Option(
            "--save-models",
            help="Save fine-tuned models in FOLDER/fine-tuned, for transformers to open.",
        ),
    ] = False,
    changes: Changes = [],
    code: Code = [],
    as_json: Json = False,
) -> None:
    """Fine-tune on the source language and score every language; probing tasks measure the model without training."""
    load_plugins(code)
    from interlace.experiments.evaluate import IncompleteError, target_of
    from interlace.experiments.evaluate import evaluate as run
    from interlace.experiments.recipe import change_recipe, read_recipe, score_languages
    from interlace.training.bars import fine_tuning_bar

    key_changes = parse_changes(changes)
    if data is not None:
        key_changes["data_root"] = json.dumps(str(data))
    target = target_of(model, read_recipe(recipe, key_changes) if recipe else None, into)
    if key_changes and not recipe:
        target = replace(target, recipe=change_recipe(target.recipe, key_changes))
    codes = comma_separated(languages)
    if codes:
        target = replace(target, recipe=score_languages(target.recipe, codes))
    names = comma_separated(",".join(on))
    if on and not names:
        raise SettingsError(
            f"--tasks is empty; the recipe has {listed(target.recipe.evaluate.tasks) or 'none'}"
        )
    failure = None
    with fine_tuning_bar(notes) as watch:
        try:
            rows = run(target, names, seeds, watch, save_models=save_models)
        except IncompleteError as error:
            rows = error.rows
            failure = error
    if as_json:
        print_json(rows)
    else:
        from interlace.report.comparison_table import ComparisonTable
        from interlace.scores import table_of_entries

        name = target.recipe.name
        scores = table_of_entries(rows, target.model, run=name, system=name, label=name)
        comparison = ComparisonTable(scores)
        for task in comparison.measures_by_table:
            print_table(replace(comparison.task_table(task), caption=""))
        print_line(comparison.main().caption)
    if failure is not None:
        raise failure
