"""How a prediction did on each example: a score and a weight, so that statistics can draw examples again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from interlace.scores.examples import Examples

Outcomes = tuple[NDArray[np.float64], NDArray[np.float64]]
"""(n,) scores and (n,) weights; the score of any examples is the sum of the one by the sum of the other."""


class Measured(dict[str, float]):
    """A probe's scores, and what each example got, of which the main score is made: it is `examples.total`.

    about: facts for the score's row, such as how exactly it was computed, or `metric`, the main score's name where the
    task's would say too little. outputs: what the model wrote, a line an
    example. samples: some of it as people read it, as `Task.samples` gives them.
    """

    def __init__(
        self,
        scores: dict[str, float],
        examples: Examples,
        about: Mapping[str, Any] | None = None,
        outputs: Sequence[str] = (),
        samples: Sequence[dict[str, Any]] = (),
    ) -> None:
        super().__init__(scores)
        self.examples = examples
        self.about = dict(about or {})
        self.outputs = list(outputs)
        self.samples = list(samples)


def right_labels(predictions: Any, gold: Any) -> Outcomes:
    """Labels that are right, and labels there are: one a row, or as many as a row has words. -1 is no label."""
    found, right = (np.asarray(side.flat if isinstance(side, Ragged) else side) for side in (predictions, gold))
    there = right >= 0
    hits = (found == right) & there
    if not isinstance(gold, Ragged):
        return hits.astype(np.float64), there.astype(np.float64)
    rows, count = gold.rows(), len(gold)
    return tuple(np.bincount(rows, each, minlength=count).astype(np.float64) for each in (hits, there))  # type: ignore[return-value]
