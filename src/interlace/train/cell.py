"""One task on one model with one seed, and the rows of scores that come of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from interlace.tasks._files import translated
from interlace.tasks._outcomes import Measured

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from accelerate import Accelerator

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.tasks import Task
    from interlace.train.loop import Step
    from interlace.train.selection import Item
    from interlace.vectors import WordVectors

Score = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One task on one model with one seed.

    name: the task's; load: a fresh copy of the pre-trained backbone; root: where the task's files stand.
    targets: the recipe's; a task may name its own.
    vectors: static word vectors by language, scored in place of a backbone; `vocab` is then None.
    into: the run's folder, where predictions are kept; None: they are not. key: names what they were made with.
    """

    name: str
    task: Task
    load: Callable[[], Backbone]
    vocab: Vocab
    root: Path
    source: str
    targets: list[str]
    seed: int
    accelerator: Accelerator
    watch: Callable[[Step], None] = lambda _: None
    into: Path | None = None
    key: str = ""
    vectors: Mapping[str, WordVectors] | None = None

    def examples(self, split: str, language: str) -> Any:
        """The task's examples."""
        return self.task.examples(split, language, self.vocab, self.root)

    @cached_property
    def measure(self) -> Callable[[Any], dict[str, float]]:
        """A probe's scores of examples, the model being loaded once."""
        if self.vectors is not None:
            return partial(self.task.measure_words, self.vectors)
        return partial(self.task.measure, self.load().to(self.accelerator.device).eval(), self.vocab)

    def test(self, item: Item) -> Any:
        """The test examples of a language in a setting."""
        setting, language = item
        if setting != "translate-test":
            return self.examples("test", language)
        files = translated(getattr(self.task, "files", {}), language, self.source)
        return replace(self, task=self.task.model_copy(update={"files": files})).examples("test", self.source)

    def row(self, item: Item, scores: dict[str, float], count: int, start: float) -> Score:
        """The row of one item: `count` examples count in its score, measured since `start` (of `time.perf_counter`)."""
        setting, language = item
        task = self.task
        metric = scores.about.get("metric", task.metric) if isinstance(scores, Measured) else task.metric
        return {
            "task": self.name,
            "metric": metric,
            "unit": task.unit,
            "greater_is_better": task.greater_is_better,
            "language": language,
            "source": self.source,
            "setting": setting,
            **({"translations": task.translations} if setting.startswith("translate") else {}),
            "seed": self.seed,
            "score": round(scores[metric], 4),
            "n": count,
            "scores": {key: round(value, 4) for key, value in scores.items()},
            "seconds": round(time.perf_counter() - start, 3),
        }
