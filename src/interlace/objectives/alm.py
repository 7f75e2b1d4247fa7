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

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from interlace.alignment.phrases import PhraseRules
from interlace.core.errors import DataError
from interlace.core.randomness import Generator, Purpose, generator
from interlace.data import Pairs
from interlace.data.layout import MAX_SPECIALS
from interlace.objectives import Batch, Objective, Resources, Term
from interlace.objectives.common import code_switching as switching
from interlace.objectives.common.masking import Masking, PreparedMasked

if TYPE_CHECKING:
    from torch import nn

    from interlace.models.backbone import Backbone

MIXED, REPLACED = "mixed_share", "replaced_share"
NOTED_SHARE = 0.005  # share of differently tokenized sentences from which `notes` reports them


@dataclass(frozen=True, kw_only=True)
class PreparedAlm(PreparedMasked):
    """Adds the forms of moved words."""

    forms: switching.WordForms


class Alm(Objective):
    """Predict masked tokens of code-switched sentences.

    Reads: pairs with phrases (`stored` with the corpus, or `extracted` from its word alignments in every batch). To
        drop pairs by length, as ALM does without giving a number, use the recipe's `[filters.length]`.
    Relations: `tlm` concatenates the two sentences; `mlm` reads each alone.
    Terms: `alm`, and two without weight: `mixed_share`, the share of sentences in both languages, and `replaced_share`,
        the share of their words that are replaced.
    """

    reads = Pairs
    term: ClassVar[str] = "alm"

    masking: Masking = Field(default_factory=Masking, description="Which tokens are predicted and how they are masked.")
    code_switching: switching.CodeSwitching = Field(
        default_factory=switching.CodeSwitching, description="Which phrases are exchanged, and how many."
    )
    phrases: Literal["stored", "extracted"] = Field(
        "stored",
        description="'stored': found once, with the phrase table's probabilities. 'extracted': from word alignments "
        "in every batch; takes less disk space, and scores phrases by link confidence only.",
    )
    extraction: PhraseRules = Field(default_factory=PhraseRules, description="Rules for 'extracted' phrases.")

    def model_post_init(self, _context: object) -> None:
        """Reject settings that would be ignored."""
        if self.phrases == "extracted" and self.code_switching.target_choice == "table_argmax":
            raise ValueError("phrases = 'extracted' has no table for code_switching.target_choice = 'table_argmax'")
        longest = self.code_switching.max_phrase_length
        if self.phrases == "extracted" and longest > self.extraction.max_phrase_length:
            raise ValueError(f"code_switching.max_phrase_length = {longest} exceeds extraction.max_phrase_length")

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]
        """Links or phrases; the phrase table's translations only if they are used."""
        if self.code_switching.target_choice == "table_argmax":
            return frozenset({"phrases", "known"})
        return frozenset({"links"} if self.phrases == "extracted" else {"phrases"})

    def prepare(self, resources: Resources) -> PreparedAlm:
        """Return the masking tables and the word forms."""
        prepared = self.masking.prepare(super().prepare(resources), resources)
        return PreparedAlm(**vars(prepared), forms=switching.WordForms(resources.vocab))

    def batch(self, examples: Pairs, prepared: PreparedAlm, step: int, rng: Generator) -> Batch:
        """Switch every pair, and mask; raise a DataError if the pairs have no phrases or alignments."""
        switched, tokens = self._switched(examples, prepared.forms, rng)
        layout = tokens.layout(prepared.vocab, self.max_length)
        batch = self.masking.batch(layout, examples.languages, prepared, term=self.term, step=step, rng=rng)
        mixed = switched.kinds >= switching.MONOLINGUAL
        batch.counts |= {MIXED: len(mixed), REPLACED: max(int(switched.words[mixed].sum()), 1)}
        sums = {MIXED: mixed.sum(), REPLACED: switched.replaced.sum()}
        batch.extra |= {name: np.array([value], np.float32) for name, value in sums.items()}
        return batch

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:
        """Add the two shares."""
        shares = {name: Term(batch.extra[name].sum(), weight=0.0) for name in (MIXED, REPLACED)}
        return super().loss(backbone, heads, batch) | shares

    def notes(self, examples: Pairs, prepared: PreparedAlm) -> list[str]:
        """Report how many sentences are tokenized differently from their text, in scripts without spaces."""
        _, tokens = self._switched(examples, prepared.forms, generator(Purpose.SAMPLE, 0))
        share = switching.retokenized_share(tokens.sentences, prepared.vocab)
        if share < NOTED_SHARE:
            return []
        pair = "-".join(examples.languages)
        note = f"{share:.1%} of {len(examples):,} code-switched sentences of {pair} have other tokens than their text"
        return [f"alm: {note}; `interlace code-switch` and `mlm` are exact"]

    def pair_costs(self, source: NDArray[Any], target: NDArray[Any]) -> NDArray[Any]:
        """Return (n,) tokens of one sentence as long as the longer side.

        A replaced phrase may be a little longer. On Multi30k en-de (batches of 2,048 tokens) batches have on average
        1.00 times their budget, 82 % without padding; sorting by matrix side would not fill them better (79 %).
        """
        return np.asarray(np.minimum(np.maximum(source, target) + MAX_SPECIALS, self.max_length))

    def _switched(
        self, pairs: Pairs, forms: switching.WordForms, rng: Generator
    ) -> tuple[switching.SwitchedSentences, switching.SwitchedTokens]:
        found: object
        if self.code_switching.target_choice == "table_argmax":
            found, what, alternative = pairs.known, "translations from a phrase table", "target_choice = 'in_pair'"
        elif self.phrases == "extracted":
            found, what, alternative = pairs.links, "word alignments", "phrases = 'stored'"
        else:
            found, what, alternative = pairs.phrases, "phrases", "phrases = 'extracted'"
        if found is None:
            raise DataError(
                f"alm: the pairs have no {what}; train from a recipe, which computes them (section [align]), open the "
                f"corpus with ParallelCorpus.with_alignments, or set {alternative}"
            )
        if self.phrases == "extracted":
            candidates = switching.SwitchCandidates.extracted(pairs, self.extraction, forms.texts)
        else:
            candidates = switching.SwitchCandidates.of(pairs, forms.texts)
        switched = switching.switch_phrases(candidates, self.code_switching, rng)
        return switched, switching.switched_tokens(pairs, switched, forms)
