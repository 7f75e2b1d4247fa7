"""What all objectives share that predict masked subwords: the masking, what it counts, and how it is measured.

`MaskedText` is of those that read running text in one language.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from pydantic import Field

from interlace.data import Sentences
from interlace.data.layout import SPECIALS
from interlace.objectives import Objective, Prepared
from interlace.objectives._inputs import BoolOrAuto, resolve_language_ids
from interlace.objectives._masking import Masking, Tables

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab
    from interlace.objectives import Resources


@dataclass(frozen=True)
class PreparedMasked(Prepared):
    """Adds the masking tables and whether language ids are fed."""

    tables: Tables
    language_ids: bool


class MaskedObjective(Objective):
    """Predict masked subwords. Subclass, lay rows out in `batch`, and hand them to `masking.batch`."""

    masking: Masking = Field(default_factory=Masking, description="What is predicted and what is shown instead.")
    language_ids: BoolOrAuto = Field(
        "auto", description="Feed the language id of each subword; 'auto': where the model has embeddings."
    )

    @property
    def needs_frequencies(self) -> bool:  # type: ignore[override]
        """Counts are only taken where the weighting asks for them."""
        return self.masking.weighting != "none"

    def for_masking(self, resources: Resources, what: str) -> PreparedMasked:
        """What `masking.batch` reads.

        what: names the objective in errors.

        Raises:
            SettingsError: language ids are asked for, and the model has none.
        """
        language_ids = resolve_language_ids(self.language_ids, resources.traits, what)
        return PreparedMasked(resources.vocab, resources.traits, self.masking.tables(resources), language_ids)

    def for_evaluation(self) -> Self:
        """The same with the evaluation's masking."""
        return self.model_copy(update={"masking": self.masking.for_evaluation()})


class MaskedText(MaskedObjective):
    """Predict masked subwords of running text. Subclass, and lay rows out in `batch`."""

    reads: ClassVar[type] = Sentences
    streams: ClassVar[bool] = True

    filled: bool = Field(
        False,
        description="Fill rows with whole sentences and cut none, the same together in every epoch (Tang et al. 2022, "
        "appendix G.3, for XLM and DICT-MLM); false: rows are cut out of running text.",
    )

    def packed_length(self, vocab: Vocab) -> int | None:  # noqa: ARG002 - all vocabularies have as many specials
        """A row without its specials, where whole sentences fill it."""
        return self.max_length - SPECIALS if self.filled else None
