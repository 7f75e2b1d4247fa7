"""How a translation is searched for, as fields, and the search that they stand for.

By how much long hypotheses are helped: every subword makes a sum of log-probabilities lower.
"""

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

    from interlace.models.decoding import DecodingState, Hypotheses, TokenConstraints


_OF_DRAWS = ("temperature", "top", "seed")


_OF_BEAMS = ("beam", "length_penalty", "penalty", "stop")


class SearchSettings(Settings):
    """How a translation is searched for."""

    beam: int = Field(5, ge=1, le=200, description="Hypotheses side by side; 1: the likeliest subword at each place.")
    n_best: int = Field(1, ge=1, le=200, description="Translations of a sentence, at most as many as the beam has.")
    length_penalty: float = Field(
        1.0, ge=-10, le=10, description="Exponent of the length by which a hypothesis's sum is divided (XLM: 1); more "
        "prefers longer translations, 0 compares the sums.",
    )  # fmt: skip
    penalty: Form = Field(
        "power", description="What is raised to it: the length (XLM), or (5 + length) / 6 (Wu et al. 2016, eq. 14)."
    )
    stop: Literal["full", "likely", "sure"] = Field(
        "likely", description="When a sentence is done: once the beam is full of ended hypotheses, none that goes on "
        "would be among them if it ended next, or none could ever be (XLM).",
    )  # fmt: skip
    max_ratio: float = Field(
        1.5, ge=0, le=100, description="Longest translation in subwords: this times the source's, and max_extra (XLM)."
    )
    max_extra: int = Field(10, ge=0, le=10_000, description="Subwords that it may be longer than that (XLM: 10).")
    unknown: bool = Field(False, description="Whether the subword may be said that stands for what cannot be spelt.")
    sample: bool = Field(False, description="Draw subwords by their probability in place of a search.")
    temperature: float = Field(1.0, gt=0, le=100, description="What scores are divided by before a draw.")
    top: int = Field(
        0, ge=0, description="Draw from so many of the likeliest subwords (Edunov et al. 2018: 10); 0: from all."
    )
    seed: int = Field(0, ge=0, description="Of what is drawn.")

    def model_post_init(self, _context: Any) -> None:
        """What is asked for must be there to be found."""
        most = 1 if self.sample else self.beam
        if self.n_best > most:
            of_beam = f"beam = {self.beam} finds no more; ask for beam = {self.n_best}"
            what = "sample = true draws one translation" if self.sample else of_beam
            raise SettingsError(f"n_best = {self.n_best}, but {what}")
        for name in _OF_BEAMS if self.sample else _OF_DRAWS:
            if (value := getattr(self, name)) == type(self).model_fields[name].default:
                continue
            if self.sample:
                raise SettingsError(f"{name} = {value} is for a search, but sample = true draws; leave one of them out")
            raise SettingsError(f"{name} = {value} is for draws, but sample = false searches; set sample = true too")

    @property
    def compared(self) -> LengthPenalty:
        """By what hypotheses of different length are compared."""
        return LengthPenalty(self.length_penalty, self.penalty)

    @property
    def width(self) -> int:
        """Rows that are walked for each sentence."""
        return 1 if self.sample else self.beam

    def limits(self, lengths: NDArray[Any], most: int) -> NDArray[np.int64]:
        """The most subwords of translations of sources of these lengths; `most` is what the model can say."""
        allowed: NDArray[np.int64] = (self.max_ratio * lengths + self.max_extra).astype("int64").clip(0, most)
        return allowed

    def search(
        self,
        decoding: DecodingState,
        first: Tensor,
        limits: Tensor,
        rules: TokenConstraints,
        draws: Tensor | None = None,
    ) -> Hypotheses:
        """Hypotheses of a batch that has been read, in order.

        Args:
            decoding: the batch.
            first: (B,) what each row begins with: the target language.
            limits: (B,) the most subwords of each row.
            rules: which subwords may be chosen.
            draws: (B, T) for samples; none: from torch's generator.

        Raises:
            CheckpointError: the model computes no numbers.
        """
        from interlace.models.search import beam_search, greedy_search, sample, uniform_draws

        if self.sample:
            draws = uniform_draws(limits) if draws is None else draws
            return sample(decoding, first, limits, rules, draws, temperature=self.temperature, top=self.top)
        if self.beam == 1:
            return greedy_search(decoding, first, limits, rules)
        return beam_search(decoding, first, limits, rules, self.beam, penalty=self.compared, stop=self.stop)


def _best_only(search: SearchSettings) -> SearchSettings:
    if search.n_best > 1:
        message = f"n_best = {search.n_best}, but only the best translation of a sentence is used here; leave it out"
        raise ValueError(message)
    return search


SingleBestSearch = Annotated[
    SearchSettings, AfterValidator(_best_only)
]  # for those who take one translation of a sentence


Form = Literal["power", "gnmt"]


@dataclass(frozen=True)
class LengthPenalty:
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
