"""A run: the folder that a recipe is trained in, what it records, and what must not change when it is resumed."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Self

from interlace.core.display import listed
from interlace.core.errors import InterlaceError, RunError, SettingsError
from interlace.core.files import atomic, user_path
from interlace.core.json_files import JsonObject, read_json, write_json
from interlace.core.registry import plugin_files
from interlace.core.store import leaves
from interlace.experiments.recipe import Recipe
from interlace.experiments.score_store import folder_key
from interlace.training.run_folder import CODE, RECIPE, RUN, RUN_STATE, VECTORS, read_run


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
    def record(self) -> JsonObject:
        """The content of `run.json`; empty before the run is finished."""
        return read_run(self.folder)

    @property
    def is_finished(self) -> bool:
        """Whether the run is finished."""
        return bool(self.record.get("finished"))

    @property
    def stored_recipe(self) -> JsonObject | None:
        """The content of `recipe.json`; None if the folder is not a run's."""
        remedy = "restore it from a copy, or train in another folder"
        return read_json(self.folder / RECIPE, JsonObject, None, remedy=remedy, error=RunError)

    def finished_recipe(self) -> Recipe | None:
        """Return the recipe of a finished run; None if the folder is not a run's.

        Raises:
            RunError: the run is not finished.
            SettingsError: the recipe names entries of plugins that are not loaded.
        """
        stored = self.stored_recipe
        if not self.is_finished:
            if stored is None:
                return None
            raise RunError(
                f"{self.folder}: this run is not finished; resume it with `interlace pretrain`"
            )
        if stored is None:
            raise RunError(
                f"{self.folder / RECIPE}: missing, although the run is finished; restore it, or name the model alone, "
                f"{self.model_folder}"
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

        A run without a checkpoint may change its recipe and plugins; it starts over. The plugins' files of another run
        are kept.
        """
        stored = self.stored_recipe
        goes_on = self.is_finished or self.has_checkpoints
        if stored is not None and goes_on:
            changed = differences(stored, recipe.dump())
            if changed:
                raise RunError(
                    f"{self.folder} holds a run of another recipe: {'; '.join(changed[:5])}; choose another folder"
                )
        if not goes_on:
            for name, path in plugin_files().items():
                with atomic(self.folder / CODE / name) as partial:
                    partial.write_bytes(path.read_bytes())
        if stored != recipe.dump():
            write_json(self.folder / RECIPE, recipe.dump())

    def check_state(self, contents: dict[str, str]) -> None:
        """Store the contents of a new run; raise a RunError if a resumed one has others.

        Rows of the checkpoints would belong to other tokens.

        contents: hashes of what training reads by what it is, such as "the vocabulary".
        """
        path = self.folder / RUN_STATE
        remedy = "choose another folder for the run"
        stored: dict[str, str] = read_json(path, dict[str, str], {}, remedy=remedy)
        if not (stored and self.has_checkpoints):
            write_json(path, contents)
            return
        changed = [name for name, key in stored.items() if contents.get(name) != key]
        if changed:
            raise RunError(
                f"{self.folder}: {listed(changed)} changed since the run began; restore what changed, or choose "
                "another folder"
            )

    @property
    def id(self) -> str:
        """A hash of what must not change when the run is resumed; its checkpoints name it."""
        return hash_of((self.folder / RUN_STATE).read_bytes())


def hash_of(content: bytes) -> str:
    """Return a hash of 128 bits."""
    return blake2b(content, digest_size=16).hexdigest()


def differences(old: JsonObject, new: JsonObject) -> list[str]:
    """Return `key was old, is new` for each setting of training in which two recipes differ."""
    before = _training_settings(old)
    after = _training_settings(new)
    changed = []
    for key in before | after:
        old_value = before.get(key)
        new_value = after.get(key)
        if old_value != new_value:
            changed.append(f"{key} was {old_value!r}, is {new_value!r}")
    return changed


def _training_settings(recipe: JsonObject) -> JsonObject:
    """Return the settings that the result of training depends on, by dotted key."""
    not_training = {"about", "published", "changes", "evaluate"}
    harmless = {"train.trackers", "train.checkpoint_every", "train.keep"}
    settings = {}
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
        unknown = []
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
