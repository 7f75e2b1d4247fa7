"""What the files held that a score rests on, so that a mended test set is not answered with an old score."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from interlace.core.errors import DataError
from interlace.data.cache import content_key
from interlace.experiments.prepare import data_key, data_root
from interlace.models.checkpoint_files import find
from interlace.tasks._apart import held_out_splits
from interlace.tasks._files import MissingDataError, translated
from interlace.training.selection import fits_of_task, groups_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from interlace.experiments import Recipe
    from interlace.tasks import Task
    from interlace.training.selection import Fit

_MODEL = (
    "*.safetensors",
    "*/model.safetensors",
    "config.json",
    "*/config.json",
    "tokenizer*.json",
    "*.model",
    "vocab.*",
)


def model_key(model: str) -> str:
    """A hash of all files of a checkpoint that its scores depend on; of a model of the hub, of the revision here.

    model: a folder, or a name on the hub, which is the key where no such file is found.
    """
    folder = find(model)
    found = sorted({path for name in _MODEL for path in folder.glob(name)})
    return _hashed([str(path.relative_to(folder)) + content_key(path) for path in found]) if found else model


def files_key(task: Task, source: str, root: Path, fit: Fit) -> str:
    """A hash of the content of all files that a fine-tuning, or a probe, reads; "" where one of them is not here.

    Scores outlive their data: what is gone, or stands on the hub, is no reason to make them again.
    """
    try:
        return _hashed([content_key(path) for path in _read(task, source, root, fit)])
    except DataError:  # which scoring tells
        return ""


def scored_keys(model: str, recipe: Recipe, names: Sequence[str]) -> dict[str, str]:
    """`model` and `files`: hashes of what the scores of these tasks rest on; "" of what is not here.

    Data that is made, toy corpora and derived languages, goes by how it is made, and of a model of the hub nothing is
    said, so that asking makes nothing and fetches nothing.
    """
    return {"model": model_key(model) if Path(model).is_dir() else "", "files": _all_files_key(recipe, names)}


def _all_files_key(recipe: Recipe, names: Sequence[str]) -> str:
    try:
        if recipe.toy is not None or recipe.derived:
            return _hashed([json.dumps(data_key(recipe), sort_keys=True)])
        root, source = data_root(recipe), recipe.evaluate.source
        tasks = [recipe.evaluate.task(name) for name in names]
        planned = [(task, fit) for task in tasks for fit in fits_of_task(task, source, recipe.targets)]
        found = [files_key(task, source, root, fit) for task, fit in planned]
    except DataError:
        return ""
    return _hashed(found) if all(found) else ""


def _hashed(parts: Sequence[str]) -> str:
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=8).hexdigest()


def _read(task: Task, source: str, root: Path, fit: Fit) -> Iterator[Path]:
    """The files of all that is read: of the test sets, then of the sets that judge, then of what is learnt from."""
    groups = groups_of(task.tuning.select, fit) if fit.trained else []
    for setting, language in fit.scored:
        if setting == "translate-test":
            files = translated(getattr(task, "files", {}), language, source)
            yield from task.model_copy(update={"files": files}).read_files("test", source, root)
        else:
            yield from task.read_files("test", language, root)
    for split, languages in (("dev", [judge for group in groups for judge in group.judges]), ("train", fit.trained)):
        for language in dict.fromkeys(languages):
            yield from task.read_files(split, language, root)
            for other in held_out_splits(task, split):
                with suppress(MissingDataError):  # then there is nothing to hold apart
                    yield from task.read_files(other, language, root)
