"""Masked language modelling that also aligns the embeddings of dictionary entries (ALIGN-MLM, Tang et al. 2022).

before  <s> the old doctor reads three letters </s> he works in Berlin </s>     dictionary: old/alt, doctor/Arzt
after   <s> the [M] doctor reads three sea     </s> he works in [M]    </s>     predict: old, letters, Berlin
        and the embeddings of `old` and `alt`, `doctor` and `Arzt` are pulled together at every step

The alignment loss reads no text: all micro-batches of a step have the same entries. With `layer` it aligns states of
the encoder for each word alone, `<s> word </s>`, in place of embeddings.

Legend: V vocabulary, H width; n training entries, P entries, W words, K negatives and T tokens of a step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from interlace.core.errors import SettingsError
from interlace.core.ragged import Arrays, IntArray, Ragged
from interlace.core.randomness import Generator, Purpose, generator
from interlace.data import Sentences
from interlace.data.layout import SPECIALS, sentence_layout
from interlace.models.settings import layer_number
from interlace.objectives import Batch, BoolOrAuto, Preview, Resources, Term
from interlace.objectives.common.dictionaries import Dictionary
from interlace.objectives.common.masking import PreparedMasked
from interlace.objectives.mlm import Mlm

if TYPE_CHECKING:
    from torch import Tensor, nn

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone, Tensors

PREVIEWED = 12  # dictionary entries in a preview
_INPUT = "align_inputs."  # begins the names of the encoder's inputs in `extra`


@dataclass(frozen=True, kw_only=True)
class PreparedAlignMlm(PreparedMasked):
    """Adds the entries to align."""

    entries: AlignmentEntries


class AlignMlm(Mlm):
    """Predict masked tokens, and align the embeddings of dictionary entries.

    Reads: text as `mlm`, and a dictionary.
    Relations: `mlm` with `alignment_weight` 0; `dict_mlm` shows dictionary entries in the text.
    Terms: `mlm`, the cross-entropy per prediction, and `align`, the alignment loss per entry.
    """

    needs = frozenset({"lexicon"})

    language_ids: BoolOrAuto = Field(
        "auto",
        description="Feed language ids; 'auto': if the model embeds them (ALIGN-MLM, G.5: none).",
    )
    dictionary: Dictionary = Field(
        default_factory=Dictionary, description="Dictionaries to learn from."
    )
    alignment_weight: float = Field(
        1.0,
        ge=0,
        description="Weight of `align` relative to `mlm` (ALIGN-MLM, G.5: 10, from scratch).",
    )
    alignment_loss: Literal["cosine", "hinge", "contrastive"] = Field(
        "cosine",
        description="cosine: 1 - cos of each entry, without negatives (ALIGN-MLM, section 3); hinge: the hardest of "
        "`negatives` must be less similar by `margin` (Lazaridou et al. 2015); contrastive: softmax over negatives "
        "(InfoNCE).",
    )
    embeddings: Literal["input", "output", "both"] = Field(
        "input",
        description="Which embeddings to align; tied ones are the same (ALIGN-MLM's code: input).",
    )
    layer: int | Literal["middle"] | None = Field(
        None,
        description="Align the states of this layer for each word alone, instead of the embeddings: 0 (embeddings "
        "after position and norm), 'middle' or -1 (the last). The encoder then reads every entry of a step.",
    )
    max_subwords: int = Field(
        4,
        ge=1,
        description="Maximum number of tokens per word, whose embeddings are averaged; words with more are excluded. "
        "1: only words that are one token (ALIGN-MLM, section 3).",
    )
    pairs_per_step: Literal["all"] | int = Field(
        "all",
        description="Number of entries per step, drawn uniformly (ALIGN-MLM's code: all).",
    )
    negatives: int = Field(
        256,
        ge=1,
        description="Number of target words per step that hinge and contrastive draw.",
    )
    margin: float = Field(0.4, gt=0, le=2, description="Margin of hinge, in cosine.")
    temperature: float = Field(0.1, gt=0, description="Temperature of contrastive.")

    def model_post_init(self, _context: object) -> None:
        """Check that a step has at least one entry, and that `layer` and `embeddings` are not both set."""
        if self.layer is not None and self.embeddings != "input":
            raise ValueError(
                f"layer = {self.layer!r} aligns states, so embeddings = {self.embeddings!r} has no effect"
            )
        if self.pairs_per_step != "all" and self.pairs_per_step < 1:
            raise ValueError(
                f"pairs_per_step is 'all' or at least 1, found {self.pairs_per_step}"
            )

    def prepare(self, resources: Resources) -> PreparedAlignMlm:
        """Split and tokenize the dictionaries; reject aligned states if the model reads language ids."""
        lexicons = resources.lexicons
        seed = resources.seed
        dictionaries = self.dictionary.prepare(
            lexicons, resources.vocab, self.name, seed=seed, max_tokens=self.max_subwords
        )
        source, target = np.unique(dictionaries.trained(), axis=1)
        count = len(source)
        if self.pairs_per_step != "all":
            count = min(self.pairs_per_step, count)
        negatives = 0 if self.alignment_loss == "cosine" else self.negatives
        entries = AlignmentEntries(dictionaries.words, source, target, count, negatives, seed)
        text = replace(super().prepare(resources), dictionaries=dictionaries)
        if self.layer is not None and text.language_ids:
            raise SettingsError(
                f"{self.name}: layer = {self.layer!r} needs language_ids = false"
            )
        return PreparedAlignMlm(**vars(text), entries=entries)

    def batch(
        self, examples: Sentences, prepared: PreparedAlignMlm, step: int, rng: Generator
    ) -> Batch:
        """Mask the text; add the entries of the step, which its micro-batches share."""
        batch = super().batch(examples, prepared, step, rng)
        batch.counts["align"] = prepared.entries.count
        extra: Arrays = dict(prepared.entries.of_step(step))
        if self.layer is not None:
            extra |= self._sequences(extra, prepared)
        return replace(batch, extra=extra)

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:
        """Return the cross-entropy of the masked tokens and the alignment loss of the entries."""
        terms = super().loss(backbone, heads, batch)
        extra = batch.extra
        if self.layer is not None:
            states = self._states(backbone, extra)
            total = self._alignment(states, extra["align_places"], extra)
            return {**terms, "align": Term(total, self.alignment_weight)}
        inputs = backbone.input_embeddings
        outputs = backbone.model.get_output_embeddings().weight
        if inputs is outputs or self.embeddings == "input":
            tables = [inputs]
        elif self.embeddings == "output":
            tables = [outputs]
        else:
            tables = [inputs, outputs]
        losses = [self._alignment(table, extra["align_ids"], extra) for table in tables]
        total = sum(losses[1:], losses[0]) / len(losses)
        return {**terms, "align": Term(total, self.alignment_weight)}

    def preview(self, batch: Batch, vocab: Vocab) -> Preview:
        """Add the entries and the negatives."""
        extra = batch.extra
        rows = np.split(extra["align_ids"], extra["align_starts"][1:])
        words = [vocab.decode(ids).strip() for ids in rows]
        pairs = []
        for source, target in zip(extra["align_source"], extra["align_target"], strict=True):
            pairs.append(f"{words[source]}-{words[target]}")
        more = f" and {len(pairs) - PREVIEWED} more" if len(pairs) > PREVIEWED else ""
        notes = [f"aligned: {' '.join(pairs[:PREVIEWED])}{more}"]
        negatives = [words[word] for word in extra.get("align_negatives", ())[:PREVIEWED]]
        if negatives:
            notes.append(f"negatives: {' '.join(negatives)}")
        return Preview(super().preview(batch, vocab).lines, notes)

    def _sequences(self, extra: dict[str, IntArray], prepared: PreparedAlignMlm) -> Arrays:
        """Return the encoder's input for the step's words, and (T,) the place of each token in it."""
        ids = extra["align_ids"].astype(np.int32)
        offsets = np.append(extra["align_starts"], len(ids))
        word_numbers = Ragged(np.zeros_like(ids), offsets)
        words = Sentences(Ragged(ids, offsets), word_numbers, "")
        layout = sentence_layout(words, prepared.vocab, self.max_subwords + SPECIALS)
        sequences: Arrays = {"align_places": np.flatnonzero(layout.content)}
        inputs = prepared.traits.encoder_inputs(layout, (), language_ids=False)
        for name, array in inputs.items():
            sequences[_INPUT + name] = array
        return sequences

    def _states(self, backbone: Backbone, extra: Tensors) -> Tensor:
        """Return the (W * L, H) states of the layer for the step's words, each a sequence of its own."""
        inputs = {}
        for key, tensor in extra.items():
            if key.startswith(_INPUT):
                inputs[key.removeprefix(_INPUT)] = tensor
        states = backbone.hidden_states(inputs)
        depth = len(states) - 1
        if self.layer == "middle":
            layer = (depth + 1) // 2
        else:
            layer = self.layer or 0
        return states[layer_number(f"{self.name}: layer", layer, depth)].flatten(end_dim=1)

    def _alignment(self, weights: Tensor, ids: Tensor, extra: Tensors) -> Tensor:
        """Return the alignment loss summed over entries; ids: (T,) the rows of `weights` that words are means of."""
        import torch
        from torch.nn.functional import cross_entropy, embedding_bag, normalize

        # in bfloat16 a cosine has two digits
        with torch.autocast(weights.device.type, enabled=False):
            words = embedding_bag(ids, weights, extra["align_starts"], mode="mean").float()
            words = normalize(words)  # (W, H)
            source = words[extra["align_source"]]
            positive = (source * words[extra["align_target"]]).sum(dim=1)  # (P,)
            if self.alignment_loss == "cosine":
                return (1 - positive).sum()
            negative = source @ words[extra["align_negatives"]].T  # (P, K)
            places = tuple(extra["align_known"])
            negative = negative.index_put(places, negative.new_tensor(-torch.inf))
            if self.alignment_loss == "hinge":
                return (self.margin - positive + negative.amax(dim=1)).clamp(min=0).sum()
            scores = torch.cat([positive[:, None], negative], dim=1) / self.temperature
            labels = scores.new_zeros(len(scores), dtype=torch.long)  # the first column
            return cross_entropy(scores, labels, reduction="sum")


@dataclass(frozen=True)
class AlignmentEntries:
    """The training entries of all dictionaries, and how many of them a step takes.

    words: rows of token ids; source, target: (n,) word indices of each distinct entry.
    count: P. negatives: K, or 0. seed: of the draws.
    """

    words: Ragged
    source: IntArray
    target: IntArray
    count: int
    negatives: int
    seed: int

    def of_step(self, step: int) -> dict[str, IntArray]:
        """Return the entries of a step as the loss reads them.

        align_ids, align_starts: (T,) token ids of the step's words, (W,) start of each word.
        align_source, align_target: (P,) words. align_negatives: (K,) words.
        align_known: (2, ...) (row, column) of source words and negatives that are translations of each other.
        """
        takes_all = self.count == len(self.source)
        if takes_all and not self.negatives:
            return self._all_entries
        rng = generator(Purpose.DICTIONARY, self.seed, step, 1)
        source = self.source
        target = self.target
        if not takes_all:
            drawn = rng.permutation(len(source))[: self.count]
            drawn.sort()
            source = source[drawn]
            target = target[drawn]
        negatives = rng.permutation(self._targets)[: self.negatives]
        return self._as_read(source, target, negatives)

    @cached_property
    def _all_entries(self) -> dict[str, IntArray]:
        return self._as_read(self.source, self.target, self.target[:0])

    @cached_property
    def _targets(self) -> IntArray:
        return np.unique(self.target)

    @cached_property
    def _translations(self) -> Any:
        """A sparse matrix of source words and target words: not 0 for translations and for the same word."""
        from scipy.sparse import coo_array, eye_array

        size = len(self.words)
        entries = coo_array(
            (np.ones(len(self.source)), (self.source, self.target)), (size, size)
        )
        return (entries + eye_array(size)).tocsc()

    def _as_read(
        self, source: IntArray, target: IntArray, negatives: IntArray
    ) -> dict[str, IntArray]:
        """Return the arrays of `of_step`; words are renumbered in the order of those that are used."""
        used = np.unique(np.concatenate([source, target, negatives]))
        numbers = np.zeros(len(self.words), np.int64)  # of the used words
        numbers[used] = np.arange(len(used))
        rows = self.words.take(used)
        arrays = {
            "align_ids": rows.flat.astype(np.int64),
            "align_starts": rows.offsets[:-1].copy(),
            "align_source": numbers[source],
            "align_target": numbers[target],
        }
        if len(negatives):
            arrays["align_negatives"] = numbers[negatives]
            known = self._translations[:, negatives].tocsr()[source].nonzero()
            arrays["align_known"] = np.stack(known).astype(np.int64)
        return arrays
