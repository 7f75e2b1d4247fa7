"""The likelihood that a model gives to text, and how much text that is.

Text is read left to right, with each subword alone masked, or with a fixed share masked. Perplexity per word and bits
per character divide the likelihood by the words and characters that its predicted subwords spell.

Legend: n sentences; S subwords of running text, ends of sentences included; B sequences of a batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data import Pairs, Sentences
from interlace.data.layout import sentence_layout
from interlace.objectives import Batch, Objective, Prepared, Resources
from interlace.objectives.clm import Clm
from interlace.objectives.mlm import Mlm

if TYPE_CHECKING:
    import torch

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.tasks.common.prediction import InputLimits
    from interlace.text import Text

BATCH = 1024  # tokens in a fixed batch, independent of a run's settings because masks are drawn batch by batch
_MAX_LOSS = 50.0  # a mean loss beyond this is that of a model that broke down


def perplexity(total: float, count: float) -> float:
    """Return the exponential of a summed loss divided by a count."""
    return math.exp(min(total / max(count, 1.0), _MAX_LOSS))


@dataclass(frozen=True)
class HeldOutBatches:
    """The fixed evaluation batches of one corpus.

    words, characters: in what is predicted, of a causal objective; 0 for others.
    name: what its perplexity is called.
    """

    corpus: str
    objective: Objective
    batches: list[Batch]
    words: int = 0
    characters: int = 0
    name: str = "perplexity"


def hold_out(
    corpus: str, rows: Sentences | Pairs, objective: Objective, prepared: Prepared, name: str = "perplexity"
) -> HeldOutBatches:
    """Make batches whose masks depend on no seed and no batch size of a run; raise a DataError if there are no rows."""
    if not len(rows):
        raise DataError(f"the held-out text of {corpus!r} does not fill one row of {objective.max_length} subwords")
    size = max(1, BATCH // int(rows.lengths.max() + 2))
    measured = objective.for_evaluation()
    batches = []
    for start in range(0, len(rows), size):
        chosen = rows.take(np.arange(start, min(start + size, len(rows))))
        batches.append(measured.batch(chosen, prepared, 0, generator(Purpose.EVALUATE, 0, start)))
    words, characters = 0, 0
    if objective.architecture == "causal" and isinstance(rows, Sentences):
        words, characters = stream_size(rows, prepared.vocab)
    return HeldOutBatches(corpus, measured, batches, words, characters, name)


def summed_loss(backbone: Backbone, corpus: HeldOutBatches, device: torch.device) -> tuple[float, float]:
    """Return the summed loss and the number of predictions."""
    from torch import nn

    total, count = 0.0, 0.0
    heads = nn.ModuleDict()
    for batch in corpus.batches:
        terms = corpus.objective.loss(backbone, heads, batch.to(device))
        total += sum(float(term.total) for term in terms.values())
        count += sum(batch.counts.values())
    return total, count


@dataclass(frozen=True)
class Likelihood:
    """The likelihood of each sentence, (n,) each.

    nats: the summed loss. subwords: predicted ones. words, characters: what these spell; 0 for masked shares.
    """

    nats: NDArray[np.float64]
    subwords: NDArray[np.int64]
    words: NDArray[np.int64]
    characters: NDArray[np.int64]

    @classmethod
    def empty(cls, count: int) -> Likelihood:
        """Return that of sentences of which nothing is predicted yet."""
        return cls(np.zeros(count), *(np.zeros(count, np.int64) for _ in range(3)))

    def add(self, owners: NDArray[np.int64], nats: NDArray[np.float64]) -> None:
        """Add the losses of subwords, in nats; owners: the sentence of each subword."""
        self.nats[:] += np.bincount(owners, nats, len(self.nats))
        self.subwords[:] += np.bincount(owners, minlength=len(self.nats))


def causal_likelihood(backbone: Backbone, vocab: Vocab, text: Sentences, limits: InputLimits) -> Likelihood:
    """Predict each subword of running text, and the end of each sentence, from those before it in its sequence.

    The first one of a sequence is predicted from nothing.
    """
    clm = Clm(max_length=limits.max_length, language_ids=limits.language_ids)
    prepared = clm.prepare(Resources(vocab, backbone.traits))
    length = limits.max_length - 2
    rows = running_text(text, length, vocab.end)
    found, owners = Likelihood.empty(len(text)), np.repeat(np.arange(len(text)), text.lengths + 1)
    size = max(1, limits.tokens_per_batch // limits.max_length)
    for start in range(0, len(rows), size):
        chosen = np.arange(start, min(start + size, len(rows)))
        batch = clm.batch(rows.take(chosen), prepared, 0, generator(Purpose.EVALUATE, 0))
        places = length * chosen[batch.at[0]] + batch.at[1]  # `at` is one to the left of what is predicted
        found.add(owners[places], _nats(backbone, batch, causal=True))
    words, characters = sizes_of(text, vocab)
    return replace(found, words=words + 1, characters=characters + 1)


def pseudo_likelihood(backbone: Backbone, vocab: Vocab, text: Sentences, limits: InputLimits) -> Likelihood:
    """Predict each subword of single sentences alone masked (Salazar et al. 2020, section 2); all must fit."""
    feed = backbone.traits.feeds_languages(limits.language_ids, "perplexity")
    known = known_subwords(text, vocab)
    owners, places = text.ids.rows()[known], text.ids.columns()[known]
    found, lengths = Likelihood.empty(len(text)), text.lengths[owners] + 2
    order = np.argsort(-lengths, kind="stable")  # similar lengths, the longest first
    while len(order):
        size = max(1, limits.tokens_per_batch // int(lengths[order[0]]))
        chosen, order = order[:size], order[size:]
        layout = sentence_layout(text.take(owners[chosen]), vocab, limits.max_length)
        at = (np.arange(len(chosen)), places[chosen] + 1)
        labels = layout.ids[at]
        layout.ids[at] = vocab.mask
        inputs = backbone.traits.encoder_inputs(layout, (text.language,), language_ids=feed)
        batch = Batch(inputs, at, labels, {"pseudo": len(labels)}, layout.tokens)
        found.add(owners[chosen], _nats(backbone, batch))
    words, characters = sizes_of(text, vocab)
    return replace(found, words=words, characters=characters)


def masked_likelihood(backbone: Backbone, vocab: Vocab, text: Sentences, limits: InputLimits) -> Likelihood:
    """Predict a fixed draw of 15 % of running text, as pre-training evaluates it (XLM's evaluation)."""
    mlm = Mlm(max_length=limits.max_length, language_ids=limits.language_ids)
    prepared = mlm.prepare(Resources(vocab, backbone.traits))
    length = limits.max_length - 2
    rows = running_text(text, length, vocab.end)
    found, owners = Likelihood.empty(len(text)), np.repeat(np.arange(len(text)), text.lengths + 1)
    first = 0
    for batch in hold_out(text.language, rows, mlm, prepared).batches:
        places = (first + batch.at[0]) * length + batch.at[1] - 1  # a sequence begins with a special token
        found.add(owners[places], _nats(backbone, batch))
        first += len(batch.inputs["input_ids"])
    return found


def running_text(text: Sentences, length: int, separator: int) -> Sentences:
    """Return sequences of `length` subwords of the text, a separator behind each sentence; the last may be shorter."""
    shift = text.ids.rows() + np.arange(len(text.ids.flat))
    size = len(text.ids.flat) + len(text)
    ids, words = np.full(size, separator, np.int32), np.full(size, -1, np.int32)
    ids[shift], words[shift] = text.ids.flat, text.words.flat
    starts = np.arange(0, size, length)
    lengths = np.minimum(length, size - starts)
    return Sentences(Ragged.from_lengths(ids, lengths), Ragged.from_lengths(words, lengths), text.language)


def _nats(backbone: Backbone, batch: Batch, *, causal: bool | None = None) -> NDArray[np.float64]:
    """(N,) the loss of each prediction."""
    from interlace.objectives.common.losses import vocabulary_loss

    batch = batch.to(backbone.device)
    states = backbone.encode(batch.inputs, causal=causal)[batch.at]
    return np.asarray(vocabulary_loss(backbone, states, batch.labels)[1].double().cpu().numpy())


@dataclass(frozen=True)
class SpelledSentences(Sentences):
    """Sentences with the number of characters that each subword adds to its line.

    characters: n rows of int32, blanks before a subword included; of the bytes of one character, the first adds it.
    """

    characters: Ragged = field(kw_only=True)

    def take(self, rows: NDArray[Any] | Sequence[int]) -> SpelledSentences:
        """Copy the given rows."""
        characters = self.characters.take(rows)
        return SpelledSentences(self.ids.take(rows), self.words.take(rows), self.language, characters=characters)


def encode_spelled(texts: Iterable[Text], vocab: Vocab) -> SpelledSentences:
    """Encode all chunks; a subword adds the characters by which its span reaches beyond earlier ones of its line."""
    parts = [vocab.encode_with_offsets(text) for text in texts]
    sentences, spans = Sentences.concatenate([one for one, _ in parts]), Ragged.concatenate([each for _, each in parts])
    flat, rows, first = spans.flat.astype(np.int64), spans.rows(), spans.columns() == 0
    origins = np.repeat(flat[first, 0], spans.lengths[spans.lengths > 0])  # where each line's text begins
    base = rows * (1 + int(flat.max(initial=0)))
    reached = np.maximum.accumulate(base + np.maximum(flat[:, 1], origins))
    before = np.concatenate([[0], reached[:-1]])
    before[first] = (base + origins)[first]
    added = Ragged.from_lengths((reached - before).astype(np.int32), spans.lengths)
    return SpelledSentences(sentences.ids, sentences.words, sentences.language, characters=added)


def truncated(text: Sentences, length: int) -> Sentences:
    """Return the first `length` subwords of each sentence."""
    keep, kept = text.ids.columns() < length, np.minimum(text.lengths, length)
    ids, words = (Ragged.from_lengths(side.flat[keep], kept) for side in (text.ids, text.words))
    if isinstance(text, SpelledSentences):
        characters = Ragged.from_lengths(text.characters.flat[keep], kept)
        return SpelledSentences(ids, words, text.language, characters=characters)
    return Sentences(ids, words, text.language)


def known_subwords(text: Sentences, vocab: Vocab) -> NDArray[np.bool_]:
    """(total,) which subwords are predicted: all but `<unk>` and other special tokens."""
    return ~np.isin(text.ids.flat, vocab.special_ids)


def sizes_of(text: Sentences, vocab: Vocab) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (n,) numbers of words with a predicted subword, and (n,) numbers of characters of predicted subwords.

    Characters are those of the line where they are known, else of the decoded subwords.
    """
    known = known_subwords(text, vocab) & (text.words.flat >= 0)
    rows = text.ids.rows()[known]
    words = np.unique(np.stack([rows, text.words.flat[known]]), axis=1)
    if isinstance(text, SpelledSentences):
        characters = np.bincount(rows, text.characters.flat[known], len(text)).astype(np.int64)
    else:
        characters = np.array([len(vocab.decode(row)) for row in text.ids], np.int64)
    return np.bincount(words[0], minlength=len(text)).astype(np.int64), characters


def stream_size(rows: Sentences, vocab: Vocab) -> tuple[int, int]:
    """Return words and characters of running text, one of each per sentence end; a cut word counts in both parts."""
    inside = rows.words.flat >= 0
    begins = inside & ~np.concatenate([[False], inside[:-1]])
    begins |= inside & (rows.ids.columns() == 0)
    lengths = np.bincount(np.cumsum(begins)[inside] - 1) if inside.any() else np.zeros(0, np.int64)
    ids, words = (Ragged.from_lengths(side.flat[inside], lengths) for side in (rows.ids, rows.words))
    counts, ends = sizes_of(Sentences(ids, words, rows.language), vocab), int((~inside).sum())
    return int(counts[0].sum()) + ends, int(counts[1].sum()) + ends
