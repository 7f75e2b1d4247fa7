"""One fine-tuning with one learning rate: trained, checked on development sets, scored."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from interlace.core.ragged import Ragged
from interlace.models.freezing import freeze
from interlace.objectives import Resources
from interlace.tasks._predict import bucket_plan, predict_all
from interlace.training.collapse import collapsed, least_of
from interlace.training.loop import Learning, Progress, Training, steps
from interlace.training.mixture import Mixture, Source
from interlace.training.optimise import Optimise
from interlace.training.plans import Bucketed
from interlace.training.predictions import keep_predictions

if TYPE_CHECKING:
    from interlace.objectives import Prepared
    from interlace.tasks import TaskHead
    from interlace.training.cell import Cell, Score
    from interlace.training.selection import Group, Item

    Made = dict[int, tuple[Any, Any]]  # predictions and gold of examples, by the object's `id`

LATE = 0.75  # of a training: a model that knows no label by then will not find them

log = logging.getLogger(__name__)


@dataclass
class Tuned:
    """A model in fine-tuning, with all that scoring it needs.

    least: nats a prediction that knowing how frequent each label is comes to.
    """

    cell: Cell
    learner: TaskHead
    prepared: Prepared
    training: Training
    least: float

    @classmethod
    def fresh(cls, cell: Cell, train: dict[str, Any], rate: float) -> Tuned:
        """The pre-trained model with fresh heads, ready to be tuned on examples by language."""
        tuning = cell.task.tuning
        backbone = cell.load()
        backbone.causal = False  # what learnt left to right is tuned with both sides in view, as XLM
        if tuning.freeze is not None:
            freeze(backbone, tuning.freeze)
        learner: Any = cell.task.learner()
        learner = learner.model_copy(update={"layer": tuning.layer})
        prepared = learner.prepare(Resources(cell.vocab, backbone.traits))
        sources, batches, least = [], 0, []
        for language, examples in train.items():
            rows = learner.rows(examples, prepared)
            for note in learner.notes(rows, prepared):
                log.info("%s (%s): %s", cell.name, language, note)
            plan = bucket_plan(rows, prepared, learner.max_length, tuning.tokens_per_batch, seed=cell.seed)
            corpus = Bucketed(rows, plan)
            least.append(least_of(learner.asked(rows)))
            sources.append(Source(cell.name, language, learner, prepared, corpus, size=len(plan)))
            batches += len(plan)
        model = cell.accelerator.prepare(Learning(backbone, {cell.name: learner}, cell.seed))
        last = max(1, math.ceil(tuning.epochs * batches / cell.accelerator.num_processes))
        settings = Optimise(
            learning_rate=rate,
            warmup=int(tuning.warmup_share * last),
            weight_decay=tuning.weight_decay,
            betas=tuning.betas,
        )
        training = Training(model, Mixture(sources, cell.seed), settings.build(model), settings, cell.accelerator, last)
        return cls(cell, learner, prepared, training, fmean(least))

    def run(self, groups: list[Group], devs: dict[str, Any], tests: dict[Item, Any]) -> None:
        """Train; what a check finds best for a group is kept there, as weights where there is one group alone."""
        tuning, last = self.cell.task.tuning, self.training.last
        looks = math.ceil(tuning.epochs * tuning.checks)
        for group in groups:
            group.since = 0
        progress, losses, start, tokens = Progress(), [], time.perf_counter(), 0
        for step in steps(self.training, progress):
            self.cell.watch(step)
            losses.append(fmean(step.losses.values()))
            tokens += step.tokens
            if step.index != last and (not devs or step.index * looks // last == (step.index - 1) * looks // last):
                continue
            looked = self._check(devs or {"": next(iter(tests.values()))}, fmean(losses))
            losses = []
            found = {
                "rule": tuning.select,
                "learning_rate": self.training.settings.learning_rate,
                "step": step.index,
                "steps": last,
                "tokens": tokens,
                "seconds": round(time.perf_counter() - start, 3),
                **looked,
            }
            self._keep(groups, found, tests)
            if self._hopeless(looked, step.index) or all(group.stale(tuning.patience) for group in groups):
                progress.stop = True

    def _check(self, devs: dict[str, Any], loss: float) -> dict[str, Any]:
        """Development scores by language, and whether the model has collapsed on the first."""
        scores, flat = {}, False
        for number, (language, examples) in enumerate(devs.items()):
            predictions, gold = self.predict(examples)
            scores[language] = self.cell.task.score(examples, predictions, gold)[self.cell.task.metric]
            if not number:
                flat = collapsed(_flat(predictions), _flat(gold), loss, self.least)
        return {"dev": scores if "" not in scores else {}, "collapsed": flat}

    def _keep(self, groups: list[Group], found: dict[str, Any], tests: dict[Item, Any]) -> None:
        made: Made = {}
        going = [group for group in groups if not group.stale(self.cell.task.tuning.patience)]
        for group in going:
            if group.improves(found["dev"], greater=self.cell.task.greater_is_better):
                group.found = {**found, "judged_by": group.judges}
                if len(groups) > 1:
                    group.kept = self.score(group, tests, made)
                elif group.judges:
                    state = self.training.model.state_dict()
                    group.kept = {name: value.detach().clone() for name, value in state.items()}

    def _hopeless(self, looked: dict[str, Any], step: int) -> bool:
        """Late in the training, when the rate falls, with nothing learnt: stop and tell."""
        if not looked["collapsed"] or step < LATE * self.training.last:
            return False
        log.warning(
            "%s, seed %d, learning rate %g: collapsed: at step %d of %d it only knows how frequent each label, or each "
            "place of answers, is; take a lower learning rate, a longer warm-up or another seed",
            self.cell.name, self.cell.seed, self.training.settings.learning_rate, step, self.training.last,
        )  # fmt: skip
        return True

    def predict(self, examples: Any) -> tuple[Any, Any]:
        """Predictions and gold in the order of the examples."""
        accelerator = self.cell.accelerator
        model: Any = accelerator.unwrap_model(self.training.model)
        with accelerator.autocast():
            return predict_all(
                self.learner,
                model.backbone,
                model.heads[self.cell.name],
                examples,
                self.prepared,
                4 * self.cell.task.tuning.tokens_per_batch,
                accelerator.device,
                accelerator,
            )

    def score(self, group: Group, tests: dict[Item, Any], made: Made | None = None) -> list[Score]:
        """The rows of a group with the weights as they are.

        made: what these weights predicted for other groups, which is added to; the same examples are read once.
        """
        rows, made = [], {} if made is None else made
        for item in group.items:
            start = time.perf_counter()
            if id(tests[item]) not in made:
                made[id(tests[item])] = self.predict(tests[item])
            predictions, gold = made[id(tests[item])]
            scores = self.cell.task.score(tests[item], predictions, gold)
            told = {}
            if self.cell.into and self.cell.accelerator.is_main_process:
                told = keep_predictions(self.cell.into, self.cell, item, tests[item], predictions, gold)
            row = self.cell.row(item, scores, len(tests[item]), start)
            rows.append({**row, **told, "tuning": group.found})
        return rows


def _flat(values: Any) -> Any:
    return values.flat if isinstance(values, Ragged) else values
