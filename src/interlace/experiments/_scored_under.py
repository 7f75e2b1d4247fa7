"""What a score depends on: the model, and the conditions that another model must be scored under to be compared to it.

The content of a task's files is told apart from both (`scored_files`).
"""

from __future__ import annotations

import hashlib
import inspect
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlace.data.cache import content_key
from interlace.experiments.prepare import data_key
from interlace.training.device import resolved

if TYPE_CHECKING:
    from interlace.experiments import Recipe
    from interlace.tasks import Task
    from interlace.training.evaluation_job import Cell
    from interlace.training.selection import Fit


def key_of(recipe: Recipe, model: str, cell: Cell, fit: Fit) -> str:
    """Names all that the scores of a fine-tuning depend on beside the seed and the contents of its files.

    model: its `model_key`.
    """
    machine = {
        "precision": resolved(recipe.train.precision),
        "processes": cell.accelerator.num_processes if fit.trained else 1,
    }
    data = data_key(recipe)
    return _hashed({"model": model, "data": data, **machine, **_conditions(cell.task, cell, fit)})


def conditions_of(recipe: Recipe, cell: Cell, fit: Fit) -> str:
    """Names the same without the model, the machine, where data stands, and what the task found out about the run."""
    told = recipe.dump()
    made = {"toy": told["toy"], "derived": told["derived"]}
    return _hashed({**made, **_conditions(recipe.evaluate.task(cell.name), cell, fit)})


def _conditions(task: Task, cell: Cell, fit: Fit) -> dict[str, Any]:
    return {
        "task": cell.name,
        "settings": {key: value for key, value in task.dump().items() if key not in {"settings", "targets"}},
        "version": task.version,
        "code": _code(task),
        "source": cell.source,
        "trained": fit.trained,
        "judges": sorted({fit.judge_of(item) for item in fit.scored}) if task.tuning.select == "mean-dev" else [],
    }


def _code(task: Task) -> str:
    """The content of a guest's file; our own tasks are known by their version and settings."""
    kind = type(task)
    return "" if kind.__module__.startswith("interlace.") else content_key(Path(inspect.getfile(kind)))


def _hashed(content: dict[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()
