"""Supervised machine translation (Sutskever et al. 2014; Vaswani et al. 2017).

    before  the old doctor reads three letters    der alte Arzt liest drei Briefe
    reads   <s> the old doctor reads three letters </s>
    writes  <2de>  der   alte  Arzt  liest  drei    Briefe
    next    der    alte  Arzt  liest  drei   Briefe  </s>

One model translates in both directions: the decoder's first token names the target language.
"""

from typing import Literal

from pydantic import Field

from interlace.core.randomness import Generator
from interlace.data import Pairs
from interlace.data.layout import sentence_layout
from interlace.objectives import Batch, Prepared
from interlace.objectives.common.seq2seq import Seq2SeqObjective, sentence_decoder


class Translation(Seq2SeqObjective):
    """Write the translation of a sentence.

    Reads: pairs, in a direction that is drawn for each batch.
    Relations: `tlm` reads the two sides as one sequence; `back_translation` generates its source side.
    Terms: `translation`, and without weight `nll`: the same without label smoothing, which is comparable between runs.
    """

    reads = Pairs
    term = "translation"

    directions: Literal["both", "forward", "backward"] = Field(
        "both",
        description="Translate from source to target, backward, or both ways (XLM's ro<->en: both).",
    )
    label_smoothing: float = Field(
        0.1,
        ge=0,
        lt=1,
        description="Label smoothing over the whole vocabulary, as in torch; fairseq excludes the label itself "
        "(Vaswani et al. 2017: 0.1).",
    )

    def batch(self, examples: Pairs, prepared: Prepared, step: int, rng: Generator) -> Batch:  # noqa: ARG002
        """Read one side, write the other."""
        backward = self.directions == "backward" or (
            self.directions == "both" and bool(rng.integers(2))
        )
        if backward:
            source, target = (examples.target, examples.source)
        else:
            source, target = (examples.source, examples.target)
        vocab = prepared.vocab
        layout = sentence_layout(source, vocab, self.max_length)
        decoder = sentence_decoder(
            target.ids, vocab.target(target.language), vocab, self.max_length
        )
        return self.seq2seq_batch(layout, source.language, decoder, target.language, prepared)
