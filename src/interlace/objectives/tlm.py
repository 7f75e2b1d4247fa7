"""Translation language modelling (Conneau & Lample 2019, section 3.4): masked prediction over a translation pair.

    before  <s> the old doctor reads </s> der alte Arzt liest </s>
    after   <s> the [M] doctor reads </s> der alte [M] liest  </s>      predict: old, Arzt

To guess a masked word the model may look at the other language, which draws the two together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from interlace.data import Pairs
from interlace.data.layout import joined
from interlace.objectives import Objective, Prepared, Resources
from interlace.objectives._inputs import Switch, encoder_inputs, wants_languages, wants_restart
from interlace.objectives._masking import Masking, Tables

if TYPE_CHECKING:
    from interlace.objectives import Batch
    from interlace.randomness import Generator


@dataclass(frozen=True)
class PreparedTlm(Prepared):
    """Adds the masking tables and the two switches as resolved for this model."""

    tables: Tables
    language_ids: bool
    restart: bool


class Tlm(Objective):
    """Predict masked subwords of both sides of a translation.

    Reads: pairs, in batches of similar length.
    Relations: `mlm` on one language; alternate the two as XLM does.
    """

    reads = Pairs
    term: ClassVar[str] = "tlm"

    masking: Masking = Field(default_factory=Masking, description="What is predicted and what is shown instead.")
    language_ids: Switch = Field("auto", description="Feed a language id a subword; 'auto': where the model can.")
    reset_positions: Switch = Field(
        "auto", description="Restart positions on the second side (XLM); 'auto': where language ids tell sides apart."
    )

    @property
    def needs_frequencies(self) -> bool:  # type: ignore[override]
        """Counts are only taken where the weighting asks for them."""
        return self.masking.weighting != "none"

    def prepare(self, resources: Resources) -> PreparedTlm:
        """Resolve the switches; a model that cannot do what is asked is refused."""
        return PreparedTlm(
            resources.vocab,
            resources.traits,
            self.masking.tables(resources),
            wants_languages(self.language_ids, resources.traits, "tlm"),
            wants_restart(self.reset_positions, resources.traits, "tlm"),
        )

    def batch(self, examples: Pairs, prepared: PreparedTlm, step: int, rng: Generator) -> Batch:
        """Join the two sides and mask both."""
        layout = joined(examples, prepared.vocab, self.max_length)
        languages = (examples.source.language, examples.target.language)
        inputs = encoder_inputs(
            layout, prepared.traits, languages, restart=prepared.restart, language_ids=prepared.language_ids
        )
        return self.masking.batch(layout, inputs, languages, prepared, term=self.term, step=step, rng=rng)

    def for_evaluation(self) -> Tlm:
        """The same with the evaluation's masking."""
        return self.model_copy(update={"masking": self.masking.for_evaluation()})
