"""Settings of generation, and the length penalty; without torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field

from interlace.core.errors import SettingsError
from interlace.core.settings import Settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

PenaltyForm = Literal["power", "gnmt"]
Stop = Literal["full", "likely", "sure"]

_SAMPLING = ("temperature", "top_k", "seed")
_BEAM_SEARCH = ("beam", "length_penalty", "penalty", "stop")


class SearchSettings(Settings):
    """Settings of beam search, greedy search or sampling."""

    beam: int = Field(5, ge=1, le=200, description="Beam size; 1: greedy search.")
    n_best: int = Field(1, ge=1, le=200, description="Translations of a sentence, at most the beam size.")
    length_penalty: float = Field(
        1.0, ge=-10, le=10, description="Exponent of the length that divides a hypothesis's log-probability (XLM: 1); "
        "higher values prefer longer translations, 0 compares the sums.",
    )  # fmt: skip
    penalty: PenaltyForm = Field(
        "power", description="Base of that exponent: the length (XLM), or (5 + length) / 6 (Wu et al. 2016, eq. 14)."
    )
    stop: Stop = Field(
        "likely", description="When a sentence is finished: 'full', the beam has enough finished hypotheses; 'likely', "
        "no live one would be among the best if it ended next; 'sure', none ever could be (XLM).",
    )  # fmt: skip
    max_ratio: float = Field(
        1.5, ge=0, le=100, description="Maximum length of a translation: this times the source's, plus max_extra (XLM)."
    )
    max_extra: int = Field(10, ge=0, le=10_000, description="Tokens added to that maximum (XLM: 10).")
    allow_unk: bool = Field(False, description="Allow generating `<unk>`.")
    sample: bool = Field(False, description="Sample tokens instead of searching.")
    temperature: float = Field(1.0, gt=0, le=100, description="Divisor of the scores before sampling.")
    top_k: int = Field(
        0, ge=0, description="Sample from this many most likely tokens (Edunov et al. 2018: 10); 0: from all."
    )
    seed: int = Field(0, ge=0, description="Seed of sampling.")

    def model_post_init(self, _context: Any) -> None:
        """Check that the settings belong to the chosen kind of search."""
        if self.n_best > self.width:
            what = "sample = true generates one translation" if self.sample else f"beam = {self.beam} finds no more"
            raise SettingsError(f"n_best = {self.n_best}, but {what}")
        for name in _BEAM_SEARCH if self.sample else _SAMPLING:
            if (value := getattr(self, name)) == type(self).model_fields[name].default:
                continue
            if self.sample:
                raise SettingsError(f"{name} = {value} is for beam search, but sample = true; remove one of them")
            raise SettingsError(f"{name} = {value} is for sampling, but sample = false; set sample = true too")

    @property
    def ranking(self) -> LengthPenalty:
        """Length penalty by which hypotheses are ranked."""
        return LengthPenalty(self.length_penalty, self.penalty)

    @property
    def width(self) -> int:
        """Sequences generated at once for each sentence."""
        return 1 if self.sample else self.beam

    def limits(self, lengths: NDArray[Any], limit: int) -> NDArray[np.int64]:
        """Return the maximum lengths of translations from source lengths; `limit` is the model's own maximum."""
        allowed: NDArray[np.int64] = (self.max_ratio * lengths + self.max_extra).astype("int64").clip(0, limit)
        return allowed


@dataclass(frozen=True)
class LengthPenalty:
    """Divisor of a hypothesis's log-probability, from its length with the end token.

    exponent: 0 compares sums; 1, with `power`, means a token.
    form: `power`, length ** exponent (XLM); `gnmt`, ((5 + length) / 6) ** exponent (Wu et al. 2016, eq. 14).
    """

    exponent: float = 1.0
    form: PenaltyForm = "power"

    def divisors(self, lengths: Tensor) -> Tensor:
        """Return float32 divisors of lengths."""
        divisors: Tensor = self._base(lengths.float()) ** self.exponent
        return divisors

    def score(self, logprob: float, length: int) -> float:
        """Return a log-probability divided by the penalty of its length."""
        return float(logprob / self._base(float(length)) ** self.exponent)

    def _base(self, lengths: Any) -> Any:
        return lengths if self.form == "power" else (5 + lengths) / 6


def _check_single_best(search: SearchSettings) -> SearchSettings:
    if search.n_best > 1:
        message = f"n_best = {search.n_best}, but only the best translation is used here; remove it"
        raise ValueError(message)
    return search


SingleBestSearch = Annotated[SearchSettings, AfterValidator(_check_single_best)]
