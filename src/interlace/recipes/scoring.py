"""BLEU of a translation run while it learns: of greedy translations of the dev text that its task `mt` names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.errors import SettingsError
from interlace.recipes._directions import longest_learnt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.recipes import Recipe
    from interlace.recipes.prepare import Materials
    from interlace.tasks.mt import Lines, Mt


@dataclass(frozen=True)
class DevBleu:
    """Scores a model as it is. sets: lines by direction, such as `en-de`."""

    task: Mt
    vocab: Vocab
    sets: Mapping[str, Lines]

    def __call__(self, backbone: Backbone) -> dict[str, float]:
        """`bleu/XX-YY` for each direction, and `bleu/mean`."""
        found = {name: self.task.measure(backbone, self.vocab, lines)["bleu"] for name, lines in self.sets.items()}
        return {f"bleu/{name}": round(value, 3) for name, value in {**found, "mean": fmean(found.values())}.items()}


def dev_bleu(recipe: Recipe, materials: Materials) -> DevBleu:
    """The scorer of a recipe's run: in every direction that it learns, so many lines as `evaluate_tokens` hold.

    What only `interlace evaluate` is asked for is left out: beams, round trips and the words of tokenised BLEU.

    Raises:
        SettingsError: nothing of it translates.
        DataError: the dev text of a direction is not there.
    """
    learnt = longest_learnt(recipe)
    if not learnt:
        raise SettingsError("train.stop_by = 'bleu': no objective of the recipe translates; stop by perplexity")
    task: Any = recipe.evaluate.task("mt")
    search = task.search.model_copy(update={"beam": 1, "n_best": 1, "sample": False})
    task = task.learnt(learnt).model_copy(update={"search": search, "round_trip": False, "splitter": "blanks"})
    sets = {name: task.examples("dev", name, materials.vocab, materials.root) for name in learnt}
    return DevBleu(task, materials.vocab, {name: _first(lines, recipe) for name, lines in sets.items()})


def _first(lines: Lines, recipe: Recipe) -> Lines:
    """The first lines, at least one."""
    count = int((np.cumsum(lines.lengths) - lines.lengths < recipe.train.evaluate_tokens).sum())
    return replace(
        lines,
        sources=lines.sources[:count],
        references=lines.references[:count],
        lengths=lines.lengths[:count],
    )
