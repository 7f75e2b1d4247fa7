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
    into: Annotated[Path | None, options.output("Folder of the run. Optional with --dry-run.")] = None,
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
    from interlace.report.text import duration

    yield "recipe", found.recipe
    if (text := found.text) is None:
        yield "text", "the toy corpus, written when needed"
    else:
        present = f"{text.files - len(text.missing):,} of {text.files:,} files"
        yield "text", f"{present}, {text.bytes / 1e6:,.2f} MB on disk"
    steps = f"{found.steps:,} steps of {found.tokens_per_step:,}"
    yield "tokens", f"{found.tokens:,}: {steps}, padding included, on one process"
    if text is not None and text.bytes and not text.missing:
        passes = found.tokens / text.tokens
        few = ": not all of it is read" if passes < 1 else ""
        yield "passes", f"some {passes:.2g} over the text{few}"
    if (cost := found.cost) is None:
        return
    decoder = f", {cost.decoder:,} in the decoder" if cost.decoder else ""
    frozen = f"; {cost.trainable:,} are trained" if cost.trainable < cost.parameters else ""
    yield "model", f"{cost.parameters:,} parameters, {cost.table:,} of them in the input embeddings{decoder}{frozen}"
    parts = "weights, gradients, optimizer state and activations of a micro-batch"
    held = f"; {cost.process / 1e9:,.2f} GB of Python, torch and the tokenizer" if cost.process else ""
    yield "memory", f"{(cost.memory + cost.process) / 1e9:,.2f} GB: {parts}{held}"
    share = "" if cost.peak_share is None else f" ({cost.peak_share:.0%} of the peak)"
    operations = f", {cost.tflops:.3g} TFLOP/s{share}" if cost.tflops else ""
    yield "speed", f"{cost.speed:,.0f} tokens/s{operations}, measured on {cost.device}"
    first = f", {cost.translating:.0%} of it for back-translation" if cost.translating else ""
    yield "time", f"{duration(3600 * cost.hours)} for one process on this machine{first}; without evaluation"
