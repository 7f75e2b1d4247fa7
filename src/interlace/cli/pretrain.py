"""Pre-train a model by a recipe."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interlace.cli import Code, RecipeName, load_plugins, notes, print_line
from interlace.cli.common import options
from interlace.cli.common.options import Changes, parse_changes

if TYPE_CHECKING:
    from interlace.experiments.estimate import Estimate


def pretrain(
    recipe: RecipeName,
    into: Annotated[
        Path | None, options.output("Folder of the run. Optional with --dry-run.", kind="run")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only prepare data; estimate memory and time.")
    ] = False,
    changes: Changes = [],
    code: Code = [],
) -> None:
    """Pre-train a model by a recipe; rerun the same command to resume."""
    load_plugins(code)
    from interlace.core.errors import SettingsError
    from interlace.experiments.recipe import read_recipe

    settings = read_recipe(recipe, parse_changes(changes))
    if dry_run:
        from interlace.experiments.estimate import estimate

        _print_estimate(estimate(settings))
        return
    if into is None:
        raise SettingsError("--output FOLDER is missing; or --dry-run for an estimate")
    from interlace.core.bars import watching
    from interlace.training.bars import training_bar

    if settings.embeddings is not None:
        from interlace.experiments.embeddings import learn_vectors

        with watching(notes) as progress:
            vectors = learn_vectors(settings, into, progress)
        print_line(vectors)
        return
    from interlace.experiments.pretrain import pretrain as run

    with training_bar(settings.name, notes) as watch:
        model = run(settings, into, watch)
    print_line(model)


def _print_estimate(estimate: Estimate) -> None:
    """Print the estimate, a fact a line."""
    from interlace.core.files import cache_folder
    from interlace.report.text import duration

    memory_of = "the process" if estimate.device.startswith("a CPU") else "the GPU"
    updates = f"{estimate.steps:,} updates of {estimate.tokens_per_step:,} with padding"
    facts = {
        "recipe": estimate.recipe,
        "model": f"{estimate.parameters:,} parameters, of which {estimate.trainable:,} are trained",
        "data": f"prepared in {cache_folder()} and kept there for the run",
        "tokens": f"{estimate.tokens:,} in {updates}",
        "memory": f"{estimate.memory / 1e9:,.2f} GB of {memory_of}",
        "speed": f"{estimate.speed:,.0f} tokens/s without padding, measured on {estimate.device}",
        "time": f"{duration(estimate.seconds)} for the updates of one process; without evaluation",
    }
    for name, fact in facts.items():
        print_line(f"{name:<10} {fact}")
