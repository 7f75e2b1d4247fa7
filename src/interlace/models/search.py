"""Generation: models that have encoded a batch of sources, and greedy search and beam search over them.

A search steps through a `DecodingState`: a model, or anything else with `step` and `select`.
Sequences end at different times. Finished ones leave the batch, so none costs more than its own length; on a GPU, where
to look costs more than a step, every few steps (`steps_between_reads`). Results do not depend on it.

Beam search follows XLM: each source has K live beams and the K best finished hypotheses. At each step the 2K best
continuations are candidates, so K beams stay alive however many end; a candidate that ends counts if fewer than K
better ones continue.

Legend: B sources of a batch, L tokens of the longest source, R sequences in generation, G live beams of a source (1 at
first, then K), K beam size, N hypotheses of a source, T tokens of the longest hypothesis, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

import numpy as np
import torch
from torch.nn.functional import pad

from interlace.core.errors import CheckpointError
from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from torch import Tensor, nn

    from interlace.data.vocab import Vocab
    from interlace.models.decoder import KVCache
    from interlace.models.seq2seq import Seq2Seq
    from interlace.models.settings import SearchSettings, Stop

NEVER = float("-inf")
READ_EVERY = 8  # steps on a GPU


class DecodingState(Protocol):
    """The state of generation. `step` changes it in place; `select` returns a new state."""

    def step(self, tokens: Tensor) -> Tensor:
        """Return (R, V) float32 scores of the next token, given the (R,) tokens chosen last.

        The caller may modify the result.
        """

    def select(self, rows: Tensor, each: int | None = None) -> Self:
        """Return the state of the (R',) named sequences; one may be named more than once, or not at all.

        each: known number of adjacent sequences of each source, if all sources stay; then nothing is read.
        """


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

        rows: number of the model's token embeddings. allow_unk: allow `<unk>`.
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

    def select(self, rows: Tensor, each: int | None = None) -> ModelState:
        """Return the state of the named sequences; see `DecodingState`."""
        languages = None if self.languages is None else self.languages[rows]
        return ModelState(self.model, self.cache.select(rows, each), languages)


def encode_source(model: Seq2Seq, inputs: Mapping[str, Tensor], target: str) -> ModelState:
    """Encode a batch of (B, L) inputs and return the state to generate the language `target` from.

    model: in its current mode; see `eval_mode`.
    """
    given = dict(inputs)
    mask = given.get("attention_mask")
    with torch.no_grad():
        cache = model.start(model.encode(given), None if mask is None else mask.bool())
    ids = given["input_ids"]
    languages = None
    if model.decoder_language_input is not None:
        languages = torch.full((len(ids),), model.traits.language_id(target), device=ids.device)
    return ModelState(model, cache, languages)


def encoder_inputs(model: Seq2Seq, ids: Ragged, vocab: Vocab, source: str) -> dict[str, Tensor]:
    """Return encoder inputs for tokens without specials: `[begin] x1 .. xm [end]`, on the model's device."""
    padded = torch.from_numpy(ids.padded(vocab.pad).astype("int64", copy=False))
    inputs = add_specials(padded, torch.from_numpy(ids.lengths), vocab.begin, vocab.end, vocab.pad)
    traits = model.traits
    if traits.language_input is not None and traits.languages:
        inputs[traits.language_input] = torch.full_like(inputs["input_ids"], traits.language_id(source))
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


def generate(
    settings: SearchSettings, state: DecodingState, first: Tensor, limits: Tensor, constraints: TokenConstraints
) -> Hypotheses:
    """Return hypotheses of each source by the kind of search that settings choose; raise a CheckpointError for NaN.

    state: a batch of encoded sources. first: (B,) first token of each sequence: the target language.
    limits: (B,) maximum length of each sequence. constraints: which tokens may be generated.
    """
    if settings.beam == 1:
        return greedy_search(state, first, limits, constraints)
    penalty, stop = settings.length_penalty, settings.stop
    return beam_search(state, first, limits, constraints, settings.beam, penalty=penalty, stop=stop)


def steps_between_reads(device: torch.device) -> int:
    """Return after how many steps a search looks at what is finished."""
    return 1 if device.type == "cpu" else READ_EVERY


@torch.no_grad()
def greedy_search(state: DecodingState, first: Tensor, limits: Tensor, constraints: TokenConstraints) -> Hypotheses:
    """Return one hypothesis a source, of the most likely token at each step; the lowest id among equals.

    For arguments and errors see `generate`.
    """
    device, count = first.device, len(first)
    mask = _ConstraintMask(constraints, limits, device)
    width = int(limits.max()) + 1 if count else 0
    ids = torch.full((count, width), constraints.pad, device=device)
    lengths = torch.full((count,), -1, device=device)
    logprobs = torch.zeros(count, device=device)
    rows, tokens, every = torch.arange(count, device=device), first, steps_between_reads(device)
    done = torch.zeros(count, dtype=torch.bool, device=device)
    for length in range(width):
        scores = state.step(tokens)
        total = mask.log_normalizer(scores)
        mask.apply(scores, length)
        tokens = scores.argmax(1).masked_fill(done, constraints.end)
        logprobs[rows] += (scores.gather(1, tokens[:, None])[:, 0] - total).masked_fill(done, 0.0)
        ids[rows, length] = tokens
        ended = tokens == constraints.end
        lengths[rows] = lengths[rows].masked_fill(ended & ~done, length)
        done = ended
        if (length + 1) % every and length + 1 < width:
            continue
        mask.check()
        if bool(done.any()):
            left = (~done).nonzero()[:, 0]
            if not len(left):
                break
            rows, tokens, state, done = rows[left], tokens[left], state.select(left), done[left]
            mask.select(left)
    ids[ids == constraints.end] = constraints.pad
    longest = int(lengths.max()) if count else 0
    return Hypotheses(ids[:, None, :longest], lengths[:, None], logprobs[:, None])


@torch.no_grad()
def beam_search(
    state: DecodingState,
    first: Tensor,
    limits: Tensor,
    constraints: TokenConstraints,
    width: int,
    *,
    penalty: float = 1.0,
    stop: Stop = "likely",
) -> Hypotheses:
    """Return the best `width` hypotheses of each source, ordered by penalized score; fewer where there are no more.

    For other arguments and errors see `generate`.

    width: K. penalty: exponent of the length, with the end token, that divides a log-probability before hypotheses are
        ranked (XLM: 1; 0 compares sums).
    stop: when a source is finished: once no live beam would be among the best K if it ended next (`likely`), or ever
        could be (`sure`, as in XLM).
    """
    count, device = len(first), first.device
    mask = _ConstraintMask(constraints, limits, device)
    longest = int(limits.max()) if count else 0
    found = finished = _FinishedBeams.none(count, width, longest, device)
    rows, tokens, every = torch.arange(count, device=device), first, steps_between_reads(device)
    live = _LiveBeams(torch.zeros((count, 1), device=device), first.new_zeros((count, 1, 0)))
    done = torch.zeros(count, dtype=torch.bool, device=device)
    while len(rows):
        candidates = _Candidates.of(state.step(tokens), live, mask, width, wait=every == 1)
        finished = finished.updated(candidates, live, penalty, done, wait=every == 1)
        before = live.sums.shape[1]
        live, parents = live.extended(candidates)
        row_limits = mask.limits.view(-1, before)[:, 0]
        best, worst = live.sums[:, 0], finished.scores[:, -1]
        bound = best / torch.full_like(row_limits, live.length + 1).float() ** penalty
        if stop == "sure":  # a sum only falls, but its divisor may grow up to the maximum length
            bound = torch.maximum(bound, best / (row_limits + 1).float() ** penalty)
        done = done | ~(worst < bound)  # negated, so that a source at its limit is finished whatever its scores are
        left = torch.arange(len(rows), device=device)
        if reading := live.length % every == 0 or live.length > longest:
            mask.check()
            if bool(done.any()):
                for part, own in zip(found, finished, strict=True):
                    part[rows[done]] = own[done]
                left = (~done).nonzero()[:, 0]
        chosen = (left[:, None] * before + parents[left]).view(-1)
        mask.select(chosen, read=reading)
        state = state.select(chosen, None if reading else width)
        rows, live, done = rows[left], _LiveBeams(live.sums[left], live.ids[left]), done[left]
        finished = _FinishedBeams(*(part[left] for part in finished))
        tokens = live.ids[:, :, -1].reshape(-1)
    longest = int(found.lengths.max()) if count else 0
    ids = found.ids[:, :, :longest]
    padding = torch.arange(longest, device=device) >= found.lengths[:, :, None]
    return Hypotheses(ids.masked_fill(padding, constraints.pad), found.lengths, found.logprobs)


class _Candidates(NamedTuple):
    """The 2K best continuations of each source, best first; among equals that of the better beam comes first.

    sums: (B, 2K) log-probabilities, -inf where there are fewer. tokens: next token. parents: index of the beam that is
    continued. ends: whether it ends here.
    """

    sums: Tensor
    tokens: Tensor
    parents: Tensor
    ends: Tensor

    @classmethod
    def of(cls, scores: Tensor, live: _LiveBeams, mask: _ConstraintMask, width: int, *, wait: bool) -> _Candidates:
        """Return the candidates from (B * G, V) scores of the next token."""
        total = mask.log_normalizer(scores)
        mask.apply(scores, live.length)
        values, places = top_k(scores, 2 * width, wait=wait)
        count, beams = live.sums.shape
        each = places.shape[1]
        sums = values - total[:, None] + live.sums.view(-1, 1)
        sums, order = sums.view(count, -1).sort(dim=1, descending=True, stable=True)
        order = order[:, : 2 * width]
        tokens = places.view(count, beams * each).gather(1, order)
        ends = (tokens == mask.end) & (sums[:, : 2 * width] > NEVER)
        missing = 2 * width - order.shape[1]
        parts = sums[:, : 2 * width], tokens, order // each, ends
        return cls(*(pad(part, (0, missing), value=fill) for part, fill in zip(parts, (NEVER, 0, 0, 0), strict=True)))


class _LiveBeams(NamedTuple):
    """Hypotheses that are still extended.

    sums: (B, G) log-probabilities, best first; -inf where there are fewer than G. ids: (B, G, T) their tokens.
    """

    sums: Tensor
    ids: Tensor

    @property
    def length(self) -> int:
        """Number of tokens of each."""
        return int(self.ids.shape[2])

    def extended(self, candidates: _Candidates) -> tuple[_LiveBeams, Tensor]:
        """Return the K best candidates that do not end, and (B, K) indices of the beams that they extend.

        There are always K: each of at most K beams ends in one way only.
        """
        width = candidates.ends.shape[1] // 2
        going = candidates.ends.to(torch.int8).argsort(dim=1, stable=True)[:, :width]
        parents = candidates.parents.gather(1, going)
        before = self.ids.gather(1, parents[:, :, None].expand(-1, -1, self.length))
        ids = torch.cat([before, candidates.tokens.gather(1, going)[:, :, None]], dim=2)
        return _LiveBeams(candidates.sums.gather(1, going), ids), parents


class _FinishedBeams(NamedTuple):
    """The K best finished hypotheses of each source, best first.

    scores: (B, K) by which they are ordered; -inf where there are fewer. logprobs, lengths: (B, K), the end not
    counted in the length. ids: (B, K, T), zero after each.
    """

    scores: Tensor
    logprobs: Tensor
    lengths: Tensor
    ids: Tensor

    @classmethod
    def none(cls, rows: int, width: int, longest: int, device: torch.device) -> _FinishedBeams:
        """Return no hypotheses, for the start of the search."""
        shape = (rows, width)
        worst = torch.full(shape, NEVER, device=device)
        lengths = torch.full(shape, -1, device=device)
        return cls(worst, worst.clone(), lengths, torch.zeros((*shape, longest), dtype=torch.int64, device=device))

    def updated(
        self, candidates: _Candidates, live: _LiveBeams, penalty: float, done: Tensor, *, wait: bool
    ) -> _FinishedBeams:
        """Return the best of these and of the candidates that end here, with fewer than K better ones that continue.

        done: (B,) sources that take no more. wait: look first whether there are any.
        """
        width = self.scores.shape[1]
        finishing = candidates.ends & ((~candidates.ends).cumsum(1) < width) & ~done[:, None]
        if wait and not bool(finishing.any()):
            return self
        length = torch.full_like(candidates.tokens, live.length)
        logprobs = candidates.sums.masked_fill(~finishing, NEVER)
        before = live.ids.gather(1, candidates.parents[:, :, None].expand(-1, -1, live.length))
        new = (
            logprobs / (length + 1).float() ** penalty,
            logprobs,
            length.masked_fill(~finishing, -1),
            pad(before, (0, self.ids.shape[2] - live.length)),
        )
        scores, logprobs, lengths, ids = (torch.cat(pair, dim=1) for pair in zip(self, new, strict=True))
        order = scores.sort(dim=1, descending=True, stable=True).indices[:, :width]
        scores, logprobs, lengths = (part.gather(1, order) for part in (scores, logprobs, lengths))
        return _FinishedBeams(scores, logprobs, lengths, ids.gather(1, order[:, :, None].expand_as(self.ids)))


class _ConstraintMask:
    """Masks scores of tokens that a sequence may not continue with.

    limits: (R,) the maximum length of each sequence.
    """

    def __init__(self, constraints: TokenConstraints, limits: Tensor, device: torch.device) -> None:
        self.end = constraints.end
        self._banned = torch.tensor(constraints.banned_ids, dtype=torch.int64, device=device)
        self._shortest = int(limits.min()) if len(limits) else 0
        self._broken = torch.zeros((), dtype=torch.bool, device=device)
        self.limits = limits.to(device)

    def log_normalizer(self, scores: Tensor) -> Tensor:
        """Return (R,) the logarithm of the softmax denominator of (R, V) scores."""
        total = scores.logsumexp(1)
        self._broken |= total.isnan().any()
        return total

    def check(self) -> None:
        """Raise an error if scores were NaN."""
        if bool(self._broken):
            raise CheckpointError("the model's scores are NaN; its weights are damaged, or training diverged")

    def apply(self, scores: Tensor, length: int) -> None:
        """Set (R, V) scores to -inf, in place, where a sequence of `length` tokens may not continue.

        A sequence of maximum length can only end.
        """
        scores[:, self._banned] = NEVER
        if length >= self._shortest:
            ends = scores[:, self.end].clone()
            scores.masked_fill_((self.limits <= length)[:, None], NEVER)
            scores[:, self.end] = ends

    def select(self, rows: Tensor, *, read: bool = True) -> None:
        """Keep the named sequences; `read` the minimum of their limits."""
        self.limits = self.limits[rows]
        if read and len(rows):
            self._shortest = int(self.limits.min())


def top_k(scores: Tensor, count: int, *, wait: bool = True) -> tuple[Tensor, Tensor]:
    """Return the (R, K) highest of (R, V) scores in descending order, and their ids; the lowest id among equals.

    `torch.topk` does not order equal scores, and its choice among them depends on the shape of the batch.

    wait: look for rows where it had a choice; else correct all rows.
    """
    count = min(count, scores.shape[1])
    values, places = scores.topk(min(count + wait, scores.shape[1]))
    last = values[:, count - 1 : count]
    if not wait:
        ids = torch.arange(scores.shape[1], device=scores.device)
        equal = torch.where(scores == last, ids, scores.shape[1]).topk(count, largest=False).values  # lowest ids first
        above = (values > last).sum(1, keepdim=True)
        turn = torch.arange(count, device=scores.device)
        fill = equal.gather(1, (turn - above).clamp(min=0)).clamp(max=scores.shape[1] - 1)  # NaN equals none
        places = torch.where(turn < above, places, fill)  # those above are first
    elif values.shape[1] > count:
        tied = ((last == values[:, count:]) & (last > NEVER)).nonzero()[:, 0]
        values, places = values[:, :count], places[:, :count]
        if len(tied):
            ordered = scores[tied].sort(dim=1, descending=True, stable=True)
            values, places = values.clone(), places.clone()
            values[tied], places[tied] = ordered.values[:, :count], ordered.indices[:, :count]
    places, order = places.sort(dim=1)
    values, order = values.gather(1, order).sort(dim=1, descending=True, stable=True)
    return values, places.gather(1, order)
