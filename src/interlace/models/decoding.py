"""What generation runs on: models that have encoded a batch of sources, alone or as an ensemble.

Greedy search, sampling and beam search step through a `DecodingState`. One model is such a state, several together are
one, and so is anything else with `step` and `select`.

Legend: B sources, L tokens of the longest source, R sequences in generation (B, or B times the beam), N hypotheses of
a source, T tokens of the longest hypothesis, V vocabulary.
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
    """The state of generation. `step` changes it in place; `select` returns a new state."""

    def step(self, tokens: Tensor) -> Tensor:
        """Return (R, V) float32 scores of the next token, given the (R,) tokens chosen last.

        The caller may modify the result.
        """

    def select(self, rows: Tensor) -> Self:
        """Return the state of the (R',) named sequences; one may be named more than once, or not at all."""


@dataclass(frozen=True)
class TokenConstraints:
    """Which tokens may be generated.

    end: ends a sequence. pad: fills sequences up. banned_ids: ids that are never generated.
    """

    end: int
    pad: int
    banned_ids: tuple[int, ...] = ()

    @classmethod
    def of(cls, vocab: Vocab, rows: int, *, allow_unk: bool = False) -> TokenConstraints:
        """Return those of a vocabulary: no special token except the end, and no id beyond the vocabulary.

        Args:
            vocab: the vocabulary.
            rows: number of the model's token embeddings.
            allow_unk: allow `<unk>`.
        """
        banned = {*vocab.special_ids.tolist(), *range(vocab.size, rows)} - {vocab.end}
        return cls(vocab.end, vocab.pad, tuple(sorted(banned - ({vocab.unk} if allow_unk else set()))))


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """Hypotheses of each source, best first.

    ids: (B, N, T) their tokens, without the first one and the end; padded.
    lengths: (B, N) their lengths; -1 where a source has fewer than N hypotheses.
    logprobs: (B, N) float32 sums of log-probabilities, the end included; -inf where there is none.
    """

    ids: Tensor
    lengths: Tensor
    logprobs: Tensor

    def ranked(self, rank: int = 0) -> Ragged:
        """Return the hypothesis of each source at a rank, int64; 0: the best; empty where it has fewer."""
        lengths = self.lengths[:, rank].cpu().numpy().clip(0)
        ids = self.ids[:, rank].cpu().numpy()
        return Ragged.from_lengths(ids[np.arange(ids.shape[1]) < lengths[:, None]], lengths)


@dataclass(frozen=True)
class ModelState:
    """A model with its cache.

    languages: (R,) language id that each sequence is written in, or None where the decoder takes none.
    """

    model: Seq2Seq
    cache: KVCache
    languages: Tensor | None

    def step(self, tokens: Tensor) -> Tensor:
        """Return (R, V) float32 scores of the next token, given the (R,) tokens chosen last."""
        return self.model.step(self.cache, tokens, self.languages)

    def select(self, rows: Tensor) -> ModelState:
        """Return the state of the named sequences."""
        languages = None if self.languages is None else self.languages[rows]
        return ModelState(self.model, self.cache.select(rows), languages)


@dataclass(frozen=True)
class EnsembleState:
    """States of several models with one vocabulary, whose probabilities are averaged."""

    members: tuple[DecodingState, ...]

    def step(self, tokens: Tensor) -> Tensor:
        """Return (R, V) logarithms of the mean probabilities, given the (R,) tokens chosen last."""
        logs = [member.step(tokens).log_softmax(1) for member in self.members]
        size = max(log.shape[1] for log in logs)  # embeddings may be padded beyond the vocabulary
        logs = [torch.nn.functional.pad(log, (0, size - log.shape[1]), value=float("-inf")) for log in logs]
        mean = torch.stack(logs).logsumexp(0)
        return mean - torch.tensor(float(len(logs)), device=mean.device).log()

    def select(self, rows: Tensor) -> EnsembleState:
        """Return the state of the named sequences."""
        return EnsembleState(tuple(member.select(rows) for member in self.members))


def encode_source(model: Seq2Seq, inputs: Mapping[str, Tensor], target: str) -> ModelState:
    """Encode a batch and return the state to generate from.

    Args:
        model: the model, in its current mode; see `eval_mode`.
        inputs: (B, L) inputs of the encoder.
        target: the target language.

    Raises:
        SettingsError: the decoder has language embeddings, but none for this language.
    """
    given = dict(inputs)
    mask = given.get("attention_mask")
    with torch.no_grad():
        cache = model.start(model.encode(given), None if mask is None else mask.bool())
    ids = given["input_ids"]
    languages = None
    if model.decoder_language_input is not None:
        number = _language_id(model.decoder_languages, target)
        languages = torch.full((len(ids),), number, device=ids.device)
    return ModelState(model, cache, languages)


def encoder_inputs(model: Seq2Seq, ids: Ragged, vocab: Vocab, source: str) -> dict[str, Tensor]:
    """Return encoder inputs for tokens without specials: `[begin] x1 .. xm [end]`, on the model's device.

    Raises:
        SettingsError: the encoder has language embeddings, but none for this language.
    """
    padded = torch.from_numpy(ids.padded(vocab.pad).astype("int64", copy=False))
    inputs = add_specials(padded, torch.from_numpy(ids.lengths), vocab.begin, vocab.end, vocab.pad)
    traits = model.traits
    if traits.language_input is not None and traits.languages:
        number = _language_id(traits.languages, source)
        inputs[traits.language_input] = torch.full_like(inputs["input_ids"], number)
    return {name: tensor.to(model.device) for name, tensor in inputs.items()}


def add_specials(ids: Tensor, lengths: Tensor, begin: int, end: int, pad: int) -> dict[str, Tensor]:
    """Return `[begin] x1 .. xm [end]` for padded (B, L) tokens and (B,) lengths, with a mask if lengths differ."""
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
    """Switch models to evaluation mode; afterwards each of their parts has its previous mode."""
    before = [(part, part.training) for model in models for part in model.modules()]
    for model in models:
        model.eval()
    try:
        yield
    finally:
        for part, training in before:
            part.training = training


def check_same_vocabulary(vocabs: Sequence[Vocab], names: Sequence[str]) -> None:
    """Check that models can form an ensemble.

    Raises:
        SettingsError: their vocabularies differ; names two of them.
    """
    for vocab, name in zip(vocabs[1:], names[1:], strict=True):
        if vocab.fingerprint != vocabs[0].fingerprint:
            message = f"{names[0]} and {name} have different vocabularies"
            raise SettingsError(f"{message}; an ensemble needs models that were trained with the same one")


def _language_id(languages: Mapping[str, int], language: str) -> int:
    if language not in languages:
        hint = did_you_mean(language, languages)
        raise SettingsError(f"the model has no language embedding for {language!r}{hint}")
    return languages[language]
