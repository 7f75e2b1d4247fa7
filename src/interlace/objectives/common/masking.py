"""Select the tokens to predict and corrupt the input: BERT's 80/10/10 rule with XLM's weighting by frequency.

`Masking` is a field of every masked objective. `Masking.batch` does everything; `Masking.corrupt` is one of its steps,
for objectives that choose tokens themselves.

Legend: B sequences, L tokens of the longest, N predictions, C candidates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field

from interlace.core.ragged import BoolArray, FloatArray, IntArray, begins_run
from interlace.core.randomness import Generator
from interlace.core.schedules import Schedule, value_at, within
from interlace.data.layout import Layout
from interlace.objectives import Batch, Component, Prepared, Resources

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab

Chosen = BoolArray
Weights = FloatArray

Rate = Annotated[Schedule, AfterValidator(lambda schedule: within(schedule, 0.0, 1.0))]


@dataclass(frozen=True, kw_only=True)
class PreparedMasked(Prepared):
    """Adds look-up tables by token id.

    predictable: (vocabulary,) False for special tokens, which are never predicted.
    weights: (vocabulary,) sampling weights, or None for uniform sampling.
    """

    predictable: BoolArray
    weights: Weights | None = None


class Masking(Component):
    """Which tokens are predicted and what the model sees instead."""

    rate: Rate = Field(
        "0.15",
        description="Share of tokens to predict, a number or a schedule over steps such as "
        "'0:0.3,79999:0.3,80000:0.15' (BERT: 0.15; mmBERT: 0.3, 0.15 and 0.05 by stage).",
    )
    unit: Literal["subword", "word"] = Field(
        "subword",
        description="Unit to choose: single subwords, or whole words (BERT's whole word masking).",
    )
    mask_share: float = Field(
        0.8, ge=0, le=1, description="Share of chosen tokens replaced by the mask (BERT: 0.8)."
    )
    random_share: float = Field(
        0.1, ge=0, le=1, description="Share replaced by a random token (BERT: 0.1)."
    )
    weighting: Literal["none", "inverse_sqrt_frequency"] = Field(
        "none",
        description="'inverse_sqrt_frequency': weights proportional to 1/sqrt(frequency) (XLM, section 3.3; off in its "
        "public code), of which an exact share of each batch is drawn; 'none': equal weights.",
    )
    at_least_one: bool = Field(
        False, description="Predict at least one token of every sequence (evaluation)."
    )

    def model_post_init(self, _context: Any) -> None:
        """Check that the two shares leave a share of unchanged tokens."""
        if self.mask_share + self.random_share > 1 + 1e-9:
            total = self.mask_share + self.random_share
            raise ValueError(f"mask_share + random_share must not exceed 1, found {total:g}")

    @property
    def needs_frequencies(self) -> bool:
        """Whether weights are computed from token frequencies."""
        return self.weighting != "none"

    def for_evaluation(self) -> Masking:
        """Return uniform 15 %, always the mask, at least one per sequence (XLM's evaluation)."""
        return Masking(rate="0.15", mask_share=1.0, random_share=0.0, at_least_one=True)

    def prepare(self, prepared: Prepared, resources: Resources) -> PreparedMasked:
        """Add the look-up tables to what the objective has prepared."""
        predictable = np.ones(resources.vocab.size, np.bool_)
        predictable[resources.vocab.special_ids] = False
        frequencies = resources.frequencies
        weights = None
        if self.needs_frequencies and frequencies is not None:
            weights = (1 / np.sqrt(np.maximum(frequencies, 1))).astype(np.float32)
        return PreparedMasked(**vars(prepared), predictable=predictable, weights=weights)

    def batch(
        self,
        layout: Layout,
        languages: tuple[str, ...],
        prepared: PreparedMasked,
        *,
        term: str,
        step: int,
        rng: Generator,
    ) -> Batch:
        """Choose tokens of each sequence's content, mask them, and return the batch; term: name of the loss."""
        flat = layout.ids.reshape(-1)
        width = layout.ids.shape[1]
        candidates = np.flatnonzero(layout.content.reshape(-1) & prepared.predictable[flat])
        is_chosen = self._choose(candidates, layout, prepared, value_at(self.rate, step), rng)
        chosen = candidates[is_chosen]
        if self.at_least_one:  # add a random candidate to every row without a chosen one
            shuffled = rng.permutation(candidates)
            rows, first_of_row = np.unique(shuffled // width, return_index=True)
            is_missing = ~np.isin(rows, chosen // width)
            chosen = np.sort(np.concatenate([chosen, shuffled[first_of_row[is_missing]]]))
        labels = flat[chosen]
        ids = layout.ids.copy()
        ids.reshape(-1)[chosen] = self.corrupt(labels, prepared.vocab, rng)
        return Batch.of(
            replace(layout, ids=ids),
            languages,
            prepared,
            at=np.divmod(chosen, width),
            labels=labels,
            counts={term: len(labels)},
        )

    def _choose(
        self,
        candidates: IntArray,
        layout: Layout,
        prepared: PreparedMasked,
        rate: float,
        rng: Generator,
    ) -> Chosen:
        """Return (C,) which candidates, ascending places in the flattened layout, are predicted: a share `rate`."""
        starts = np.arange(len(candidates))  # of each unit among the candidates
        if self.unit == "word":
            rows = candidates // layout.ids.shape[1]
            sides = layout.sides.reshape(-1)[candidates]
            words = layout.words.reshape(-1)[candidates]
            starts = np.flatnonzero(begins_run(rows, sides, words))
        lengths = np.diff(starts, append=len(candidates))
        if prepared.weights is None:
            drawn = rng.random(len(starts), dtype=np.float32) < rate
        else:
            weights = prepared.weights[layout.ids.reshape(-1)[candidates]]
            if self.unit == "word" and len(starts):
                weights = (np.add.reduceat(weights, starts) / lengths).astype(np.float32)
            drawn = draw_weighted(weights, rate, rng)
        return np.repeat(drawn, lengths)

    def corrupt(self, labels: IntArray, vocab: Vocab, rng: Generator) -> IntArray:
        """Return (N,) the tokens that the model sees instead of `labels`: masks, random tokens or the same."""
        draw = rng.random(len(labels), dtype=np.float32)
        shown = np.where(draw < self.mask_share, vocab.mask, labels)
        is_random = (draw >= self.mask_share) & (draw < self.mask_share + self.random_share)
        numbers = rng.integers(len(vocab.regular_ids), size=int(is_random.sum()))
        shown[is_random] = vocab.regular_ids[numbers]
        return shown


def draw_weighted(weights: Weights, share: float, rng: Generator) -> Chosen:
    """Draw ceil(share x n) of n without replacement, by exponential keys (Efraimidis & Spirakis 2006)."""
    chosen = np.zeros(len(weights), np.bool_)
    wanted = min(len(weights), int(np.ceil(share * len(weights))))
    if wanted:
        keys = rng.standard_exponential(len(weights), dtype=np.float32) / weights
        chosen[np.argpartition(keys, wanted - 1)[:wanted]] = True
    return chosen
