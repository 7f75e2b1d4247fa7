"""What all objectives share that predict masked subwords: the masking, what it counts, and how it is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from pydantic import Field

from interlace.objectives import Objective, Prepared
from interlace.objectives._inputs import Switch
from interlace.objectives._masking import Masking, Tables


@dataclass(frozen=True)
class PreparedMasked(Prepared):
    """Adds the masking tables and whether language ids are fed."""

    tables: Tables
    language_ids: bool


class MaskedObjective(Objective):
    """Predict masked subwords. Subclass, lay rows out in `batch`, and hand them to `masking.batch`."""

    masking: Masking = Field(default_factory=Masking, description="What is predicted and what is shown instead.")
    language_ids: Switch = Field(
        "auto", description="Feed the language id of each subword; 'auto': where the model has embeddings."
    )

    @property
    def needs_frequencies(self) -> bool:  # type: ignore[override]
        """Counts are only taken where the weighting asks for them."""
        return self.masking.weighting != "none"

    def for_evaluation(self) -> Self:
        """The same with the evaluation's masking."""
        return self.model_copy(update={"masking": self.masking.for_evaluation()})
