"""A fine-tuning that has learnt nothing but how frequent each label is (XLM's issue 199: 33.33 % on XNLI)."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

NEAR = 0.98  # of the entropy of the labels: nothing but their frequencies has been learnt


def entropy(gold: NDArray[Any]) -> float:
    """Nats of the distribution of the labels (n,), those below 0 left out."""
    counts = np.bincount(gold[gold >= 0])
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def least_of(asked: Sequence[NDArray[Any]]) -> float:
    """Nats that a model reaches which gives every example the classes' own frequencies; infinite: cannot be told.

    asked: the columns of classes that a loss is the mean of, as `TaskHead.asked` gives them.
    """
    return fmean(map(entropy, asked)) if asked else math.inf


def collapsed(predictions: NDArray[Any], gold: NDArray[Any], loss: float, least: float) -> bool:
    """Whether every prediction is the same label, although there are several, and the training loss says so too.

    Of answers to questions, which are places, the loss alone tells.

    predictions, gold: (n,) labels, -1 where there is none; labels that are no whole numbers cannot be judged.
    loss: mean training loss since the last look, nats; least: what knowing frequencies alone comes to (`least_of`).
    """
    learnt_nothing = loss > NEAR * least > 0
    if predictions.dtype.names:
        return learnt_nothing
    if not np.issubdtype(predictions.dtype, np.integer):
        return False
    several = len(np.unique(gold[gold >= 0])) > 1
    return bool(several and len(np.unique(predictions[predictions >= 0])) == 1 and learnt_nothing)
