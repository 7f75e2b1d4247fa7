"""Masked language modelling over streams of running text (Devlin et al. 2019; Conneau & Lample 2019, section 3.3).

before  <s> the old doctor reads three letters </s> he works in Berlin </s>
after   <s> the [M] doctor reads three sea     </s> he works in [M]    </s>      predict: old, letters, Berlin
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from interlace.data import Sentences
from interlace.data.layout import single
from interlace.objectives import Objective, Prepared, Resources
from interlace.objectives._inputs import Switch, encoder_inputs, wants_languages
from interlace.objectives._masking import Masking, Tables

if TYPE_CHECKING:
    from interlace.objectives import Batch
    from interlace.randomness import Generator


@dataclass(frozen=True)
class PreparedMlm(Prepared):
    """Adds the masking tables and whether language ids are fed."""

    tables: Tables
    language_ids: bool


class Mlm(Objective):
    """Predict masked subwords from both sides.

    Reads: one language a batch, full rows of any number of consecutive sentences.
    Relations: `tlm` is the same on the two sides of a translation.
    """

    reads = Sentences
    streams = True
    term: ClassVar[str] = "mlm"

    masking: Masking = Field(default_factory=Masking, description="What is predicted and what is shown instead.")
    language_ids: Switch = Field("auto", description="Feed language ids; 'auto': where the model has embeddings.")

    @property
    def needs_frequencies(self) -> bool:  # type: ignore[override]
        """Counts are only taken where the weighting asks for them."""
        return self.masking.weighting != "none"

    def prepare(self, resources: Resources) -> PreparedMlm:
        """Look-up tables of the masking."""
        language_ids = wants_languages(self.language_ids, resources.traits, "mlm")
        return PreparedMlm(resources.vocab, resources.traits, self.masking.tables(resources), language_ids)

    def batch(self, examples: Sentences, prepared: PreparedMlm, step: int, rng: Generator) -> Batch:
        """Mask a row's own subwords; separators and specials are never predicted."""
        layout = single(examples, prepared.vocab, self.max_length)
        languages = (examples.language,)
        inputs = encoder_inputs(layout, prepared.traits, languages, language_ids=prepared.language_ids)
        return self.masking.batch(layout, inputs, languages, prepared, term=self.term, step=step, rng=rng)

    def for_evaluation(self) -> Mlm:
        """The same with the evaluation's masking."""
        return self.model_copy(update={"masking": self.masking.for_evaluation()})
