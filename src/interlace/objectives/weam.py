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

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field, field_validator

from interlace.core.errors import SettingsError
from interlace.core.ragged import AnyArray, Arrays, IntArray, Ragged
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
    packs = True
    term = "multilingual"
    needs = frozenset({"links"})

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

    def batch(
        self, examples: Pairs, prepared: PreparedMasked, step: int, rng: Generator
    ) -> Batch:
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
        extra, partners = self.exchange(layout, links, batch.at)
        predictions = len(batch.labels)
        batch.counts[CROSS] = predictions if self.average == "masked" else len(extra["which"])
        batch.counts[SHARE] = predictions
        return replace(batch, extra=extra, places={"partners": partners})

    def exchange(
        self, layout: Layout, links: Ragged, at: tuple[AnyArray, AnyArray]
    ) -> tuple[Arrays, IntArray]:
        """Find for every prediction the states of the tokens it is aligned with, as a sparse sum.

        which: (A,) predictions made from exchanged states, as indices into the batch's predictions.
        to, weights: (E,) row `to` of the result, ascending, adds `weights` times the state at `places`.
        aligned: (1,) number of predictions that have a partner.

        Beside these arrays return the (E,) places.

        links: a row per pair; links of truncated words are ignored. at: rows and columns of the N predictions.
        """
        predicted = at[0] * layout.ids.shape[1] + at[1]  # (N,) places
        to, places = _partner_tokens(layout, links, predicted, self.expansion)
        if self.exclude_masked_partners:
            is_unmasked = ~np.isin(places, predicted)
            to = to[is_unmasked]
            places = places[is_unmasked]
        partner_counts = np.bincount(to, minlength=len(predicted))  # (N,)
        which = np.flatnonzero(partner_counts)
        extra: Arrays = {
            "aligned": np.array([len(which)], np.float32),
        }
        if self.normalization == "sum":
            extra["weights"] = np.ones(len(to), np.float32)
        else:
            extra["weights"] = (1 / partner_counts[to]).astype(np.float32)
        if self.positions == "all_masked":
            which = np.arange(len(predicted))
        extra["which"] = which
        extra["to"] = np.searchsorted(which, to)
        return extra, places

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
            states_at,
            vocabulary_loss,
            weighted_sums,
        )

        states = backbone.encode(batch.inputs)  # (B, L, H)
        total, _ = vocabulary_loss(backbone, states_at(states, batch.at), batch.labels)
        terms = {self.term: Term(total)}
        if not self.cross_lingual_weight:
            return terms
        extra = batch.extra  # eq. 5 to 8
        which = extra["which"]
        partners = batch.places["partners"]
        sums = weighted_sums(states, partners, extra["to"], extra["weights"], len(which))
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
        names = token_texts(vocab, original.reshape(-1)[batch.places["partners"]])
        partners: list[list[str]] = [[] for _ in which]
        for number, name in zip(batch.extra["to"].tolist(), names, strict=True):
            partners[number].append(name)
        texts = ["+".join(names_of_word) or "nothing" for names_of_word in partners]
        exchanged = place_texts(batch.at[0][which], batch.at[1][which], texts)
        return Preview({**preview.lines, "also from": exchanged})


def _partner_tokens(
    layout: Layout, links: Ragged, predicted: IntArray, expansion: Expansion
) -> tuple[IntArray, IntArray]:
    """Return the prediction, ascending, and the place of each token that a predicted one is aligned with.

    predicted: (N,) places of the predictions.

    Words have keys that ascend with row, side and number, so that a word's tokens are adjacent: with at most W words
    on a side, word w of side s in row r has the key (2 r + s) W + w. The link 1-0 of row 3 joins the keys 6 W + 1 and
    7 W + 0.
    """
    max_words = int(layout.words.max(initial=0)) + 1
    rows = np.arange(len(layout.ids))[:, None]
    word_keys = ((2 * rows + layout.sides) * max_words + layout.words).reshape(-1)  # by place
    key_count = 2 * len(rows) * max_words
    content = np.flatnonzero(layout.content)  # places of all tokens of words
    tokens = Ragged.from_lengths(content, np.bincount(word_keys[content], minlength=key_count))
    linked_words = _links_by_word(links, max_words, key_count)

    predicted_words = word_keys[predicted]
    partner_words = linked_words.take(predicted_words)
    partner_tokens = tokens.take(partner_words.flat)
    predictions = partner_words.rows()[partner_tokens.rows()]
    if expansion == "all":
        return predictions, partner_tokens.flat
    # positions of the predicted token and of its partner in their words
    positions = np.searchsorted(content, predicted) - tokens.offsets[predicted_words]
    position = positions[predictions]
    partner_position = partner_tokens.columns()
    if expansion == "first":
        is_linked = (position == 0) & (partner_position == 0)
    else:  # monotone: each token of the longer word has one partner, each of the shorter one several
        length = tokens.lengths[predicted_words][predictions]
        partner_length = partner_tokens.lengths[partner_tokens.rows()]
        is_linked = np.where(
            length >= partner_length,
            partner_position == position * partner_length // length,
            position == partner_position * length // partner_length,
        )
    return predictions[is_linked], partner_tokens.flat[is_linked]


def _links_by_word(links: Ragged, max_words: int, key_count: int) -> Ragged:
    """Return for each word, by key, the keys of the words that it is linked with, without truncated words."""
    is_whole = (links.flat < max_words).all(axis=1)
    first_key = 2 * max_words * links.rows()[is_whole]  # of each link's row
    source = first_key + links.flat[is_whole, 0]
    target = first_key + max_words + links.flat[is_whole, 1]
    words = np.concatenate([source, target])
    partners = np.concatenate([target, source])
    order = np.argsort(words, kind="stable")
    return Ragged.from_lengths(partners[order], np.bincount(words, minlength=key_count))
