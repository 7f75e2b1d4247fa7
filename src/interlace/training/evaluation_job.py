"""One task on one model with one seed, and the rows of scores that come of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from interlace.tasks import ProbeTask
from interlace.tasks.common.files import FileQuery, MissingDataError, find_parts, translated_files

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from accelerate import Accelerator

    from interlace.data.vocab import Vocab
    from interlace.embeddings import WordVectors
    from interlace.models.backbone import Backbone
    from interlace.tasks import Scores, Task
    from interlace.tasks.common.files import FilePart, FilePatterns
    from interlace.training.loop import TrainingStep
    from interlace.training.selection import Item

Score = dict[str, Any]


@dataclass(frozen=True)
class EvaluationJob:
    """One task on one model with one seed.

    name: the task's; load: a fresh copy of the pre-trained backbone; root: where the task's files stand.
    targets: the recipe's; a task may name its own.
    vectors: static word vectors by language, scored in place of a backbone; `vocab` is then None.
    into: the run's folder, where predictions are kept; None: they are not. key: names what they were made with.
    sweep: the folder where finished learning rates are kept until their rows are; None: they are not.
    read: examples that were read for fine-tunings; cells of one task share them, whatever their seed.
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
    watch: Callable[[TrainingStep], None] = lambda _: None
    into: Path | None = None
    key: str = ""
    vectors: Mapping[str, WordVectors] | None = None
    sweep: Path | None = None
    read: dict[tuple[str, str, str], Any] = field(default_factory=dict, compare=False, repr=False)

    def examples(self, split: str, language: str) -> Any:
        """The task's examples."""
        return self._once(self.task, split, language)

    def _once(self, task: Task, split: str, language: str, files: str = "") -> Any:
        """Examples that fine-tunings share; a probe asks once, and its languages need not stand in memory together.

        files: names those of other files than the task's own.
        """
        if isinstance(task, ProbeTask):
            return task.examples(split, language, self.vocab, self.root)
        name = (split, language, files)
        if name not in self.read:
            self.read[name] = task.examples(split, language, self.vocab, self.root)
        return self.read[name]

    @cached_property
    def measure(self) -> Callable[[Any], Scores]:
        """A probe's scores of examples, the model being loaded once."""
        task: Any = self.task
        if self.vectors is not None:
            return partial(task.measure_words, self.vectors)
        return partial(task.measure, self.load().to(self.accelerator.device).eval(), self.vocab)

    def test(self, item: Item) -> Any:
        """The test examples of a language in a setting; the same object where the same rows of files are read."""
        setting, language = item
        if setting != "translate-test":
            return self.examples("test", language)
        files = translated_files(self.task.files, language, self.source)
        if (parts := self._parts(files)) and parts == self._parts(
            self.task.files
        ):  # people translated the source's test text
            return self.examples("test", self.source)
        task = self.task.model_copy(update={"files": files})
        return self._once(task, "test", self.source, str(files))

    def _parts(self, files: FilePatterns) -> list[FilePart]:
        """Where the source's test text stands; empty where it does not."""
        try:
            return find_parts(files, FileQuery(self.name, "test", self.source, self.root))
        except MissingDataError:
            return []

    def row(self, item: Item, scores: Scores, count: int, start: float) -> Score:
        """The row of one item: `count` examples count in its score, measured since `start` (of `time.perf_counter`)."""
        setting, language = item
        task: Any = self.task
        metric = scores.metric or task.metric
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
            "score": round(scores.metrics[metric], 4),
            "n": count,
            "scores": {key: round(value, 4) for key, value in scores.metrics.items()},
            "seconds": round(time.perf_counter() - start, 3),
        }
