"""By what evaluations are compared, where one of them is to be the best."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def cost_of(scores: Mapping[str, float], by: str) -> float:
    """What early stopping lowers: the mean of perplexity, or minus that of a BLEU; infinite where it is missing."""
    sign = 1 if by == "perplexity" else -1
    return sign * scores.get(f"{by}/mean", sign * math.inf)
