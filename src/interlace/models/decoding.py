"""Search: the subwords that a model finds most likely, or draws, one after another.

Greedy, sampled and beam search walk through a `DecodingState`: a batch that has been read and remembers what was said so
far. One model is a decoding, several together are one, and so is whatever else can `step` and `select`. Rows end at
different times; those that have ended leave the batch, so that no row costs more than its own length.

Legend: B rows of a batch, R rows that are walked (B, or B times the beam), N hypotheses of a row, T subwords of the
longest, V vocabulary.

What a search walks through: one model, or several that decide together, and a batch that they have read.

Legend: B rows, L subwords of the longest source, R rows of a search, V vocabulary.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
import torch

from interlace.core.errors import SettingsError, did_you_mean
from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch import Tensor, nn

    from interlace.data.vocab import Vocab
    from interlace.models.decoder import KVCache
    from interlace.models.seq2seq import Seq2Seq


class DecodingState(Protocol):
    """What a search walks through. `step` changes it in place; `select` makes another one of it."""

    def step(self, tokens: Tensor) -> Tensor:
        """(R, V) float32 scores of the next subword, from the (R,) subwords that were chosen last.

        The search may write into what it gets.
        """

    def select(self, rows: Tensor) -> Self:
        """The decoding of the (R',) named rows; a row may be named more than once, or not at all."""


@dataclass(frozen=True)
class TokenConstraints:
    """Which subwords a search may choose.

    end: ends a row. pad: fills rows up. never: (n,) ids that are never chosen.
    """

    end: int
    pad: int
    never: tuple[int, ...] = ()

    @classmethod
    def of(cls, vocab: Vocab, rows: int, *, unknown: bool = False) -> TokenConstraints:
        """Those of a vocabulary: nothing special but the end, and nothing that the model's table has beyond it.

        Args:
            vocab: the vocabulary.
            rows: of the model's table.
            unknown: whether the subword may be chosen that stands for what cannot be spelt.
        """
        never = {*vocab.special_ids.tolist(), *range(vocab.size, rows)} - {vocab.end}
        return cls(vocab.end, vocab.pad, tuple(sorted(never - ({vocab.unk} if unknown else set()))))


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """Hypotheses of each row, best first.

    ids: (B, N, T) their subwords, without what began them and without the end; padded.
    lengths: (B, N) how many; -1 where a row has fewer than N hypotheses.
    logprobs: (B, N) float32, the sum of their log-probabilities, that of the end included; -inf where there is none.
    """

    ids: Tensor
    lengths: Tensor
    logprobs: Tensor

    def best(self) -> Ragged:
        """The best of each row, int64."""
        return self.ranked(0)

    def ranked(self, rank: int) -> Ragged:
        """A row each of what stands at a rank, from 0; empty where a row has no so many."""
        lengths = self.lengths[:, rank].cpu().numpy().clip(0)
        ids = self.ids[:, rank].cpu().numpy()
        return Ragged.from_lengths(ids[np.arange(ids.shape[1]) < lengths[:, None]], lengths)


@dataclass(frozen=True)
class ModelState:
    """A model and what it has read and said.

    languages: (R,) the id of the language that each row writes, or None where the decoder takes none.
    """

    model: Seq2Seq
    memory: KVCache
    languages: Tensor | None

    def step(self, tokens: Tensor) -> Tensor:
        """(R, V) float32 scores of the next subword, from the (R,) subwords that were chosen last."""
        return self.model.step(self.memory, tokens, self.languages)

    def select(self, rows: Tensor) -> ModelState:
        """That of the named rows."""
        languages = None if self.languages is None else self.languages[rows]
        return ModelState(self.model, self.memory.select(rows), languages)


@dataclass(frozen=True)
class EnsembleState:
    """Several decodings of one vocabulary: the mean of their probabilities decides."""

    members: tuple[DecodingState, ...]

    def step(self, tokens: Tensor) -> Tensor:
        """(R, V) logarithms of the mean probabilities, from the (R,) subwords that were chosen last."""
        logs = [member.step(tokens).log_softmax(1) for member in self.members]
        longest = max(log.shape[1] for log in logs)  # tables may be padded to more rows than there are subwords
        logs = [torch.nn.functional.pad(log, (0, longest - log.shape[1]), value=float("-inf")) for log in logs]
        mean = torch.stack(logs).logsumexp(0)
        return mean - torch.tensor(float(len(logs)), device=mean.device).log()

    def select(self, rows: Tensor) -> EnsembleState:
        """That of the named rows."""
        return EnsembleState(tuple(member.select(rows) for member in self.members))


def encode_source(model: Seq2Seq, inputs: Mapping[str, Tensor], target: str) -> ModelState:
    """What a search begins with.

    Args:
        model: the model, in the mode it is in; see `eval_mode`.
        inputs: (B, L) of the encoder.
        target: the language to be written.

    Raises:
        SettingsError: the decoder has language embeddings, but none of this language.
    """
    given = dict(inputs)
    mask = given.get("attention_mask")
    with torch.no_grad():
        memory = model.start(model.encode(given), None if mask is None else mask.bool())
    ids = given["input_ids"]
    languages = None
    if model.decoder_language_input is not None:
        number = _number(model.decoder_languages, target)
        languages = torch.full((len(ids),), number, device=ids.device)
    return ModelState(model, memory, languages)


def encoder_inputs(model: Seq2Seq, ids: Ragged, vocab: Vocab, source: str) -> dict[str, Tensor]:
    """What the encoder reads of rows of subwords without specials: `[begin] x1 .. xm [end]`, on the model's device.

    Raises:
        SettingsError: the encoder has language embeddings, but none of this language.
    """
    padded = torch.from_numpy(ids.padded(vocab.pad).astype("int64", copy=False))
    inputs = add_specials(padded, torch.from_numpy(ids.lengths), vocab.begin, vocab.end, vocab.pad)
    traits = model.traits
    if traits.language_input is not None and traits.languages:
        number = _number(traits.languages, source)
        inputs[traits.language_input] = torch.full_like(inputs["input_ids"], number)
    return {name: tensor.to(model.device) for name, tensor in inputs.items()}


def add_specials(ids: Tensor, lengths: Tensor, begin: int, end: int, pad: int) -> dict[str, Tensor]:
    """`[begin] x1 .. xm [end]` of rows of subwords, with a mask where they are not equally long.

    Args:
        ids: (B, L) rows, padded with `pad`.
        lengths: (B,) how many of each row are real.
        begin: the subword before a row.
        end: the subword behind it.
        pad: fills rows up.
    """
    rows, width = len(ids), ids.shape[1] + 2
    filled = ids.new_full((rows, width), pad)
    filled[:, 0], filled[:, 1:-1] = begin, ids
    filled[torch.arange(rows, device=ids.device), lengths + 1] = end
    inputs = {"input_ids": filled}
    if bool((lengths + 2 != width).any()):
        inputs["attention_mask"] = (torch.arange(width, device=ids.device) < (lengths + 2)[:, None]).long()
    return inputs


@contextmanager
def eval_mode(*models: nn.Module) -> Iterator[None]:
    """Without dropout; afterwards every part of the models is in the mode that it was in."""
    were = [(part, part.training) for model in models for part in model.modules()]
    for model in models:
        model.eval()
    try:
        yield
    finally:
        for part, was in were:
            part.training = was


def check_same_vocabulary(vocabs: Sequence[Vocab], names: Sequence[str]) -> None:
    """Refuse models as an ensemble that have different vocabularies.

    Raises:
        SettingsError: they do; names both.
    """
    for vocab, name in zip(vocabs[1:], names[1:], strict=True):
        if vocab.fingerprint != vocabs[0].fingerprint:
            message = f"{names[0]} and {name} have different vocabularies"
            raise SettingsError(f"{message}; models translate together only where they were trained with the same one")


def _number(languages: Mapping[str, int], language: str) -> int:
    if language not in languages:
        hint = did_you_mean(language, languages)
        raise SettingsError(f"the model has no language embedding for {language!r}{hint}")
    return languages[language]
