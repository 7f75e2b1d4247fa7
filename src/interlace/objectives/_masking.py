"""Masked positions and what stands there: BERT's 80/10/10 (Devlin et al. 2019) with XLM's weighting by frequency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field

from interlace.schedules import Schedule, value_at, within
from interlace.settings import Settings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.data.layout import Layout
    from interlace.data.vocab import Vocab
    from interlace.objectives import Resources
    from interlace.randomness import Generator

Rate = Annotated[Schedule, AfterValidator(lambda schedule: within(schedule, 0.0, 1.0))]


@dataclass(frozen=True)
class Tables:
    """What masking looks up by subword id, both (vocabulary,).

    predictable: False for specials, which are never predicted (requirements, XLM behaviours).
    weights: how gladly a subword is chosen, or None for all alike.
    """

    predictable: NDArray[np.bool_]
    weights: NDArray[np.float32] | None


@dataclass(frozen=True)
class Masked:
    """`ids` (B, L) with corruption applied; `rows`, `columns`, `labels` (N,) in row-major order."""

    ids: NDArray[np.int64]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    labels: NDArray[np.int64]


class Masking(Settings):
    """Which subwords are predicted and what the model sees in their place."""

    rate: Rate = Field("0.15", description="Share of subwords predicted; a number or a schedule (BERT: 0.15).")
    mask_share: float = Field(0.8, ge=0, le=1, description="Share of the chosen shown as the mask (BERT: 0.8).")
    random_share: float = Field(0.1, ge=0, le=1, description="Share shown as a random ordinary subword (BERT: 0.1).")
    weighting: Literal["none", "inverse_sqrt_frequency"] = Field(
        "none", description="XLM, section 3.3: weights proportional to 1/sqrt(frequency); off in its public code."
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
        predictable[resources.vocab.specials] = False
        if self.weighting == "none" or resources.frequencies is None:
            return Tables(predictable, None)
        return Tables(predictable, (1 / np.sqrt(np.maximum(resources.frequencies, 1))).astype(np.float32))

    def apply(self, layout: Layout, tables: Tables, vocab: Vocab, step: int, rng: Generator) -> Masked:
        """Choose positions among the text's own subwords and corrupt a copy of the ids."""
        flat = layout.ids.reshape(-1)
        candidates = np.flatnonzero(layout.content.reshape(-1) & tables.predictable[flat])
        rate = value_at(self.rate, step)
        if tables.weights is None:
            chosen = candidates[rng.random(len(candidates), dtype=np.float32) < rate]
        else:
            chosen = _weighted(candidates, tables.weights[flat[candidates]], rate, rng)
        width = layout.ids.shape[1]
        if self.at_least_one:
            chosen = _one_a_row(chosen, candidates, width, rng)
        labels = flat[chosen]
        ids = layout.ids.copy()
        ids.reshape(-1)[chosen] = self._shown(labels, vocab, rng)
        return Masked(ids, chosen // width, chosen % width, labels)

    def for_evaluation(self) -> Masking:
        """Uniform 15 %, always the mask, at least one a row (XLM's evaluation): perplexities stay comparable."""
        return Masking(rate="0.15", mask_share=1.0, random_share=0.0, at_least_one=True)

    def _shown(self, labels: NDArray[np.int64], vocab: Vocab, rng: Generator) -> NDArray[np.int64]:
        draw = rng.random(len(labels), dtype=np.float32)
        shown = np.where(draw < self.mask_share, vocab.mask, labels)
        swap = (draw >= self.mask_share) & (draw < self.mask_share + self.random_share)
        shown[swap] = vocab.ordinary[rng.integers(len(vocab.ordinary), size=int(swap.sum()))]
        return shown


def _weighted(
    candidates: NDArray[np.int64], weights: NDArray[np.float32], rate: float, rng: Generator
) -> NDArray[np.int64]:
    """ceil(rate x candidates) positions without replacement, by exponential keys (Efraimidis & Spirakis 2006)."""
    wanted = min(len(candidates), int(np.ceil(rate * len(candidates))))
    if wanted == 0:
        return candidates[:0]
    keys = rng.standard_exponential(len(candidates), dtype=np.float32) / weights
    return np.sort(candidates[np.argpartition(keys, wanted - 1)[:wanted]])


def _one_a_row(
    chosen: NDArray[np.int64], candidates: NDArray[np.int64], width: int, rng: Generator
) -> NDArray[np.int64]:
    """Add a random candidate to every row that has candidates but none chosen."""
    shuffled = rng.permutation(candidates)
    rows, first = np.unique(shuffled // width, return_index=True)
    bare = ~np.isin(rows, chosen // width)
    return np.sort(np.concatenate([chosen, shuffled[first[bare]]]))
