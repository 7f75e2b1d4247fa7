"""Score a finished run, or any checkpoint, on the tasks of a recipe: a cell a task and seed, kept as it is done."""

from __future__ import annotations

import hashlib
import json
import logging
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlace.data.cache import content_key
from interlace.data.vocab import Vocab
from interlace.errors import DataError, InterlaceError, RunError
from interlace.models.build import load
from interlace.recipes import Recipe
from interlace.recipes.card import write_card
from interlace.recipes.embeddings import VECTORS, static_vectors
from interlace.recipes.leaks import kept_leaks
from interlace.recipes.prepare import data_root
from interlace.train.cell import Cell
from interlace.train.device import accelerator_for
from interlace.train.folder import RECIPE, RUN, SCORES, locked, read_json, write_json
from interlace.train.tune import fits, score_fit
from interlace.world import world_version

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from accelerate import Accelerator

    from interlace.tasks import Task
    from interlace.train.cell import Score
    from interlace.train.loop import Step

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Target:
    """What is scored: a model folder (or hub name), the recipe that says on what, and where scores go.

    trained: the recipe that the model was pre-trained with; None: not known, so leaks are not looked for.
    """

    model: str
    recipe: Recipe
    into: Path
    trained: Recipe | None = None

    def changed(self, recipe: Recipe) -> Target:
        """The same model under another recipe."""
        return replace(self, recipe=recipe)


def target_of(path: str, recipe: Recipe | None = None, into: Path | None = None) -> Target:
    """A finished run with its own recipe, or a plain checkpoint; another recipe may say what it is scored on.

    Raises:
        RunError: the run is not finished; DataError: a checkpoint needs a place for its scores.
    """
    folder = Path(path)
    if (found := read_json(folder / RECIPE)) is not None:
        if not (read_json(folder / RUN) or {}).get("finished"):
            raise RunError(f"{folder}: this run is not finished; start it again with `interlace pretrain`")
        trained = Recipe.read(found, str(folder / RECIPE))
        kept = VECTORS if trained.embeddings else "model"
        return Target(str(folder / kept), recipe or trained, into or folder, trained)
    if into is None:
        what = "no run folder" if folder.exists() else "no such folder"
        raise DataError(f"{path}: {what}; for a plain checkpoint, or a model of the hub, say --into, where scores go")
    return Target(path, recipe or Recipe(name=folder.name), into)


def evaluate(
    target: Target,
    on: Sequence[str] = (),
    seeds: int | None = None,
    watch: Callable[[str, int], Callable[[Step], None]] = lambda _name, _seed: lambda _step: None,
) -> list[Score]:
    """All rows of the tasks and seeds asked for (none: the recipe's).

    Cells that `scores.json` holds for this very model and these settings are not run again. What it holds of a task
    from another model or under other settings is dropped, so that means over seeds never mix.
    """
    settings = target.recipe.evaluate
    names = list(on) or list(settings.tasks)
    if not names:
        raise DataError(f"recipe {target.recipe.name!r} names no tasks; choose some with --on")
    tasks = {name: settings.task(name) for name in names}
    train = target.recipe.train
    accelerator = accelerator_for(train.precision, train.threads)
    keys = {name: _key(target, name, task) for name, task in tasks.items()}
    vectors = static_vectors(target.model, tasks)
    vocab: Any = Vocab.load(target.model) if vectors is None else None
    wanted: list[tuple[Any, ...]] = []
    with locked(target.into) if accelerator.is_main_process else nullcontext():
        rows: list[Score] = read_json(target.into / SCORES, [])
        leaks = _leaks(target, names) if accelerator.is_main_process else {}
        for name, task in tasks.items():
            rows = [row for row in rows if row["task"] != name or row.get("key") == keys[name]]
            for seed in range((seeds or settings.seeds) if task.learner() else 1):
                cell = _cell(target, name, task, vocab, seed, accelerator, watch(name, seed))
                cell = replace(cell, into=target.into, key=keys[name], vectors=vectors)
                for fit in fits(cell):
                    asked = [(name, seed, *item) for item in fit.scored]
                    wanted += asked
                    if set(asked) <= set(map(_place, rows)):
                        continue
                    log.info("%s: scoring %s, seed %d", target.recipe.name, name, seed)
                    new = [{**row, "key": keys[name], **leaks.get(_text(row), {})} for row in score_fit(cell, fit)]
                    rows = [row for row in rows if _place(row) not in asked] + new
                    if accelerator.is_main_process:
                        _write(target, rows)
    return [row for row in rows if _place(row) in wanted]


def _place(row: Score) -> tuple[Any, ...]:
    """What a row is about: task, seed, setting, language."""
    return (row["task"], row["seed"], row.get("setting", "zero-shot"), row["language"])


def _text(row: Score) -> tuple[str, str]:
    """Whose test text a row is measured on: task and language; translated text is none of them."""
    return (row["task"], "" if row.get("setting") == "translate-test" else row["language"])


def _leaks(target: Target, names: list[str]) -> dict[tuple[str, str], dict[str, Any]]:
    """By task and language, what of the test text stands in the pre-training text, in percent of the examples."""
    if target.trained is None:
        return {}
    try:
        found = kept_leaks(target.into, target.trained, target.recipe, names)
    except InterlaceError as error:
        log.warning("test text was not looked for in the pre-training text: %s", error)
        return {}
    shares = ("exact", "ngram", "n")
    return {(leak["task"], leak["language"]): {"leak": {key: leak[key] for key in shares}} for leak in found}


def _write(target: Target, rows: list[Score]) -> None:
    write_json(target.into / SCORES, rows)
    if Path(target.model) == target.into / "model":
        write_card(target.into)


def _cell(
    target: Target,
    name: str,
    task: Task,
    vocab: Vocab,
    seed: int,
    accelerator: Accelerator,
    watch: Callable[[Step], None],
) -> Cell:
    recipe = target.recipe
    return Cell(
        name=name,
        task=task,
        load=partial(load, target.model),
        vocab=vocab,
        root=data_root(recipe),
        source=recipe.evaluate.source,
        targets=recipe.evaluate.targets
        or [language for language in recipe.languages if language != recipe.evaluate.source],
        seed=seed,
        accelerator=accelerator,
        watch=watch,
    )


def _key(target: Target, name: str, task: Task) -> str:
    """Names all that a task's scores depend on beside the seed, but for the contents of its files."""
    recipe, settings = target.recipe, target.recipe.evaluate
    content: dict[str, Any] = {
        "model": _identity(target.model),
        "task": name,
        "settings": {key: value for key, value in task.dump().items() if key not in {"settings", "targets"}},
        "source": settings.source,
        "judges": task.targets or settings.targets or recipe.languages if task.tuning.select == "mean-dev" else [],
        "data": [recipe.world.dump(), world_version()] if recipe.world else str(data_root(recipe)),
        "precision": recipe.train.precision,
    }
    return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()


def _identity(model: str) -> list[str] | str:
    """The content of a model's folder, or the name that the hub has it under."""
    folder = Path(model)
    kept = [*folder.glob("*.safetensors"), *folder.glob("tokenizer.json")] if folder.is_dir() else []
    return [content_key(path) for path in sorted(kept)] or model
