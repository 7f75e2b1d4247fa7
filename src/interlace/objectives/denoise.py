"""Denoising auto-encoding: a sentence is written again after its noised self was read (Lample et al. 2018).

    before  the old doctor reads three letters
    reads   <s> old the doctor [M] letters </s>
    writes  <2en>  the   old     doctor  reads  three    letters
    next    the    old   doctor  reads   three  letters  </s>

It teaches the decoder each language without a single translation, and the encoder to bear mistakes, of which
back-translation is full (Conneau & Lample 2019, section 5.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from interlace.data import Sentences
from interlace.data.layout import single
from interlace.objectives._noise import Noise
from interlace.objectives._seq2seq import Seq2SeqObjective, written_rows

if TYPE_CHECKING:
    from interlace.objectives import Batch
    from interlace.objectives._seq2seq import PreparedSeq2Seq
    from interlace.randomness import Generator


class Denoise(Seq2SeqObjective):
    """Write a sentence after reading it with words moved, missing and hidden.

    Reads: single sentences of one language a batch.
    Relations: `mass` hides one span and writes it alone; `back_translation` reads the model's own translation.
    Terms: `denoise`. XLM lets its weight fall: `weight = "0:1,100000:0.1,300000:0"`.
    """

    reads = Sentences
    term: ClassVar[str] = "denoise"

    noise: Noise = Field(default_factory=Noise, description="What is done to the sentence that is read.")

    def batch(self, examples: Sentences, prepared: PreparedSeq2Seq, step: int, rng: Generator) -> Batch:
        """Read it noised, write it whole."""
        vocab, language = prepared.vocab, examples.language
        noised = self.noise.apply(examples, vocab, step, rng)
        writing = written_rows(examples.ids, vocab.target(language), vocab, self.max_length)
        return self.laid_out(single(noised, vocab, self.max_length), (language,), writing, (language,), prepared)
