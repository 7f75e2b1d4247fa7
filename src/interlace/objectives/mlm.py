"""Masked language modelling on running text (Devlin et al. 2019; Conneau & Lample 2019, section 3.3).

before  <s> the old doctor reads three letters </s> he works in Berlin </s>
after   <s> the [M] doctor reads three sea     </s> he works in [M]    </s>      predict: old, letters, Berlin
"""

from typing import Any

from pydantic import Field

from interlace.core.randomness import Generator
from interlace.data import Sentences
from interlace.data.layout import SPECIALS, sentence_layout
from interlace.objectives import Batch, Objective, Resources
from interlace.objectives.common.masking import Masking, PreparedMasked


class Mlm(Objective):
    """Predict masked tokens from both sides.

    Reads: one language per batch; sequences of consecutive sentences. Full sequences are cut at other places in every
        epoch; with `packed` they hold whole sentences, the same in every epoch.
    Relations: `tlm` is the same on the two sides of a translation.
    """

    streams = True
    packs = True
    term = "mlm"

    masking: Masking = Field(
        default_factory=Masking,
        description="Which tokens are predicted and how they are masked.",
    )
    packed: bool = Field(
        False,
        description="Pack whole sentences into each sequence, the same ones in every epoch (Tang et al. 2022, appendix "
        "G.3); false: sequences are cut from running text.",
    )

    def packed_length(self) -> int | None:
        """Return the sequence length without special tokens."""
        return self.max_length - SPECIALS if self.packed else None

    def prepare(self, resources: Resources) -> PreparedMasked:
        """Return the masking tables."""
        return self.masking.prepare(super().prepare(resources), resources)

    def batch(self, examples: Sentences, prepared: Any, step: int, rng: Generator) -> Batch:
        """Mask tokens of the text; separators and special tokens are never predicted."""
        layout = sentence_layout(examples, prepared.vocab, self.max_length)
        return self.masking.batch(
            layout, (examples.language,), prepared, term=self.term, step=step, rng=rng
        )
