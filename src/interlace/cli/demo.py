"""Compare objectives on the toy corpus: pre-train, fine-tune, evaluate, report."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from interlace.cli import notes, print_line
from interlace.cli.common import options
from interlace.cli.common.options import Changes, parse_changes
from interlace.cli.common.output import print_table
from interlace.core.errors import DataError

RECIPES = ("tiny/mlm", "tiny/alm", "tiny/align-mlm")
# fine-tuning XNLI takes as long as all three pre-trainings
TASKS = (
    "pos",
    "retrieval",
    "embedding_alignment",
)


def demo(
    into: Annotated[Path, options.output("Folder for the runs.", kind="run")] = Path(
        "runs/demo"
    ),
    changes: Changes = [],
) -> None:
    """Compare MLM, ALM (translations) and ALIGN-MLM (dictionary) on the toy corpus, in minutes."""
    from interlace.experiments.evaluate import evaluate, target_of
    from interlace.experiments.pretrain import pretrain
    from interlace.experiments.recipe import read_recipe
    from interlace.report.comparison_table import ComparisonTable
    from interlace.report.page import read_scores, write_report
    from interlace.training.bars import fine_tuning_bar, training_bar

    _check_folder(into, [read_recipe(name).name for name in RECIPES])
    start = time.perf_counter()
    runs = []
    for name in RECIPES:
        # enough to see differences, in six minutes without AVX-512
        steps = read_recipe(name).train.steps * 2 // 3
        recipe = read_recipe(name, {"train.steps": str(steps), **parse_changes(changes)})
        run = into / recipe.name
        with training_bar(f"pre-training {recipe.name}", notes) as watch:
            pretrain(recipe, run, watch)
        with fine_tuning_bar(notes) as watch:
            evaluate(target_of(str(run)), TASKS, callback=watch)
        runs.append(run)
    page = write_report(runs, into / "report.html")
    print_table(ComparisonTable(read_scores(runs)).main())
    print_line(f"done in {time.perf_counter() - start:.0f} s", notes)
    print_line(f"report: {page}")


def _check_folder(into: Path, runs: Sequence[str]) -> None:
    """Raise a DataError if a folder holds anything but an earlier demo."""
    from interlace.report.page import is_report

    if not into.is_dir():
        return
    for path in sorted(into.iterdir()):
        is_of_demo = path.name in {*runs, "report-figures"} or path.name.startswith(".")
        if path.name == "report.html" and path.is_file():
            is_of_demo = is_report(path)
        if not is_of_demo:
            raise DataError(
                f"{into}: holds {path.name!r}, which is not of the demo; choose another folder"
            )
