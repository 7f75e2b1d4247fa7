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
from interlace.data.layout import max_side_length, pair_layout
from interlace.objectives import (
    BoolOrAuto,
    MaskedObjective,
    PreparedMasked,
    encoder_inputs,
    resolve_language_ids,
    resolve_reset_positions,
)

if TYPE_CHECKING:
    from interlace.core.randomness import Generator
    from interlace.data.vocab import Vocab
    from interlace.objectives import Batch, Resources


@dataclass(frozen=True)
class PreparedTlm(PreparedMasked):
    """Adds whether positions restart."""

    restart: bool


class Tlm(MaskedObjective):
    """Predict masked subwords of both sides of a translation.

    Reads: pairs, in batches of similar length.
    Relations: `mlm` on one language; alternate the two as XLM does.
    """

    reads = Pairs
    term: ClassVar[str] = "tlm"

    reset_positions: BoolOrAuto = Field(
        "auto", description="Restart positions on the second side (XLM); 'auto': where language ids tell sides apart."
    )

    filled: bool = Field(
        False,
        description="Fill each half of a row with whole pairs, one after another, the same together in every epoch "
        "(Tang et al. 2022, appendix G.3: 256 subwords beside 256); false: a row holds one pair.",
    )

    def packed_length(self, vocab: Vocab) -> int | None:
        """Half a row without its specials, where whole pairs fill it."""
        return max_side_length(vocab, self.max_length) if self.filled else None

    def prepare(self, resources: Resources) -> PreparedTlm:
        """Resolve the switches; a model that cannot do what is asked is refused."""
        return PreparedTlm(
            resources.vocab,
            resources.traits,
            self.masking.tables(resources),
            resolve_language_ids(self.language_ids, resources.traits, "tlm"),
            resolve_reset_positions(self.reset_positions, resources.traits, "tlm"),
        )

    def batch(self, examples: Pairs, prepared: PreparedTlm, step: int, rng: Generator) -> Batch:
        """Join the two sides and mask both."""
        layout = pair_layout(examples, prepared.vocab, self.max_length)
        languages = (examples.source.language, examples.target.language)
        inputs = encoder_inputs(
            layout, prepared.traits, languages, restart=prepared.restart, language_ids=prepared.language_ids
        )
        return self.masking.batch(layout, inputs, languages, prepared, term=self.term, step=step, rng=rng)
