"""WEAM, the word-exchange aligning model (Yang et al. 2021): a masked word is predicted twice.

    links     old - alte   doctor - Arzt   reads - liest
    before    <s> the old doctor reads </s> der alte Arzt liest </s>
    after     <s> the [M] doctor reads </s> der alte [M] liest  </s>
    predict   old   from its own state, and from that of "alte"
              Arzt  from its own state, and from that of "doctor"

The second prediction ties what the model makes of "alte" to the embedding of "old".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator

from interlace.alignment.subwords import Expansion
from interlace.core.errors import SettingsError
from interlace.data import Pairs
from interlace.data.layout import pair_layout
from interlace.objectives import (
    BoolOrAuto,
    MaskedObjective,
    Masking,
    PreparedMasked,
    Preview,
    Term,
    encoder_inputs,
    pieces,
    placed,
    resolve_language_ids,
    resolve_reset_positions,
)
from interlace.objectives._exchange import exchange, links_of, one_to_one, only

if TYPE_CHECKING:
    from torch import Tensor, nn

    from interlace.core.randomness import Generator
    from interlace.data.layout import Layout
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.models.families import Traits
    from interlace.objectives import Batch, Resources
    from interlace.objectives._preview import Cells

RATE = "0.3"
CROSS, SHARE = "cross_lingual", "aligned_share"


@dataclass(frozen=True)
class PreparedWeam(PreparedMasked):
    """Adds whether positions restart."""

    restart: bool


class Weam(MaskedObjective):
    """Predict masked subwords from both sides, and once more from the states of the words they are linked to.

    Reads: pairs with word links, in batches of similar length.
    Relations: with `cross_lingual_weight` 0 it is `tlm` on the same input, the baseline of the paper.
    Terms: `multilingual`, `cross_lingual`, and `aligned_share`, which has no weight: the share of predictions that
        have a partner, for the record.
    Heads: two square matrices (W2 and W3); a family whose head has no dense layer (XLM) has no W3 either.
    """

    reads = Pairs
    term: ClassVar[str] = "multilingual"
    needs: ClassVar[frozenset[str]] = frozenset({"links"})

    masking: Masking = Field(
        default_factory=lambda: Masking(rate=RATE),
        description="What is predicted and what is shown instead (Yang et al. 2021, section 3.1: a rate of 0.3).",
    )
    cross_lingual_weight: float = Field(
        1.0, ge=0, description="Lambda, the weight of the prediction from exchanged states (eq. 11: 1); 0: `tlm`."
    )
    expansion: Expansion = Field(
        "all",
        description="Links of words as links of subwords: all with all, first with first, or monotone. The paper "
        "aligns words and exchanges tokens, and does not say how (section 2).",
    )
    normalise: Literal["rows", "sum", "one_to_one"] = Field(
        "rows",
        description="A subword with several partners gets their mean, or their sum (eq. 5, literally: states then "
        "grow with fertility), or the mean over links that are the one best of both words.",
    )
    positions: Literal["masked_and_aligned", "all_masked"] = Field(
        "masked_and_aligned",
        description="Predict across only what has a partner, or all that is masked (eq. 10, literally: words without a "
        "partner are then predicted from a row of zeros).",
    )
    average: Literal["own", "masked"] = Field(
        "own",
        description="Divide the cross-lingual sum by its own number of predictions, or by that of all masked subwords "
        "(eq. 9 to 11, literally: both are sums, so the weight of the second falls with the share that is aligned).",
    )
    forbid_masked_partner: bool = Field(
        False, description="Leave partners out that are predicted themselves; the paper (section 2) is silent."
    )
    segments: bool = Field(
        False, description="Number the sides 0 and 1 in `token_type_ids`; the paper does not say, so all are 0."
    )
    reset_positions: BoolOrAuto = Field(
        False, description="Restart positions on the second side; the paper's input runs through (section 2)."
    )

    @field_validator("masking", mode="before")
    @classmethod
    def _papers_rate(cls, masking: Any) -> Any:
        """Keep the paper's rate where only other settings of the masking are given."""
        return {"rate": RATE, **masking} if isinstance(masking, dict) else masking

    def prepare(self, resources: Resources) -> PreparedWeam:
        """Resolve the switches; a model that cannot do what is asked is refused."""
        traits = resources.traits
        language_ids = resolve_language_ids(self.language_ids, traits, "weam")
        if self.segments:
            _must_take_segments(traits, language_ids=language_ids)
        restart = resolve_reset_positions(self.reset_positions, traits, "weam")
        return PreparedWeam(resources.vocab, traits, self.masking.tables(resources), language_ids, restart)

    def batch(self, examples: Pairs, prepared: PreparedWeam, step: int, rng: Generator) -> Batch:
        """Join the two sides, mask both as `tlm` does, and note where the partners of masked subwords stand."""
        layout = pair_layout(examples, prepared.vocab, self.max_length)
        languages = (examples.source.language, examples.target.language)
        inputs = encoder_inputs(
            layout, prepared.traits, languages, restart=prepared.restart, language_ids=prepared.language_ids
        )
        if self.segments:
            inputs["token_type_ids"] = layout.sides.astype(np.int64)
        batch = self.masking.batch(layout, inputs, languages, prepared, term=self.term, step=step, rng=rng)
        return self._with_exchange(batch, examples, layout) if self.cross_lingual_weight else batch

    def modules(self, backbone: Backbone) -> nn.ModuleDict:
        """W2, which starts as doing nothing, and W3, a copy of the dense layer of the checkpoint's own head."""
        from copy import deepcopy

        from torch import nn

        from interlace.objectives._exchange_modules import head_of, identity

        if self.segments:
            _must_have_segments(backbone)
        if not self.cross_lingual_weight:
            return nn.ModuleDict()
        dense, _ = head_of(backbone)
        layers = {"exchanged": identity(backbone.width)}
        return nn.ModuleDict(layers if dense is None else {**layers, "dense": deepcopy(dense)})

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:
        """Both cross-entropies from one pass of the encoder."""
        states = backbone.encode(batch.inputs)  # (B, L, H)
        terms = {self.term: Term(_entropy(backbone.logits(states[batch.at]), batch.labels))}
        if self.cross_lingual_weight:
            which = batch.extra["which"]
            crossed = _entropy(_crossed(backbone, heads, states, batch), batch.labels[which])
            terms[CROSS] = Term(crossed, self.cross_lingual_weight)
            terms[SHARE] = Term(batch.extra["aligned"].sum(), 0.0)
        return terms

    def preview(self, batch: Batch, vocab: Vocab) -> Preview:
        """Adds the words that the second prediction is made from, as they were before they were masked."""
        preview = super().preview(batch, vocab)
        return Preview({**preview.lines, "also from": _partners(batch, vocab)}) if "which" in batch.extra else preview

    def _with_exchange(self, batch: Batch, pairs: Pairs, layout: Layout) -> Batch:
        """The batch with the second prediction's places and counts."""
        links = links_of(pairs, "weam")
        if self.normalise == "one_to_one":
            links = only(links, one_to_one(links, pairs.confidence))
        found = exchange(
            layout,
            links,
            batch.at,
            expansion=self.expansion,
            mean=self.normalise != "sum",
            every=self.positions == "all_masked",
            forbid_masked=self.forbid_masked_partner,
        )
        predictions = len(batch.labels)
        crossed = predictions if self.average == "masked" else len(found.which)
        sums = {"which": found.which, "to": found.to, "places": found.places, "weights": found.weights}
        return replace(
            batch,
            counts={**batch.counts, CROSS: crossed, SHARE: predictions},
            extra={**sums, "aligned": np.array([found.aligned], np.float32)},
        )


def _crossed(backbone: Backbone, heads: nn.ModuleDict, states: Tensor, batch: Batch) -> Tensor:
    """(A, V) scores from exchanged states: eq. 5 to 8."""
    from interlace.objectives._exchange_modules import gathered, head_of

    extra = batch.extra
    swapped = gathered(states, extra["places"], extra["to"], extra["weights"], len(extra["which"]))
    changed = heads["exchanged"](swapped)
    _, rest = head_of(backbone)
    scores: Tensor = rest(heads["dense"](changed) if "dense" in heads else changed)
    return scores


def _partners(batch: Batch, vocab: Vocab) -> Cells:
    whole = batch.inputs["input_ids"].copy()
    whole[batch.at] = batch.labels
    which, to, places = (batch.extra[name] for name in ("which", "to", "places"))
    names = pieces(vocab, whole.reshape(-1)[places])
    joined = ["+".join(names[at] for at in np.flatnonzero(to == number)) or "nothing" for number in range(len(which))]
    return placed(batch.at[0][which], batch.at[1][which], joined)


def _entropy(logits: Tensor, labels: Tensor) -> Tensor:
    from torch.nn.functional import cross_entropy

    return cross_entropy(logits.float(), labels, reduction="sum")


def _must_take_segments(traits: Traits, *, language_ids: bool) -> None:
    if traits.language_input != "token_type_ids":
        raise SettingsError(f"weam: segments = true, but {traits.family} models read no token_type_ids")
    if language_ids:
        raise SettingsError(
            "weam: segments and language ids share token_type_ids; set segments = false or language_ids = false"
        )


def _must_have_segments(backbone: Backbone) -> None:
    table = backbone.family.language_embedding(backbone.model)
    rows = 0 if table is None else table.num_embeddings
    if rows < 2:
        raise SettingsError(f"weam: segments = true, but the model has {rows} segment embeddings; it takes 2")
