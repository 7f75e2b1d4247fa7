"""Compare objectives on the toy corpus: pre-train, fine-tune, evaluate, report."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interlace.cli import notes, output, print_line
from interlace.cli.common.options import Changes, parse_changes

if TYPE_CHECKING:
    from interlace.training.loop import TrainingStep

RECIPES = ("tiny/mlm", "tiny/alm", "tiny/align-mlm")
TASKS = ("pos", "retrieval", "embedding_alignment")  # fine-tuning XNLI takes as long as all three pre-trainings


def demo(
    into: Annotated[Path, typer.Option("--output", "-o", help="Folder for the runs.")] = Path("runs/demo"),
    changes: Changes = [],
) -> None:
    """Compare MLM, ALM (translations) and ALIGN-MLM (dictionary) on the toy corpus, in minutes."""
    from interlace.cli.common.progress import training_bar
    from interlace.cli.common.tables import comparison_table
    from interlace.experiments.evaluate import evaluate, target_of
    from interlace.experiments.pretrain import pretrain
    from interlace.experiments.recipe import read_recipe
    from interlace.report import write_report

    start = time.perf_counter()
    scores = {}
    for name in RECIPES:
        steps = read_recipe(name).train.steps * 2 // 3  # enough to see differences, in six minutes without AVX-512
        recipe = read_recipe(name, {"train.steps": str(steps), **parse_changes(changes)})
        run = into / recipe.name
        with training_bar(f"pre-training {recipe.name}", recipe.train.steps) as watch:
            pretrain(recipe, run, watch)
        with training_bar("fine-tuning", None) as watch:
            scores[recipe.name] = evaluate(target_of(str(run)), TASKS, callback=partial(_same, watch))
    page = write_report([into / name for name in scores], into / "report.html")
    output.print(comparison_table(scores))
    print_line(f"done in {time.perf_counter() - start:.0f} s", notes)
    print_line(f"report: {page}")


def _same(bar: Callable[[TrainingStep], None], _task: str, _seed: int) -> Callable[[TrainingStep], None]:
    """Return one bar for all evaluation jobs."""
    return bar
