"""Masked language modelling over streams of running text (Devlin et al. 2019; Conneau & Lample 2019, section 3.3).

before  <s> the old doctor reads three letters </s> he works in Berlin </s>
after   <s> the [M] doctor reads three sea     </s> he works in [M]    </s>      predict: old, letters, Berlin
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from interlace.data.layout import sentence_layout
from interlace.objectives import MaskedText, encoder_inputs

if TYPE_CHECKING:
    from interlace.core.randomness import Generator
    from interlace.data import Sentences
    from interlace.objectives import Batch, PreparedMasked, Resources


class Mlm(MaskedText):
    """Predict masked subwords from both sides.

    Reads: one language a batch, rows of any number of consecutive sentences: full ones, whose cuts move from epoch to
        epoch, or with `filled` whole sentences, the same together in every epoch.
    Relations: `tlm` is the same on the two sides of a translation.
    """

    term: ClassVar[str] = "mlm"

    def prepare(self, resources: Resources) -> PreparedMasked:
        """Look-up tables of the masking."""
        return self.for_masking(resources, "mlm")

    def batch(self, examples: Sentences, prepared: PreparedMasked, step: int, rng: Generator) -> Batch:
        """Mask a row's own subwords; separators and specials are never predicted."""
        layout = sentence_layout(examples, prepared.vocab, self.max_length)
        languages = (examples.language,)
        inputs = encoder_inputs(layout, prepared.traits, languages, language_ids=prepared.language_ids)
        return self.masking.batch(layout, inputs, languages, prepared, term=self.term, step=step, rng=rng)
