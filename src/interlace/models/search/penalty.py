"""By how much long hypotheses are helped: every subword makes a sum of log-probabilities lower."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from torch import Tensor

Form = Literal["power", "gnmt"]


@dataclass(frozen=True)
class Penalty:
    """What the sum of a hypothesis's log-probabilities is divided by, from its length with the end.

    exponent: 0: sums are compared as they are; 1: means a subword, with `power`.
    form: `power`, length ** exponent, as XLM has it; `gnmt`, ((5 + length) / 6) ** exponent (Wu et al. 2016, eq. 14).
    """

    exponent: float = 1.0
    form: Form = "power"

    def of(self, lengths: Tensor) -> Tensor:
        """Divisors, float32, of lengths with the end."""
        divisors: Tensor = self._base(lengths.float()) ** self.exponent
        return divisors

    def score(self, logprob: float, length: int) -> float:
        """A sum of log-probabilities divided by that of its length, the end included."""
        return float(logprob / self._base(float(length)) ** self.exponent)

    def _base(self, lengths: Any) -> Any:
        return lengths if self.form == "power" else (5 + lengths) / 6
