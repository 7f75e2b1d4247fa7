"""By how much long hypotheses are helped: every subword makes a sum of log-probabilities lower."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from interlace.settings import Settings

if TYPE_CHECKING:
    from torch import Tensor


class Penalty(Settings):
    """What the sum of a hypothesis's log-probabilities is divided by, from its length with the end."""

    length_penalty: float = Field(
        1.0,
        ge=-10,
        le=10,
        description="Exponent of the length; 0: sums are compared as they are, 1: means a subword (XLM: 1). More "
        "prefers longer translations.",
    )
    penalty: Literal["power", "gnmt"] = Field(
        "power",
        description="length ** exponent, as XLM has it, or ((5 + length) / 6) ** exponent (Wu et al. 2016, equation "
        "14; they take 0.6 to 1).",
    )

    def of(self, lengths: Tensor) -> Tensor:
        """Divisors, float32, of lengths with the end."""
        base = lengths.float() if self.penalty == "power" else (5 + lengths.float()) / 6
        return base**self.length_penalty
