"""Translation learnt from translations (Sutskever et al. 2014; Vaswani et al. 2017).

    before  the old doctor reads three letters    der alte Arzt liest drei Briefe
    reads   <s> the old doctor reads three letters </s>
    writes  <2de>  der   alte  Arzt  liest  drei    Briefe
    next    der    alte  Arzt  liest  drei   Briefe  </s>

One model serves both directions: the first thing the decoder reads names the language that it is to write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from interlace.data import Pairs
from interlace.data.layout import sentence_layout
from interlace.objectives._seq2seq import Seq2SeqObjective, written_rows

if TYPE_CHECKING:
    from interlace.core.randomness import Generator
    from interlace.objectives import Batch
    from interlace.objectives._seq2seq import PreparedSeq2Seq


class Translation(Seq2SeqObjective):
    """Write the translation of a sentence, subword by subword.

    Reads: pairs; nothing of their links.
    Relations: `tlm` reads the two sides as one row; `back_translation` makes the side that is read itself.
    Terms: `translation`, and without weight `nll`: the same without label smoothing, so that runs compare.
    Directions are drawn batch by batch; a pair with a side beyond `max_length` is left out.
    """

    reads = Pairs
    term: ClassVar[str] = "translation"

    directions: Literal["both", "forward", "backward"] = Field(
        "both",
        description="From source to target, back, or either, drawn batch by batch (XLM's ro<->en: both).",
    )
    label_smoothing: float = Field(
        0.1,
        ge=0,
        lt=1,
        description="Share of a label's weight spread evenly over all rows of the table, specials and the "
        "label too, as torch's; fairseq's spreads it over the others (Vaswani et al. 2017: 0.1).",
    )

    @property
    def stochastic(self) -> bool:  # type: ignore[override]
        """Only the direction is drawn."""
        return self.directions == "both"

    def batch(self, examples: Pairs, prepared: PreparedSeq2Seq, step: int, rng: Generator) -> Batch:  # noqa: ARG002
        """Read one side, write the other."""
        backward = self.directions == "backward" or (self.directions == "both" and bool(rng.integers(2)))
        read, written = (examples.target, examples.source) if backward else (examples.source, examples.target)
        vocab, target = prepared.vocab, written.language
        writing = written_rows(written.ids, vocab.target(target), vocab, self.max_length)
        return self.laid_out(
            sentence_layout(read, vocab, self.max_length), (read.language,), writing, (target,), prepared
        )
