"""Fine-tune on the source language, score every language: the same loop as pre-training."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interlace.data.sampling import BucketPlan
from interlace.objectives import Resources
from interlace.tasks._predict import predict_all
from interlace.train.loop import Learning, Progress, Training, steps
from interlace.train.mixture import Mixture, Source
from interlace.train.optimise import Optimise
from interlace.train.plans import Bucketed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from accelerate import Accelerator

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.objectives import Prepared
    from interlace.tasks import Learner, Task
    from interlace.train.loop import Step

Score = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One task on one model with one seed.

    name: the task's; load: a fresh copy of the pre-trained backbone; root: where the task's files stand.
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


def score_cell(cell: Cell) -> list[Score]:
    """A row a language: fine-tuned where the task trains, measured as it is where not.

    Raises:
        DataError: a file is missing or wrong; every file is read before the training starts.
    """
    learner = cell.task.learner()
    return _probe(cell) if learner is None else _tuned(cell, learner)


def _probe(cell: Cell) -> list[Score]:
    backbone = cell.load().to(cell.accelerator.device).eval()
    rows = []
    for language in cell.targets:
        start = time.perf_counter()
        examples = _examples(cell, "test", language)
        scores = cell.task.measure(backbone, cell.vocab, examples)
        rows.append(_row(cell, language, scores, len(examples), start))
    return rows


def _tuned(cell: Cell, learner: Learner) -> list[Score]:
    tests = {language: _examples(cell, "test", language) for language in dict.fromkeys([cell.source, *cell.targets])}
    backbone = cell.load()
    backbone.causal = learner.backbone == "causal"  # what learnt left to right is tuned with both sides in view, as XLM
    prepared = learner.prepare(Resources(cell.vocab, backbone.traits))
    training = _training(cell, learner, prepared, backbone)
    _fit(cell, learner, prepared, training)
    rows = []
    for language, examples in tests.items():
        start = time.perf_counter()
        rows.append(_row(cell, language, _scores(cell, learner, prepared, training, examples), len(examples), start))
    return rows


def _examples(cell: Cell, split: str, language: str) -> Any:
    return cell.task.examples(split, language, cell.vocab, cell.root)


def _training(cell: Cell, learner: Learner, prepared: Prepared, backbone: Backbone) -> Training:
    tuning = cell.task.tuning
    examples = _examples(cell, "train", cell.source)
    plan = BucketPlan(
        examples.lengths, tuning.tokens_per_batch, seed=cell.seed, max_length=learner.max_length, overhead=3
    )
    source = Source(cell.name, cell.source, learner, prepared, Bucketed(examples, plan))
    model = cell.accelerator.prepare(Learning(backbone, {cell.name: learner}, cell.seed))
    last = max(1, math.ceil(tuning.epochs * len(plan) / cell.accelerator.num_processes))
    settings = Optimise(
        learning_rate=tuning.learning_rate,
        warmup=int(tuning.warmup_share * last),
        weight_decay=tuning.weight_decay,
        betas=(0.9, 0.999),
    )
    return Training(model, Mixture([source], cell.seed), settings.build(model), settings, cell.accelerator, last)


def _fit(cell: Cell, learner: Learner, prepared: Prepared, training: Training) -> None:
    """Train; with `select`, end with the weights of the epoch that was best on the source language's dev set."""
    tuning = cell.task.tuning
    every = max(1, math.ceil(training.last / math.ceil(tuning.epochs)))
    dev = _examples(cell, "dev", cell.source) if tuning.select else None
    best, kept = -math.inf, None
    for step in steps(training, Progress()):
        cell.watch(step)
        if dev is None or (step.index % every and step.index != training.last):
            continue
        score = _scores(cell, learner, prepared, training, dev)[cell.task.metric]
        score = score if cell.task.greater_is_better else -score
        if score > best:
            best = score
            kept = {name: value.detach().clone() for name, value in training.model.state_dict().items()}
    if kept is not None:
        training.model.load_state_dict(kept)


def _scores(cell: Cell, learner: Learner, prepared: Prepared, training: Training, examples: Any) -> dict[str, float]:
    model: Any = cell.accelerator.unwrap_model(training.model)
    predictions, gold = predict_all(
        learner,
        model.backbone,
        model.heads[cell.name],
        examples,
        prepared,
        4 * cell.task.tuning.tokens_per_batch,
        cell.accelerator.device,
    )
    return cell.task.score(examples, predictions, gold)


def _row(cell: Cell, language: str, scores: dict[str, float], count: int, start: float) -> Score:
    return {
        "task": cell.name,
        "metric": cell.task.metric,
        "unit": cell.task.unit,
        "greater_is_better": cell.task.greater_is_better,
        "language": language,
        "source": cell.source,
        "seed": cell.seed,
        "score": round(scores[cell.task.metric], 4),
        "n": count,
        "scores": {key: round(value, 4) for key, value in scores.items()},
        "seconds": round(time.perf_counter() - start, 3),
    }
