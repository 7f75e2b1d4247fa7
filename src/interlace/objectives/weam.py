"""WEAM, the word-exchange aligning model (Yang et al. 2021): every aligned masked word is predicted twice.

    alignments  old - alte   doctor - Arzt   reads - liest
    before      <s> the old doctor reads </s> der alte Arzt liest </s>
    after       <s> the [M] doctor reads </s> der alte [M] liest  </s>
    predict     old   from its own state, and from that of "alte"
                Arzt  from its own state, and from that of "doctor"

The second prediction aligns the contextual state of "alte" with the embedding of "old".

Legend: B sequences, L tokens of the longest, H width, V vocabulary; N predictions, A of them exchanged, E gathered
states. A place is an index into the flattened batch: row * L + column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from interlace.core.errors import SettingsError
from interlace.core.ragged import Ragged, ranges
from interlace.core.randomness import Generator
from interlace.data import Pairs
from interlace.data.layout import Layout, pair_layout
from interlace.objectives import (
    LAYOUT,
    Batch,
    BoolOrAuto,
    Objective,
    PairLayoutOrAuto,
    Preview,
    Resources,
    Term,
    place_texts,
    token_texts,
    with_pair_layout,
)
from interlace.objectives.common.masking import Masking, PreparedMasked
from interlace.objectives.word_aligned import one_to_one, require_links

if TYPE_CHECKING:
    from torch import nn

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone

Expansion = Literal["all", "first", "monotone"]

RATE = "0.3"
CROSS = "cross_lingual"
SHARE = "aligned_share"


class Weam(Objective):
    """Predict masked tokens from their own states, and again from the states of the words they are aligned with.

    Reads: pairs with word alignments, in batches of similar length.
    Relations: with `cross_lingual_weight` 0 it is `tlm` on the same input, the baseline of the paper.
    Terms: `multilingual`, `cross_lingual`, and without weight `aligned_share`, the share of predictions with a partner.
    Heads: two square matrices (W2 and W3); only W2 for a family whose vocabulary head has no dense layer (XLM).
    """

    reads = Pairs
    term: ClassVar[str] = "multilingual"
    needs: ClassVar[frozenset[str]] = frozenset({"links"})

    masking: Masking = Field(
        default_factory=lambda: Masking(rate=RATE),
        description="Which tokens are predicted and how they are masked (Yang et al. 2021, section 3.1: rate 0.3).",
    )
    cross_lingual_weight: float = Field(
        1.0,
        ge=0,
        description="Lambda, the weight of the prediction from exchanged states (eq. 11: 1); 0: `tlm`.",
    )
    expansion: Expansion = Field(
        "all",
        description="Token links of a word link. 'all': every token with every token; 'first': the first tokens; "
        "'monotone': in order. The paper aligns words and exchanges tokens without saying how (section 2).",
    )
    normalization: Literal["mean", "sum", "one_to_one"] = Field(
        "mean",
        description="A token with several partners gets the mean of their states, their sum (eq. 5, literally: states "
        "then grow with fertility), or the mean over mutually best links only.",
    )
    positions: Literal["masked_and_aligned", "all_masked"] = Field(
        "masked_and_aligned",
        description="Predict from exchanged states only what has a partner, or everything masked (eq. 10, literally: "
        "words without a partner are then predicted from zeros).",
    )
    average: Literal["own", "masked"] = Field(
        "own",
        description="Divide the cross-lingual sum by its own number of predictions, or by the number of masked tokens "
        "(eq. 9 to 11, literally: both terms are sums, so the weight of the second falls with the aligned share).",
    )
    exclude_masked_partners: bool = Field(
        False,
        description="Ignore partners that are predicted themselves; the paper (section 2) does not say.",
    )
    segment_ids: bool = Field(
        False,
        description="Number the sides 0 and 1 in `token_type_ids`; false: all 0. The paper does not say.",
    )
    layout: PairLayoutOrAuto = Field("auto", description=LAYOUT)
    reset_positions: BoolOrAuto = Field(
        False,
        description="Restart positions on the second side; the paper's do not restart (section 2).",
    )

    @field_validator("masking", mode="before")
    @classmethod
    def _default_rate(cls, masking: Any) -> Any:
        """Keep the paper's rate if only other settings of the masking are given."""
        if isinstance(masking, dict):
            return {"rate": RATE, **masking}
        return masking

    def prepare(self, resources: Resources) -> PreparedMasked:
        """Return the masking tables; check that the model can read segment ids if they are fed."""
        prepared = self.masking.prepare(super().prepare(resources), resources)
        traits = resources.traits
        if self.segment_ids and traits.language_input != "token_type_ids":
            raise SettingsError(
                f"weam: segment_ids = true, but {traits.family} models have no token_type_ids"
            )
        if self.segment_ids and prepared.language_ids:
            raise SettingsError(
                "weam: segment and language ids share token_type_ids; set segment_ids = false or language_ids = false"
            )
        return with_pair_layout(prepared, self)

    def batch(self, examples: Pairs, prepared: PreparedMasked, step: int, rng: Generator) -> Batch:
        """Join the two sides, mask both as `tlm`, and find the partners of masked tokens."""
        layout = pair_layout(
            examples, prepared.vocab, self.max_length, prepared.layout, restart=prepared.restart
        )
        batch = self.masking.batch(
            layout, examples.languages, prepared, term=self.term, step=step, rng=rng
        )
        if self.segment_ids:
            batch.inputs["token_type_ids"] = layout.sides.astype(np.int64)
        if not self.cross_lingual_weight:
            return batch
        links = require_links(examples, "weam")
        if self.normalization == "one_to_one":
            is_kept = one_to_one(links, examples.confidence)
            counts = np.bincount(links.rows()[is_kept], minlength=len(links))
            links = Ragged.from_lengths(links.flat[is_kept], counts)
        exchange = exchange_states(
            layout,
            links,
            batch.at,
            expansion=self.expansion,
            mean=self.normalization != "sum",
            every=self.positions == "all_masked",
            exclude_masked=self.exclude_masked_partners,
        )
        predictions = len(batch.labels)
        own_count = len(exchange.which)
        batch.counts[CROSS] = predictions if self.average == "masked" else own_count
        batch.counts[SHARE] = predictions
        extra = {
            "which": exchange.which,
            "to": exchange.to,
            "places": exchange.places,
            "weights": exchange.weights,
            "aligned": np.array([exchange.aligned], np.float32),
        }
        return replace(batch, extra=extra)

    def modules(self, backbone: Backbone) -> nn.ModuleDict:
        """Return W2, initialized to the identity, and W3, a copy of the dense layer of the vocabulary head."""
        from copy import deepcopy

        from torch import nn

        if self.segment_ids:
            table = backbone.family.language_embedding(backbone.model)
            rows = 0 if table is None else table.num_embeddings
            if rows < 2:
                raise SettingsError(
                    f"weam: segment_ids = true needs 2 segment embeddings, but the model has {rows}"
                )
        heads = nn.ModuleDict()
        if self.cross_lingual_weight:
            exchanged = nn.Linear(backbone.width, backbone.width)
            nn.init.eye_(exchanged.weight)
            nn.init.zeros_(exchanged.bias)
            heads["exchanged"] = exchanged
            dense = backbone.vocabulary_head().dense
            if dense is not None:
                heads["dense"] = deepcopy(dense).requires_grad_()
        return heads

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:
        """Return both cross-entropies from one pass of the encoder."""
        from interlace.objectives.common.losses import (
            linear_cross_entropy,
            vocabulary_loss,
            weighted_sums,
        )

        states = backbone.encode(batch.inputs)  # (B, L, H)
        total, _ = vocabulary_loss(backbone, states[batch.at], batch.labels)
        terms = {self.term: Term(total)}
        if not self.cross_lingual_weight:
            return terms
        extra = batch.extra  # eq. 5 to 8
        which = extra["which"]
        sums = weighted_sums(states, extra["places"], extra["to"], extra["weights"], len(which))
        changed = heads["exchanged"](sums)
        if "dense" in heads:
            changed = heads["dense"](changed)
        head = backbone.vocabulary_head()
        features = head.finish(changed)  # (A, H)
        total, _ = linear_cross_entropy(features, head.decoder, batch.labels[which])
        terms[CROSS] = Term(total, self.cross_lingual_weight)
        terms[SHARE] = Term(extra["aligned"].sum(), 0.0)
        return terms

    def preview(self, batch: Batch, vocab: Vocab) -> Preview:
        """Add the words that the second prediction is made from, as they are before masking."""
        preview = super().preview(batch, vocab)
        if "which" not in batch.extra:
            return preview
        original = batch.inputs["input_ids"].copy()
        original[batch.at] = batch.labels
        which = batch.extra["which"]
        names = token_texts(vocab, original.reshape(-1)[batch.extra["places"]])
        partners: list[list[str]] = [[] for _ in which]
        for number, name in zip(batch.extra["to"].tolist(), names, strict=True):
            partners[number].append(name)
        texts = ["+".join(names_of_word) or "nothing" for names_of_word in partners]
        exchanged = place_texts(batch.at[0][which], batch.at[1][which], texts)
        return Preview({**preview.lines, "also from": exchanged})


@dataclass(frozen=True)
class StateExchange:
    """A sparse sum over states: row `to` of the result adds `weights` times the state at `places`.

    which: (A,) predictions made from exchanged states, as indices into the batch's predictions.
    to: (E,) ascending indices into `which`. places: (E,). weights: (E,) float32.
    aligned: number of predictions that have a partner.
    """

    which: NDArray[np.int64]
    to: NDArray[np.int64]
    places: NDArray[np.int64]
    weights: NDArray[np.float32]
    aligned: int


def exchange_states(
    layout: Layout,
    links: Ragged,
    at: tuple[NDArray[Any], NDArray[Any]],
    *,
    expansion: Expansion = "all",
    mean: bool = True,
    every: bool = False,
    exclude_masked: bool = False,
) -> StateExchange:
    """Find for every prediction the states of the tokens it is aligned with.

    links: a row per pair; links of truncated words are ignored. at: rows and columns of the N predictions, in row-major
    order. expansion: how a link between words of several tokens is expanded. mean: divide by the number of partners.
    every: add a row of zeros for predictions without a partner. exclude_masked: ignore partners that are predicted.
    """
    count = len(at[0])
    predicted = at[0] * layout.ids.shape[1] + at[1]  # (N,) places
    to, places = _partners(layout, links, predicted, expansion)
    if exclude_masked:
        is_predicted = np.zeros(layout.ids.size, np.bool_)
        is_predicted[predicted] = True
        unmasked = ~is_predicted[places]
        to = to[unmasked]
        places = places[unmasked]
    partners = np.bincount(to, minlength=count)  # (N,)
    aligned = partners > 0
    weights = 1 / partners[to] if mean else np.ones(len(to))
    if every:
        which = np.arange(count)
        row = to
    else:
        which = np.flatnonzero(aligned)
        row = (np.cumsum(aligned) - 1)[to]
    return StateExchange(which, row, places, weights.astype(np.float32), int(aligned.sum()))


def _partners(
    layout: Layout, links: Ragged, predicted: NDArray[np.int64], expansion: Expansion
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the prediction, ascending, and the place of each partner; `predicted` are the places of the predictions.

    Words have keys that ascend with row, side and number, so that a word's tokens are adjacent: with at most W words
    on a side, word w of side s in row r has the key (2 r + s) W + w. The link 1-0 of row 3 joins the keys 6 W + 1 and
    7 W + 0.
    """
    places = np.flatnonzero(layout.content.reshape(-1))  # (T,) of all tokens of words
    words = layout.words.reshape(-1)
    sides = layout.sides.reshape(-1)
    max_words = int(words.max(initial=0)) + 1
    width = max(layout.ids.shape[1], 1)

    def keys_of(place: NDArray[np.int64]) -> NDArray[np.int64]:
        rows = place // width
        return np.asarray((2 * rows + sides[place]) * max_words + words[place])

    tokens = np.bincount(
        keys_of(places), minlength=len(layout.ids) * 2 * max_words
    )  # of each word, by key
    first_token = np.cumsum(tokens) - tokens  # of each word, in `places`
    predicted_words = keys_of(predicted)
    linked = _links_by_word(links, max_words, predicted_words, len(tokens))
    degree = linked.lengths[predicted_words]  # (N,) links of the word of each prediction
    prediction = np.repeat(np.arange(len(predicted)), degree)
    partner = linked.flat[ranges(linked.offsets[predicted_words], degree)]  # keys of partner words
    if expansion == "all":
        start = first_token[partner]
        count = tokens[partner]
    else:
        rank = (
            np.searchsorted(places, predicted) - first_token[predicted_words]
        )  # of the predicted token in its word
        own_tokens = tokens[predicted_words[prediction]]
        start, count = _partner_range(rank[prediction], own_tokens, tokens[partner], expansion)
        start += first_token[partner]
    return np.repeat(prediction, count), places[ranges(start, count)]


def _links_by_word(links: Ragged, max_words: int, wanted: NDArray[np.int64], words: int) -> Ragged:
    """Return for each word, by key, the keys of the words that it is linked with; only of the `wanted` words.

    Links of truncated words are left out.
    """
    ends = links.flat.astype(np.int64)
    is_whole = (ends < max_words).all(axis=1)
    first_key = 2 * max_words * links.rows()[is_whole]  # of each link's row
    source = first_key + ends[is_whole, 0]
    target = first_key + max_words + ends[is_whole, 1]
    owners = np.concatenate([source, target])
    partners = np.concatenate([target, source])
    is_wanted = np.zeros(words, np.bool_)
    is_wanted[wanted] = True
    ends_kept = np.flatnonzero(is_wanted[owners])
    by_owner = ends_kept[np.argsort(owners[ends_kept], kind="stable")]
    return Ragged.from_lengths(partners[by_owner], np.bincount(owners[ends_kept], minlength=words))


def _partner_range(
    rank: NDArray[np.int64],
    own_tokens: NDArray[np.int64],
    partner_tokens: NDArray[np.int64],
    expansion: Expansion,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first partner, and how many, of token `rank` of a word of `own_tokens`.

    Monotone: each token of the longer word has one partner, each of the shorter one several.
    """
    if expansion == "first":
        return np.zeros_like(rank), ((rank == 0) & (partner_tokens > 0)).astype(np.int64)
    start = -(-rank * partner_tokens // own_tokens)  # rounded up
    end = -(-(rank + 1) * partner_tokens // own_tokens)
    is_longer = own_tokens >= partner_tokens
    partner = np.where(is_longer, rank * partner_tokens // own_tokens, start)
    return partner, np.where(is_longer, partner_tokens > 0, end - start)
