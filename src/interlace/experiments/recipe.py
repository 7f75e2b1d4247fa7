"""Recipes: an experiment as data. The TOML files are in `recipes/`, one per table of a paper."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

from pydantic import AfterValidator, Field

from interlace.core.errors import SettingsError, did_you_mean
from interlace.core.json_files import JsonObject
from interlace.core.names import LanguageName, Name, SingleLanguage
from interlace.core.schedules import Schedule, within
from interlace.core.settings import Settings
from interlace.core.store import ConfigStore, change
from interlace.data import Pairs
from interlace.data.filters import build_filters
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
)
from interlace.models.settings import ModelSettings
from interlace.objectives import OBJECTIVES, Objective
from interlace.readers.common.tokenization import AUTO
from interlace.tasks import TASKS, Task
from interlace.text import LanguagePair
from interlace.text.normalization import Normalization
from interlace.text.word_tokenizers import WORD_TOKENIZERS
from interlace.toy.settings import ToyCorpus

__all__ = ["RECIPES", "CorpusGroup", "Recipe", "change_recipe", "read_recipe"]

PATHS = (
    ".data_root",
    ".model.start",
    ".decoder.start",
    ".vocab.start",
    ".align.start",
    ".model.vectors",
    ".dictionary.vectors",
    ".train.resume_from",
)
RECIPES = ConfigStore(
    "recipe",
    Path(__file__).parent / "recipes",
    whole=("objectives", "published", "changes"),
    paths=PATHS,
)


class EvaluationSettings(Settings):
    """Evaluation of the finished model."""

    tasks: dict[Name, JsonObject] = Field(
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


def _task(name: str, settings: JsonObject) -> Task:
    entry = dict(settings)
    task_name = entry.pop("task", name)
    return TASKS.build({"name": task_name, **entry}, f"evaluate.tasks.{name}")


Weight = Annotated[Schedule, AfterValidator(lambda schedule: within(schedule, 0.0, 1e9))]


class ObjectiveEntry(EntrySettings):
    """An objective of the mixture."""

    weight: Weight = Field(
        "1", description="Sampling weight: a number or a schedule over steps."
    )
    loss_weight: Weight = Field(
        "1",
        description="Factor of the loss, a number or a schedule (XLM's lambda); 0: no batches are drawn.",
    )
    corpora: list[str] = Field(
        [],
        description="Groups or corpora to read, such as 'text', 'en-de', or one side, 'en-de:en'; 'GROUP:en-de' if a "
        "group before has the same pair. Default: all that it can read; monolingual objectives read both sides of "
        "parallel text only if there is no other.",
    )
    settings: JsonObject = Field({}, description="Settings of the objective.")


class CorpusOfGroup(NamedTuple):
    """A corpus of a recipe: the name of its group, and its language or pair, such as `en-de`."""

    group: str
    corpus: str


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
    derived: dict[SingleLanguage, DerivedLanguage] = Field(
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
    filters: dict[str, JsonObject] = Field(
        {}, description="Filters of training text in order: settings by name."
    )
    align: AlignSettings | None = Field(
        None, description="Word alignment, for objectives that need it."
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
    evaluate: EvaluationSettings = Field(
        default_factory=EvaluationSettings, description="Evaluation."
    )

    def model_post_init(self, _context: Any) -> None:
        """Check names of readers, word tokenizers, objectives and corpora, and settings that depend on each other."""
        if self.objectives and self.embeddings:
            raise ValueError("a recipe has either [objectives] or [embeddings]")
        if self.toy is not None and self.data_root is not None:
            raise SettingsError(
                "data_root: a recipe with a [toy] section does not read it; leave it out (also --data), or name a "
                "recipe without [toy]: to evaluate on your files, by --recipe (`recipe` in Python)"
            )
        if self.word_tokenizer != AUTO:
            word_tokenizer = WORD_TOKENIZERS.build(self.word_tokenizer)
            for language in self.languages:
                word_tokenizer.of(language)
        build_filters(self.filters)
        for group in self.corpora.values():
            group.reading()
        self._check_vocab()
        self._check_derived()
        for name in self.objectives:
            self._check_objective(name)
        self._check_translation()

    def _check_vocab(self) -> None:
        """Check what the vocabulary is made from."""
        for key in ("trim", "extend"):
            is_set = getattr(self.vocab, key) != VocabSettings.model_fields[key].default
            if is_set and tokenizer_of(self) is None:
                raise SettingsError(
                    f"vocab.{key} needs a tokenizer to {key}: name it in model.start or vocab.start"
                )
        for name in self.vocab.corpora:
            if name not in self.corpora:
                raise SettingsError(
                    f"vocab.corpora: no group {name!r}{did_you_mean(name, self.corpora)}"
                )

    def _check_derived(self) -> None:
        """Reject derived languages without an original, and pairs other than with the original."""
        for name, language in self.derived.items():
            if language.of == name or language.of in self.derived:
                raise SettingsError(
                    f"derived.{name}.of: expected a language that is not derived, found {language.of!r}"
                )
        for group in self.corpora.values():
            for pair in group.pairs:
                for name in self.derived.keys() & set(pair.split("-")):
                    expected = f"{self.derived[name].of}-{name}"
                    if pair != expected:
                        raise SettingsError(
                            f"the pair {pair!r}: {name!r} has translations only with its original; write {expected!r}"
                        )

    def _check_objective(self, name: str) -> None:
        """Check the settings and the corpora of an objective."""
        entry = self.objectives[name]
        reads_pairs = self.objective(name).reads is Pairs
        readable = []
        for corpus_name, (group, corpus) in self.corpora_in("train").items():
            is_pair = "-" in corpus
            if is_pair or not reads_pairs:
                readable += [group, corpus_name]
            if is_pair and not reads_pairs:
                readable += [f"{corpus_name}:{side}" for side in corpus.split("-")]
        if not readable and reads_pairs and self.corpora:
            raise SettingsError(
                f"objectives.{name} reads sentence pairs, but the recipe has none: add a group with pairs = [..] "
                "to [corpora]"
            )
        for wanted in entry.corpora:
            if wanted not in readable:
                kind = "parallel corpus" if reads_pairs else "corpus"
                raise SettingsError(
                    f"objectives.{name}.corpora: no {kind} {wanted!r}{did_you_mean(wanted, readable)}"
                )

    def _check_translation(self) -> None:
        """Reject settings of translation that no objective trains."""
        if self.train.stop_by == "bleu" and self.objectives and not max_source_lengths(self):
            raise SettingsError(
                "train.stop_by = 'bleu': no objective here translates; stop by perplexity"
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

    @property
    def named_corpora(self) -> dict[str, CorpusOfGroup]:
        """The corpora by name: `de` or `en-de`, or `GROUP:en-de` where a group before has text of that name."""
        named = {}
        for group, settings in self.corpora.items():
            for corpus in (*settings.languages, *settings.pairs):
                name = corpus
                if corpus in named:
                    name = f"{group}:{corpus}"
                named[name] = CorpusOfGroup(group, corpus)
        return named

    def corpora_in(self, split: str) -> dict[str, CorpusOfGroup]:
        """Return the corpora with text in a split, `train` or `dev`, by name."""
        corpora = {}
        for name, place in self.named_corpora.items():
            if getattr(self.corpora[place.group], split):
                corpora[name] = place
        return corpora

    def annotations(self, corpus_name: str) -> frozenset[str]:
        """Return what objectives need to know of a training corpus: of `links`, `phrases`, `known` and `text`."""
        group, corpus = self.named_corpora[corpus_name]
        annotations: frozenset[str] = frozenset()
        if "-" not in corpus:
            return annotations
        for name, entry in self.objectives.items():
            if not entry.corpora or {group, corpus_name} & {*entry.corpora}:
                annotations |= self.objective(name).needs - {"lexicon"}
        return annotations

    @property
    def architectures(self) -> set[str]:
        """The architectures that the objectives train: of `masked`, `causal` and `seq2seq`."""
        return {self.objective(name).architecture for name in self.objectives}

    @property
    def causal(self) -> bool:
        """Whether the recipe trains a causal model: all objectives are causal."""
        return self.architectures == {"causal"}

    @property
    def seq2seq(self) -> bool:
        """Whether the recipe trains an encoder-decoder: some objective needs a decoder."""
        return "seq2seq" in self.architectures

    @property
    def languages(self) -> list[str]:
        """The languages of the corpora in order; without corpora, those of the evaluation or the toy corpus."""
        names = []
        for group in self.corpora.values():
            names += [*group.languages, *group.pairs]
        if not names:
            names = [self.evaluate.source, *self.evaluate.targets]
            if not self.evaluate.targets and self.toy is not None:
                names += self.toy.languages
        return list(dict.fromkeys("-".join(names).split("-")))

    @property
    def targets(self) -> list[str]:
        """Target languages of tasks without their own: those of the evaluation, else all languages but its source."""
        return self.evaluate.targets or [
            language for language in self.languages if language != self.evaluate.source
        ]

    def check_tasks(self) -> None:
        """Raise a SettingsError if there is no such task, or it has no such setting.

        Not when a recipe is read: the evaluation of a finished run loads only the tasks that it scores.
        """
        for name, settings in self.evaluate.tasks.items():
            _task(name, settings)

    def check_trainable(self) -> None:
        """Raise a SettingsError if the recipe has no corpora or no objectives."""
        for section in ("corpora", "objectives"):
            if not getattr(self, section):
                raise SettingsError(
                    f"recipe {self.name!r} has no [{section}] and cannot train; to evaluate a model with it: interlace "
                    "evaluate MODEL --recipe RECIPE"
                )


def read_recipe(name: str, changes: Mapping[str, str] | None = None) -> Recipe:
    """Read a recipe from a file, a run or a shipped name (`tiny/mlm`), with changes; a SettingsError names bad keys."""
    where = str(RECIPES.find(name))
    if changes:
        where = f"{where}, --set"
    return _changed(RECIPES.read(name), changes or {}, where)


def change_recipe(recipe: Recipe, changes: Mapping[str, str]) -> Recipe:
    """Return the recipe with `section.key=value` changes."""
    return _changed(recipe.dump(), changes, "--set")


def _changed(data: JsonObject, changes: Mapping[str, str], where: str) -> Recipe:
    for key, value in changes.items():
        change(data, key, value)
    recipe = Recipe.read(RECIPES.located(data, Path()), where)
    recipe.check_tasks()
    return recipe


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
    starts = [recipe.vocab.start, model.start]
    if model.decoder is not None:
        starts.append(model.decoder.start)
    if model.vectors is not None and not is_text_file(model.vectors):
        starts.append(model.vectors)
    for start in starts:
        if start:
            return start
    return None


def max_source_lengths(recipe: Recipe) -> dict[str, int]:
    """Return the maximum training length of source sentences by learned direction, such as `en-de`.

    In tokens without special tokens. Longer input is unlike the training text, so lines and test sets are cut there.

    Objectives of pairs learn their `directions`; those with `intermediate_languages` learn from each of these into the
    language of the sentence. Other objectives do not learn to translate.
    """
    lengths: dict[str, int] = {}
    for name in recipe.objectives:
        objective = recipe.objective(name)
        if objective.architecture != "seq2seq":
            continue
        for source, target in _directions(recipe, name):
            direction = f"{source}-{target}"
            length = objective.max_length - 2
            lengths[direction] = max(length, lengths.get(direction, length))
    return lengths


def task_type(recipe: Recipe, name: str) -> type[Task]:
    """Return the class of a task of the recipe, or of the registry."""
    settings = recipe.evaluate.tasks.get(name, {})
    return TASKS.get(settings.get("task", name))


def resolve_task(recipe: Recipe, name: str, learned: Mapping[str, int] | None = None) -> Task:
    """Return a task as the recipe configures it; tasks with a `source` setting default to the recipe's source.

    Translation tasks get the maximum source lengths of the learned directions, which are also the targets where
    neither the task nor the recipe names any.

    learned: maximum source lengths by learned direction; None: those that the recipe trains.
    """
    settings = recipe.evaluate.tasks.get(name, {})
    if "source" in task_type(recipe, name).model_fields:
        settings = {"source": recipe.evaluate.source, **settings}
    task: Any = _task(name, settings)
    if not task.translates:
        return cast("Task", task)
    if learned is None:
        learned = max_source_lengths(recipe)
    if task.targets is None and not recipe.evaluate.targets and learned:
        task = task.model_copy(update={"targets": list(learned)})
    return task.with_trained_lengths(learned)


def _directions(recipe: Recipe, name: str) -> Iterator[LanguagePair]:
    """Yield the directions that an objective learns from its corpora: groups, GROUP:CORPUS or CORPUS:SIDE."""
    objective = recipe.objective(name)
    selected = recipe.objectives[name].corpora
    corpora = []
    for label in selected or recipe.corpora:
        group = recipe.corpora.get(label)
        corpora += [label.rpartition(":")[2]] if group is None else group.trained
    if objective.reads is Pairs:
        which = getattr(objective, "directions", "")
        for corpus in corpora:
            source, _, target = corpus.partition("-")
            if target and which in {"forward", "both"}:
                yield source, target
            if target and which in {"backward", "both"}:
                yield target, source
    elif hasattr(objective, "intermediate_languages"):
        monolingual = [corpus for corpus in corpora if "-" not in corpus]
        if not selected and monolingual:
            corpora = monolingual
        sources = objective.intermediate_languages or recipe.languages
        targets = "-".join(corpora).split("-")
        for target, source in product(targets, sources):
            if source != target:
                yield source, target
