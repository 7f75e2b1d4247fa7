"""What a score depends on: the model, and the conditions that another model must be scored under to be compared to it.

The content of a task's files is told apart from both (`_scored_files`).
"""

from __future__ import annotations

import hashlib
import inspect
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlace.data.cache import content_key
from interlace.models._files import find
from interlace.recipes.prepare import data_key
from interlace.train.device import resolved

if TYPE_CHECKING:
    from interlace.recipes import Recipe
    from interlace.tasks import Task
    from interlace.train.cell import Cell
    from interlace.train.selection import Fit

Identity = list[str] | str  # hashes of a model's files, or its name where there are none


def key_of(recipe: Recipe, identity: Identity, cell: Cell, fit: Fit) -> str:
    """Names all that the scores of a fine-tuning depend on beside the seed and the contents of its files."""
    machine = {
        "precision": resolved(recipe.train.precision),
        "processes": cell.accelerator.num_processes if fit.trained else 1,
    }
    data = data_key(recipe)
    return _hashed({"model": identity, "data": data, **machine, **_conditions(cell.task, cell, fit)})


def conditions_of(recipe: Recipe, cell: Cell, fit: Fit) -> str:
    """Names the same without the model, the machine, where data stands, and what the task found out about the run."""
    told = recipe.dump()
    made = {"world": told["world"], "derived": told["derived"]}
    return _hashed({**made, **_conditions(recipe.evaluate.task(cell.name), cell, fit)})


def identity_of(model: str) -> Identity:
    """The content of a model's folder; of a model of the hub, of the revision that is here."""
    folder = find(model)
    kept = [path for name in ("*.safetensors", "*/model.safetensors", "tokenizer.json") for path in folder.glob(name)]
    return [content_key(path) for path in sorted(kept)] or model


def _conditions(task: Task, cell: Cell, fit: Fit) -> dict[str, Any]:
    return {
        "task": cell.name,
        "settings": {key: value for key, value in task.dump().items() if key not in {"settings", "targets"}},
        "code": _code(task),
        "source": cell.source,
        "trained": fit.trained,
        "judges": sorted({fit.judge_of(item) for item in fit.scored}) if task.tuning.select == "mean-dev" else [],
    }


def _code(task: Task) -> str:
    """The content of a guest's file; our own tasks are known by their settings."""
    kind = type(task)
    return "" if kind.__module__.startswith("interlace.") else content_key(Path(inspect.getfile(kind)))


def _hashed(content: dict[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()
