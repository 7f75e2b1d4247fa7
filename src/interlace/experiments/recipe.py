"""Recipes: an experiment as data. TOML files live in the folders beside this module, a row of a paper's table each."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field, field_validator, model_validator

from interlace.core.errors import SettingsError, did_you_mean
from interlace.core.names import LanguageName, Name
from interlace.core.schedules import Schedule, values_of, within
from interlace.core.settings import Settings
from interlace.core.store import ConfigStore, change, merged
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


class EvaluationSettings(Settings):
    """What the finished model is measured by."""

    tasks: dict[Name, dict[str, Any]] = Field(
        {},
        description="Name -> a task's settings, as in `interlace list tasks`. The name is the task's, or `task` says "
        "which it is: so one task may be scored on several sets of files.",
    )
    source: LanguageName = Field("en", description="The language that tasks are fine-tuned on.")
    targets: list[LanguageName] = Field([], description="Languages scored zero-shot.")
    seeds: int = Field(3, ge=1, description="Fine-tuning seeds.")
    dictionary: str | None = Field(
        None, description="Word list from {source} to {target} for the embedding picture, a path under the data root."
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
        """The task called `name` with this recipe's settings; probes of pairs take the recipe's source language."""
        settings = self.tasks.get(name, {})
        if "source" in TASKS.get(settings.get("task", name)).model_fields:
            settings = {"source": self.source, **settings}
        return _task(name, settings)


def _task(name: str, settings: dict[str, Any]) -> Task:
    """The task that a table of settings means."""
    own = {key: value for key, value in settings.items() if key != "task"}
    return TASKS.build({"name": settings.get("task", name), **own}, f"evaluate.tasks.{name}")


class ExportSettings(Settings):
    """How the finished model is written."""

    fold_language: str | None = Field(
        None, description="With language embeddings: the language a caller gets who passes no language ids."
    )


Weight = Annotated[Schedule, AfterValidator(lambda schedule: within(schedule, 0.0, 1e9))]
_CORPORA = (
    "Groups or corpora it reads, such as 'text', 'en-de' or one side of it, 'en-de:en'. None: all that it can read; "
    "single sentences come from both sides of translations where there is no other text."
)


class ObjectiveEntry(Settings):
    """An objective in the mixture."""

    weight: Weight = Field("1", description="How often it is drawn beside the others; a number or a schedule.")
    corpora: list[str] = Field([], description=_CORPORA)
    settings: dict[str, Any] = Field({}, description="The objective's own settings.")


class Recipe(Settings):
    """An experiment as data."""

    name: str = Field(description="What reports call the run.")
    about: str = Field("", description="What the recipe shows, in a sentence.")
    published: list[Published] = Field([], description="What the paper reports for this system.")
    changes: list[str] = Field([], description="What differs here from the paper's system, a sentence each.")
    seed: int = Field(0, ge=0, description="Seed of everything random.")
    data_root: str | None = Field(None, description="Folder that all paths stand under.")
    toy: ToyCorpus | None = Field(None, description="Write the toy corpus and read it as the data root.")
    derived: dict[LanguageName, DerivedLanguage] = Field(
        {}, description="Languages made of another one, by name; their files are made where patterns look for them."
    )
    normalization: Normalization = Field(default_factory=Normalization, description="What is done to each line first.")
    word_tokenizer: str = Field("whitespace", description="What a word is; recorded with corpora.")
    corpora: dict[Name, CorpusGroup] = Field({}, description="Training text by group; none: it only evaluates.")
    filters: dict[str, dict[str, Any]] = Field(
        {}, description="Rules that training text passes in turn: name -> settings, as in `interlace list filters`."
    )
    align: AlignSettings | None = Field(None, description="Who links the words of translations; none: where needed.")
    vocab: VocabSettings = Field(default_factory=VocabSettings, description="The vocabulary.")
    model: ModelSettings = Field(default_factory=ModelSettings, description="The backbone.")
    objectives: dict[str, ObjectiveEntry] = Field({}, description="The mixture, by objective; none: it only evaluates.")
    embeddings: EmbeddingSettings | None = Field(
        None, description="Vectors of words or subwords learnt in place of a model."
    )
    train: TrainSettings = Field(default_factory=TrainSettings, description="How long and how fast.")
    export: ExportSettings = Field(default_factory=ExportSettings, description="How the model is written.")
    evaluate: EvaluationSettings = Field(default_factory=EvaluationSettings, description="What the model is for.")

    @field_validator("objectives", mode="before")
    @classmethod
    def _gather(cls, objectives: Any) -> Any:
        """An objective's own settings stand beside `weight` and `corpora` in its table."""
        return (
            {name: _entry(entry) for name, entry in objectives.items()} if isinstance(objectives, dict) else objectives
        )

    def model_post_init(self, _context: Any) -> None:
        """Names must exist: reader, word tokenizer, objectives, corpora."""
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
        learnt = {name: group for name, group in self.corpora.items() if group.train}
        known = [*learnt, *(name for group in learnt.values() for name in group.trained)]
        known += [f"{pair}:{side}" for group in learnt.values() for pair in group.pairs for side in pair.split("-")]
        for name in self.objectives:
            self._check_objective(name, known)
        check_translating(self)

    def _check_objective(self, name: str, known: list[str]) -> None:
        """Its settings, its weight, and whether it finds what it reads among the corpora `known`."""
        keys = {*OBJECTIVES.get(name).model_fields, *ObjectiveEntry.model_fields} - {"settings"}
        for key in self.objectives[name].settings:
            if key not in keys:
                raise SettingsError(f"objectives.{name}: unknown key {key!r}{did_you_mean(key, keys)}")
        pairs = self.objective(name).reads is Pairs
        weight = self.objectives[name].weight
        if self.train.alternate and not {0.0, 1.0} >= set(values_of(weight)):
            message = f"objectives.{name}.weight = {weight!r} says nothing beside train.alternate = true"
            raise SettingsError(f"{message}: give 1, 0, or a schedule of the two for when it takes part")
        groups = {group: corpora.pairs for group, corpora in self.corpora.items() if corpora.pairs and corpora.train}
        paired = [*groups, *(pair for members in groups.values() for pair in members)]
        if pairs and not paired:
            raise SettingsError(
                f"objectives.{name} reads pairs of sentences, and the recipe has none: add a group with pairs = [..] "
                "and their files to [corpora]"
            )
        for corpus in self.objectives[name].corpora:
            if corpus not in known:
                raise SettingsError(f"objectives.{name}.corpora: no corpus {corpus!r}{did_you_mean(corpus, known)}")
            if pairs and corpus not in paired:
                hint = did_you_mean(corpus, paired)
                raise SettingsError(f"objectives.{name}.corpora: {corpus!r} holds no pairs, which {name!r} reads{hint}")

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Recipe:
        if self.objectives and self.embeddings:
            message = "a recipe has [objectives], which train a model, or [embeddings]; not both"
            raise ValueError(message)
        return self

    def objective(self, name: str) -> Objective:
        """The objective called `name` with this recipe's settings."""
        return OBJECTIVES.build({"name": name, **self.objectives[name].settings}, f"objectives.{name}")

    @property
    def causal(self) -> bool:
        """Whether it makes a causal model: all its objectives read from left to right."""
        return bool(self.objectives) and all(self.objective(name).architecture == "causal" for name in self.objectives)

    @property
    def seq2seq(self) -> bool:
        """Whether it makes a translation model: an objective of it needs a decoder."""
        return any(self.objective(name).architecture == "seq2seq" for name in self.objectives)

    @property
    def languages(self) -> list[str]:
        """All languages of the corpora, in the order of the recipe; without corpora, of the evaluation or the toy corpus."""
        names = [name for group in self.corpora.values() for name in [*group.languages, *group.pairs]]
        if not names:
            names = [self.evaluate.source, *(self.evaluate.targets or (self.toy.languages if self.toy else []))]
        return list(dict.fromkeys(language for name in names for language in name.split("-")))

    def task(self, name: str) -> Task:
        """A task of the evaluation as a run of this recipe is scored: in which directions, where nobody names any."""
        task = self.evaluate.task(name)
        return (
            with_learned_directions(task, self, max_source_lengths(self)) if isinstance(task, TranslationTask) else task
        )

    @property
    def targets(self) -> list[str]:
        """What is scored where a task names no targets: those of the evaluation, else all languages but its source."""
        return self.evaluate.targets or [language for language in self.languages if language != self.evaluate.source]

    def must_train(self) -> None:
        """Refuse a recipe that only says how to evaluate.

        Raises:
            SettingsError: it has no corpora or no objectives.
        """
        if self.embeddings:
            message = f"recipe {self.name!r} learns word vectors, and trains no model"
            raise SettingsError(f"{message}; the command without --dry-run learns them")
        for section, there in (("corpora", self.corpora), ("objectives", self.objectives)):
            if not there:
                message = f"recipe {self.name!r} has no [{section}], so there is nothing to train"
                raise SettingsError(f"{message}; to score a model by it: interlace evaluate MODEL --recipe ..")


def _entry(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    own = {key: value for key, value in entry.items() if key in {"weight", "corpora"}}
    beside = {key: value for key, value in entry.items() if key not in {*own, "settings"}}
    return {**own, "settings": merged(entry.get("settings", {}), beside)}  # both where a run's recipe is changed


def read_recipe(name: str, changes: Mapping[str, str] | None = None) -> Recipe:
    """A recipe from a TOML file, a run's `recipe.json` or a shipped name such as `tiny/mlm`, with changes by key path.

    Raises:
        DataError: no such file; SettingsError: it cannot be read, or a key or value is wrong.
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
        Recipe.read(original, where)  # report a fault of the file as such
        return Recipe.read(data, "--set")


def change_recipe(recipe: Recipe, changes: Mapping[str, str]) -> Recipe:
    """The recipe with `section.key=value` changes."""
    data = recipe.dump()
    for key, value in changes.items():
        change(data, key, value)
    return Recipe.read(data, "--set")


# FROM _translating:
# What a recipe for a translation model may say, and where its vocabulary comes from.


STOPPING_TASKS = {
    "bleu": "mt",
    "round-trip": "round_trip",
}  # what early stopping goes by -> the task whose main score it is


def check_translating(recipe: Recipe) -> None:
    """Refuse what says nothing beside a recipe's objectives.

    Raises:
        SettingsError: a decoder that no objective trains, an export that a translation model does not have, or stopping
            by translations that are not learnt, or not back.
    """
    if recipe.train.stop_by in STOPPING_TASKS:
        _must_be_judged(recipe)
    if recipe.model.decoder is not None and recipe.objectives and not recipe.seq2seq:
        message = "[model.decoder] describes a decoder, but no objective of the recipe writes"
        raise SettingsError(f"{message}; add one that does, such as [objectives.translation], or leave it out")
    if recipe.export.fold_language is not None and recipe.seq2seq:
        message = "export.fold_language: a translation model reads one language and writes another"
        raise SettingsError(f"{message}; leave it out")


def _must_be_judged(recipe: Recipe) -> None:
    by, learnt = recipe.train.stop_by, max_source_lengths(recipe)
    if recipe.objectives and not learnt:
        raise SettingsError(f"train.stop_by = {by!r}: no objective of the recipe translates; stop by perplexity")
    one_way = [name for name in learnt if "-".join(reversed(name.split("-"))) not in learnt]
    if by == "round-trip" and one_way:
        raise SettingsError(f"train.stop_by = {by!r}: {one_way[0]} is learnt and the way back is not; stop by 'bleu'")


def tokenizer_of(recipe: Recipe) -> str | None:
    """The folder or hub name whose tokenizer a recipe uses; None: its own.

    That of the model's start, of the decoder's where only that has one, or of vectors that a fresh model begins with.
    """
    model, decoder = recipe.model, recipe.model.decoder
    beside = model.vectors if model.vectors is not None and not is_text_file(model.vectors) else None
    return recipe.vocab.start or model.start or (decoder.start if decoder is not None else None) or beside


# FROM _directions:
# Which translation directions a recipe trains: what its objectives read and write.


def directions(recipe: Recipe) -> dict[tuple[str, str], str]:
    """(source, target) -> the objective that learns it first, in the order of the recipe.

    An objective of pairs learns what its `directions` say; one of single sentences with `intermediate_languages`
    learns from each of these into the sentence's own. Others teach languages and no translation.
    """
    return {direction: names[0] for direction, names in objectives_by_direction(recipe).items()}


def objectives_by_direction(recipe: Recipe) -> dict[tuple[str, str], list[str]]:
    """(source, target) -> all objectives that learn it; see `directions`."""
    found: dict[tuple[str, str], list[str]] = {}
    for name in recipe.objectives:
        if recipe.objective(name).architecture == "seq2seq":
            for direction in dict.fromkeys(_learnt(recipe, name)):
                found.setdefault(direction, []).append(name)
    return found


def max_source_length(recipe: Recipe, source: str, target: str) -> int | None:
    """Most subwords of a sentence, without specials, in what a run of the recipe learnt to translate in a direction.

    A longer sentence is unlike all that it read in training; users' lines and test sets are cut there. None: no
    objective learns the direction, so nobody knows.
    """
    names = objectives_by_direction(recipe).get((source, target), [])
    return max((recipe.objective(name).max_length - 2 for name in names), default=None)


def max_source_lengths(recipe: Recipe) -> dict[str, int]:
    """What `max_source_length` says of every direction that is learnt, by its name, such as `en-de`."""
    found = {
        f"{source}-{target}": max_source_length(recipe, source, target)
        for source, target in objectives_by_direction(recipe)
    }
    return {direction: longest for direction, longest in found.items() if longest is not None}


def _learnt(recipe: Recipe, name: str) -> Iterator[tuple[str, str]]:
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
    """The languages and pairs of what an objective reads; none wanted: of all there is.

    A name is a group's, or a corpus's, before whose language or pair its group may stand, and behind whose pair one
    side of it.
    """
    groups = {name: group.trained for name, group in recipe.corpora.items()}
    if not wanted:
        return [corpus for members in groups.values() for corpus in members]
    return [corpus for name in wanted for corpus in groups.get(name, [name.rpartition(":")[2]])]


def with_learned_directions(task: TranslationTask, recipe: Recipe, learnt: Mapping[str, int]) -> TranslationTask:
    """Return the task with all learned directions as targets where neither the task nor the recipe names any."""
    if task.targets is not None or recipe.evaluate.targets or not learnt:
        return task
    return task.model_copy(update={"targets": list(learnt)})
