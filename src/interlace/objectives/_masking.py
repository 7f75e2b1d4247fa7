"""Masked positions and what stands there: BERT's 80/10/10 (Devlin et al. 2019) with XLM's weighting by frequency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

import numpy as np
from pydantic import AfterValidator, Field

from interlace.core.schedules import Schedule, value_at, within
from interlace.core.settings import Settings
from interlace.objectives import Batch
from interlace.objectives._draws import Scale, by_weight, evenly, from_all, from_each_row
from interlace.objectives._inputs import tokens_by_language

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.core.randomness import Generator
    from interlace.data.layout import Layout
    from interlace.data.vocab import Vocab
    from interlace.objectives import Resources

Rate = Annotated[Schedule, AfterValidator(lambda schedule: within(schedule, 0.0, 1.0))]


@dataclass(frozen=True)
class Tables:
    """What masking looks up by subword id, both (vocabulary,).

    predictable: False for specials, which are never predicted (requirements, XLM behaviours).
    weights: how gladly a subword is chosen, or None for all alike.
    scale: from weights to probabilities, where each subword is drawn on its own.
    """

    predictable: NDArray[np.bool_]
    weights: NDArray[np.float32] | None
    scale: Scale | None = None


@dataclass(frozen=True)
class Masked:
    """`ids` (B, L) with corruption applied; `rows`, `columns`, `labels` (N,) in row-major order."""

    ids: NDArray[np.int64]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    labels: NDArray[np.int64]


class Prepared(Protocol):
    """What masking a batch needs of an objective's prepared arrays."""

    @property
    def vocab(self) -> Vocab:
        """The vocabulary."""

    @property
    def tables(self) -> Tables:
        """The look-up tables."""


class Masking(Settings):
    """Which subwords are predicted and what the model sees in their place."""

    rate: Rate = Field(
        "0.15",
        description="Share of subwords predicted, a number or a schedule over steps (BERT: 0.15; mmBERT falls from 0.3 "
        "over 0.15 to 0.05 by stage, such as '0:0.3,79999:0.3,80000:0.15').",
    )
    unit: Literal["subword", "word"] = Field(
        "subword",
        description="What is chosen: subwords, or whole words with all their subwords (BERT's later release).",
    )
    mask_share: float = Field(0.8, ge=0, le=1, description="Share of the chosen shown as the mask (BERT: 0.8).")
    random_share: float = Field(0.1, ge=0, le=1, description="Share shown as a random ordinary subword (BERT: 0.1).")
    weighting: Literal["none", "inverse_sqrt_frequency"] = Field(
        "none", description="XLM, section 3.3: weights proportional to 1/sqrt(frequency); off in its public code."
    )
    weighted_draw: Literal["batch", "row", "subword"] = Field(
        "batch",
        description="With weights: 'batch' draws an exact share of the whole batch without replacement (XLM's code), "
        "'row' of each row (XLM, section 3.3: 'tokens in a text stream are sampled'), 'subword' each on its own with a "
        "probability that keeps the share over the corpus (as Mikolov et al. 2013, which that section follows).",
    )
    at_least_one: bool = Field(False, description="Predict at least one subword in every row (evaluation).")

    def model_post_init(self, _context: Any) -> None:
        """The two shares must leave a share that stays as it is."""
        if self.mask_share + self.random_share > 1 + 1e-9:
            message = f"mask_share + random_share must not exceed 1, found {self.mask_share + self.random_share:g}"
            raise ValueError(message)

    def tables(self, resources: Resources) -> Tables:
        """Look-up tables for `apply`."""
        predictable = np.ones(resources.vocab.size, np.bool_)
        predictable[resources.vocab.special_ids] = False
        if self.weighting == "none" or resources.frequencies is None:
            return Tables(predictable, None)
        frequencies = np.where(predictable, resources.frequencies, 0)
        weights = (1 / np.sqrt(np.maximum(resources.frequencies, 1))).astype(np.float32)
        return Tables(predictable, weights, Scale.of(frequencies, weights))

    def batch(
        self,
        layout: Layout,
        inputs: dict[str, NDArray[Any]],
        languages: tuple[str, ...],
        prepared: Prepared,
        *,
        term: str,
        step: int,
        rng: Generator,
    ) -> Batch:
        """A batch of masked rows; `languages` names the language of each side."""
        masked = self.apply(layout, prepared.tables, prepared.vocab, step, rng)
        return Batch(
            inputs={**inputs, "input_ids": masked.ids},
            at=(masked.rows, masked.columns),
            labels=masked.labels,
            counts={term: len(masked.labels)},
            tokens=layout.tokens,
            sides=layout.sides if len(languages) > 1 else None,
            languages=tokens_by_language(layout, languages),
        )

    def apply(self, layout: Layout, tables: Tables, vocab: Vocab, step: int, rng: Generator) -> Masked:
        """Choose positions among the text's own subwords and corrupt a copy of the ids."""
        flat = layout.ids.reshape(-1)
        candidates = np.flatnonzero(layout.content.reshape(-1) & tables.predictable[flat])
        chosen = candidates[self._chosen(candidates, layout, tables, value_at(self.rate, step), rng)]
        width = layout.ids.shape[1]
        if self.at_least_one:
            chosen = _one_a_row(chosen, candidates, width, rng)
        labels = flat[chosen]
        ids = layout.ids.copy()
        ids.reshape(-1)[chosen] = self.shown(labels, vocab, rng)
        return Masked(ids, chosen // width, chosen % width, labels)

    def for_evaluation(self) -> Masking:
        """Uniform 15 %, always the mask, at least one a row (XLM's evaluation): perplexities stay comparable."""
        return Masking(rate="0.15", mask_share=1.0, random_share=0.0, at_least_one=True)

    def shown(self, labels: NDArray[np.int64], vocab: Vocab, rng: Generator) -> NDArray[np.int64]:
        """(n,) what the model sees in the place of chosen subwords."""
        draw = rng.random(len(labels), dtype=np.float32)
        shown = np.where(draw < self.mask_share, vocab.mask, labels)
        swap = (draw >= self.mask_share) & (draw < self.mask_share + self.random_share)
        shown[swap] = vocab.regular_ids[rng.integers(len(vocab.regular_ids), size=int(swap.sum()))]
        return shown

    def _chosen(
        self, candidates: NDArray[np.int64], layout: Layout, tables: Tables, rate: float, rng: Generator
    ) -> NDArray[np.bool_]:
        """(candidates,) whether each is predicted."""
        weights = None if tables.weights is None else tables.weights[layout.ids.reshape(-1)[candidates]]
        if self.unit == "subword":
            return self._drawn(candidates, weights, layout.ids.shape[1], rate, tables, rng)
        first = _first_of_words(candidates, layout)
        lengths = np.diff(first, append=len(candidates))
        if weights is not None and len(first):
            weights = (np.add.reduceat(weights, first) / lengths).astype(np.float32)
        return np.repeat(self._drawn(candidates[first], weights, layout.ids.shape[1], rate, tables, rng), lengths)

    def _drawn(
        self,
        units: NDArray[np.int64],
        weights: NDArray[np.float32] | None,
        width: int,
        rate: float,
        tables: Tables,
        rng: Generator,
    ) -> NDArray[np.bool_]:
        """(units,) whether each is chosen; `units` are the flat places of subwords, or of the first of each word."""
        if weights is None:
            return evenly(len(units), rate, rng)
        if self.weighted_draw == "subword" and tables.scale is not None:
            return by_weight(weights, tables.scale.at(rate), rng)
        if self.weighted_draw == "row":
            return from_each_row(weights, units // width, rate, rng)
        return from_all(weights, rate, rng)


def _first_of_words(candidates: NDArray[np.int64], layout: Layout) -> NDArray[np.int64]:
    """Where among the candidates a new word begins: in another row, on another side, or of another number."""
    owners = np.stack(
        [
            candidates // layout.ids.shape[1],
            layout.sides.reshape(-1)[candidates],
            layout.words.reshape(-1)[candidates],
        ]
    )
    new = np.ones(len(candidates), np.bool_)
    new[1:] = (owners[:, 1:] != owners[:, :-1]).any(axis=0)
    return np.flatnonzero(new)


def _one_a_row(
    chosen: NDArray[np.int64], candidates: NDArray[np.int64], width: int, rng: Generator
) -> NDArray[np.int64]:
    """Add a random candidate to every row that has candidates but none chosen."""
    shuffled = rng.permutation(candidates)
    rows, first = np.unique(shuffled // width, return_index=True)
    bare = ~np.isin(rows, chosen // width)
    return np.sort(np.concatenate([chosen, shuffled[first[bare]]]))
