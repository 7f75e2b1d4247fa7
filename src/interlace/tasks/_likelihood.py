"""The likelihood that a model gives to text: left to right, each subword with the others in view, or a masked share.

Legend: n sentences; S subwords of running text, ends of sentences included; B rows of a batch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data import Sentences
from interlace.data.layout import sentence_layout
from interlace.objectives import Batch, BoolOrAuto, Resources, encoder_inputs, resolve_language_ids
from interlace.objectives._smoothed import MOST_LOGITS
from interlace.objectives.clm import Clm
from interlace.objectives.mlm import Mlm
from interlace.tasks._held_out import hold_out
from interlace.tasks._sizes import known_subwords, sizes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone


@dataclass(frozen=True)
class Reading:
    """How text is read. max_length: longest row, specials included. tokens_per_batch: padded subwords in a batch."""

    max_length: int
    tokens_per_batch: int
    language_ids: BoolOrAuto = "auto"


@dataclass(frozen=True)
class Likelihood:
    """What a model makes of each sentence, (n,) each.

    nats: the summed loss. subwords: how many it sums over. words, characters: what these are part of; 0 where a share
    of the subwords is predicted only.
    """

    nats: NDArray[np.float64]
    subwords: NDArray[np.int64]
    words: NDArray[np.int64]
    characters: NDArray[np.int64]

    @property
    def total(self) -> float:
        """Nats of all sentences."""
        return float(self.nats.sum())


def causal(backbone: Backbone, vocab: Vocab, text: Sentences, reading: Reading, context: int) -> Likelihood:
    """Of running text, each subword after those before it in its row; where a sentence ends is predicted as well.

    context: subwords before those that a row predicts which it only reads; without any, a row's first one is guessed
        from nothing.
    """
    clm = Clm(max_length=reading.max_length, language_ids=reading.language_ids)
    prepared = clm.prepare(Resources(vocab, backbone.traits))
    length = reading.max_length - 2
    rows, read = running(text, length, context, vocab.end)
    starts = np.arange(len(rows)) * (length - context) - read
    found = _Sum(text, ends=1)
    size = max(1, reading.tokens_per_batch // reading.max_length)
    for start in range(0, len(rows), size):
        chosen = np.arange(start, min(start + size, len(rows)))
        batch = clm.batch(rows.take(chosen), prepared, 0, generator(Purpose.EVALUATE, 0))
        keep = batch.at[1] >= read[chosen][batch.at[0]]  # `at` is a place to the left of what is predicted
        batch = replace(batch, at=(batch.at[0][keep], batch.at[1][keep]), labels=batch.labels[keep])
        found.add(found.owners[starts[chosen][batch.at[0]] + batch.at[1]], _nats(backbone, batch, causal=True))
    words, characters = sizes_of(text, vocab)
    return Likelihood(found.nats, found.count, words + 1, characters + 1)


def pseudo(backbone: Backbone, vocab: Vocab, text: Sentences, reading: Reading) -> Likelihood:
    """Of sentences by themselves, each subword alone masked (Salazar et al. 2020, section 2); all must fit a row."""
    feed = resolve_language_ids(reading.language_ids, backbone.traits, "perplexity")
    known = known_subwords(text, vocab)
    owners, places = text.ids.rows()[known], text.ids.columns()[known]
    found = _Sum(text)
    for chosen in _alike(text.lengths[owners] + 2, reading.tokens_per_batch):
        layout = sentence_layout(text.take(owners[chosen]), vocab, reading.max_length)
        at = (np.arange(len(chosen)), places[chosen] + 1)
        labels = layout.ids[at]
        layout.ids[at] = vocab.mask
        inputs = encoder_inputs(layout, backbone.traits, (text.language,), language_ids=feed)
        batch = Batch(inputs, at, labels, {"pseudo": len(labels)}, layout.tokens)
        found.add(owners[chosen], _nats(backbone, batch))
    return Likelihood(found.nats, found.count, *sizes_of(text, vocab))


def masked(backbone: Backbone, vocab: Vocab, text: Sentences, reading: Reading) -> Likelihood:
    """Of running text, fixed draws of 15 % that show the mask: what is measured in pre-training (XLM's evaluation)."""
    mlm = Mlm(max_length=reading.max_length, language_ids=reading.language_ids)
    prepared = mlm.prepare(Resources(vocab, backbone.traits))
    length = reading.max_length - 2
    rows, _ = running(text, length, 0, vocab.end)
    found = _Sum(text, ends=1)
    first = 0
    for batch in hold_out(text.language, rows, mlm, prepared).batches:
        places = (first + batch.at[0]) * length + batch.at[1] - 1  # a row begins with a special
        found.add(found.owners[places], _nats(backbone, batch))
        first += len(batch.inputs["input_ids"])
    nothing = np.zeros(len(text), np.int64)
    return Likelihood(found.nats, found.count, nothing, nothing)


class _Sum:
    """Losses added up by sentence. ends: separators that stand behind each of them in running text."""

    def __init__(self, text: Sentences, ends: int = 0) -> None:
        self.nats = np.zeros(len(text))
        self.count = np.zeros(len(text), np.int64)
        self.owners = np.repeat(np.arange(len(text)), text.lengths + ends)  # the sentence of each subword

    def add(self, owners: NDArray[np.int64], nats: NDArray[np.float64]) -> None:
        self.nats += np.bincount(owners, nats, len(self.nats))
        self.count += np.bincount(owners, minlength=len(self.count))


def running(text: Sentences, length: int, context: int, separator: int) -> tuple[Sentences, NDArray[np.int64]]:
    """Rows of at most `length` subwords of the text with a separator behind each sentence, and how many are context.

    Together the rows hold every subword once beside what is context; the last row may be shorter.
    """
    shift = text.ids.rows() + np.arange(len(text.ids.flat))
    size = len(text.ids.flat) + len(text)
    ids, words = np.full(size, separator, np.int32), np.full(size, -1, np.int32)
    ids[shift], words[shift] = text.ids.flat, text.words.flat
    begins = np.arange(0, size, length - context)
    stops = np.minimum(begins + length - context, size)
    starts = np.maximum(begins - context, 0)
    built = Ragged.from_lengths(np.zeros(0, np.int32), stops - starts)
    places = np.repeat(starts - built.offsets[:-1], built.lengths) + np.arange(built.offsets[-1])
    rows = Sentences(Ragged(ids[places], built.offsets), Ragged(words[places], built.offsets), text.language)
    return rows, begins - starts


def _alike(lengths: NDArray[np.int64], budget: int) -> Iterator[NDArray[np.int64]]:
    """Rows of like length together, the longest first, in batches of at most `budget` padded subwords."""
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        size = max(1, budget // int(lengths[order[start]]))
        yield order[start : start + size]
        start += size


def _nats(backbone: Backbone, batch: Batch, *, causal: bool | None = None) -> NDArray[np.float64]:
    """(N,) the loss of each prediction; their logits are made in parts, as all together may not fit."""
    import torch
    from torch.nn.functional import cross_entropy

    batch = batch.to(backbone.device)
    states = backbone.encode(batch.inputs, causal=causal)[batch.at]
    size = max(1, MOST_LOGITS // backbone.vocab_size)
    parts = [
        cross_entropy(backbone.logits(some).float(), labels, reduction="none")
        for some, labels in zip(torch.split(states, size), torch.split(batch.labels, size), strict=True)
    ]
    return np.asarray(torch.cat(parts).double().cpu().numpy())
