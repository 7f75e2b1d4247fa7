"""Fine-tune and score every language: the same loop as pre-training, with the weights that a named rule selects."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from interlace.errors import SettingsError
from interlace.train._tuned import Tuned
from interlace.train.selection import Fit, fits_of, groups_of

if TYPE_CHECKING:
    from interlace.train.cell import Cell, Score


def score_cell(cell: Cell) -> list[Score]:
    """A row a setting and language: fine-tuned where the task trains, measured as it is where not.

    Raises:
        DataError: a file is missing or wrong; every file is read before the training that needs it starts.
    """
    return [row for fit in fits(cell) for row in score_fit(cell, fit)]


def fits(cell: Cell) -> list[Fit]:
    """The fine-tunings of a task; of a probe, one without training.

    Raises:
        SettingsError: what is right for a text says nothing of its translation in this task.
    """
    targets = cell.targets if cell.task.targets is None else cell.task.targets
    if cell.task.learner() is None:
        return [Fit([], [("zero-shot", language) for language in targets])]
    if "translate-test" in cell.task.settings and not cell.task.translatable:
        raise SettingsError(f"{cell.name}: translate-test is for tasks with one label a text, not for this one")
    return fits_of(cell.task.settings, cell.source, targets)


def score_fit(cell: Cell, fit: Fit) -> list[Score]:
    """The rows of one fine-tuning, over all its learning rates, or of a probe.

    Raises:
        DataError: a file is missing or wrong; every file is read before the training starts.
    """
    return _tuned(cell, fit) if fit.trained else _probed(cell, fit)


def _probed(cell: Cell, fit: Fit) -> list[Score]:
    measure = cell.measure()
    rows: list[Score] = []
    for item in fit.scored:
        start = time.perf_counter()
        examples = cell.test(item)
        scores = measure(examples)
        rows.append(cell.row(item, scores, len(examples), start))
    return rows


def _tuned(cell: Cell, fit: Fit) -> list[Score]:
    tests = {item: cell.test(item) for item in fit.scored}
    groups = groups_of(cell.task.tuning.select, fit)
    judges = dict.fromkeys(language for group in groups for language in group.judges)
    devs = {language: cell.examples("dev", language) for language in judges}
    train = {language: cell.examples("train", language) for language in fit.trained}
    tuned: Any = None
    for rate in cell.task.tuning.rates:
        tuned = Tuned.fresh(cell, train, rate)
        tuned.run(groups, devs, tests)
    rows: list[Score] = []
    for group in groups:
        if not isinstance(group.kept, list):  # weights, or nothing where the last ones are taken
            if group.kept is not None:
                tuned.training.model.load_state_dict(group.kept)
            group.kept = tuned.score(group, tests)
        rows += group.kept
    cell.accelerator.free_memory()
    return rows
