"""Select the tokens to predict and corrupt the input: BERT's 80/10/10 rule with XLM's weighting by frequency.

`Masking` is a field of every masked objective. `Masking.batch` does everything; `Masking.choose`, `Masking.corrupt` and
`word_starts` are its steps, for objectives that need only some of them.

XLM draws tokens from a multinomial with weights (Conneau & Lample 2019, section 3.3); the paper does not say how many
are drawn from what, so `weighted_draw` offers three ways.

Legend: B sequences, L tokens of the longest, N predictions, C candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field

from interlace.core.schedules import Schedule, value_at, within
from interlace.data.layout import sentence_layout
from interlace.objectives import (
    Batch,
    BoolOrAuto,
    Component,
    Prepared,
    encoder_inputs,
    resolve_language_ids,
    resolve_reset_positions,
    tokens_by_language,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.core.randomness import Generator
    from interlace.data import Sentences
    from interlace.data.layout import Layout
    from interlace.data.vocab import Vocab
    from interlace.objectives import Resources

    Chosen = NDArray[np.bool_]
    Weights = NDArray[np.float32]

Rate = Annotated[Schedule, AfterValidator(lambda schedule: within(schedule, 0.0, 1.0))]


@dataclass(frozen=True)
class SamplingScale:
    """The factor that turns weights into probabilities, for every expected share of a corpus.

    If each token is drawn with probability min(1, factor x weight), a share `shares[k]` of the corpus is drawn for
    `factors[k]`; both are piecewise linear between entries and ascending.
    """

    factors: NDArray[np.float64]
    shares: NDArray[np.float64]

    @classmethod
    def of(cls, frequencies: NDArray[Any], weights: NDArray[Any]) -> SamplingScale:
        """Compute it from the count and the weight of each token type."""
        met = (frequencies > 0) & (weights > 0)
        order = np.argsort(-weights[met], kind="stable")
        counts, weights = frequencies[met][order].astype(np.float64), weights[met][order].astype(np.float64)
        certain = np.cumsum(counts)  # types so heavy that they are always drawn
        left = np.cumsum((counts * weights)[::-1])[::-1] - counts * weights
        chosen = certain + left / weights
        return cls(np.append(0.0, 1 / weights), np.append(0.0, chosen / max(counts.sum(), 1)))

    def at(self, share: float) -> float:
        """Return the factor for an expected share."""
        return float(np.interp(share, self.shares, self.factors))


@dataclass(frozen=True)
class MaskingTables:
    """Look-up tables by token id, both (vocabulary,).

    predictable: False for special tokens, which are never predicted.
    weights: sampling weights, or None for uniform sampling.
    scale: converts weights to probabilities for `weighted_draw = "subword"`.
    """

    predictable: NDArray[np.bool_]
    weights: NDArray[np.float32] | None
    scale: SamplingScale | None = None


@dataclass(frozen=True)
class PreparedMasked(Prepared):
    """Adds what `Masking.batch` reads.

    language_ids: whether language ids are fed. restart: whether positions restart on the second side.
    """

    tables: MaskingTables
    language_ids: bool
    restart: bool = False


@dataclass(frozen=True)
class MaskedTokens:
    """`ids` (B, L) after corruption; `rows`, `columns`, `labels` (N,) in row-major order."""

    ids: NDArray[np.int64]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    labels: NDArray[np.int64]


class Masking(Component):
    """Which tokens are predicted and what the model sees instead."""

    rate: Rate = Field(
        "0.15",
        description="Share of tokens to predict, a number or a schedule over steps (BERT: 0.15; mmBERT decreases it "
        "from 0.3 over 0.15 to 0.05 by stage, such as '0:0.3,79999:0.3,80000:0.15').",
    )
    unit: Literal["subword", "word"] = Field(
        "subword", description="Unit that is chosen: single subwords, or whole words (BERT's whole word masking)."
    )
    mask_share: float = Field(0.8, ge=0, le=1, description="Share of chosen tokens replaced by the mask (BERT: 0.8).")
    random_share: float = Field(0.1, ge=0, le=1, description="Share replaced by a random token (BERT: 0.1).")
    weighting: Literal["none", "inverse_sqrt_frequency"] = Field(
        "none", description="XLM, section 3.3: weights proportional to 1/sqrt(frequency); off in its public code."
    )
    weighted_draw: Literal["batch", "row", "subword"] = Field(
        "batch",
        description="Weighted sampling: 'batch' draws an exact share of the batch without replacement (XLM's code); "
        "'row' of each sequence (XLM, section 3.3: 'tokens in a text stream are sampled'); 'subword' draws each token "
        "independently, with probabilities that keep the share over the corpus (as Mikolov et al. 2013, which XLM "
        "follows).",
    )
    at_least_one: bool = Field(False, description="Predict at least one token of every sequence (evaluation).")

    def model_post_init(self, _context: Any) -> None:
        """Check that the two shares leave a share of unchanged tokens."""
        if self.mask_share + self.random_share > 1 + 1e-9:
            message = f"mask_share + random_share must not exceed 1, found {self.mask_share + self.random_share:g}"
            raise ValueError(message)

    @property
    def needs_frequencies(self) -> bool:
        """Whether weights are computed from token frequencies."""
        return self.weighting != "none"

    def for_evaluation(self) -> Masking:
        """Return uniform 15 %, always the mask, at least one per sequence (XLM's evaluation)."""
        return Masking(rate="0.15", mask_share=1.0, random_share=0.0, at_least_one=True)

    def prepare(
        self, resources: Resources, name: str, language_ids: BoolOrAuto, reset_positions: BoolOrAuto = False
    ) -> PreparedMasked:
        """Return the look-up tables and resolve settings that depend on the model; `name` is used in errors.

        Raises:
            SettingsError: the model has no language embeddings or cannot restart positions.
        """
        traits = resources.traits
        feed = resolve_language_ids(language_ids, traits, name)
        restart = resolve_reset_positions(reset_positions, traits, name)
        return PreparedMasked(resources.vocab, traits, self._tables(resources), feed, restart)

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
        """Return a batch of masked sequences; `languages` are those of the sides."""
        inputs = encoder_inputs(
            layout, prepared.traits, languages, restart=prepared.restart, language_ids=prepared.language_ids
        )
        masked = self.apply(layout, prepared, step, rng)
        return Batch(
            inputs={**inputs, "input_ids": masked.ids},
            at=(masked.rows, masked.columns),
            labels=masked.labels,
            counts={term: len(masked.labels)},
            tokens=layout.tokens,
            sides=layout.sides if len(languages) > 1 else None,
            languages=tokens_by_language(layout, languages),
        )

    def sentences(
        self, sentences: Sentences, prepared: PreparedMasked, max_length: int, *, term: str, step: int, rng: Generator
    ) -> Batch:
        """Return a batch with one sentence, or one sequence of running text, per row."""
        layout = sentence_layout(sentences, prepared.vocab, max_length)
        return self.batch(layout, (sentences.language,), prepared, term=term, step=step, rng=rng)

    def apply(self, layout: Layout, prepared: PreparedMasked, step: int, rng: Generator) -> MaskedTokens:
        """Choose tokens among the content of each sequence and corrupt a copy of the ids."""
        flat = layout.ids.reshape(-1)
        candidates = np.flatnonzero(layout.content.reshape(-1) & prepared.tables.predictable[flat])
        chosen = candidates[self.choose(candidates, layout, prepared.tables, value_at(self.rate, step), rng)]
        width = layout.ids.shape[1]
        if self.at_least_one:
            chosen = _one_per_row(chosen, candidates, width, rng)
        labels = flat[chosen]
        ids = layout.ids.copy()
        ids.reshape(-1)[chosen] = self.corrupt(labels, prepared.vocab, rng)
        return MaskedTokens(ids, chosen // width, chosen % width, labels)

    def choose(
        self, candidates: NDArray[np.int64], layout: Layout, tables: MaskingTables, rate: float, rng: Generator
    ) -> Chosen:
        """Draw the tokens to predict.

        Args:
            candidates: (C,) ascending indices into the flattened layout.
            layout: the sequences.
            tables: see `prepare`.
            rate: share to draw.
            rng: of the batch.

        Returns:
            (C,) whether each candidate is predicted.
        """
        weights = None if tables.weights is None else tables.weights[layout.ids.reshape(-1)[candidates]]
        if self.unit == "subword":
            return self._draw(candidates, weights, layout.ids.shape[1], rate, tables, rng)
        first = word_starts(candidates, layout)
        lengths = np.diff(first, append=len(candidates))
        if weights is not None and len(first):
            weights = (np.add.reduceat(weights, first) / lengths).astype(np.float32)
        return np.repeat(self._draw(candidates[first], weights, layout.ids.shape[1], rate, tables, rng), lengths)

    def corrupt(self, labels: NDArray[np.int64], vocab: Vocab, rng: Generator) -> NDArray[np.int64]:
        """Return (N,) the tokens that the model sees instead of `labels`: masks, random tokens or the same."""
        draw = rng.random(len(labels), dtype=np.float32)
        shown = np.where(draw < self.mask_share, vocab.mask, labels)
        swap = (draw >= self.mask_share) & (draw < self.mask_share + self.random_share)
        shown[swap] = vocab.regular_ids[rng.integers(len(vocab.regular_ids), size=int(swap.sum()))]
        return shown

    def _tables(self, resources: Resources) -> MaskingTables:
        predictable = np.ones(resources.vocab.size, np.bool_)
        predictable[resources.vocab.special_ids] = False
        if self.weighting == "none" or resources.frequencies is None:
            return MaskingTables(predictable, None)
        frequencies = np.where(predictable, resources.frequencies, 0)
        weights = (1 / np.sqrt(np.maximum(resources.frequencies, 1))).astype(np.float32)
        return MaskingTables(predictable, weights, SamplingScale.of(frequencies, weights))

    def _draw(
        self,
        units: NDArray[np.int64],
        weights: Weights | None,
        width: int,
        rate: float,
        tables: MaskingTables,
        rng: Generator,
    ) -> Chosen:
        """Draw units: flat indices of tokens, or of the first token of each word."""
        if weights is None:
            return np.asarray(rng.random(len(units), dtype=np.float32) < rate)
        if self.weighted_draw == "subword" and tables.scale is not None:
            return np.asarray(rng.random(len(weights), dtype=np.float32) < tables.scale.at(rate) * weights)
        if self.weighted_draw == "row":
            return draw_per_row(weights, units // width, rate, rng)
        return draw_weighted(weights, rate, rng)


def word_starts(candidates: NDArray[np.int64], layout: Layout) -> NDArray[np.int64]:
    """Return the candidates that begin a word, as indices into `candidates`."""
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


def draw_weighted(weights: Weights, share: float, rng: Generator) -> Chosen:
    """Draw ceil(share x n) of n without replacement, by exponential keys (Efraimidis & Spirakis 2006)."""
    chosen = np.zeros(len(weights), np.bool_)
    wanted = min(len(weights), int(np.ceil(share * len(weights))))
    if wanted:
        chosen[np.argpartition(_keys(weights, rng), wanted - 1)[:wanted]] = True
    return chosen


def draw_per_row(weights: Weights, rows: NDArray[np.int64], share: float, rng: Generator) -> Chosen:
    """Draw ceil(share x length) of each row without replacement; `rows` (n,) ascend."""
    chosen = np.zeros(len(weights), np.bool_)
    if not len(weights):
        return chosen
    starts = np.flatnonzero(np.diff(rows, prepend=rows[0] - 1))
    lengths = np.diff(starts, append=len(rows))
    order = np.lexsort((_keys(weights, rng), rows))
    rank = np.arange(len(rows)) - np.repeat(starts, lengths)
    chosen[order[rank < np.repeat(np.ceil(share * lengths), lengths)]] = True
    return chosen


def _keys(weights: Weights, rng: Generator) -> NDArray[np.float32]:
    return np.asarray(rng.standard_exponential(len(weights), dtype=np.float32) / weights)


def _one_per_row(
    chosen: NDArray[np.int64], candidates: NDArray[np.int64], width: int, rng: Generator
) -> NDArray[np.int64]:
    """Add a random candidate to every row without a chosen one."""
    shuffled = rng.permutation(candidates)
    rows, first = np.unique(shuffled // width, return_index=True)
    bare = ~np.isin(rows, chosen // width)
    return np.sort(np.concatenate([chosen, shuffled[first[bare]]]))
