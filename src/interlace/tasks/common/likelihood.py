"""The likelihood that a model gives to text, and how much text that is.

Text is read left to right. Perplexity per word and bits per character divide the likelihood by the words and characters
that its predicted subwords spell.

Legend: n sentences; S subwords of running text, ends of sentences included.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.errors import DataError
from interlace.core.ragged import AnyArray, BoolArray, DoubleArray, IntArray, Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data import Pairs, Sentences
from interlace.objectives import Batch, Objective, Prepared, Resources
from interlace.objectives.clm import Clm

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
    """The fixed evaluation batches of one corpus; name: what its perplexity is called."""

    corpus: str
    objective: Objective
    batches: list[Batch]
    name: str = "perplexity"


def hold_out(
    corpus: str,
    rows: Sentences | Pairs,
    objective: Objective,
    prepared: Prepared,
    name: str = "perplexity",
) -> HeldOutBatches:
    """Make batches whose masks depend on no seed and no batch size of a run; raise a DataError if there are no rows."""
    if not len(rows):
        raise DataError(
            f"the held-out text of {corpus!r} does not fill one row of {objective.max_length} subwords"
        )
    longest = int(rows.lengths.max() + 2)
    rows_per_batch = max(1, BATCH // longest)
    measured = objective.for_evaluation()
    batches = []
    for start in range(0, len(rows), rows_per_batch):
        stop = min(start + rows_per_batch, len(rows))
        chosen = rows.take(np.arange(start, stop))
        rng = generator(Purpose.EVALUATE, 0, start)
        batch = measured.batch(chosen, prepared, 0, rng)
        batches.append(batch)
    return HeldOutBatches(corpus, measured, batches, name)


def summed_loss(
    backbone: Backbone,
    corpus: HeldOutBatches,
    device: torch.device,
) -> tuple[float, float]:
    """Return the summed loss and the number of predictions."""
    from torch import nn

    total = 0.0
    count = 0.0
    heads = nn.ModuleDict()
    for batch in corpus.batches:
        terms = corpus.objective.loss(backbone, heads, batch.to(device))
        total += sum(float(term.total) for term in terms.values())
        count += sum(batch.counts.values())
    return total, count


@dataclass(frozen=True)
class Likelihood:
    """The likelihood of each sentence.

    nats: (n,) the summed loss. subwords: (n,) how many are predicted. words, characters: (n,) how many these spell.
    """

    nats: DoubleArray
    subwords: IntArray
    words: IntArray
    characters: IntArray


def causal_likelihood(
    backbone: Backbone,
    vocab: Vocab,
    text: SpelledSentences,
    limits: InputLimits,
) -> Likelihood:
    """Predict each subword of running text, and the end of each sentence, from those before it in its sequence.

    The first one of a sequence is predicted from nothing. The end of a sentence counts as a word and as a character.
    """
    clm = Clm(max_length=limits.max_length)
    prepared = clm.prepare(Resources(vocab, backbone.traits))
    length = limits.max_length - 2
    sequences = running_text(text, length, vocab.end)
    # (S,) the sentence of each subword
    owners = np.repeat(np.arange(len(text)), text.lengths + 1)
    nats = np.zeros(len(owners))
    is_predicted = np.zeros(len(owners), np.bool_)
    rows_per_batch = max(1, limits.tokens_per_batch // limits.max_length)
    for start in range(0, len(sequences), rows_per_batch):
        stop = min(start + rows_per_batch, len(sequences))
        rows = np.arange(start, stop)
        rng = generator(Purpose.EVALUATE, 0)
        batch = clm.batch(sequences.take(rows), prepared, 0, rng)
        sequence, column = batch.at
        # `at` is one to the left of what is predicted
        predicted = length * rows[sequence] + column
        nats[predicted] = _nats(backbone, batch)
        is_predicted[predicted] = True
    words, characters = sizes_of(text, vocab)
    return Likelihood(
        np.bincount(owners, nats).astype(np.float64),
        np.bincount(owners, is_predicted).astype(np.int64),
        words + 1,
        characters + 1,
    )


def running_text(text: Sentences, length: int, separator: int) -> Sentences:
    """Return sequences of `length` subwords of the text, a separator behind each sentence; the last may be shorter."""
    subwords = len(text.ids.flat)
    size = subwords + len(text)
    # of the subwords, behind the separators so far
    positions = np.arange(subwords) + text.ids.rows()
    ids = np.full(size, separator, np.int32)
    ids[positions] = text.ids.flat
    words = np.full(size, -1, np.int32)
    words[positions] = text.words.flat
    starts = np.arange(0, size, length)
    lengths = np.minimum(length, size - starts)
    id_rows = Ragged.from_lengths(ids, lengths)
    word_rows = Ragged.from_lengths(words, lengths)
    return Sentences(id_rows, word_rows, text.language)


def _nats(backbone: Backbone, batch: Batch) -> DoubleArray:
    """(N,) the loss of each prediction."""
    from interlace.objectives.common.losses import vocabulary_loss

    batch = batch.to(backbone.device)
    states = backbone.encode(batch.inputs)[batch.at]
    _, losses = vocabulary_loss(backbone, states, batch.labels)
    return losses.double().cpu().numpy()


@dataclass(frozen=True)
class SpelledSentences(Sentences):
    """Sentences with the number of characters that each subword adds to its line.

    characters: n rows of int32, blanks before a subword included; of the bytes of one character, the first adds it.
    """

    characters: Ragged = field(kw_only=True)

    def take(self, rows: AnyArray | Sequence[int]) -> SpelledSentences:
        """Copy the given rows."""
        ids = self.ids.take(rows)
        words = self.words.take(rows)
        characters = self.characters.take(rows)
        return SpelledSentences(ids, words, self.language, characters=characters)


def encode_spelled(texts: Iterable[Text], vocab: Vocab) -> SpelledSentences:
    """Encode all chunks; a subword adds the characters by which its span reaches beyond earlier ones of its line.

    For example, of subwords with the spans 0:2, 1:2 and 3:7 of a line, the first adds 2, the second 0, and the third 5,
    the blank before it included.
    """
    sentences: list[Sentences] = []
    offsets: list[Ragged] = []
    for text in texts:
        encoded, spans_of_text = vocab.encode_with_offsets(text)
        sentences.append(encoded)
        offsets.append(spans_of_text)
    spans = Ragged.concatenate(offsets)
    characters: list[Any] = []
    for spans_of_line in spans:  # (k, 2)
        reached = np.maximum.accumulate(spans_of_line[:, 1])
        characters.append(np.diff(reached, prepend=spans_of_line[:1, 0]))
    whole = Sentences.concatenate(sentences)
    return SpelledSentences(
        whole.ids,
        whole.words,
        whole.language,
        characters=Ragged.of(characters),
    )


def known_subwords(text: Sentences, vocab: Vocab) -> BoolArray:
    """(total,) which subwords are predicted: all but `<unk>` and other special tokens."""
    return ~np.isin(text.ids.flat, vocab.special_ids)


def sizes_of(text: SpelledSentences, vocab: Vocab) -> tuple[IntArray, IntArray]:
    """Two of (n,): how many words have a predicted subword, and how many characters predicted subwords have."""
    is_counted = known_subwords(text, vocab) & (text.words.flat >= 0)
    rows = text.ids.rows()[is_counted]
    numbered_words = np.stack([rows, text.words.flat[is_counted]])
    rows_of_words = np.unique(numbered_words, axis=1)[0]  # the sentence of each word
    words = np.bincount(rows_of_words, minlength=len(text)).astype(np.int64)
    characters = np.bincount(rows, text.characters.flat[is_counted], len(text)).astype(np.int64)
    return words, characters
