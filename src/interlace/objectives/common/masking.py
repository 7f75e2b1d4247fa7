"""Select the tokens to predict and corrupt the input: BERT's 80/10/10 rule with XLM's weighting by frequency.

`Masking` is a field of every masked objective. `Masking.batch` does everything; `Masking.choose` and `Masking.corrupt`
are its steps, for objectives that need only one of them.

XLM draws tokens from a multinomial with weights (Conneau & Lample 2019, section 3.3); the paper does not say how many
are drawn from what, so `weighted_draw` offers three ways.

Legend: B sequences, L tokens of the longest, N predictions, C candidates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from interlace.core.randomness import Generator
from interlace.core.schedules import Schedule, value_at, within
from interlace.data.layout import Layout
from interlace.data.vocab import Vocab
from interlace.objectives import Batch, Component, Prepared, Resources

Chosen = NDArray[np.bool_]
Weights = NDArray[np.float32]

Rate = Annotated[Schedule, AfterValidator(lambda schedule: within(schedule, 0.0, 1.0))]


@dataclass(frozen=True, kw_only=True)
class PreparedMasked(Prepared):
    """Adds look-up tables by token id.

    predictable: (vocabulary,) False for special tokens, which are never predicted.
    weights: (vocabulary,) sampling weights, or None for uniform sampling.
    scale: converts weights to probabilities for `weighted_draw = "subword"`; see `sampling_scale`.
    """

    predictable: NDArray[np.bool_]
    weights: Weights | None = None
    scale: NDArray[np.float64] | None = None


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
        "public code); 'none': equal weights.",
    )
    weighted_draw: Literal["batch", "row", "subword"] = Field(
        "batch",
        description="Weighted sampling: 'batch' draws an exact share of each batch without replacement (XLM's code); "
        "'row', of each sequence (XLM, section 3.3: 'tokens in a text stream are sampled'); 'subword' draws each token "
        "independently, so that the share is exact only on average (Mikolov et al. 2013, cited by XLM).",
    )
    at_least_one: bool = Field(
        False, description="Predict at least one token of every sequence (evaluation)."
    )

    def model_post_init(self, _context: Any) -> None:
        """Check that the two shares leave a share of unchanged tokens."""
        if self.mask_share + self.random_share > 1 + 1e-9:
            raise ValueError(
                f"mask_share + random_share must not exceed 1, found {self.mask_share + self.random_share:g}"
            )

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
        if self.weighting == "none" or resources.frequencies is None:
            return PreparedMasked(**vars(prepared), predictable=predictable)
        weights = (1 / np.sqrt(np.maximum(resources.frequencies, 1))).astype(np.float32)
        scale = sampling_scale(np.where(predictable, resources.frequencies, 0), weights)
        return PreparedMasked(
            **vars(prepared), predictable=predictable, weights=weights, scale=scale
        )

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
        chosen = candidates[
            self.choose(candidates, layout, prepared, value_at(self.rate, step), rng)
        ]
        if self.at_least_one:  # add a random candidate to every row without a chosen one
            shuffled = rng.permutation(candidates)
            rows, first = np.unique(shuffled // width, return_index=True)
            chosen = np.sort(
                np.concatenate([chosen, shuffled[first[~np.isin(rows, chosen // width)]]])
            )
        labels = flat[chosen]
        ids = layout.ids.copy()
        ids.reshape(-1)[chosen] = self.corrupt(labels, prepared.vocab, rng)
        at = (chosen // width, chosen % width)
        counts = {term: len(labels)}
        return Batch.of(
            replace(layout, ids=ids), languages, prepared, at=at, labels=labels, counts=counts
        )

    def choose(
        self,
        candidates: NDArray[np.int64],
        layout: Layout,
        prepared: PreparedMasked,
        rate: float,
        rng: Generator,
    ) -> Chosen:
        """Return (C,) which candidates, ascending places in the flattened layout, are predicted: a share `rate`."""
        width = layout.ids.shape[1]
        if prepared.weights is None:
            weights = None
        else:
            weights = prepared.weights[layout.ids.reshape(-1)[candidates]]
        units: NDArray[np.int64] = candidates
        lengths: NDArray[np.int64] | int = 1
        if self.unit == "word":
            sides, words = (of.reshape(-1)[candidates] for of in (layout.sides, layout.words))
            owners = np.stack([candidates // width, sides, words])
            begins = np.ones(len(candidates), np.bool_)
            begins[1:] = (owners[:, 1:] != owners[:, :-1]).any(axis=0)
            first = np.flatnonzero(begins)
            units = candidates[first]
            lengths = np.diff(first, append=len(candidates))
            if weights is not None and len(first):
                weights = (np.add.reduceat(weights, first) / lengths).astype(np.float32)
        if weights is None:
            drawn = rng.random(len(units), dtype=np.float32) < rate
        elif self.weighted_draw == "subword" and prepared.scale is not None:
            drawn = (
                rng.random(len(units), dtype=np.float32)
                < float(np.interp(rate, *prepared.scale)) * weights
            )
        elif self.weighted_draw == "row":
            drawn = draw_per_row(weights, units // width, rate, rng)
        else:
            drawn = draw_weighted(weights, rate, rng)
        return np.repeat(drawn, lengths)

    def corrupt(self, labels: NDArray[np.int64], vocab: Vocab, rng: Generator) -> NDArray[np.int64]:
        """Return (N,) the tokens that the model sees instead of `labels`: masks, random tokens or the same."""
        draw = rng.random(len(labels), dtype=np.float32)
        shown = np.where(draw < self.mask_share, vocab.mask, labels)
        swap = (draw >= self.mask_share) & (draw < self.mask_share + self.random_share)
        shown[swap] = vocab.regular_ids[rng.integers(len(vocab.regular_ids), size=int(swap.sum()))]
        return shown


def sampling_scale(frequencies: NDArray[Any], weights: NDArray[Any]) -> NDArray[np.float64]:
    """Return ascending expected shares of a corpus, and the factor that turns weights into probabilities for each.

    If each token is drawn with probability min(1, factor x weight), that share of the corpus is drawn; factors are
    piecewise linear between the shares.

    frequencies, weights: (vocabulary,) count and weight of each token type.
    """
    met = (frequencies > 0) & (weights > 0)
    order = np.argsort(-weights[met], kind="stable")
    counts = frequencies[met][order].astype(np.float64)
    weights = weights[met][order].astype(np.float64)
    certain = np.cumsum(counts)  # types so heavy that they are always drawn
    left = np.cumsum((counts * weights)[::-1])[::-1] - counts * weights
    chosen = certain + left / weights
    return np.stack([np.append(0.0, chosen / max(counts.sum(), 1)), np.append(0.0, 1 / weights)])


def draw_weighted(weights: Weights, share: float, rng: Generator) -> Chosen:
    """Draw ceil(share x n) of n without replacement, by exponential keys (Efraimidis & Spirakis 2006)."""
    chosen = np.zeros(len(weights), np.bool_)
    wanted = min(len(weights), int(np.ceil(share * len(weights))))
    if wanted:
        keys = rng.standard_exponential(len(weights), dtype=np.float32) / weights
        chosen[np.argpartition(keys, wanted - 1)[:wanted]] = True
    return chosen


def draw_per_row(weights: Weights, rows: NDArray[np.int64], share: float, rng: Generator) -> Chosen:
    """Draw ceil(share x length) of each row without replacement; `rows` (n,) ascend."""
    chosen = np.zeros(len(weights), np.bool_)
    if not len(weights):
        return chosen
    starts = np.flatnonzero(np.diff(rows, prepend=rows[0] - 1))
    lengths = np.diff(starts, append=len(rows))
    order = np.lexsort((rng.standard_exponential(len(weights), dtype=np.float32) / weights, rows))
    rank = np.arange(len(rows)) - np.repeat(starts, lengths)
    chosen[order[rank < np.repeat(np.ceil(share * lengths), lengths)]] = True
    return chosen
