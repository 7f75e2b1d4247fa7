"""Model selection: the fine-tunings of a task, whose development sets choose their weights, and collapsed models."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from interlace.core.errors import SettingsError
from interlace.core.json_files import JsonObject
from interlace.core.ragged import AnyArray
from interlace.scores import PER_LANGUAGE
from interlace.tasks import FineTuneTask, ProbeTask, SelectionRule, Setting, Task
from interlace.tasks.common.files import translated_files

_NEAR_BASELINE = 0.98  # of the entropy of the labels: only their frequencies have been learned


class Item(NamedTuple):
    """A setting and the language that is scored in it."""

    setting: Setting
    language: str


@dataclass(frozen=True)
class FineTuneRun:
    """One fine-tuning.

    train_language: language of the training text; empty for a probe. items: what it scores.
    """

    train_language: str
    items: list[Item]

    def dev_language(self, item: Item) -> str:
        """Return the language whose development set represents an item; translated test text is like training text."""
        return self.train_language if item.setting == "translate-test" else item.language


@dataclass
class SelectionGroup:
    """Items that are scored by the same weights.

    Under `per-language-dev` each language is a group and selects its own weights, as in XLM's table 1. Its scores are
    higher than those of one model for all languages.

    dev_languages: languages whose development scores are averaged; empty: the last weights are used.
    best: maximum of that average so far, larger is better. best_check: record of that evaluation, for the scores.
    kept_rows, kept_weights: the scores or the weights of that evaluation, if they were kept.
    """

    items: list[Item]
    dev_languages: list[str]
    best: float = -math.inf
    best_check: JsonObject = field(default_factory=dict)
    kept_rows: list[JsonObject] | None = None
    kept_weights: dict[str, Any] | None = None

    def improves(self, dev: dict[str, float], *, greater: bool) -> bool:
        """Record an evaluation, scores by language, and return whether it is the best so far; NaN never is."""
        if not self.dev_languages:
            return True
        mean = fmean(dev[language] for language in self.dev_languages)
        score = mean if greater else -mean
        if not score > self.best:
            return False
        self.best = score
        return True


def runs_of_task(task: Task, source: str, targets: list[str]) -> list[FineTuneRun]:
    """Return the fine-tunings of a task, or one run without training a language of a probe.

    targets: target languages if the task names none.
    Raise a SettingsError for translated test text of a task whose labels belong to words.
    """
    if task.targets is not None:
        targets = task.targets
    elif isinstance(task, ProbeTask) and task.scores_source:
        targets = list(dict.fromkeys([source, *targets]))
    # one run a language, so that missing data of one does not affect others
    if not isinstance(task, FineTuneTask):
        return [FineTuneRun("", [Item("zero-shot", language)]) for language in targets]
    if "translate-test" in task.settings and not task.translatable:
        raise SettingsError(
            f"{task.name}: translate-test is for tasks with one label a text, not for this one"
        )
    return runs_of_settings(task.settings, source, targets)


def runs_of_settings(
    settings: list[Setting], source: str, targets: list[str]
) -> list[FineTuneRun]:
    """Return the fine-tunings of settings; one on the source language serves both settings that need it."""
    others = [language for language in dict.fromkeys(targets) if language != source]
    runs = []
    shared: list[Item] = []
    if "zero-shot" in settings:
        shared += [Item("zero-shot", language) for language in [source, *others]]
    if "translate-test" in settings:
        shared += [Item("translate-test", language) for language in others]
    if shared:
        runs.append(FineTuneRun(source, shared))
    for setting in PER_LANGUAGE:
        if setting in settings:
            runs += [FineTuneRun(language, [Item(setting, language)]) for language in others]
    return runs


def selection_groups(rule: SelectionRule, run: FineTuneRun) -> list[SelectionGroup]:
    """Return the groups of a fine-tuning under a selection rule."""
    if rule == "per-language-dev":
        return [SelectionGroup([item], [run.dev_language(item)]) for item in run.items]
    languages: list[str] = []
    if rule == "source-dev":
        languages = [run.train_language]
    elif rule == "mean-dev":
        languages = list(dict.fromkeys(map(run.dev_language, run.items)))
    return [SelectionGroup(run.items, languages)]


@dataclass(frozen=True)
class ExampleSet:
    """A split of a task in one language; task: with the files of translated test text."""

    task: Task
    split: str
    language: str


def scored_set(task: Task, source: str, item: Item) -> ExampleSet:
    """Return what an item is scored on; raise a MissingDataError where a task names no translated test text."""
    if item.setting != "translate-test":
        return ExampleSet(task, "test", item.language)
    files = translated_files(task.files, item.language, source)
    return ExampleSet(task.model_copy(update={"files": files}), "test", source)


def sets_read(task: Task, source: str, run: FineTuneRun) -> Iterator[ExampleSet]:
    """Yield the test sets, then the dev sets that select weights, then the training set.

    Raise a MissingDataError where a task names no translated test text.
    """
    for item in run.items:
        yield scored_set(task, source, item)
    if not isinstance(task, FineTuneTask) or not run.train_language:
        return
    groups = selection_groups(task.tuning.select, run)
    dev_languages = chain.from_iterable(group.dev_languages for group in groups)
    for language in dict.fromkeys(dev_languages):
        yield ExampleSet(task, "dev", language)
    yield ExampleSet(task, "train", run.train_language)


def entropy(gold: AnyArray) -> float:
    """Return the entropy in nats of labels (n,); those below 0 do not count."""
    counts = np.bincount(gold[gold >= 0])
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def baseline_loss(columns: Sequence[AnyArray]) -> float:
    """Return the loss in nats of a model that only knows label frequencies; infinite without labels.

    columns: columns of classes whose losses are averaged, as `TaskHead.class_columns` returns them.
    """
    return fmean(map(entropy, columns)) if columns else math.inf


def collapsed(predictions: AnyArray, loss: float, baseline: float) -> bool:
    """Return whether all predictions are the same label, and the loss is at the baseline.

    For answers to questions, which are spans, only the loss is checked.

    predictions: (n,) labels, -1 where there is none; others than integers are never collapsed.
    loss: mean training loss in nats since the last check. baseline: see `baseline_loss`.
    """
    at_baseline = loss > _NEAR_BASELINE * baseline > 0
    if predictions.dtype.names:
        return at_baseline
    if not np.issubdtype(predictions.dtype, np.integer):
        return False
    labels = np.unique(predictions[predictions >= 0])
    return at_baseline and len(labels) == 1
