"""Generation: greedy search, sampling and beam search.

Sequences end at different times. Finished ones leave the batch, so none costs more than its own length.

Beam search follows XLM: each source has K live beams and the K best finished hypotheses. At each step the 2K best
continuations are candidates, so K beams stay alive however many end; a candidate that ends counts if fewer than K
better ones continue.

Legend: B sources of a batch, R sequences in generation, G live beams of a source (1 at first, then K), K beam size,
T tokens, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Protocol

import torch
from torch.nn.functional import pad

from interlace.core.errors import CheckpointError
from interlace.models.decoding import Hypotheses

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.models.decoding import DecodingState, TokenConstraints
    from interlace.models.generation import LengthPenalty, SearchSettings, Stop

NEVER = float("-inf")


def generate(
    settings: SearchSettings,
    state: DecodingState,
    first: Tensor,
    limits: Tensor,
    constraints: TokenConstraints,
    draws: Tensor | None = None,
) -> Hypotheses:
    """Return hypotheses of each source by the kind of search that settings choose.

    Args:
        settings: the settings.
        state: a batch of encoded sources.
        first: (B,) first token of each sequence: the target language.
        limits: (B,) maximum length of each sequence.
        constraints: which tokens may be generated.
        draws: (B, T) random numbers of sampling; None: from torch's generator.

    Raises:
        CheckpointError: the model's scores are NaN.
    """
    if settings.sample:
        draws = uniform_draws(limits) if draws is None else draws
        temperature, top = settings.temperature, settings.top_k
        return sample(state, first, limits, constraints, draws, temperature=temperature, top=top)
    if settings.beam == 1:
        return greedy_search(state, first, limits, constraints)
    return beam_search(state, first, limits, constraints, settings.beam, penalty=settings.ranking, stop=settings.stop)


def greedy_search(state: DecodingState, first: Tensor, limits: Tensor, constraints: TokenConstraints) -> Hypotheses:
    """Return one hypothesis a source, of the most likely token at each step; the lowest id among equals.

    For arguments and errors see `generate`.
    """
    return _one_by_one(state, first, limits, constraints, lambda scores, _rows, _length: scores.argmax(1))


def sample(
    state: DecodingState,
    first: Tensor,
    limits: Tensor,
    constraints: TokenConstraints,
    draws: Tensor,
    *,
    temperature: float = 1.0,
    top: int = 0,
) -> Hypotheses:
    """Return one hypothesis a source, each token sampled by the model's probability.

    Each sequence and step has a random number of its own, so a sample does not depend on the rest of the batch.

    Args:
        state: see `generate`, also for the next three and for errors.
        first: see there.
        limits: see there.
        constraints: see there.
        draws: (B, T) numbers from 0 to below 1, T one more than the highest limit; see `uniform_draws`.
        temperature: divisor of the scores; below 1 likely tokens become likelier.
        top: sample from this many most likely tokens; 0: from all (Edunov et al. 2018, section 3: 10).
    """
    draws = draws.to(first.device, torch.float32)

    def choose(scores: Tensor, rows: Tensor, length: int) -> Tensor:
        numbers = draws[rows, length]
        if not top:
            return _sampled(scores, temperature, numbers)
        best, places = top_k(scores, top)
        return places.gather(1, _sampled(best, temperature, numbers)[:, None])[:, 0]

    return _one_by_one(state, first, limits, constraints, choose)


def uniform_draws(limits: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Return (B, T) random numbers for sequences of these limits, from a CPU generator; None: torch's own."""
    width = int(limits.max()) + 1 if len(limits) else 0
    return torch.rand((len(limits), width), generator=generator)


@torch.no_grad()
def beam_search(
    state: DecodingState,
    first: Tensor,
    limits: Tensor,
    constraints: TokenConstraints,
    width: int,
    *,
    penalty: LengthPenalty,
    stop: Stop = "likely",
) -> Hypotheses:
    """Return the best `width` hypotheses of each source, ordered by penalized score; fewer where there are no more.

    Args:
        state: see `generate`, also for the next three and for errors.
        first: see there.
        limits: see there.
        constraints: see there.
        width: K.
        penalty: length penalty by which hypotheses are ranked.
        stop: when a source is finished: with K finished hypotheses (`full`), or once no live beam would be among the
            best K if it ended next (`likely`), or ever could be (`sure`, as in XLM).
    """
    count, device = len(first), first.device
    mask = ConstraintMask(constraints, limits.cpu(), device)
    longest = int(limits.max()) if count else 0
    found = finished = FinishedBeams.none(count, width, longest, device)
    rows, tokens = torch.arange(count, device=device), first
    live = LiveBeams(torch.zeros((count, 1), device=device), first.new_zeros((count, 1, 0)))
    while len(rows):
        candidates = Candidates.of(state.step(tokens), live, mask, width)
        finished = finished.updated(candidates, live, penalty)
        before = live.sums.shape[1]
        live, parents = live.extended(candidates)
        row_limits = mask.limits.view(-1, before)[:, 0].to(device)
        done = _done(live, finished, row_limits, penalty, stop)
        if bool(done.any()):
            found.put(rows[done], finished.select(done))
        left = (~done).nonzero()[:, 0]
        chosen = (left[:, None] * before + parents[left]).view(-1)
        mask.select(chosen)
        state = state.select(chosen)
        rows, live, finished = rows[left], live.select(left), finished.select(left)
        tokens = live.ids[:, :, -1].reshape(-1)
    longest = int(found.lengths.max()) if count else 0
    ids = found.ids[:, :, :longest]
    padding = torch.arange(longest, device=device) >= found.lengths[:, :, None]
    return Hypotheses(ids.masked_fill(padding, constraints.pad), found.lengths, found.logprobs)


def _done(live: LiveBeams, finished: FinishedBeams, limits: Tensor, penalty: LengthPenalty, stop: Stop) -> Tensor:
    """Return (B,) which sources are finished."""
    best, worst = live.sums[:, 0], finished.scores[:, -1]
    if stop == "full":
        return (worst > NEVER) | (best == NEVER)
    bound = best / penalty.divisors(torch.full_like(limits, live.length + 1))
    if stop == "sure":  # a sum only falls, but its divisor may grow up to the maximum length
        bound = torch.maximum(bound, best / penalty.divisors(limits + 1))
    return ~(worst < bound)  # negated, so that a source at its limit is finished whatever its scores are


@dataclass(frozen=True)
class Candidates:
    """The 2K best continuations of each source, best first; among equals that of the better beam comes first.

    sums: (B, 2K) log-probabilities, -inf where there are fewer. tokens: next token. parents: index of the beam that is
    continued. ends: whether it ends here.
    """

    sums: Tensor
    tokens: Tensor
    parents: Tensor
    ends: Tensor

    @classmethod
    def of(cls, scores: Tensor, live: LiveBeams, mask: ConstraintMask, width: int) -> Candidates:
        """Return the candidates from (B * G, V) scores of the next token."""
        total = log_normalizer(scores)
        mask.apply(scores, live.length)
        values, places = top_k(scores, 2 * width)
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

    def finishing(self) -> Tensor:
        """Return (B, 2K), true for those that end and have fewer than K better ones that continue."""
        better = (~self.ends).cumsum(1)
        return self.ends & (better < self.ends.shape[1] // 2)


@dataclass(frozen=True)
class LiveBeams:
    """Hypotheses that are still extended.

    sums: (B, G) log-probabilities, best first; -inf where there are fewer than G. ids: (B, G, T) their tokens.
    """

    sums: Tensor
    ids: Tensor

    @property
    def length(self) -> int:
        """Number of tokens of each."""
        return int(self.ids.shape[2])

    def extended(self, candidates: Candidates) -> tuple[LiveBeams, Tensor]:
        """Return the K best candidates that do not end, and (B, K) indices of the beams that they extend.

        There are always K: each of at most K beams ends in one way only.
        """
        width = candidates.ends.shape[1] // 2
        going = candidates.ends.to(torch.int8).argsort(dim=1, stable=True)[:, :width]
        parents = candidates.parents.gather(1, going)
        before = self.ids.gather(1, parents[:, :, None].expand(-1, -1, self.length))
        ids = torch.cat([before, candidates.tokens.gather(1, going)[:, :, None]], dim=2)
        return LiveBeams(candidates.sums.gather(1, going), ids), parents

    def select(self, rows: Tensor) -> LiveBeams:
        """Return the beams of the named sources."""
        return LiveBeams(self.sums[rows], self.ids[rows])


@dataclass(frozen=True)
class FinishedBeams:
    """The K best finished hypotheses of each source, best first.

    scores: (B, K) by which they are ordered; -inf where there are fewer. logprobs, lengths: (B, K), the end not
    counted in the length. ids: (B, K, T), zero after each.
    """

    scores: Tensor
    logprobs: Tensor
    lengths: Tensor
    ids: Tensor

    @classmethod
    def none(cls, rows: int, width: int, longest: int, device: torch.device) -> FinishedBeams:
        """Return no hypotheses, for the start of the search."""
        shape = (rows, width)
        worst = torch.full(shape, NEVER, device=device)
        lengths = torch.full(shape, -1, device=device)
        return cls(worst, worst.clone(), lengths, torch.zeros((*shape, longest), dtype=torch.int64, device=device))

    def updated(self, candidates: Candidates, live: LiveBeams, penalty: LengthPenalty) -> FinishedBeams:
        """Return the best of these and of the candidates that end here."""
        finishing = candidates.finishing()
        if not bool(finishing.any()):
            return self
        length = torch.full_like(candidates.tokens, live.length)
        logprobs = candidates.sums.masked_fill(~finishing, NEVER)
        before = live.ids.gather(1, candidates.parents[:, :, None].expand(-1, -1, live.length))
        new = FinishedBeams(
            logprobs / penalty.divisors(length + 1),
            logprobs,
            length.masked_fill(~finishing, -1),
            pad(before, (0, self.ids.shape[2] - live.length)),
        )
        both = [torch.cat(pair, dim=1) for pair in zip(self._parts(), new._parts(), strict=True)]
        order = both[0].sort(dim=1, descending=True, stable=True).indices[:, : self.scores.shape[1]]
        scores, logprobs, lengths = (part.gather(1, order) for part in both[:3])
        return FinishedBeams(scores, logprobs, lengths, both[3].gather(1, order[:, :, None].expand_as(self.ids)))

    def select(self, rows: Tensor) -> FinishedBeams:
        """Return the hypotheses of the named sources."""
        return FinishedBeams(*(part[rows] for part in self._parts()))

    def put(self, rows: Tensor, others: FinishedBeams) -> None:
        """Replace the hypotheses of the named sources, in place."""
        for part, other in zip(self._parts(), others._parts(), strict=True):
            part[rows] = other

    def _parts(self) -> list[Tensor]:
        return [getattr(self, field.name) for field in fields(self)]


class ConstraintMask:
    """Masks scores of tokens that a sequence may not continue with.

    limits: (R,) on the CPU, the maximum length of each sequence.
    """

    def __init__(self, constraints: TokenConstraints, limits: Tensor, device: torch.device) -> None:
        self.end = constraints.end
        self._banned = torch.tensor(constraints.banned_ids, dtype=torch.int64, device=device)
        self.limits = limits

    def apply(self, scores: Tensor, length: int) -> None:
        """Set (R, V) scores to -inf, in place, where a sequence of `length` tokens may not continue.

        A sequence of maximum length can only end.
        """
        scores[:, self._banned] = NEVER
        full = self.limits <= length
        if bool(full.any()):
            rows = full.nonzero()[:, 0].to(scores.device)
            ends = scores[rows, self.end]
            scores[rows] = NEVER
            scores[rows, self.end] = ends

    def select(self, rows: Tensor) -> None:
        """Keep the named sequences."""
        self.limits = self.limits[rows.cpu()]


def log_normalizer(scores: Tensor) -> Tensor:
    """Return (R,) the logarithm of the softmax denominator of (R, V) scores.

    Raises:
        CheckpointError: scores are NaN.
    """
    total = scores.logsumexp(1)
    if bool(total.isnan().any()):
        raise CheckpointError("the model's scores are NaN; its weights are damaged, or training diverged")
    return total


def top_k(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the (R, K) highest of (R, V) scores in descending order, and their ids; the lowest id among equals.

    `torch.topk` does not order equal scores, and its choice among them depends on the shape of the batch.
    """
    count = min(count, scores.shape[1])
    values, places = scores.topk(min(count + 1, scores.shape[1]))
    if values.shape[1] > count:
        last, beyond = values[:, count - 1], values[:, count]
        tied = ((last == beyond) & (last > NEVER)).nonzero()[:, 0]
        values, places = values[:, :count], places[:, :count]
        if len(tied):
            ordered = scores[tied].sort(dim=1, descending=True, stable=True)
            values, places = values.clone(), places.clone()
            values[tied], places[tied] = ordered.values[:, :count], ordered.indices[:, :count]
    places, order = places.sort(dim=1)
    values, order = values.gather(1, order).sort(dim=1, descending=True, stable=True)
    return values, places.gather(1, order)


class _Choose(Protocol):
    """Chooses the next token of each sequence."""

    def __call__(self, scores: Tensor, rows: Tensor, length: int) -> Tensor:
        """Return (R,) tokens from (R, V) scores of the sources (R,) `rows`, after `length` tokens."""


@torch.no_grad()
def _one_by_one(
    state: DecodingState, first: Tensor, limits: Tensor, constraints: TokenConstraints, choose: _Choose
) -> Hypotheses:
    """Return one hypothesis a source, built by choosing a token at a time until all have ended."""
    device, count = first.device, len(first)
    limits = limits.cpu()
    mask = ConstraintMask(constraints, limits, device)
    width = int(limits.max()) + 1 if count else 0
    ids = torch.full((count, width), constraints.pad, device=device)
    lengths = torch.full((count,), -1, device=device)
    logprobs = torch.zeros(count, device=device)
    rows, tokens = torch.arange(count, device=device), first
    for length in range(width):
        scores = state.step(tokens)
        total = log_normalizer(scores)
        mask.apply(scores, length)
        tokens = choose(scores, rows, length)
        logprobs[rows] += scores.gather(1, tokens[:, None])[:, 0] - total
        ids[rows, length] = tokens
        ended = tokens == constraints.end
        if bool(ended.any()):
            lengths[rows[ended]] = length
            left = (~ended).nonzero()[:, 0]
            if not len(left):
                break
            rows, tokens, state = rows[left], tokens[left], state.select(left)
            mask.select(left)
    ids[ids == constraints.end] = constraints.pad
    longest = int(lengths.max()) if count else 0
    return Hypotheses(ids[:, None, :longest], lengths[:, None], logprobs[:, None])


def _sampled(scores: Tensor, temperature: float, numbers: Tensor) -> Tensor:
    """Return (R,) indices into (R, V) scores where the cumulative probability exceeds the number."""
    sums = (scores / temperature).softmax(1).cumsum(1)
    total = sums[:, -1:]
    below = torch.nextafter(total, torch.zeros_like(total))  # a number rounded to 1 would otherwise find no index
    return torch.searchsorted(sums, torch.minimum(numbers[:, None] * total, below), right=True)[:, 0]
