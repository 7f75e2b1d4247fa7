"""Fine-tune and score every language: the same loop as pre-training, with the weights that a named rule selects."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.errors import DataError, RunError, SettingsError
from interlace.core.ragged import Ragged
from interlace.tasks._outcomes import Measured
from interlace.training._sweep import keep_sweep, restore_sweep
from interlace.training._tuned import Tuned
from interlace.training.predictions import keep_measured
from interlace.training.selection import Fit, fits_of_task, groups_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.training.cell import Cell, Score
    from interlace.training.selection import Group, Item

log = logging.getLogger(__name__)

_MOST = 3  # reasons that a message spells out


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
    if "translate-test" in cell.task.settings and not cell.task.translatable:
        raise SettingsError(f"{cell.name}: translate-test is for tasks with one label a text, not for this one")
    return fits_of_task(cell.task, cell.source, cell.targets)


def readable(cell: Cell, fit: Fit) -> tuple[Fit, DataError | None]:
    """The fine-tuning without those languages whose own files cannot be read, and what is wrong with these.

    Under `per-language-dev` a development set is its language's own too. Else it judges the others as well, and so
    belongs, as training text does, to what `score_fit` must have.

    Raises:
        DataError: not one language is left.
    """
    alone = cell.task.tuning.select == "per-language-dev"
    whole: list[Item] = []
    errors: dict[str, set[str]] = {}
    for item in fit.scored:
        try:
            cell.test(item)
            if alone:
                cell.examples("dev", fit.judge_of(item))
            whole.append(item)
        except DataError as error:
            errors.setdefault(str(error), set()).add(item[1])
    if not errors:
        return fit, None
    lost = DataError(_listed(errors))
    if not whole:
        raise lost
    return replace(fit, scored=whole, asked=fit.scored), lost


def score_fit(cell: Cell, fit: Fit) -> list[Score]:
    """The rows of one fine-tuning, over all its learning rates, or of a probe.

    Raises:
        DataError: a file is missing or wrong; every file is read before the training starts.
    """
    return _tuned(cell, fit) if fit.trained else _probed(cell, fit)


def _probed(cell: Cell, fit: Fit) -> list[Score]:
    rows: list[Score] = []
    for item in fit.scored:
        start = time.perf_counter()
        examples = cell.test(item)
        scores = cell.measure(examples)
        into = cell.into if cell.accelerator.is_main_process else None
        told = keep_measured(into, cell, item, scores) if into else {}
        count, about = len(examples), {}
        if isinstance(scores, Measured):
            count, about = int((scores.examples.weight > 0).sum()), scores.about
        rows.append({**cell.row(item, scores, count, start), **about, **told})
    return rows


def _tuned(cell: Cell, fit: Fit) -> list[Score]:
    groups = groups_of(cell.task.tuning.select, fit)
    judges = dict.fromkeys(language for group in groups for language in group.judges)
    wanted: list[tuple[str, Any]] = [("test", item) for item in fit.scored]
    wanted += [(split, language) for split, some in (("dev", judges), ("train", fit.trained)) for language in some]
    read = _read(cell, wanted)
    tests = {item: read["test", item] for item in fit.scored}
    devs = {language: read["dev", language] for language in judges}
    train = {language: read["train", language] for language in fit.trained}
    _tell_of_unlearnt(cell, train, tests)
    tuned, rates = None, cell.task.tuning.rates
    done, diverged = restore_sweep(cell.sweep, groups) if cell.sweep else (0, {})
    for number, rate in enumerate(rates[done:], done + 1):
        cell.accelerator.free_memory()  # the model before
        tuned = Tuned.fresh(cell, train, rate)
        try:
            tuned.run(groups, devs, tests)
        except RunError as error:
            log.warning("%s, seed %d, learning rate %g: %s", cell.name, cell.seed, rate, error)
            diverged[rate] = str(error)
        if cell.sweep and number < len(rates) and cell.accelerator.is_main_process:
            keep_sweep(cell.sweep, groups, number, diverged)
    if len(diverged) == len(rates):
        raise RunError(f"{cell.name}, seed {cell.seed}: {'; '.join(dict.fromkeys(diverged.values()))}")
    rows = [row for group in groups for row in _rows(tuned, group, tests)]
    cell.accelerator.free_memory()
    return [{**row, "tuning": {**row["tuning"], "diverged": list(diverged)}} for row in rows]


def _tell_of_unlearnt(cell: Cell, train: dict[str, Any], tests: dict[Item, Any]) -> None:
    """What a test set asks for that training has no example of is lost, which scores alone do not tell."""
    learner, classes = cell.task.learner(), cell.task.classes
    if learner is None or not classes:
        return
    learnt = np.concatenate([_labels(learner.gold(examples)) for examples in train.values()])
    for (_, language), examples in tests.items():
        gold = _labels(learner.gold(examples))
        lost = gold[~np.isin(gold, learnt)]
        if len(lost):
            names = ", ".join(classes[number] for number in np.unique(lost))
            log.warning(
                "%s (%s): %d of %d labels are such as training has none of, and count as wrong: %s",
                cell.name, language, len(lost), len(gold), names,
            )  # fmt: skip


def _labels(gold: Any) -> NDArray[np.integer]:
    """The class numbers that are told."""
    flat = np.asarray(gold.flat if isinstance(gold, Ragged) else gold)
    known: NDArray[np.integer] = flat[flat >= 0]
    return known


def _read(cell: Cell, wanted: list[tuple[str, Any]]) -> dict[tuple[str, Any], Any]:
    """The examples of all splits and languages.

    Raises:
        DataError: some cannot be read; says which, of many the first, and how to leave languages out.
    """
    found: dict[tuple[str, Any], Any] = {}
    errors: dict[str, set[str]] = {}  # whose data each is of
    for split, what in wanted:
        try:
            found[split, what] = cell.test(what) if split == "test" else cell.examples(split, what)
        except DataError as error:
            errors.setdefault(str(error), set()).add(_language(split, what))
    if not errors:
        return found
    raise DataError(_listed(errors) + _cure(cell, found, set().union(*errors.values())))


def _listed(errors: dict[str, set[str]]) -> str:
    """What is wrong, of many things the first, with the languages that the others are of."""
    more = list(errors.values())[_MOST:]
    others = f"; and {len(more)} more, of {', '.join(sorted(set().union(*more)))}" if more else ""
    return "; ".join(list(errors)[:_MOST]) + others


def _language(split: str, what: Any) -> str:
    """Whose data it is: what is wanted of a test set is an item."""
    language: str = what[1] if split == "test" else what
    return language


def _cure(cell: Cell, found: dict[tuple[str, Any], Any], failed: set[str]) -> str:
    """How to score the languages of which everything is there, as the end of a message; none without the source."""
    whole = [_language(split, what) for split, what in found if split == "test"]
    kept = [language for language in dict.fromkeys(whole) if language not in {cell.source, *failed}]
    if not kept or cell.source in failed:
        return ""
    names = ", ".join(f'"{language}"' for language in kept)
    return f"; to score the others: --set 'evaluate.tasks.{cell.name}.targets=[{names}]'"


def _rows(tuned: Any, group: Group, tests: dict[Item, Any]) -> list[Score]:
    """A group's rows with what it kept: weights, rows made right away, or nothing, for the weights as they are."""
    if isinstance(group.kept, list):
        return group.kept
    if group.kept is not None:
        tuned.training.model.load_state_dict(group.kept)
    return list(tuned.score(group, tests))
