"""Recipes: an experiment as data. The TOML files are in `recipes/`, one per table of a paper."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field, field_validator, model_validator

from interlace.core.errors import SettingsError, did_you_mean
from interlace.core.names import LanguageName, Name
from interlace.core.schedules import Schedule, values_of, within
from interlace.core.settings import Settings
from interlace.core.store import ConfigStore, change
from interlace.data import Pairs
from interlace.data.filters import build_filters
from interlace.embeddings import is_text_file
from interlace.experiments.derived import DerivedLanguage, check_derived
from interlace.experiments.sections import (
    AlignSettings,
    CorpusGroup,
    EmbeddingSettings,
    Published,
    TrainSettings,
    VocabSettings,
    gather_settings,
)
from interlace.models.settings import ModelSettings
from interlace.objectives import OBJECTIVES, Objective
from interlace.tasks import TASKS, Task
from interlace.tasks.common.files import check_pattern
from interlace.tasks.common.translation import TranslationTask
from interlace.text.normalization import Normalization
from interlace.text.word_tokenizers import WORD_TOKENIZERS
from interlace.toy import ToyCorpus

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["RECIPES", "CorpusGroup", "Recipe", "change_recipe", "read_recipe"]

RECIPES = ConfigStore("recipe", Path(__file__).parent / "recipes", whole=("objectives", "published", "changes"))
STOPPING_TASKS = {"bleu": "mt", "round-trip": "round_trip"}  # criterion of early stopping -> task


class EvaluationSettings(Settings):
    """Evaluation of the finished model."""

    tasks: dict[Name, dict[str, Any]] = Field(
        {},
        description="Settings of tasks by name: see `interlace list tasks`. `task` names the task if the table has "
        "another name, so that one task can be scored on several sets of files.",
    )
    source: LanguageName = Field("en", description="Language of fine-tuning.")
    targets: list[LanguageName] = Field([], description="Languages of zero-shot evaluation.")
    seeds: int = Field(3, ge=1, description="Fine-tuning seeds.")
    dictionary: str | None = Field(
        None, description="Dictionary from {source} to {target} for the embedding plot: a path pattern."
    )

    @field_validator("dictionary")
    @classmethod
    def _is_pattern(cls, pattern: str | None) -> str | None:
        return None if pattern is None else check_pattern(pattern, ("source", "target"))

    @field_validator("tasks")
    @classmethod
    def _known(cls, tasks: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        for name, settings in tasks.items():
            _task(name, settings)
        return tasks

    def task(self, name: str) -> Task:
        """Return a task with this recipe's settings; tasks with a `source` setting default to the recipe's source."""
        settings = self.tasks.get(name, {})
        if "source" in TASKS.get(settings.get("task", name)).model_fields:
            settings = {"source": self.source, **settings}
        return _task(name, settings)


def _task(name: str, settings: dict[str, Any]) -> Task:
    """Build the task of a settings table."""
    own = {key: value for key, value in settings.items() if key != "task"}
    return TASKS.build({"name": settings.get("task", name), **own}, f"evaluate.tasks.{name}")


class ExportSettings(Settings):
    """Export of the finished model."""

    fold_language: str | None = Field(
        None, description="Language of inputs without language ids, for models with language embeddings."
    )


Weight = Annotated[Schedule, AfterValidator(lambda schedule: within(schedule, 0.0, 1e9))]


class ObjectiveEntry(Settings):
    """An objective of the mixture."""

    weight: Weight = Field("1", description="Sampling weight: a number or a schedule over steps.")
    corpora: list[str] = Field(
        [],
        description="Groups or corpora to read, such as 'text', 'en-de', or one side, 'en-de:en'. Default: all that it "
        "can read; monolingual objectives read both sides of parallel text only if there is no other.",
    )
    settings: dict[str, Any] = Field({}, description="Settings of the objective.")


class Recipe(Settings):
    """An experiment as data."""

    name: str = Field(description="Name of the run in reports.")
    about: str = Field("", description="Description in a sentence.")
    published: list[Published] = Field([], description="Published results of this system.")
    changes: list[str] = Field([], description="Differences from the paper's system, one sentence each.")
    seed: int = Field(0, ge=0, description="Random seed.")
    data_root: str | None = Field(None, description="Folder that all paths are relative to.")
    toy: ToyCorpus | None = Field(None, description="Generate the toy corpus and use it as the data root.")
    derived: dict[LanguageName, DerivedLanguage] = Field(
        {}, description="Derived languages by name; their files are generated where patterns expect them."
    )
    normalization: Normalization = Field(default_factory=Normalization, description="Text normalization.")
    word_tokenizer: str = Field("whitespace", description="Word tokenizer: see `interlace list`.")
    corpora: dict[Name, CorpusGroup] = Field({}, description="Corpora by group; none: the recipe only evaluates.")
    filters: dict[str, dict[str, Any]] = Field(
        {}, description="Filters of training text, applied in order: settings by name, see `interlace list filters`."
    )
    align: AlignSettings | None = Field(None, description="Word alignment; default: only if an objective needs it.")
    vocab: VocabSettings = Field(default_factory=VocabSettings, description="Vocabulary.")
    model: ModelSettings = Field(default_factory=ModelSettings, description="Model.")
    objectives: dict[str, ObjectiveEntry] = Field(
        {}, description="Objectives by name; none: the recipe only evaluates."
    )
    embeddings: EmbeddingSettings | None = Field(None, description="Word or token vectors to learn instead of a model.")
    train: TrainSettings = Field(default_factory=TrainSettings, description="Training.")
    export: ExportSettings = Field(default_factory=ExportSettings, description="Export.")
    evaluate: EvaluationSettings = Field(default_factory=EvaluationSettings, description="Evaluation.")

    @field_validator("objectives", mode="before")
    @classmethod
    def _gather(cls, objectives: Any) -> Any:
        """Move an objective's settings, which share a table with `weight` and `corpora`, to `settings`."""
        if not isinstance(objectives, dict):
            return objectives
        return {name: gather_settings(entry, ObjectiveEntry.model_fields) for name, entry in objectives.items()}

    def model_post_init(self, _context: Any) -> None:
        """Check names of readers, word tokenizers, objectives and corpora, and settings that depend on each other."""
        if self.toy is not None and self.data_root is not None:
            raise SettingsError(
                "data_root: a recipe with a [toy] section does not read it; remove one of them (to evaluate a model on "
                "other data: --recipe)"
            )
        word_tokenizer = WORD_TOKENIZERS.build(self.word_tokenizer)
        for language in self.languages:
            word_tokenizer.of(language)
        build_filters(self.filters)
        for group in self.corpora.values():
            group.reading()
        if self.vocab.extend and tokenizer_of(self) is None:
            raise SettingsError("vocab.extend needs a tokenizer to extend: name it in model.start or vocab.start")
        check_derived(self.derived, [pair for group in self.corpora.values() for pair in group.pairs])
        for name in self.vocab.corpora:
            if name not in self.corpora:
                raise SettingsError(f"vocab.corpora: no group {name!r}{did_you_mean(name, self.corpora)}")
        training = {name: group for name, group in self.corpora.items() if group.train}
        known = [*training, *(name for group in training.values() for name in group.trained)]
        known += [f"{pair}:{side}" for group in training.values() for pair in group.pairs for side in pair.split("-")]
        for name in self.objectives:
            self._check_objective(name, known)
        _check_translation(self)

    def _check_objective(self, name: str, known: list[str]) -> None:
        """Check the settings and the weight of an objective, and its corpora against the `known` names."""
        keys = {*OBJECTIVES.get(name).model_fields, *ObjectiveEntry.model_fields} - {"settings"}
        for key in self.objectives[name].settings:
            if key not in keys:
                raise SettingsError(f"objectives.{name}: unknown key {key!r}{did_you_mean(key, keys)}")
        pairs = self.objective(name).reads is Pairs
        weight = self.objectives[name].weight
        if self.train.alternate and not {0.0, 1.0} >= set(values_of(weight)):
            message = f"objectives.{name}.weight = {weight!r} has no effect with train.alternate = true"
            raise SettingsError(f"{message}: use 1, 0, or a schedule of both")
        groups = {group: corpora.pairs for group, corpora in self.corpora.items() if corpora.pairs and corpora.train}
        paired = [*groups, *(pair for members in groups.values() for pair in members)]
        if pairs and not paired:
            raise SettingsError(
                f"objectives.{name} reads sentence pairs, but the recipe has none: add a group with pairs = [..] "
                "to [corpora]"
            )
        for corpus in self.objectives[name].corpora:
            if corpus not in known:
                raise SettingsError(f"objectives.{name}.corpora: no corpus {corpus!r}{did_you_mean(corpus, known)}")
            if pairs and corpus not in paired:
                hint = did_you_mean(corpus, paired)
                raise SettingsError(
                    f"objectives.{name}.corpora: {corpus!r} is not parallel, but {name!r} reads pairs{hint}"
                )

    @model_validator(mode="after")
    def _check_kind(self) -> Recipe:
        if self.objectives and self.embeddings:
            message = "a recipe has either [objectives] or [embeddings]"
            raise ValueError(message)
        return self

    def objective(self, name: str) -> Objective:
        """Return an objective with this recipe's settings."""
        return OBJECTIVES.build({"name": name, **self.objectives[name].settings}, f"objectives.{name}")

    @property
    def causal(self) -> bool:
        """Whether the recipe trains a causal model: all objectives are causal."""
        return bool(self.objectives) and all(self.objective(name).architecture == "causal" for name in self.objectives)

    @property
    def seq2seq(self) -> bool:
        """Whether the recipe trains an encoder-decoder: some objective needs a decoder."""
        return any(self.objective(name).architecture == "seq2seq" for name in self.objectives)

    @property
    def languages(self) -> list[str]:
        """The languages of the corpora in order; without corpora, those of the evaluation or the toy corpus."""
        names = [name for group in self.corpora.values() for name in [*group.languages, *group.pairs]]
        if not names:
            names = [self.evaluate.source, *(self.evaluate.targets or (self.toy.languages if self.toy else []))]
        return list(dict.fromkeys(language for name in names for language in name.split("-")))

    def task(self, name: str) -> Task:
        """Return a task; translation tasks without directions get the learned ones."""
        task = self.evaluate.task(name)
        return (
            with_learned_directions(task, self, max_source_lengths(self)) if isinstance(task, TranslationTask) else task
        )

    @property
    def targets(self) -> list[str]:
        """Target languages of tasks without their own: those of the evaluation, else all languages but its source."""
        return self.evaluate.targets or [language for language in self.languages if language != self.evaluate.source]

    def check_trainable(self) -> None:
        """Raise a SettingsError if the recipe has no corpora or no objectives."""
        if self.embeddings:
            message = f"recipe {self.name!r} learns word vectors and trains no model"
            raise SettingsError(f"{message}; run it without --dry-run")
        for section, there in (("corpora", self.corpora), ("objectives", self.objectives)):
            if not there:
                message = f"recipe {self.name!r} has no [{section}] and cannot train"
                raise SettingsError(f"{message}; to evaluate a model with it: interlace evaluate MODEL --recipe ..")


def read_recipe(name: str, changes: Mapping[str, str] | None = None) -> Recipe:
    """Read a recipe from a TOML file, a run's `recipe.json` or a shipped name such as `tiny/mlm`; apply changes.

    Raises:
        DataError: no such file; SettingsError: it cannot be parsed, or a key or value is invalid.
    """
    where = str(RECIPES.find(name))
    data = RECIPES.read(name)
    if not changes:
        return Recipe.read(data, where)
    original = copy.deepcopy(data)
    for key, value in changes.items():
        change(data, key, value)
    try:
        return Recipe.read(data)
    except SettingsError:
        Recipe.read(original, where)  # errors of the file come first
        return Recipe.read(data, "--set")


def change_recipe(recipe: Recipe, changes: Mapping[str, str]) -> Recipe:
    """Return the recipe with `section.key=value` changes."""
    data = recipe.dump()
    for key, value in changes.items():
        change(data, key, value)
    return Recipe.read(data, "--set")


def tokenizer_of(recipe: Recipe) -> str | None:
    """Return the folder or hub name of the tokenizer: of vocabulary, model, decoder or vectors; None: learned."""
    model, decoder = recipe.model, recipe.model.decoder
    own = model.vectors if model.vectors is not None and not is_text_file(model.vectors) else None
    return recipe.vocab.start or model.start or (decoder.start if decoder is not None else None) or own


def directions(recipe: Recipe) -> dict[tuple[str, str], str]:
    """Return (source, target) -> the first objective that learns it.

    Objectives of pairs learn their `directions`; those with `intermediate_languages` learn from each of these into the
    language of the sentence. Other objectives do not learn to translate.
    """
    return {direction: names[0] for direction, names in objectives_by_direction(recipe).items()}


def objectives_by_direction(recipe: Recipe) -> dict[tuple[str, str], list[str]]:
    """Return (source, target) -> all objectives that learn it; see `directions`."""
    found: dict[tuple[str, str], list[str]] = {}
    for name in recipe.objectives:
        if recipe.objective(name).architecture == "seq2seq":
            for direction in dict.fromkeys(_directions(recipe, name)):
                found.setdefault(direction, []).append(name)
    return found


def max_source_lengths(recipe: Recipe) -> dict[str, int]:
    """Return the maximum training length of source sentences by learned direction, such as `en-de`.

    In tokens without special tokens. Longer input is unlike the training text, so lines and test sets are cut there.
    """
    return {
        f"{source}-{target}": max(recipe.objective(name).max_length - 2 for name in names)
        for (source, target), names in objectives_by_direction(recipe).items()
    }


def with_learned_directions(task: TranslationTask, recipe: Recipe, learned: Mapping[str, int]) -> TranslationTask:
    """Return the task with all learned directions as targets where neither the task nor the recipe names any."""
    if task.targets is not None or recipe.evaluate.targets or not learned:
        return task
    return task.model_copy(update={"targets": list(learned)})


def _directions(recipe: Recipe, name: str) -> Iterator[tuple[str, str]]:
    objective = recipe.objective(name)
    corpora = _corpora(recipe, recipe.objectives[name].corpora)
    pairs = [corpus for corpus in corpora if "-" in corpus]
    if objective.reads is Pairs:
        which = getattr(objective, "directions", None)
        for pair in pairs if which else ():
            first, _, second = pair.partition("-")
            if which != "backward":
                yield first, second
            if which != "forward":
                yield second, first
    elif hasattr(objective, "intermediate_languages"):
        alone = [corpus for corpus in corpora if "-" not in corpus]
        read = corpora if recipe.objectives[name].corpora or not alone else alone
        for language in dict.fromkeys(language for corpus in read for language in corpus.split("-")):
            yield from (
                (other, language) for other in objective.intermediate_languages or recipe.languages if other != language
            )


def _corpora(recipe: Recipe, wanted: list[str]) -> list[str]:
    """Return the languages and pairs of the corpora that an objective reads; `wanted` empty: all.

    Names are of groups or corpora, optionally as GROUP:CORPUS or CORPUS:SIDE.
    """
    groups = {name: group.trained for name, group in recipe.corpora.items()}
    if not wanted:
        return [corpus for members in groups.values() for corpus in members]
    return [corpus for name in wanted for corpus in groups.get(name, [name.rpartition(":")[2]])]


def _check_translation(recipe: Recipe) -> None:
    """Check the settings of translation models.

    Raises:
        SettingsError: a decoder that no objective trains, `fold_language` of a translation model, or early stopping by
            translations that are not learned in the needed directions.
    """
    if recipe.train.stop_by in STOPPING_TASKS:
        _check_stopping(recipe)
    if recipe.model.decoder is not None and recipe.objectives and not recipe.seq2seq:
        message = "[model.decoder]: no objective of the recipe trains a decoder"
        raise SettingsError(f"{message}; add one, such as [objectives.translation], or remove the section")
    if recipe.export.fold_language is not None and recipe.seq2seq:
        message = "export.fold_language: not available for translation models"
        raise SettingsError(f"{message}; remove it")


def _check_stopping(recipe: Recipe) -> None:
    by, learned = recipe.train.stop_by, max_source_lengths(recipe)
    if recipe.objectives and not learned:
        raise SettingsError(f"train.stop_by = {by!r}: no objective of the recipe translates; stop by perplexity")
    one_way = [name for name in learned if "-".join(reversed(name.split("-"))) not in learned]
    if by == "round-trip" and one_way:
        raise SettingsError(f"train.stop_by = {by!r}: {one_way[0]} is learned but its reverse is not; stop by 'bleu'")
