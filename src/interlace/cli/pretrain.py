"""Pre-train a model by a recipe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interlace.cli import Code, load_plugins, notes, print_json, print_line
from interlace.cli.common import options
from interlace.cli.common.options import Changes, parse_changes

if TYPE_CHECKING:
    from interlace.experiments.estimate import Estimate


def pretrain(
    recipe: Annotated[str, typer.Argument(help="A TOML file, or a shipped recipe such as tiny/mlm.")],
    into: Annotated[Path | None, options.output("Folder of the run. Optional with --dry-run.", kind="run")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only prepare data; estimate memory and time.")] = False,
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
    if as_json:
        raise SettingsError("--json prints a dry run; add --dry-run")
    if into is None:
        raise SettingsError("--output FOLDER is missing; or --dry-run for an estimate")
    from interlace.cli.common.progress import training_bar, watching

    if read.embeddings is not None:
        from interlace.experiments.embeddings import learn_vectors

        with watching() as progress:
            vectors = learn_vectors(read, into, progress)
        print_line(vectors)
        return
    from interlace.experiments.pretrain import pretrain as run

    with training_bar(read.name) as watch:
        model = run(read, into, watch)
    print_line(model)


def show(found: Estimate, *, as_json: bool) -> None:
    """Print the estimate, and notes on missing data to standard error."""
    if as_json:
        print_json(asdict(found))
        return
    for name, fact in _facts(found):
        print_line(f"{name:<10} {fact}")
    for note in found.notes:
        print_line(f"note: {note}", notes)


def _facts(found: Estimate) -> Iterator[tuple[str, str]]:
    from interlace.data.cache import cache_folder
    from interlace.report.text import duration

    yield "recipe", found.recipe
    if (text := found.text) is None:
        yield "text", "the toy corpus, written when needed"
    else:
        present = f"{text.files - len(text.missing):,} of {text.files:,} files"
        yield "text", f"{present}, {text.bytes / 1e6:,.2f} MB on disk"
    if (size := found.model) is not None:
        decoder = f", {size.decoder:,} in the decoder" if size.decoder else ""
        frozen = f"; {size.trainable:,} are trained" if size.trainable < size.parameters else ""
        table = f"{size.table:,} of them in the input embeddings"
        yield "model", f"{size.parameters:,} parameters, {table}{decoder}{frozen}"
    updates = f"{found.steps:,} updates of {found.tokens_per_step:,} with padding"
    if (cost := found.cost) is None:
        yield "tokens", updates
        yield "not known", "speed, memory and time, which are measured once the training files are there"
        return
    yield "data", f"prepared in {cache_folder()} and kept there for the run"
    yield "tokens", f"{cost.tokens:,} in {updates}"
    passes = ", ".join(f"{name} {count:.2g}" for name, count in cost.passes.items())
    few = "; less than one does not read all" if min(cost.passes.values()) < 1 else ""
    yield "passes", f"over the text of each objective: {passes}{few}"
    held = "of the process, with Python, torch and data" if cost.device.startswith("a CPU") else "of the GPU"
    yield "memory", f"{cost.memory / 1e9:,.2f} GB {held}"
    yield "speed", f"{cost.speed:,.0f} tokens/s without padding, measured on {cost.device}"
    times = " to ".join(dict.fromkeys(map(duration, cost.seconds)))
    yield "time", f"{times} for the updates of one process on this machine; without evaluation"
