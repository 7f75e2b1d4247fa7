"""What all objectives share that write a sentence after reading one: how it is laid out, and what it costs.

    reads   <s> today the old doctor </s>
    writes  <2de>  heute  der   alte  Arzt
    next    heute  der    alte  Arzt  </s>

The language that is asked for is the first thing the decoder reads. Its rows are padded on the right and read from left
to right, so that they need no mask.

Legend: B rows, L subwords of the longest that is read, T of the longest that is written, N predictions, H width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from pydantic import Field

from interlace.core.errors import SettingsError
from interlace.objectives import Batch, Objective, Prepared, Preview, Term, pieces, placed
from interlace.objectives._inputs import (
    BoolOrAuto,
    encoder_inputs,
    language_id,
    resolve_language_ids,
    tokens_by_language,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor, nn

    from interlace.core.ragged import Ragged
    from interlace.data.layout import Layout
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.objectives import Resources

DECODER_IDS, DECODER_LANGUAGES, DECODER_FIRST = "decoder_ids", "decoder_languages", "decoder_first"
PLAIN = "nll"


@dataclass(frozen=True)
class PreparedSeq2Seq(Prepared):
    """Adds whether language ids are fed, to both sides."""

    language_ids: bool


@dataclass(frozen=True)
class Writing:
    """What the decoder reads and must say next.

    ids: (B, T) the target's token and what was written so far, padded.
    lengths: (B,) how many of each row are real.
    at: (N,) rows and (N,) columns of the predictions. labels: (N,) what comes there.
    sides: (B,) which of the targets each row is written in.
    first: (B,) the place where each row begins; None: all do at the first.
    """

    ids: NDArray[np.int64]
    lengths: NDArray[np.int64]
    at: tuple[NDArray[np.int64], NDArray[np.int64]]
    labels: NDArray[np.int64]
    sides: NDArray[np.int8]
    first: NDArray[np.int64] | None = None


class Seq2SeqObjective(Objective):
    """Write a sentence after reading one. Subclass, lay both out in `batch`, and hand them to `laid_out`.

    Nothing is cut: a sentence without its end would teach to stop anywhere, so rows that do not fit are left out. What
    makes a row longer, as translated words do, stops where the row is full.
    """

    architecture = "seq2seq"
    drops_long = True

    max_length: int = Field(
        256, ge=8, description="Longest row in subwords, specials included, on either side; longer ones are left out."
    )
    label_smoothing: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="Share of a label's weight spread evenly over all rows of the table, specials and the "
        "label too, as torch's; fairseq's spreads it over the others (XLM: none).",
    )
    language_ids: BoolOrAuto = Field(
        "auto", description="Feed the language id of each subword to both sides; 'auto': where there are embeddings."
    )

    def prepare(self, resources: Resources) -> PreparedSeq2Seq:
        """Resolve the switch; a model that cannot do what is asked is refused."""
        wanted = resolve_language_ids(self.language_ids, resources.traits, self.term)
        return PreparedSeq2Seq(resources.vocab, resources.traits, wanted)

    def pair_costs(self, source: NDArray[Any], target: NDArray[Any]) -> NDArray[Any]:
        """As a row that is read and one that is written, both padded to the longer, so that both sides fit."""
        return self.sentence_costs(np.maximum(source, target))

    def sentence_costs(self, lengths: NDArray[Any]) -> NDArray[Any]:
        """Read and written."""
        read = super().sentence_costs(lengths)
        costs: NDArray[Any] = read + self.written(read)
        return costs

    def written(self, read: NDArray[Any]) -> NDArray[Any]:
        """(n,) subwords that are written, at most, where so many are read, specials included: all of them again."""
        return read

    def for_evaluation(self) -> Self:
        """The same, scored by the likelihood of what is right."""
        return self.model_copy(update={"label_smoothing": 0.0})

    def laid_out(
        self,
        read: Layout,
        languages: tuple[str, ...],
        writing: Writing,
        targets: tuple[str, ...],
        prepared: PreparedSeq2Seq,
    ) -> Batch:
        """A batch.

        Args:
            read: what the encoder reads, in `languages`, a name a side.
            languages: see `read`.
            writing: what the decoder reads, each row in one of the languages `targets`.
            targets: see `writing`.
            prepared: of this objective.
        """
        extra = {DECODER_IDS: writing.ids}
        if writing.first is not None:
            extra[DECODER_FIRST] = writing.first
        if prepared.language_ids:
            ids = np.array([language_id(prepared.traits, target) for target in targets], np.int64)
            extra[DECODER_LANGUAGES] = np.broadcast_to(ids[writing.sides][:, None], writing.ids.shape).copy()
        counts: dict[str, float] = {self.term: len(writing.labels)}
        if self.label_smoothing:
            counts[PLAIN] = len(writing.labels)
        return Batch(
            inputs=encoder_inputs(read, prepared.traits, languages, language_ids=prepared.language_ids),
            at=writing.at,
            labels=writing.labels,
            counts=counts,
            tokens=read.tokens + int(writing.lengths.sum()),
            extra=extra,
            sides=read.sides if len(languages) > 1 else None,
            languages=_languages(read, languages, writing, targets),
        )

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:  # noqa: ARG002
        """Sum of (smoothed) cross-entropies of what is written."""
        return self.entropies(backbone, batch.inputs, batch)

    def entropies(self, backbone: Backbone, inputs: dict[str, Tensor], batch: Batch) -> dict[str, Term]:
        """The terms of writing what a batch asks for after reading `inputs`."""
        from interlace.objectives._smoothed import smoothed_entropy

        states = self.predicting(backbone, inputs, batch)
        total, plain = smoothed_entropy(backbone, states, batch.labels, self.label_smoothing)
        terms = {self.term: Term(total)}
        return terms | {PLAIN: Term(plain, weight=0.0)} if self.label_smoothing else terms

    def predicting(self, backbone: Backbone, inputs: dict[str, Tensor], batch: Batch) -> Tensor:
        """(N, H) the decoder's states that the labels are predicted from, after reading `inputs`.

        Raises:
            SettingsError: the model has no decoder.
        """
        model = must_translate(backbone, self.term)
        states = model.encode(inputs)  # (B, L, H)
        written = {"input_ids": batch.extra[DECODER_IDS]}
        if DECODER_LANGUAGES in batch.extra and model.decoder_language_input is not None:
            written[model.decoder_language_input] = batch.extra[DECODER_LANGUAGES]
        first = batch.extra.get(DECODER_FIRST)
        hidden: Tensor = model.decode(states, inputs.get("attention_mask"), written, first)  # (B, T, H)
        return hidden[batch.at]

    def preview(self, batch: Batch, vocab: Vocab) -> Preview:
        """What the decoder reads, and what it must say next; columns are the places that it takes them to stand at."""
        ids = batch.extra[DECODER_IDS]
        first = batch.extra.get(DECODER_FIRST, np.zeros(len(ids), np.int64))
        rows, columns = np.nonzero(ids != vocab.pad)
        written = placed(rows, columns + first[rows], pieces(vocab, ids[rows, columns]))
        rows, columns = batch.at
        return Preview({"writes": written, "next": placed(rows, columns + first[rows], pieces(vocab, batch.labels))})


def written_rows(ids: Ragged, target: int, vocab: Vocab, max_length: int) -> Writing:
    """`[target] y1 .. yn` a row, from which y1 .. yn and the end are predicted.

    A row that is cut to `max_length` does not end there, so no end is predicted.
    """
    kept = np.minimum(ids.lengths, max_length - 1)
    shown = np.full((len(ids), int(kept.max(initial=0)) + 1), vocab.pad, np.int64)
    shown[:, 0] = target
    inside = np.arange(shown.shape[1] - 1) < kept[:, None]  # (B, T - 1)
    shown[:, 1:][inside] = ids.flat[ids.columns() < np.repeat(kept, ids.lengths)]
    after = np.full_like(shown, vocab.end)
    after[:, :-1][inside] = shown[:, 1:][inside]
    asked = np.arange(shown.shape[1]) < (kept + (kept == ids.lengths))[:, None]
    rows, columns = np.nonzero(asked)
    return Writing(shown, kept + 1, (rows, columns), after[rows, columns], np.zeros(len(ids), np.int8))


def must_translate(backbone: Any, what: str) -> Any:
    """The model, as one with a decoder.

    Raises:
        SettingsError: it is an encoder alone.
    """
    if not hasattr(backbone, "decode"):
        raise SettingsError(f"{what} writes what it has read, and this {backbone.traits.family} model has no decoder")
    return backbone


def _languages(read: Layout, languages: tuple[str, ...], writing: Writing, targets: tuple[str, ...]) -> dict[str, int]:
    """Real subwords of both sides by language, in the order of the alphabet: the same in every batch."""
    found = tokens_by_language(read, languages)
    for side, target in enumerate(targets):
        found[target] = found.get(target, 0) + int(writing.lengths[writing.sides == side].sum())
    return dict(sorted(found.items()))
