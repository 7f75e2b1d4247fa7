"""Recipes: an experiment as data. The TOML files are in `recipes/`, one per table of a paper."""

import copy
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, field_validator

from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.files import user_path
from interlace.core.names import LanguageName, Name
from interlace.core.schedules import Schedule, values_of, within
from interlace.core.settings import Settings
from interlace.core.store import ConfigStore, change
from interlace.data import Pairs
from interlace.data.filters import build_filters
from interlace.data.tokenization import AUTO
from interlace.embeddings import is_text_file
from interlace.experiments.sections import (
    AlignSettings,
    CorpusGroup,
    DerivedLanguage,
    EmbeddingSettings,
    EntrySettings,
    PairPattern,
    Published,
    TrainSettings,
    VocabSettings,
    check_derived,
)
from interlace.models.settings import ModelSettings
from interlace.objectives import OBJECTIVES, Objective
from interlace.tasks import TASKS, Task
from interlace.tasks.common.translation import TranslationTask
from interlace.text.normalization import Normalization
from interlace.text.word_tokenizers import WORD_TOKENIZERS
from interlace.toy import ToyCorpus

__all__ = ["RECIPES", "CorpusGroup", "Recipe", "change_recipe", "read_recipe"]

CHECKPOINTS = (
    "model.start",
    "decoder.start",
    "vocab.start",
    "align.start",
    "model.vectors",
    "dictionary.vectors",
)
RECIPES = ConfigStore(
    "recipe",
    Path(__file__).parent / "recipes",
    whole=("objectives", "published", "changes"),
    folders=("data_root",),
    checkpoints=CHECKPOINTS,
)
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
    seeds: int = Field(3, ge=1, le=1000, description="Fine-tuning seeds.")
    dictionary: PairPattern | None = Field(
        None, description="Dictionary of the embedding plot: a pattern of {source}, {target}."
    )

    @field_validator("tasks")
    @classmethod
    def _known(cls, tasks: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        for name, settings in tasks.items():
            _task(name, settings)
        return tasks


def _task(name: str, settings: dict[str, Any]) -> Task:
    own = {key: value for key, value in settings.items() if key != "task"}
    return TASKS.build({"name": settings.get("task", name), **own}, f"evaluate.tasks.{name}")


LICENSE = r"^[a-z0-9.-]*$"


class ExportSettings(Settings):
    """Export of the finished model."""

    license: str = Field(
        "",
        pattern=LICENSE,
        description="License on the card, the hub's identifier such as apache-2.0.",
    )


Weight = Annotated[Schedule, AfterValidator(lambda schedule: within(schedule, 0.0, 1e9))]


class ObjectiveEntry(EntrySettings):
    """An objective of the mixture."""

    weight: Weight = Field("1", description="Sampling weight: a number or a schedule over steps.")
    loss_weight: Weight = Field(
        "1",
        description="Factor of the loss, a number or a schedule (XLM's lambda); 0: no batches are drawn.",
    )
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
    changes: list[str] = Field(
        [], description="Differences from the paper's system, one sentence each."
    )
    seed: int = Field(0, ge=0, description="Random seed.")
    data_root: str | None = Field(
        None,
        description="Folder that all paths are relative to; itself relative to the file that names it.",
    )
    toy: ToyCorpus | None = Field(
        None, description="Generate the toy corpus and use it as the data root."
    )
    derived: dict[LanguageName, DerivedLanguage] = Field(
        {}, description="Derived languages by name; their files are generated."
    )
    normalization: Normalization = Field(
        default_factory=Normalization, description="Text normalization."
    )
    word_tokenizer: str = Field(
        AUTO,
        description="Word tokenizer: see `interlace list`. 'auto': 'unicode' if training text is untokenized, else "
        "'whitespace'.",
    )
    corpora: dict[Name, CorpusGroup] = Field(
        {}, description="Corpora by group; none: the recipe only evaluates."
    )
    filters: dict[str, dict[str, Any]] = Field(
        {}, description="Filters of training text in order: settings by name."
    )
    align: AlignSettings | None = Field(
        None, description="Word alignment; default: only if an objective needs it."
    )
    vocab: VocabSettings = Field(default_factory=VocabSettings, description="Vocabulary.")
    model: ModelSettings = Field(default_factory=ModelSettings, description="Model.")
    objectives: dict[str, ObjectiveEntry] = Field(
        {}, description="Objectives by name; none: only evaluate."
    )
    embeddings: EmbeddingSettings | None = Field(
        None, description="Word or token vectors to learn instead of a model."
    )
    train: TrainSettings = Field(default_factory=TrainSettings, description="Training.")
    export: ExportSettings = Field(default_factory=ExportSettings, description="Export.")
    evaluate: EvaluationSettings = Field(
        default_factory=EvaluationSettings, description="Evaluation."
    )

    def model_post_init(self, _context: Any) -> None:
        """Check names of readers, word tokenizers, objectives and corpora, and settings that depend on each other."""
        if self.objectives and self.embeddings:
            raise ValueError("a recipe has either [objectives] or [embeddings]")
        if self.toy is not None and self.data_root is not None:
            raise SettingsError(
                "data_root: a recipe with a [toy] section does not read it; remove one of them (to evaluate a model on "
                "other data: --recipe)"
            )
        if self.word_tokenizer != AUTO:
            word_tokenizer = WORD_TOKENIZERS.build(self.word_tokenizer)
            for language in self.languages:
                word_tokenizer.of(language)
        build_filters(self.filters)
        for group in self.corpora.values():
            group.reading()
        if self.vocab.extend and tokenizer_of(self) is None:
            raise SettingsError(
                "vocab.extend needs a tokenizer to extend: name it in model.start or vocab.start"
            )
        check_derived(
            self.derived, [pair for group in self.corpora.values() for pair in group.pairs]
        )
        for name in self.vocab.corpora:
            if name not in self.corpora:
                raise SettingsError(
                    f"vocab.corpora: no group {name!r}{did_you_mean(name, self.corpora)}"
                )
        training = {name: group for name, group in self.corpora.items() if group.train}
        known = [*training, *(name for group in training.values() for name in group.trained)]
        known += [
            f"{pair}:{side}"
            for group in training.values()
            for pair in group.pairs
            for side in pair.split("-")
        ]
        for name in self.objectives:
            self._check_objective(name, known)
        self._check_translation()

    def _check_objective(self, name: str, known: list[str]) -> None:
        """Check the settings and the weight of an objective, and its corpora against the `known` names."""
        keys = {*OBJECTIVES.get(name).model_fields, *ObjectiveEntry.model_fields} - {"settings"}
        for key in self.objectives[name].settings:
            if key not in keys:
                raise SettingsError(
                    f"objectives.{name}: unknown key {key!r}{did_you_mean(key, keys)}"
                )
        pairs = self.objective(name).reads is Pairs
        weight = self.objectives[name].weight
        if self.train.alternate and not {0.0, 1.0} >= set(values_of(weight)):
            raise SettingsError(
                f"objectives.{name}.weight = {weight!r} has no effect with train.alternate = true: use 1, 0, or a "
                "schedule of both"
            )
        groups = {
            group: corpora.pairs
            for group, corpora in self.corpora.items()
            if corpora.pairs and corpora.train
        }
        paired = [*groups, *(pair for members in groups.values() for pair in members)]
        if pairs and not paired:
            raise SettingsError(
                f"objectives.{name} reads sentence pairs, but the recipe has none: add a group with pairs = [..] "
                "to [corpora]"
            )
        for corpus in self.objectives[name].corpora:
            if corpus not in known:
                raise SettingsError(
                    f"objectives.{name}.corpora: no corpus {corpus!r}{did_you_mean(corpus, known)}"
                )
            if pairs and corpus not in paired:
                hint = did_you_mean(corpus, paired)
                raise SettingsError(
                    f"objectives.{name}.corpora: {corpus!r} is not parallel, but {name!r} reads pairs{hint}"
                )

    def _check_translation(self) -> None:
        """Reject settings of translation that no objective trains."""
        by = self.train.stop_by
        learned = max_source_lengths(self)
        if by in STOPPING_TASKS:
            if self.objectives and not learned:
                raise SettingsError(
                    f"train.stop_by = {by!r}: no objective here translates; stop by perplexity"
                )
            one_way = [
                name for name in learned if "-".join(reversed(name.split("-"))) not in learned
            ]
            if by == "round-trip" and one_way:
                where = f"train.stop_by = {by!r}"
                raise SettingsError(
                    f"{where}: {one_way[0]} is learned but its reverse is not; stop by 'bleu'"
                )
        if self.model.decoder is not None and self.objectives and not self.seq2seq:
            raise SettingsError(
                "[model.decoder]: no objective of the recipe trains a decoder; add one, such as "
                "[objectives.translation], or remove the section"
            )

    def objective(self, name: str) -> Objective:
        """Return an objective with this recipe's settings."""
        return OBJECTIVES.build(
            {"name": name, **self.objectives[name].settings}, f"objectives.{name}"
        )

    def annotations(self, group: str, corpus: str) -> frozenset[str]:
        """Return the annotations that a training corpus of a group needs: of `links`, `phrases`, `known` and `text`.

        Objectives determine them for the corpora that they read. If no objective needs any, an `[align]` section
        applies to all parallel corpora, so that alignments can be inspected before an objective is chosen.
        """
        needs_of_objectives = {
            name: self.objective(name).needs - {"lexicon"} for name in self.objectives
        }
        if not any(needs_of_objectives.values()):
            if self.align is None:
                return frozenset()
            return frozenset({"links"} if self.align.phrases is None else {"links", "phrases"})
        annotations: frozenset[str] = frozenset()
        for name, needs in needs_of_objectives.items():
            corpora = self.objectives[name].corpora
            if not corpora or group in corpora or corpus in corpora:
                annotations |= needs
        return annotations

    @property
    def causal(self) -> bool:
        """Whether the recipe trains a causal model: all objectives are causal."""
        return bool(self.objectives) and all(
            self.objective(name).architecture == "causal" for name in self.objectives
        )

    @property
    def seq2seq(self) -> bool:
        """Whether the recipe trains an encoder-decoder: some objective needs a decoder."""
        return any(self.objective(name).architecture == "seq2seq" for name in self.objectives)

    @property
    def languages(self) -> list[str]:
        """The languages of the corpora in order; without corpora, those of the evaluation or the toy corpus."""
        names = [
            name for group in self.corpora.values() for name in [*group.languages, *group.pairs]
        ]
        if not names:
            names = [
                self.evaluate.source,
                *(self.evaluate.targets or (self.toy.languages if self.toy else [])),
            ]
        return list(dict.fromkeys(language for name in names for language in name.split("-")))

    @property
    def targets(self) -> list[str]:
        """Target languages of tasks without their own: those of the evaluation, else all languages but its source."""
        return self.evaluate.targets or [
            language for language in self.languages if language != self.evaluate.source
        ]

    @property
    def root(self) -> Path:
        """The data root with `~` and environment variables expanded; the current folder if the recipe has none."""
        return user_path(os.path.expandvars(self.data_root or "."))

    def check_data_root(self) -> None:
        """Raise a DataError if the recipe names no data: neither `data_root` nor a toy corpus."""
        if self.toy is None and self.data_root is None:
            raise DataError(
                f"recipe {self.name!r} needs data_root, the folder of its files: set it in the recipe, by --set "
                "data_root=FOLDER or evaluate's --data FOLDER, or a [toy] section"
            )

    def check_trainable(self) -> None:
        """Raise a SettingsError if the recipe has no corpora or no objectives."""
        if self.embeddings:
            raise SettingsError(
                f"recipe {self.name!r} learns word vectors and trains no model; run it without --dry-run"
            )
        for section, there in (("corpora", self.corpora), ("objectives", self.objectives)):
            if not there:
                raise SettingsError(
                    f"recipe {self.name!r} has no [{section}] and cannot train; to evaluate a model with it: interlace "
                    "evaluate MODEL --recipe RECIPE"
                )


def read_recipe(name: str, changes: Mapping[str, str] | None = None) -> Recipe:
    """Read a recipe from a file, a run or a shipped name (`tiny/mlm`), with changes; a SettingsError names bad keys."""
    where = str(RECIPES.find(name))
    data = RECIPES.located(RECIPES.read(name), Path())
    if not changes:
        return Recipe.read(data, where)
    original = copy.deepcopy(data)
    for key, value in changes.items():
        change(data, key, value)
    data = RECIPES.located(data, Path())
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
    data = RECIPES.located(data, Path())
    return Recipe.read(data, "--set")


def score_languages(recipe: Recipe, languages: Sequence[str]) -> Recipe:
    """Return the recipe with these languages as the targets of all tasks, also of those with targets of their own."""
    data = recipe.dump()
    data["evaluate"]["targets"] = list(languages)
    for task in data["evaluate"]["tasks"].values():
        task.pop("targets", None)
    return Recipe.read(data, "--languages")


def tokenizer_of(recipe: Recipe) -> str | None:
    """Return the folder or hub name of the tokenizer: of vocabulary, model, decoder or vectors; None: learned."""
    model = recipe.model
    decoder = recipe.model.decoder
    if model.vectors is not None and not is_text_file(model.vectors):
        own = model.vectors
    else:
        own = None
    return (
        recipe.vocab.start or model.start or (decoder.start if decoder is not None else None) or own
    )


def directions(recipe: Recipe) -> dict[tuple[str, str], list[str]]:
    """Return (source, target) -> the objectives that learn it.

    Objectives of pairs learn their `directions`; those with `intermediate_languages` learn from each of these into the
    language of the sentence. Other objectives do not learn to translate.
    """
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
        for (source, target), names in directions(recipe).items()
    }


def resolve_task(recipe: Recipe, name: str, learned: Mapping[str, int] | None = None) -> Task:
    """Return a task as the recipe configures it; tasks with a `source` setting default to the recipe's source.

    Translation tasks get the maximum source lengths of the learned directions, which are also the targets where
    neither the task nor the recipe names any.

    learned: maximum source lengths by learned direction; None: those that the recipe trains.
    """
    settings = recipe.evaluate.tasks.get(name, {})
    if "source" in TASKS.get(settings.get("task", name)).model_fields:
        settings = {"source": recipe.evaluate.source, **settings}
    task = _task(name, settings)
    if not isinstance(task, TranslationTask):
        return task
    if learned is None:
        learned = max_source_lengths(recipe)
    if task.targets is None and not recipe.evaluate.targets and learned:
        task = task.model_copy(update={"targets": list(learned)})
    return task.with_trained_lengths(learned)


def _directions(recipe: Recipe, name: str) -> Iterator[tuple[str, str]]:
    """Yield the directions that an objective learns from its corpora: groups, GROUP:CORPUS or CORPUS:SIDE."""
    objective = recipe.objective(name)
    wanted = recipe.objectives[name].corpora
    groups = {group: corpora.trained for group, corpora in recipe.corpora.items()}
    corpora = [
        corpus
        for each in wanted or groups
        for corpus in groups.get(each, [each.rpartition(":")[2]])
    ]
    if objective.reads is Pairs:
        which = getattr(objective, "directions", None)
        for first, _, second in [
            corpus.partition("-") for corpus in corpora if "-" in corpus and which
        ]:
            yield from [(first, second)] * (which != "backward") + [(second, first)] * (
                which != "forward"
            )
    elif hasattr(objective, "intermediate_languages"):
        alone = [corpus for corpus in corpora if "-" not in corpus]
        read = corpora if wanted or not alone else alone
        for language in dict.fromkeys(
            language for corpus in read for language in corpus.split("-")
        ):
            others = objective.intermediate_languages or recipe.languages
            yield from ((other, language) for other in others if other != language)
