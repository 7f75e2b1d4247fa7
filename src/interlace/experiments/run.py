"""A run: the folder that a recipe is trained in, what it records, and what must not change when it is resumed."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NotRequired, Self

from typing_extensions import TypedDict

from interlace.core.display import listed
from interlace.core.errors import InterlaceError, RunError, SettingsError
from interlace.core.files import atomic, user_path
from interlace.core.json_files import json_record, read_json, write_json
from interlace.core.registry import plugin_files
from interlace.core.store import leaves
from interlace.data.vocab import Vocab
from interlace.experiments.recipe import Recipe
from interlace.experiments.score_store import folder_key
from interlace.training.run_folder import CODE, RECIPE, RUN, RUN_STATE, VECTORS, read_run

log = logging.getLogger(__name__)


@json_record
class RunState(TypedDict):
    """The content of `run_state.json`: what must not change when a run is resumed."""

    vocabulary: str
    text: NotRequired[dict[str, list[str]]]  # hashes of the files of each corpus and split


@dataclass(frozen=True)
class Run:
    """A run's folder and its records, which are read when they are asked for."""

    folder: Path

    @classmethod
    def of_model(cls, model: str) -> Self:
        """Return the run that a folder with a model or vectors would belong to."""
        return cls(user_path(model).resolve().parent)

    @property
    def model_folder(self) -> Path:
        """The exported model."""
        return self.folder / "model"

    @property
    def vectors_folder(self) -> Path:
        """The learned word or token vectors of a recipe with `[embeddings]`."""
        return self.folder / VECTORS

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints."""
        return self.folder / "checkpoints"

    @property
    def has_checkpoints(self) -> bool:
        """Whether training can be resumed."""
        from interlace.training import checkpoint  # imports torch

        return bool(checkpoint.steps_in(self.checkpoints))

    @property
    def record(self) -> dict[str, Any]:
        """The content of `run.json`; empty before the run is finished."""
        return read_run(self.folder)

    @property
    def is_finished(self) -> bool:
        """Whether the run is finished."""
        return bool(self.record.get("finished"))

    @property
    def stored_recipe(self) -> dict[str, Any] | None:
        """The content of `recipe.json`; None if the folder is not a run's."""
        stored: dict[str, Any] | None = read_json(self.folder / RECIPE, dict[str, Any], None)
        return stored

    def finished_recipe(self) -> Recipe | None:
        """Return the recipe of a finished run; None if the folder is not a run's.

        Raises:
            RunError: the run is not finished.
            SettingsError: the recipe names entries of plugins that are not loaded.
        """
        stored = self.stored_recipe
        if stored is None:
            return None
        if not self.is_finished:
            raise RunError(
                f"{self.folder}: this run is not finished; resume it with `interlace pretrain`"
            )
        try:
            return Recipe.read(stored, str(self.folder / RECIPE))
        except SettingsError as error:
            plugins = sorted((self.folder / CODE).glob("*.py"))
            missing = [f"--code {path}" for path in plugins if path.name not in plugin_files()]
            if not missing:
                raise
            options = " ".join(missing)
            raise SettingsError(f"{error}; it was trained with {options}: add this") from error

    def check_export(self, exported: Path) -> None:
        """Raise a RunError if the model or the vectors of the finished run are missing or were changed."""
        key = self.record.get("model_key")
        if exported.is_dir() and (key is None or folder_key(exported) == key):
            return
        fault = "changed since the run finished"
        if not exported.is_dir():
            fault = "missing, although the run is finished"
        raise RunError(
            f"{exported}: {fault}; restore it, or remove {self.folder / RUN} and rerun `interlace pretrain`, which "
            "exports the last checkpoint again"
        )

    # ---- starting and resuming ----

    def claim(self, recipe: Recipe) -> None:
        """Write the recipe and plugins' files into the folder; raise a RunError if it holds a run of another recipe.

        A run without a checkpoint may change its recipe and plugins; it starts over. The plugins' files of a finished
        run are kept.
        """
        stored = self.stored_recipe
        if stored is not None:
            self._check_changes(stored, recipe)
        if not self.is_finished:
            self._store_code()
        if stored != recipe.dump():
            write_json(self.folder / RECIPE, recipe.dump())

    def check_state(self, vocab: Vocab, data: Sequence[dict[str, Any]]) -> None:
        """Store the vocabulary and text of a new run; raise a RunError if a resumed one has others.

        Rows of the checkpoints would belong to other tokens.

        data: the rows of `data_of`.
        """
        text = {}
        for row in data:
            digests = [file["digest"] for file in row["files"]]
            text[f"{row['corpus']} ({row['split']})"] = digests
        path = self.folder / RUN_STATE
        remedy = "choose another folder for the run"
        state: RunState | None = read_json(path, RunState, None, remedy=remedy)
        if state is None or not self.has_checkpoints:
            new_state = {
                "vocabulary": vocab.fingerprint,
                "text": text,
            }
            write_json(path, new_state)
            return
        changed = []
        if state["vocabulary"] != vocab.fingerprint:
            changed.append(f"the vocabulary {vocab.name}")
        for name, digests in state.get("text", {}).items():
            if text.get(name) != digests:
                changed.append(f"the text of {name}")
        if changed:
            raise RunError(
                f"{self.folder}: {listed(changed)} changed since the run began; restore what changed, or choose "
                "another folder"
            )

    def id_of(self, recipe: Recipe) -> str:
        """Return the id of the run, which has begun: a hash of its seed, vocabulary and text."""
        state = read_json(
            self.folder / RUN_STATE, RunState, remedy="choose another folder for the run"
        )
        content = json.dumps({"seed": recipe.seed, **state}, sort_keys=True)
        return blake2b(content.encode(), digest_size=16).hexdigest()

    def _check_changes(self, stored: dict[str, Any], recipe: Recipe) -> None:
        """Raise a RunError if the run cannot go on with a recipe."""
        try:
            previous = Recipe.read(stored).dump()  # with the defaults of settings that are newer
        except InterlaceError as error:
            path = self.folder / RECIPE
            raise RunError(f"{path}: damaged: {error}; choose another folder") from error
        changed = differences(previous, recipe.dump())
        if not changed:
            return
        if self.is_finished or self.has_checkpoints:
            raise RunError(
                f"{self.folder} holds a run of another recipe: {'; '.join(changed[:5])}; choose another folder"
            )
        log.info("%s: restarting a run without a checkpoint with the changed recipe", self.folder)

    def _store_code(self) -> None:
        """Copy the plugins' files into the folder; those of a run with a checkpoint must be the same."""
        for name, path in plugin_files().items():
            copy = self.folder / CODE / name
            content = path.read_bytes()
            if self.has_checkpoints and copy.is_file() and copy.read_bytes() != content:
                raise RunError(
                    f"{self.folder}: the run was started with another version of --code {path}; resume with --code "
                    f"{copy}, or choose another folder"
                )
            with atomic(copy) as partial:
                partial.write_bytes(content)


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return `key was old, is new` for each setting of training in which two recipes differ."""
    before = _training_settings(old)
    after = _training_settings(new)
    return [
        f"{key} was {before.get(key)!r}, is {after.get(key)!r}"
        for key in dict.fromkeys([*before, *after])
        if before.get(key) != after.get(key)
    ]


def _training_settings(recipe: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that the result of training depends on, by dotted key."""
    not_training = {"about", "published", "changes", "evaluate"}
    harmless = {"train.trackers", "train.checkpoint_every", "train.keep"}
    settings: dict[str, Any] = {}
    for key, value in leaves(recipe):
        if key.partition(".")[0] not in not_training and key not in harmless:
            settings[key] = value
    return settings


@dataclass(frozen=True)
class Lineage:
    """recipes: of the run and of the runs that it continues. unknown: starting points of unknown training text."""

    recipes: list[Recipe]
    unknown: list[str]

    @classmethod
    def of(cls, recipe: Recipe) -> Lineage:
        """Follow the starting points of encoder, decoder and embeddings through run folders."""
        recipes = [recipe]
        unknown: list[str] = []
        for trained in recipes:  # grows inside the loop
            for start in starting_points(trained):
                before = _recipe_of(start)
                if before is None:
                    unknown.append(start)
                elif before not in recipes:
                    recipes.append(before)
        return cls(recipes, list(dict.fromkeys(unknown)))


def starting_points(recipe: Recipe) -> list[str]:
    """Return the folders or names of what encoder, decoder and embeddings start from."""
    model = recipe.model
    starts = []
    if model.take != "none":
        starts.append(model.start)
    if model.decoder is not None and model.decoder.take != "none":
        starts.append(model.decoder.start)
    starts.append(model.vectors)
    return [start for start in starts if start]


def _recipe_of(start: str) -> Recipe | None:
    """Return the recipe of the run that a model or vectors belong to; None if there is no readable one."""
    if not user_path(start).is_dir():
        return None
    run = Run.of_model(start)
    try:
        stored = run.stored_recipe
        return None if stored is None else Recipe.read(stored, str(run.folder / RECIPE))
    except InterlaceError:
        return None
