"""Translation language modelling (Conneau & Lample 2019, section 3.4): masked prediction over a translation pair.

    before  <s> the old doctor reads </s> der alte Arzt liest </s>
    after   <s> the [M] doctor reads </s> der alte [M] liest  </s>      predict: old, Arzt

To predict a masked word the model may attend to its translation, which aligns the representations of both languages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from interlace.data import Pairs
from interlace.data.layout import MAX_SPECIALS, pair_layout
from interlace.objectives import Batch, BoolOrAuto, Objective, PairLayoutOrAuto, Resources, with_pair_layout
from interlace.objectives.common.masking import Masking, PreparedMasked

if TYPE_CHECKING:
    from interlace.core.randomness import Generator


class Tlm(Objective):
    """Predict masked tokens of both sides of a translation.

    Reads: pairs, in batches of similar length.
    Relations: `mlm` on one language; XLM alternates the two.
    """

    reads = Pairs
    term: ClassVar[str] = "tlm"

    masking: Masking = Field(default_factory=Masking, description="Which tokens are predicted and how they are masked.")
    layout: PairLayoutOrAuto = Field(
        "auto",
        description="Special tokens between the sides, as XLM, RoBERTa or BERT has them; 'auto': as the vocabulary's "
        "family has them ('xlm' for a vocabulary that was trained here).",
    )
    reset_positions: BoolOrAuto = Field(
        "auto", description="Restart positions on the second side (XLM); 'auto': if language ids distinguish the sides."
    )
    packed: bool = Field(
        False,
        description="Pack whole pairs into each sequence, the same ones in every epoch (Tang et al. 2022, appendix "
        "G.3: 256 + 256 tokens); false: a sequence holds one pair.",
    )

    def packed_length(self) -> int | None:
        """Return half the sequence length without special tokens."""
        return (self.max_length - MAX_SPECIALS) // 2 if self.packed else None

    def prepare(self, resources: Resources) -> PreparedMasked:
        """Return the masking tables; check that the model can restart positions if the setting requires it."""
        return with_pair_layout(self.masking.prepare(super().prepare(resources), resources), self)

    def batch(self, examples: Pairs, prepared: PreparedMasked, step: int, rng: Generator) -> Batch:
        """Join the two sides and mask both."""
        layout = pair_layout(examples, prepared.vocab, self.max_length, prepared.layout, restart=prepared.restart)
        return self.masking.batch(layout, examples.languages, prepared, term=self.term, step=step, rng=rng)
