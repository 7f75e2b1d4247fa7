"""Alternating language modelling (Yang et al. 2020): masked prediction on code-switched sentences.

    before  the old doctor reads three letters    der alte Arzt liest drei Briefe
    after   <s> the alte Arzt [M] three letters </s>                               predict: reads
    after   <s> der alte Arzt [M] three Briefe </s>                                predict: liest

Phrases of one side replace their translations, so words of both languages share one context.

Candidate phrases are taken in random order without overlap; a sentence in which nothing could be replaced counts as
monolingual. Sentences are drawn for every batch, instead of a fixed corpus of 20 copies in each direction.
docs/objectives/alm.md lists what the paper leaves open, and the settings that choose among its readings.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from interlace.core.errors import DataError
from interlace.core.ragged import AnyArray
from interlace.core.randomness import Generator
from interlace.data import Pairs
from interlace.data.layout import MAX_SPECIALS, SPECIALS, Layout, sentence_layout
from interlace.objectives import Batch, Objective, Prepared, Resources, Term
from interlace.objectives.common import code_switching as switching
from interlace.objectives.common.masking import Masking, PreparedMasked

if TYPE_CHECKING:
    from torch import nn

    from interlace.models.backbone import Backbone

MIXED = "mixed_share"
REPLACED = "replaced_share"


class Alm(Objective):
    """Predict masked tokens of code-switched sentences.

    Reads: pairs with phrases. To drop pairs by length, as ALM does without giving a number, use the recipe's
        `[filters.length]`.
    Relations: `tlm` concatenates the two sentences; `mlm` reads each alone.
    Terms: `alm`, and two without weight: `mixed_share`, the share of sentences in both languages, and `replaced_share`,
        the share of their words that are replaced.
    """

    reads = Pairs
    packs = True
    packed_share = 0.99
    term = "alm"

    masking: Masking = Field(
        default_factory=Masking,
        description="Which tokens are predicted and how they are masked.",
    )
    code_switching: switching.CodeSwitching = Field(
        default_factory=switching.CodeSwitching,
        description="Which phrases are exchanged, and how many.",
    )

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]
        """The text with its links or phrases; the phrase table's translations only if they are used."""
        if self.code_switching.target_choice == "table_argmax":
            return frozenset({"text", "phrases", "known"})
        return frozenset({"text", "phrases"})

    def prepare(self, resources: Resources) -> PreparedMasked:
        """Return the masking tables."""
        return self.masking.prepare(super().prepare(resources), resources)

    def batch(
        self, examples: Pairs, prepared: PreparedMasked, step: int, rng: Generator
    ) -> Batch:
        """Switch every pair, and mask; raise a DataError if the pairs have no text or phrases."""
        candidates = self._candidates(examples)
        switched = switching.switch_phrases(candidates, self.code_switching, rng)
        lines = switching.switched_text(candidates, switched)
        sentences = prepared.vocab.encode_text(lines.text.text())
        layout = sentence_layout(sentences, prepared.vocab, self.max_length)
        layout = replace(layout, sides=_sides_of_tokens(layout, lines))
        batch = self.masking.batch(
            layout, examples.languages, prepared, term=self.term, step=step, rng=rng
        )
        is_mixed = switched.is_mixed
        batch.counts[MIXED] = len(is_mixed)
        batch.counts[REPLACED] = max(int(switched.words[is_mixed].sum()), 1)
        batch.extra[MIXED] = np.array([is_mixed.sum()], np.float32)
        batch.extra[REPLACED] = np.array([switched.replaced_words.sum()], np.float32)
        return batch

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:
        """Add the two shares."""
        shares = {name: Term(batch.extra[name].sum(), weight=0.0) for name in (MIXED, REPLACED)}
        return super().loss(backbone, heads, batch) | shares

    def pair_costs(self, source: AnyArray, target: AnyArray) -> AnyArray:
        """Return (n,) tokens of one sentence as long as the longer side.

        A replaced phrase may be a little longer. On Multi30k en-de (batches of 2,048 tokens) batches have on average
        1.00 times their budget, 82 % without padding; sorting by matrix side would not fill them better (79 %).
        """
        return np.minimum(np.maximum(source, target) + MAX_SPECIALS, self.max_length)

    def packed_tokens(self, prepared: Prepared, *sides: AnyArray) -> AnyArray:  # noqa: ARG002
        """Return (n,) expected tokens of one sentence with words of both sides.

        Batches of the toy corpus have 0.995 to 1.000 times as many (standard deviation 0.002 to 0.004).
        """
        source, target = sides
        mean = np.rint((source + target) / 2).astype(np.int64)  # halves to even numbers
        return np.minimum(mean + SPECIALS, self.max_length)

    def _candidates(self, pairs: Pairs) -> switching.SwitchCandidates:
        """Return what may be exchanged in pairs."""
        from_table = self.code_switching.target_choice == "table_argmax"
        if pairs.text is None or pairs.phrases is None or (from_table and pairs.known is None):
            columns = ", ".join(sorted(self.needs))
            raise DataError(
                f"alm: the pairs lack one of {columns}; train from a recipe, which computes them (section [align]), or "
                "open the corpus with ParallelCorpus.annotated"
            )
        scores = None if pairs.scores is None else pairs.scores.flat
        return switching.SwitchCandidates.of(pairs.text, pairs.phrases, scores, pairs.known)


def _sides_of_tokens(layout: Layout, lines: switching.SwitchedText) -> NDArray[np.int8]:
    """(B, L) the side whose language each token is in; special tokens have their neighbor's."""
    sides = np.zeros(layout.ids.shape, np.int8)
    words = layout.words + lines.text.words.offsets[:-1, None]  # among those of all lines
    sides[layout.content] = lines.sides[words[layout.content]]
    sides[:, 0] = sides[:, 1]
    rows = np.arange(len(sides))
    end_columns = layout.lengths - 1
    sides[rows, end_columns] = sides[rows, end_columns - 1]
    return sides
