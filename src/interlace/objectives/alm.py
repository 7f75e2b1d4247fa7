"""Alternating language modelling (Yang et al. 2020): masked prediction over sentences that switch language.

    before  the old doctor reads three letters    der alte Arzt liest drei Briefe
    after   <s> the alte Arzt [M] three letters </s>                               predict: reads
    after   <s> der alte Arzt [M] three Briefe </s>                                predict: liest

Phrases of one side stand in for their translations, so words of both languages share one context.

What the paper leaves open (requirements, A1-A15), and where it is decided:

- A1 Its alpha is 0 for source alone and 1 for target alone, but "major source" is alpha >= 0.5. Here the kinds have
  names and shares: `source_share` is its alpha = 0, `target_share` its alpha = 1.
- A2, A3 Replaced words of the matrix sentence over its words stay strictly below `switch_fraction`, 0.3. So shares
  between 0.3 and 0.7 never occur; a range fills the gap.
- A4 `target_choice`: the counterpart in this pair, or the phrase table's argmax, which the construction speaks of.
- A5 "Highest probability" is phi of the inserted given the replaced phrase; equals are decided by the other direction.
  The least count is the phrase table's (`align.phrases.min_count`), the least probability `least_probability`.
- A6 Candidates are taken in random order, none overlapping another; phrases may be neighbours. A row in which nothing
  could be replaced counts as monolingual. Repeats only matter where text is written (`interlace code-switch`).
- A7 How words are linked and phrases extracted is the recipe's `[align]` section, or the rules in `extraction`.
- A8 Phrases are spans of words. Between blanks their subwords are those that the tokenizer gives for the switched
  text; in scripts without blanks a phrase keeps those of its own sentence, and one that shares a subword with its
  neighbour is not exchanged (`notes`). Exact there: `interlace code-switch`, then `mlm`.
- A9 `language_ids`: none unless the model has embeddings for them. Positions run straight through.
- A10, A15 Stopping, layers, batch size and steps are the recipe's; A11-A13 are about tables and translation.
- A14 Rows are drawn anew for every batch: no corpus of 20 copies in each direction is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from interlace.alignment.phrases import PhraseRules
from interlace.core.errors import DataError
from interlace.core.randomness import Generator, Purpose, generator
from interlace.data import Pairs
from interlace.data.layout import MAX_SPECIALS
from interlace.objectives import MaskedObjective, PreparedMasked, Term, encoder_inputs, resolve_language_ids
from interlace.objectives._switching import MONOLINGUAL, Choices, Switching, switch
from interlace.objectives._switching_exact import cut_otherwise
from interlace.objectives._switching_forms import Forms
from interlace.objectives._switching_rows import gathered

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import nn

    from interlace.models.backbone import Backbone
    from interlace.objectives import Batch, Resources


MIXED, REPLACED = "mixed_share", "replaced_share"
TOLD = 0.005  # from which share of rows on that are cut otherwise it is said


@dataclass(frozen=True)
class PreparedAlm(PreparedMasked):
    """Adds the forms of words that are moved."""

    forms: Forms


class Alm(MaskedObjective):
    """Predict masked subwords of sentences some of whose phrases stand in the other language.

    Reads: pairs with phrases (`stored` with the corpus, or `extracted` from its word links in every batch).
    Relations: `tlm` sets the two sentences side by side; `mlm` reads each alone.
    Terms: `alm`, and two without weight, for the record: `mixed_share` of the rows holds both languages, and
        `replaced_share` of the words of these rows stand in the other language.
    Pairs of an unwanted length are left out by the recipe's `[filters.length]` (ALM filters too, without a number).
    """

    reads = Pairs
    term: ClassVar[str] = "alm"

    switching: Switching = Field(default_factory=Switching, description="Which phrases are exchanged, and how many.")
    phrases: Literal["stored", "extracted"] = Field(
        "stored",
        description="'stored': found once, with the phrase table's probabilities. 'extracted': from the word links, in "
        "every batch; takes less disk, and knows no probabilities but those of the links.",
    )
    extraction: PhraseRules = Field(
        default_factory=PhraseRules, description="Which phrases are taken from links, where they are 'extracted'."
    )

    def model_post_init(self, _context: object) -> None:
        """Settings that would be passed over in silence are refused."""
        if self.phrases == "extracted" and self.switching.target_choice == "table_argmax":
            message = "phrases = 'extracted' has no table for switching.target_choice = 'table_argmax'; leave one out"
            raise ValueError(message)
        if self.phrases == "extracted" and self.switching.longest > self.extraction.max_phrase_length:
            longest = self.switching.longest
            message = f"switching.longest = {longest} needs extraction.max_phrase_length = {longest} too, which is less"
            raise ValueError(message)

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]
        """Links or phrases; the whole table only where its translations are chosen."""
        if self.switching.target_choice == "table_argmax":
            return frozenset({"phrases", "known"})
        return frozenset({"links"} if self.phrases == "extracted" else {"phrases"})

    def prepare(self, resources: Resources) -> PreparedAlm:
        """Look-up tables of the masking and of word forms."""
        language_ids = resolve_language_ids(self.language_ids, resources.traits, "alm")
        tables = self.masking.tables(resources)
        return PreparedAlm(resources.vocab, resources.traits, tables, language_ids, Forms(resources.vocab))

    def batch(self, examples: Pairs, prepared: PreparedAlm, step: int, rng: Generator) -> Batch:
        """Switch every pair, and mask.

        Raises:
            DataError: the pairs have no phrases, or no links where phrases are extracted from them.
        """
        switched = switch(self._choices(examples, prepared.forms), self.switching, rng)
        rows = gathered(examples, switched, prepared.forms)
        layout = rows.laid_out(prepared.vocab, self.max_length)
        languages = (examples.source.language, examples.target.language)
        inputs = encoder_inputs(layout, prepared.traits, languages, language_ids=prepared.language_ids)
        batch = self.masking.batch(layout, inputs, languages, prepared, term=self.term, step=step, rng=rng)
        mixed = switched.kinds >= MONOLINGUAL
        batch.counts |= {MIXED: len(mixed), REPLACED: max(int(switched.words[mixed].sum()), 1)}
        found = {MIXED: mixed.sum(), REPLACED: switched.replaced.sum()}
        batch.extra |= {name: np.array([count], np.float32) for name, count in found.items()}
        return batch

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:
        """Adds the shares, for the record."""
        shares = {name: Term(batch.extra[name].sum(), weight=0.0) for name in (MIXED, REPLACED)}
        return super().loss(backbone, heads, batch) | shares

    def notes(self, examples: Pairs, prepared: PreparedAlm) -> list[str]:
        """Where words are not separated by blanks, how many rows are not cut as their text would be."""
        rng = generator(Purpose.SAMPLE, 0)
        switched = switch(self._choices(examples, prepared.forms), self.switching, rng)
        share = cut_otherwise(gathered(examples, switched, prepared.forms).sentences, prepared.vocab)
        if share < TOLD:
            return []
        pair = f"{examples.source.language}-{examples.target.language}"
        remark = (
            f"{share:.1%} of {len(examples):,} switched rows of {pair} have other subwords than their text would get"
        )
        return [
            f"alm: {remark}: words run together there; `interlace code-switch`, and `mlm` on what it writes, are exact"
        ]

    def pair_costs(self, source: NDArray[Any], target: NDArray[Any]) -> NDArray[Any]:
        """As one sentence, mostly of one side; a replaced phrase may be a little longer than what it replaces.

        So a batch takes its budget on average: on captions (Multi30k en-de, batches of 2,048) 1.00 times, 82 % of it
        real subwords. Rows side by side of the side they are made from would not be fuller (79 %): by how much phrases
        make a row longer or shorter is not known before it is drawn.
        """
        costs: NDArray[Any] = np.minimum(np.maximum(source, target) + MAX_SPECIALS, self.max_length)
        return costs

    def _choices(self, pairs: Pairs, forms: Forms) -> Choices:
        if self.switching.target_choice == "table_argmax":
            if pairs.known is None:
                raise DataError(_missing("what a phrase table knows", "target_choice = 'in_pair'"))
        elif self.phrases == "extracted":
            if pairs.links is None:
                raise DataError(_missing("word links", "phrases = 'stored'"))
            from interlace.objectives._switching_links import extracted

            return extracted(pairs, self.extraction, forms.inside, forms.texts)
        elif pairs.phrases is None:
            raise DataError(_missing("phrases", "phrases = 'extracted'"))
        return Choices.of(pairs, forms.inside, forms.texts)


def _missing(what: str, other: str) -> str:
    return (
        f"alm: the pairs come without {what}; train from a recipe, which finds them ([align] says how), lay them "
        f"beside the corpus with ParallelCorpus.with_alignments, or set {other}"
    )
