"""Pre-train a model by a recipe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interlace.cli import Code, load_plugins, notes, output
from interlace.cli.common.options import Changes, parse_changes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlace.experiments.estimate import Estimate


def pretrain(
    recipe: Annotated[str, typer.Argument(help="A TOML file, or a shipped recipe such as tiny/mlm.")],
    into: Annotated[Path | None, typer.Option("--output", "-o", help="Folder of the run.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only estimate tokens, memory and time.")] = False,
    changes: Changes = [],
    code: Code = [],
    as_json: Annotated[bool, typer.Option("--json", help="Print the dry run as JSON.")] = False,
) -> None:
    """Pre-train a model by a recipe; rerun the same command to resume."""
    load_plugins(code)
    from interlace.core.errors import SettingsError
    from interlace.experiments.recipe import read_recipe

    read = read_recipe(recipe, parse_changes(changes))
    if dry_run:
        from interlace.experiments.estimate import estimate

        show(estimate(read), as_json=as_json)
        return
    if into is None:
        raise SettingsError("--output FOLDER is missing; or --dry-run for an estimate")
    from interlace.cli.common.progress import training_bar, watching

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


_GB = 1e9


def show(found: Estimate, *, as_json: bool) -> None:
    """Print the estimate, and notes on missing data to standard error."""
    if as_json:
        output.print_json(json.dumps(found.dump()))
        return
    for name, fact in _facts(found):
        output.print(f"{name:<10} {fact}", highlight=False, soft_wrap=True)
    for note in found.notes:
        notes.print(f"note: {note}", highlight=False, soft_wrap=True)


def _facts(found: Estimate) -> Iterator[tuple[str, str]]:
    yield "recipe", found.recipe
    if found.text is None:
        yield "text", "the toy corpus, written when needed"
    else:
        here = found.text.files - len(found.text.missing)
        yield "text", f"{here:,} of {found.text.files:,} files, {found.text.bytes / 1e6:,.2f} MB on disk"
    yield (
        "tokens",
        f"{found.tokens:,}: {found.steps:,} steps of {found.tokens_per_step:,}, padding included, on one process",
    )
    if (cost := found.cost) is None:
        return
    writes = f", {cost.decoder:,} in the decoder" if cost.decoder else ""
    yield "model", f"{cost.parameters:,} parameters, {cost.table:,} of them in the input embeddings{writes}"
    yield "memory", f"{cost.memory / _GB:,.2f} GB: weights, gradients, optimizer state and activations of a micro-batch"
    yield "speed", f"{cost.speed:,.0f} tokens/s, measured on {cost.device}"
    first = f", {cost.translating:.0%} of it for back-translation" if cost.translating else ""
    yield "time", f"{_duration(cost.hours)} for one process on this machine{first}; without evaluation"


def _duration(hours: float) -> str:
    if hours < 1 / 60:
        return f"{hours * 3600:,.0f} s"
    if hours < 2:
        return f"{hours * 60:,.0f} min"
    return f"{hours:,.0f} h" if hours < 100 else f"{hours / 24:,.0f} days"
