"""A translation run scored while it learns: greedy translations of the dev text that one of its tasks names.

By BLEU, as XLM's code stops unsupervised translation, or by BLEU of round trips, which needs no translations at all
(Lample et al. 2018a). All processes translate, each its own lines, and all come to the same score.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from accelerate.utils import gather_object

from interlace.experiments._directions import longest_learnt
from interlace.experiments._translating import JUDGES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accelerate import Accelerator

    from interlace.data.vocab import Vocab
    from interlace.experiments import Recipe
    from interlace.experiments.prepare import Materials
    from interlace.models.backbone import Backbone
    from interlace.tasks._translating import Sources, Translating


@dataclass(frozen=True)
class DevScores:
    """Scores a model as it is.

    by: a key of `JUDGES`. sets: lines by direction, such as `en-de`.
    """

    by: str
    task: Translating
    vocab: Vocab
    sets: Mapping[str, Sources]
    accelerator: Accelerator

    def __call__(self, backbone: Backbone) -> dict[str, float]:
        """`bleu/XX-YY`, or `round-trip/XX-YY`, for each direction, and the mean."""
        found = {name: self._score(backbone, lines) for name, lines in self.sets.items()}
        return {
            f"{self.by}/{name}": round(value, 3) for name, value in {**found, "mean": fmean(found.values())}.items()
        }

    def _score(self, backbone: Backbone, lines: Sources) -> float:
        """Of all lines, from the counts that every process makes of its own."""
        mine = lines.part(slice(self.accelerator.process_index, None, self.accelerator.num_processes))
        measured: Any = self.task.measure(backbone, self.vocab, mine) if len(mine) else None
        made = gather_object([None if measured is None else measured.examples])
        known = [examples for examples in made if examples is not None]
        return float(known[0].value(np.sum([examples.columns.sum(axis=1) for examples in known], axis=0)))


def dev_scores(recipe: Recipe, materials: Materials, accelerator: Accelerator) -> DevScores:
    """The scorer of a recipe's run: in every direction that it learns, so many lines as `evaluate_tokens` hold.

    What only `interlace evaluate` is asked for is left out: beams, round trips beside BLEU and the words of tokenised
    BLEU.

    Raises:
        DataError: the dev text of a direction is not there.
    """
    by, learnt = recipe.train.stop_by, longest_learnt(recipe)
    task: Any = recipe.evaluate.task(JUDGES[by])
    search = task.search.model_copy(update={"beam": 1, "n_best": 1, "sample": False})
    quick = {"round_trip": False, "word_tokenizer": "blanks"} if by == "bleu" else {}
    task = task.learnt(learnt).model_copy(update={"search": search, **quick})
    sets = {name: task.examples("dev", name, materials.vocab, materials.root) for name in learnt}
    first = {name: lines.part(slice(_count(lines, recipe))) for name, lines in sets.items()}
    return DevScores(by, task, materials.vocab, first, accelerator)


def _count(lines: Sources, recipe: Recipe) -> int:
    """How many of the first lines are scored, at least one."""
    return int((np.cumsum(lines.lengths) - lines.lengths < recipe.train.evaluate_tokens).sum())
