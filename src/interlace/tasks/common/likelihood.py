"""The likelihood that a model gives to text, and how much text that is.

Text is read left to right, or with each subword alone masked. Perplexity per word and bits per character divide the
likelihood by the words and characters that its predicted subwords spell.

Legend: n sentences; S subwords of running text, ends of sentences included; B sequences of a batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
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
        batches.append(measured.batch(chosen, prepared, 0, generator(Purpose.EVALUATE, 0, start)))
    words = 0
    characters = 0
    if objective.architecture == "causal" and isinstance(rows, Sentences):
        words, characters = stream_size(rows, prepared.vocab)
    return HeldOutBatches(corpus, measured, batches, words, characters, name)


def summed_loss(
    backbone: Backbone, corpus: HeldOutBatches, device: torch.device
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
class TextSize:
    """(n,) numbers of words and of characters of each sentence that its predicted subwords spell."""

    words: NDArray[np.int64]
    characters: NDArray[np.int64]


@dataclass(frozen=True)
class Likelihood:
    """The likelihood of each sentence: (n,) the summed loss in nats, (n,) predicted subwords, and what these spell."""

    nats: NDArray[np.float64]
    subwords: NDArray[np.int64]
    size: TextSize

    @classmethod
    def zero(cls, size: TextSize) -> Likelihood:
        """Return that of sentences of which nothing is predicted yet."""
        return cls(np.zeros(len(size.words)), np.zeros(len(size.words), np.int64), size)

    def add(self, owners: NDArray[np.int64], nats: NDArray[np.float64]) -> None:
        """Add the losses of subwords, in nats; owners: the sentence of each subword."""
        self.nats[:] += np.bincount(owners, nats, len(self.nats))
        self.subwords[:] += np.bincount(owners, minlength=len(self.nats))


def causal_likelihood(
    backbone: Backbone, vocab: Vocab, text: Sentences, limits: InputLimits
) -> Likelihood:
    """Predict each subword of running text, and the end of each sentence, from those before it in its sequence.

    The first one of a sequence is predicted from nothing. The end of a sentence counts as a word and as a character.
    """
    clm = Clm(max_length=limits.max_length)
    prepared = clm.prepare(Resources(vocab, backbone.traits))
    length = limits.max_length - 2
    sequences = running_text(text, length, vocab.end)
    owners = np.repeat(np.arange(len(text)), text.lengths + 1)  # (S,) the sentence of each subword
    size = sizes_of(text, vocab)
    likelihood = Likelihood.zero(TextSize(size.words + 1, size.characters + 1))
    rows_per_batch = max(1, limits.tokens_per_batch // limits.max_length)
    for start in range(0, len(sequences), rows_per_batch):
        rows = np.arange(start, min(start + rows_per_batch, len(sequences)))
        batch = clm.batch(sequences.take(rows), prepared, 0, generator(Purpose.EVALUATE, 0))
        sequence, column = batch.at
        predicted = length * rows[sequence] + column  # `at` is one to the left of what is predicted
        likelihood.add(owners[predicted], _nats(backbone, batch))
    return likelihood


def pseudo_likelihood(
    backbone: Backbone, vocab: Vocab, text: Sentences, limits: InputLimits
) -> Likelihood:
    """Predict each subword of single sentences alone masked (Salazar et al. 2020, section 2); all must fit."""
    is_known = known_subwords(text, vocab)
    owners = text.ids.rows()[is_known]  # the sentence of each predicted subword
    columns = text.ids.columns()[is_known]
    lengths = text.lengths[owners] + 2  # of its sequence
    likelihood = Likelihood.zero(sizes_of(text, vocab))
    longest_first = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(longest_first):
        longest = int(lengths[longest_first[start]])
        rows_per_batch = max(1, limits.tokens_per_batch // longest)
        chosen = longest_first[start : start + rows_per_batch]
        layout = sentence_layout(text.take(owners[chosen]), vocab, limits.max_length)
        at = (np.arange(len(chosen)), columns[chosen] + 1)  # a sequence begins with a special token
        labels = layout.ids[at]
        layout.ids[at] = vocab.mask
        inputs = backbone.traits.encoder_inputs(layout, (text.language,))
        batch = Batch(inputs, at, labels, {"pseudo": len(labels)}, layout.tokens)
        likelihood.add(owners[chosen], _nats(backbone, batch))
        start += rows_per_batch
    return likelihood


def running_text(text: Sentences, length: int, separator: int) -> Sentences:
    """Return sequences of `length` subwords of the text, a separator behind each sentence; the last may be shorter."""
    subwords = len(text.ids.flat)
    size = subwords + len(text)
    positions = (
        np.arange(subwords) + text.ids.rows()
    )  # of the subwords, behind the separators so far
    ids = np.full(size, separator, np.int32)
    ids[positions] = text.ids.flat
    words = np.full(size, -1, np.int32)
    words[positions] = text.words.flat
    starts = np.arange(0, size, length)
    lengths = np.minimum(length, size - starts)
    return Sentences(
        Ragged.from_lengths(ids, lengths), Ragged.from_lengths(words, lengths), text.language
    )


def _nats(backbone: Backbone, batch: Batch) -> NDArray[np.float64]:
    """(N,) the loss of each prediction."""
    from interlace.objectives.common.losses import vocabulary_loss

    batch = batch.to(backbone.device)
    states = backbone.encode(batch.inputs)[batch.at]
    _, losses = vocabulary_loss(backbone, states, batch.labels)
    return np.asarray(losses.double().cpu().numpy())


@dataclass(frozen=True)
class SpelledSentences(Sentences):
    """Sentences with the number of characters that each subword adds to its line.

    characters: n rows of int32, blanks before a subword included; of the bytes of one character, the first adds it.
    """

    characters: Ragged = field(kw_only=True)

    def take(self, rows: NDArray[Any] | Sequence[int]) -> SpelledSentences:
        """Copy the given rows."""
        characters = self.characters.take(rows)
        return SpelledSentences(
            self.ids.take(rows), self.words.take(rows), self.language, characters=characters
        )


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
    starts, ends = spans.flat.astype(np.int64).T
    is_first = spans.columns() == 0
    has_subwords = spans.lengths > 0
    text_begins = np.repeat(
        starts[is_first], spans.lengths[has_subwords]
    )  # of the line of each subword
    line_begins = spans.rows() * (
        1 + int(ends.max(initial=0))
    )  # so that ends of different lines do not mix
    reached = np.maximum.accumulate(line_begins + np.maximum(ends, text_begins))
    reached_before = np.concatenate([[0], reached[:-1]])
    reached_before[is_first] = (line_begins + text_begins)[is_first]
    characters = Ragged.from_lengths((reached - reached_before).astype(np.int32), spans.lengths)
    whole = Sentences.concatenate(sentences)
    return SpelledSentences(whole.ids, whole.words, whole.language, characters=characters)


def truncated(text: SpelledSentences, length: int) -> SpelledSentences:
    """Return the first `length` subwords of each sentence."""
    is_kept = text.ids.columns() < length
    lengths = np.minimum(text.lengths, length)
    return SpelledSentences(
        Ragged.from_lengths(text.ids.flat[is_kept], lengths),
        Ragged.from_lengths(text.words.flat[is_kept], lengths),
        text.language,
        characters=Ragged.from_lengths(text.characters.flat[is_kept], lengths),
    )


def known_subwords(text: Sentences, vocab: Vocab) -> NDArray[np.bool_]:
    """(total,) which subwords are predicted: all but `<unk>` and other special tokens."""
    return ~np.isin(text.ids.flat, vocab.special_ids)


def sizes_of(text: Sentences, vocab: Vocab) -> TextSize:
    """Return how many words have a predicted subword, and how many characters predicted subwords have.

    Characters are those of the line where they are known, else of the decoded subwords.
    """
    is_counted = known_subwords(text, vocab) & (text.words.flat >= 0)
    rows = text.ids.rows()[is_counted]
    numbered_words = np.stack([rows, text.words.flat[is_counted]])
    rows_of_words = np.unique(numbered_words, axis=1)[0]  # the sentence of each word
    words = np.bincount(rows_of_words, minlength=len(text)).astype(np.int64)
    if isinstance(text, SpelledSentences):
        characters = np.bincount(rows, text.characters.flat[is_counted], len(text)).astype(np.int64)
    else:
        characters = np.array([len(vocab.decode(row)) for row in text.ids], np.int64)
    return TextSize(words, characters)


def stream_size(rows: Sentences, vocab: Vocab) -> tuple[int, int]:
    """Return words and characters of running text, one of each per sentence end; a cut word counts in both parts."""
    is_inside = rows.words.flat >= 0
    follows_end = ~np.concatenate([[False], is_inside[:-1]])
    begins_sequence = rows.ids.columns() == 0
    begins = is_inside & (follows_end | begins_sequence)  # pieces of text without a sentence end
    lengths = np.zeros(0, np.int64)
    if is_inside.any():
        pieces = np.cumsum(begins)[is_inside] - 1  # the piece of each subword
        lengths = np.bincount(pieces)
    ids = Ragged.from_lengths(rows.ids.flat[is_inside], lengths)
    words = Ragged.from_lengths(rows.words.flat[is_inside], lengths)
    size = sizes_of(Sentences(ids, words, rows.language), vocab)
    ends = int((~is_inside).sum())
    return int(size.words.sum()) + ends, int(size.characters.sum()) + ends
