"""Which weights and which learning rate a fine-tuning ends with, judged by development sets.

A group is what shares one model. Under `per-language-dev` every language is a group of its own and takes its own best
weights, which is how XLM's table 1 was made; numbers under that rule stand above those of one model for all.

A fine-tuning that has learnt nothing but how frequent each label is (XLM's issue 199: 33.33 % on XNLI).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.tasks import FineTuneTask, ProbeTask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from interlace.tasks import SelectionRule, Setting, Task


Item = tuple["Setting", str]  # a setting and the language that is scored in it


ALONE: tuple[Setting, ...] = ("supervised", "translate-train")  # settings with a fine-tuning for each language
TOGETHER: tuple[Setting, ...] = ("supervised-all", "translate-train-all")  # settings with one for all languages


@dataclass(frozen=True)
class FineTuneRun:
    """One fine-tuning: the languages it is trained on, the first of which `source-dev` means, and what it scores.

    asked: what it was to score, where some of that cannot be; under `mean-dev` all of it judges. None: what it scores.
    """

    trained: list[str]
    scored: list[Item]
    asked: list[Item] | None = None

    def judge_of(self, item: Item) -> str:
        """Whose development set tells how well an item is going to do; translated test text is like training text."""
        return self.trained[0] if item[0] == "translate-test" else item[1]


@dataclass
class SelectionGroup:
    """What is scored by the same weights.

    judges: languages whose development scores are averaged; none: the last weights are taken.
    best: the judges' mean at the best check so far, greater is better; since: checks without a better one.
    found: what that check was, for the score rows; kept: its weights, or what was scored with them right away.
    """

    items: list[Item]
    judges: list[str]
    best: float = -math.inf
    since: int = 0
    found: dict[str, Any] = field(default_factory=dict)
    kept: Any = None

    def improves(self, dev: dict[str, float], *, greater: bool) -> bool:
        """Take a check into account: whether it is the best so far. Scores that are no numbers never are.

        dev: score by language.
        """
        if not self.judges:
            return True
        mean = fmean(dev[language] for language in self.judges)
        better = (mean if greater else -mean) > self.best
        self.best, self.since = (mean if greater else -mean, 0) if better else (self.best, self.since + 1)
        return better

    def stale(self, patience: int | None) -> bool:
        """Whether so many checks were no better; no later check counts then, however long others go on."""
        return patience is not None and bool(self.judges) and self.since >= patience


def runs_of_task(task: Task, source: str, targets: list[str]) -> list[FineTuneRun]:
    """The fine-tunings of a task; of a probe, one without training for each language.

    targets: what is scored where the task names none.
    """
    if task.targets is not None:
        targets = task.targets
    elif isinstance(task, ProbeTask) and task.scores_source:
        targets = list(dict.fromkeys([source, *targets]))
    if not isinstance(task, FineTuneTask):  # languages one by one, so that one without data costs no other its score
        return [FineTuneRun([], [("zero-shot", language)]) for language in targets]
    return runs_of_settings(task.settings, source, targets)


def runs_of_settings(settings: list[Setting], source: str, targets: list[str]) -> list[FineTuneRun]:
    """The fine-tunings that the settings need: one on the source language serves both its settings."""
    others = [language for language in dict.fromkeys(targets) if language != source]
    fits = []
    shared: list[Item] = [("zero-shot", language) for language in [source, *others] if "zero-shot" in settings]
    shared += [("translate-test", language) for language in others if "translate-test" in settings]
    if shared:
        fits.append(FineTuneRun([source], shared))
    for alone in ALONE:
        if alone in settings:
            fits += [FineTuneRun([language], [(alone, language)]) for language in others]
    for together in TOGETHER:
        if together in settings:
            everything = [source, *others]
            fits.append(FineTuneRun(everything, [(together, language) for language in everything]))
    return fits


def selection_groups(rule: SelectionRule, fit: FineTuneRun) -> list[SelectionGroup]:
    """The groups of what a fine-tuning scores."""
    if rule == "per-language-dev":
        return [SelectionGroup([item], [fit.judge_of(item)]) for item in fit.scored]
    everyone = list(dict.fromkeys(map(fit.judge_of, fit.asked or fit.scored)))
    judges = {"source-dev": fit.trained[:1], "mean-dev": everyone, "last": []}[rule]
    return [SelectionGroup(fit.scored, judges)]


NEAR = 0.98  # of the entropy of the labels: nothing but their frequencies has been learnt


def entropy(gold: NDArray[Any]) -> float:
    """Nats of the distribution of the labels (n,), those below 0 left out."""
    counts = np.bincount(gold[gold >= 0])
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def baseline_loss(asked: Sequence[NDArray[Any]]) -> float:
    """Nats that a model reaches which gives every example the classes' own frequencies; infinite: cannot be told.

    asked: the columns of classes that a loss is the mean of, as `TaskHead.asked` gives them.
    """
    return fmean(map(entropy, asked)) if asked else math.inf


def collapsed(predictions: NDArray[Any], gold: NDArray[Any], loss: float, least: float) -> bool:
    """Whether every prediction is the same label, although there are several, and the training loss says so too.

    Of answers to questions, which are places, the loss alone tells.

    predictions, gold: (n,) labels, -1 where there is none; labels that are no whole numbers cannot be judged.
    loss: mean training loss since the last look, nats; least: what knowing frequencies alone comes to (`baseline_loss`).
    """
    learnt_nothing = loss > NEAR * least > 0
    if predictions.dtype.names:
        return learnt_nothing
    if not np.issubdtype(predictions.dtype, np.integer):
        return False
    several = len(np.unique(gold[gold >= 0])) > 1
    return bool(several and len(np.unique(predictions[predictions >= 0])) == 1 and learnt_nothing)
