"""Pre-train a model by a recipe."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interlace.cli import Code, load_plugins, notes, print_json, print_line
from interlace.cli.common import options
from interlace.cli.common.options import Changes, parse_changes

if TYPE_CHECKING:
    from interlace.experiments.estimate import Cost, Estimate, ModelSize


def pretrain(
    recipe: Annotated[
        str, typer.Argument(help="A TOML file, or a shipped recipe such as tiny/mlm.")
    ],
    into: Annotated[
        Path | None, options.output("Folder of the run. Optional with --dry-run.", kind="run")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only prepare data; estimate memory and time.")
    ] = False,
    changes: Changes = [],
    code: Code = [],
    as_json: Annotated[bool, typer.Option("--json", help="Print the dry run as JSON.")] = False,
) -> None:
    """Pre-train a model by a recipe; rerun the same command to resume."""
    load_plugins(code)
    from interlace.core.errors import SettingsError
    from interlace.experiments.recipe import read_recipe

    settings = read_recipe(recipe, parse_changes(changes))
    if dry_run:
        from interlace.experiments.estimate import estimate

        _print_estimate(estimate(settings), as_json=as_json)
        return
    if as_json:
        raise SettingsError("--json prints a dry run; add --dry-run")
    if into is None:
        raise SettingsError("--output FOLDER is missing; or --dry-run for an estimate")
    from interlace.cli.common.progress import training_bar, watching

    if settings.embeddings is not None:
        from interlace.experiments.embeddings import learn_vectors

        with watching() as progress:
            vectors = learn_vectors(settings, into, progress)
        print_line(vectors)
        return
    from interlace.experiments.pretrain import pretrain as run

    with training_bar(settings.name) as watch:
        model = run(settings, into, watch)
    print_line(model)


def _print_estimate(estimate: Estimate, *, as_json: bool) -> None:
    """Print the estimate, and notes on missing data to standard error."""
    if as_json:
        print_json(asdict(estimate))
        return
    for name, fact in _facts(estimate).items():
        print_line(f"{name:<10} {fact}")
    for note in estimate.notes:
        print_line(f"note: {note}", notes)


def _facts(estimate: Estimate) -> dict[str, str]:
    from interlace.data.cache import cache_folder

    facts = {"recipe": estimate.recipe}
    if estimate.text_files:
        facts["text"] = (
            f"{estimate.text_files:,} files, {estimate.text_bytes / 1e6:,.2f} MB on disk"
        )
    if estimate.model is not None:
        facts["model"] = _size_text(estimate.model)
    updates = f"{estimate.steps:,} updates of {estimate.tokens_per_step:,} with padding"
    if estimate.cost is None:
        unknown = "speed, memory and time, which are measured once the training files are there"
        return {**facts, "tokens": updates, "not known": unknown}
    facts["data"] = f"prepared in {cache_folder()} and kept there for the run"
    facts["tokens"] = f"{estimate.cost.tokens:,} in {updates}"
    return {**facts, **_cost_facts(estimate.cost)}


def _size_text(size: ModelSize) -> str:
    text = f"{size.parameters:,} parameters, {size.table:,} of them in the input embeddings"
    if size.decoder:
        text += f", {size.decoder:,} in the decoder"
    if size.trainable < size.parameters:
        text += f"; {size.trainable:,} are trained"
    return text


def _cost_facts(cost: Cost) -> dict[str, str]:
    from interlace.report.text import duration

    passes = ", ".join(f"{name} {count:.2g}" for name, count in cost.passes.items())
    memory_of = "the process" if cost.device.startswith("a CPU") else "the GPU"
    return {
        "passes": f"over the text of each objective: {passes}",
        "memory": f"{cost.memory / 1e9:,.2f} GB of {memory_of}",
        "speed": f"{cost.speed:,.0f} tokens/s without padding, measured on {cost.device}",
        "time": f"{duration(cost.seconds)} for the updates of one process on this machine; without evaluation",
    }
