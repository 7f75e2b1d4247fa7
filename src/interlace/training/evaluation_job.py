"""One task on one model with one seed: its examples, its probe measurements, and its score rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlace.core.data_root import Root
from interlace.core.json_files import JsonMapping, JsonObject
from interlace.tasks import ProbeTask, Scores, Task
from interlace.tasks.common.files import find_parts
from interlace.training.selection import ExampleSet, Item, scored_set

if TYPE_CHECKING:
    from accelerate import Accelerator

    from interlace.data.vocab import Vocab
    from interlace.embeddings import WordVectors
    from interlace.models.backbone import Backbone
    from interlace.training.steps import TrainingStep

Score = JsonObject


@dataclass(frozen=True)
class EvaluationJob:
    """One task on one model with one seed.

    name: name of the task. load: returns a fresh copy of the pre-trained backbone. root: folder of the task's files.
    targets: target languages of the recipe; a task may have its own.
    on_step: called after each step of fine-tuning.
    output: folder of the run, to write predictions to; None: write none. key: identifies model and settings there.
    vectors: static word vectors by language, scored instead of a backbone; `vocab` is then None.
    models: folder to save fine-tuned models in; None: save none. identity: their keys, as in the scores.
    cache: examples read for fine-tuning, which the jobs of one task share.
    """

    name: str
    task: Task
    load: Callable[[], Backbone]
    vocab: Vocab
    root: Root
    source: str
    targets: list[str]
    seed: int
    accelerator: Accelerator
    on_step: Callable[[TrainingStep], None] = lambda _: None
    output: Path | None = None
    key: str = ""
    vectors: Mapping[str, WordVectors] | None = None
    models: Path | None = None
    identity: JsonMapping = field(default_factory=dict)
    cache: dict[tuple[str, str, str], Any] = field(
        default_factory=dict, compare=False, repr=False
    )

    def examples(self, split: str, language: str) -> Any:
        """Return the examples of a split and language."""
        return self._read(ExampleSet(self.task, split, language))

    @cached_property
    def measure(self) -> Callable[[Any], Scores]:
        """Function that returns a probe's scores of examples; the model is loaded once."""
        task: Any = self.task
        if self.vectors is not None:
            return partial(task.measure_words, self.vectors)
        return partial(task.measure, self.load().to(self.accelerator.device).eval(), self.vocab)

    def test(self, item: Item) -> Any:
        """Return the test examples of a language in a setting; the same object if the same files are read."""
        return self._read(scored_set(self.task, self.source, item))

    def row(
        self,
        item: Item,
        scores: Scores,
        count: int,
        seconds: float,
    ) -> Score:
        """Return the score row of an item; `count` examples count in it, measured in `seconds`."""
        task: Any = self.task
        metric = scores.metric or task.metric
        rounded = {name: round(value, 4) for name, value in scores.metrics.items()}
        scales = {}
        for name in rounded:
            unit, greater_is_better = task.scale(name)
            scales[name] = {"unit": unit, "greater_is_better": greater_is_better}
        row = {
            "task": self.name,
            "metric": metric,
            "unit": task.unit,
            "greater_is_better": task.greater_is_better,
            "language": item.language,
            "source": self.source,
            "setting": item.setting,
        }
        if item.setting.startswith("translate"):
            row["translations"] = task.translations
        return row | {
            "seed": self.seed,
            "score": rounded[metric],
            "n": count,
            "scores": rounded,
            "scales": scales,
            "seconds": round(seconds, 3),
        }

    def _read(self, examples: ExampleSet) -> Any:
        """Return examples; for fine-tuning the same object if the same files are read.

        A probe reads each language once and need not keep it.
        """
        task = examples.task
        if isinstance(task, ProbeTask):
            return task.examples(examples.split, examples.language, self.vocab, self.root)
        query = task.query(examples.split, examples.language, self.root)
        parts = find_parts(task.files, query) if task.files else []
        key = (examples.split, examples.language, str(parts))
        if key not in self.cache:
            self.cache[key] = task.examples(
                examples.split, examples.language, self.vocab, self.root
            )
        return self.cache[key]
