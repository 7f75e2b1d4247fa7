"""Translation language modelling (Conneau & Lample 2019, section 3.4): masked prediction over a translation pair.

    before  <s> the old doctor reads </s> der alte Arzt liest </s>
    after   <s> the [M] doctor reads </s> der alte [M] liest  </s>      predict: old, Arzt

To predict a masked word the model may attend to its translation, which aligns the representations of both languages.
"""

from typing import Literal, Self

import numpy as np
from pydantic import Field

from interlace.core.errors import SettingsError
from interlace.core.ragged import AnyArray
from interlace.core.randomness import Generator
from interlace.data import Pairs
from interlace.data.layout import MAX_SPECIALS, pair_layout
from interlace.objectives import (
    LAYOUT,
    Batch,
    BoolOrAuto,
    Objective,
    PairLayoutOrAuto,
    Resources,
    with_pair_layout,
)
from interlace.objectives.common.masking import Masking, PreparedMasked


class Tlm(Objective):
    """Predict masked tokens of both sides of a translation.

    Reads: pairs, in batches of similar length.
    Relations: `mlm` on one language; XLM alternates the two.
    """

    reads = Pairs
    packs = True
    term = "tlm"

    masking: Masking = Field(
        default_factory=Masking,
        description="Which tokens are predicted and how they are masked.",
    )
    layout: PairLayoutOrAuto = Field("auto", description=LAYOUT)
    reset_positions: BoolOrAuto = Field(
        "auto",
        description="Restart positions on the second side (XLM); 'auto': if language ids distinguish the sides.",
    )
    packed: bool | Literal["halves"] = Field(
        False,
        description="Pack whole pairs into each sequence, the same ones in every epoch; 'halves' also pads each side "
        "to half of `max_length` (Tang et al. 2022, appendix G.3: 256 + 256 tokens); false: a sequence holds one pair.",
    )

    def packed_length(self) -> int | None:
        """Return half the sequence length without special tokens."""
        if self.packed:
            return (self.max_length - MAX_SPECIALS) // 2
        return None

    def prepare(self, resources: Resources) -> PreparedMasked:
        """Return the masking tables; check that the model can restart positions if the setting requires it."""
        if self.packed == "halves" and not resources.traits.restarts:
            raise SettingsError(
                f"tlm: packed = 'halves', but layers of {resources.traits.family} ignore positions"
            )
        return with_pair_layout(
            self.masking.prepare(super().prepare(resources), resources), self
        )

    def pair_costs(self, source: AnyArray, target: AnyArray) -> AnyArray:
        """Return (n,) tokens that pairs take in a batch."""
        if self.packed == "halves":
            return np.full(len(source), self.max_length)
        return super().pair_costs(source, target)

    def for_evaluation(self) -> Self:
        """Return the objective without padded halves, which change no state and make held-out batches large."""
        return super().for_evaluation().model_copy(update={"packed": False})

    def batch(
        self, examples: Pairs, prepared: PreparedMasked, step: int, rng: Generator
    ) -> Batch:
        """Join the two sides and mask both."""
        layout = prepared.layout
        restart = prepared.restart
        halves = self.packed == "halves"
        rows = pair_layout(
            examples,
            prepared.vocab,
            self.max_length,
            layout,
            restart=restart,
            inner_padding=halves,
        )
        return self.masking.batch(
            rows, examples.languages, prepared, term=self.term, step=step, rng=rng
        )
