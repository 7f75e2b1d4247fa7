"""What every search does with the scores of the next subword.

Legend: R rows, V vocabulary, K choices of a row.

One hypothesis a row: what greedy and sampled search share.

Legend: B rows of a batch, R those that have not ended, T most subwords, V vocabulary.

The likeliest subword at each place.

Subwords drawn by their probability.

Legend: B rows of a batch, R those that have not ended, T most subwords and the end, V vocabulary.

Beam search: the best of several hypotheses that grow side by side, in XLM's form.

A row keeps K hypotheses that go on, and the K best that have ended. At each place 2K continuations are looked at, so
that K go on however many of them end; one that ends counts where fewer than K better ones go on.

Legend: B rows that still search, K hypotheses of a row.

What beam search holds of its rows: continuations that are looked at, hypotheses that grow, and those that ended.

Legend: B rows that still search, G hypotheses of a row that grow (one at first, then K), K the beam's width, T
subwords.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal, Protocol

import torch
from torch.nn.functional import pad

from interlace.core.errors import CheckpointError
from interlace.models.decoding import Hypotheses

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.models.decoding import DecodingState, TokenConstraints
    from interlace.models.generation import LengthPenalty


NEVER = float("-inf")


class ConstraintMask:
    """Keeps a search to its rules and its rows to their lengths.

    limits: (R,) on the CPU, the most subwords of each row.
    """

    def __init__(self, rules: TokenConstraints, limits: Tensor, device: torch.device) -> None:
        self.end = rules.end
        self._never = torch.tensor(rules.never, dtype=torch.int64, device=device)
        self.limits = limits

    def keep(self, scores: Tensor, said: int) -> None:
        """Put -inf, in place, wherever (R, V) scores may not be chosen behind `said` subwords.

        A row that is as long as it may be can only end.
        """
        scores[:, self._never] = NEVER
        full = self.limits <= said
        if bool(full.any()):
            rows = full.nonzero()[:, 0].to(scores.device)
            ends = scores[rows, self.end]
            scores[rows] = NEVER
            scores[rows, self.end] = ends

    def select(self, rows: Tensor) -> None:
        """Go on with the named rows."""
        self.limits = self.limits[rows.cpu()]


def log_normalizer(scores: Tensor) -> Tensor:
    """(R,) what (R, V) scores lie above log-probabilities.

    Raises:
        CheckpointError: the model computes no numbers.
    """
    total = scores.logsumexp(1)
    if bool(total.isnan().any()):
        raise CheckpointError("the model computes no numbers (NaN); its weights are damaged, or training diverged")
    return total


def top_k(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The (R, K) highest of (R, V) scores in falling order, and their places; of equals the first comes first.

    `topk` promises no order of equals, and which of them it takes changes with the shape of a batch.
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


class Choose(Protocol):
    """Takes a subword for each row."""

    def __call__(self, scores: Tensor, rows: Tensor, said: int) -> Tensor:
        """(R,) from (R, V) scores of the (R,) rows of the batch, behind `said` subwords."""


@torch.no_grad()
def decode_step_by_step(
    decoding: DecodingState, first: Tensor, limits: Tensor, rules: TokenConstraints, choose: Choose
) -> Hypotheses:
    """Choose subword after subword until every row has ended; rows that have ended leave the batch."""
    device, count = first.device, len(first)
    limits = limits.cpu()
    restraint = ConstraintMask(rules, limits, device)
    width = int(limits.max()) + 1 if count else 0
    ids = torch.full((count, width), rules.pad, device=device)
    lengths = torch.full((count,), -1, device=device)
    logprobs = torch.zeros(count, device=device)
    rows, tokens = torch.arange(count, device=device), first
    for said in range(width):
        scores = decoding.step(tokens)
        total = log_normalizer(scores)
        restraint.keep(scores, said)
        tokens = choose(scores, rows, said)
        logprobs[rows] += scores.gather(1, tokens[:, None])[:, 0] - total
        ids[rows, said] = tokens
        ended = tokens == rules.end
        if bool(ended.any()):
            lengths[rows[ended]] = said
            left = (~ended).nonzero()[:, 0]
            if not len(left):
                break
            rows, tokens, decoding = rows[left], tokens[left], decoding.select(left)
            restraint.select(left)
    ids[ids == rules.end] = rules.pad
    longest = int(lengths.max()) if count else 0
    return Hypotheses(ids[:, None, :longest], lengths[:, None], logprobs[:, None])


def greedy_search(decoding: DecodingState, first: Tensor, limits: Tensor, rules: TokenConstraints) -> Hypotheses:
    """A hypothesis a row, of the likeliest subword at each place; of equals that with the lowest id.

    Args:
        decoding: a batch that has been read.
        first: (B,) what each row begins with: the target language.
        limits: (B,) the most subwords of each row.
        rules: which subwords may be chosen.

    Raises:
        CheckpointError: the model computes no numbers.
    """
    return decode_step_by_step(decoding, first, limits, rules, lambda scores, _rows, _said: scores.argmax(1))


def sample(
    decoding: DecodingState,
    first: Tensor,
    limits: Tensor,
    rules: TokenConstraints,
    draws: Tensor,
    *,
    temperature: float = 1.0,
    top: int = 0,
) -> Hypotheses:
    """A hypothesis a row, each subword drawn by the model's probability.

    A row and a place have a number of their own that decides them, so what is drawn hangs on nothing else in the
    batch.

    Args:
        decoding: a batch that has been read.
        first: (B,) what each row begins with: the target language.
        limits: (B,) the most subwords of each row.
        rules: which subwords may be chosen.
        draws: (B, T) numbers from 0 to below 1, for the longest row one more than its limit; see `uniform_draws`.
        temperature: scores are divided by it; below 1 likely subwords become likelier.
        top: draw from so many of the likeliest subwords alone; 0: from all (Edunov et al. 2018, section 3: 10).

    Raises:
        CheckpointError: the model computes no numbers.
    """
    draws = draws.to(first.device, torch.float32)

    def choose(scores: Tensor, rows: Tensor, said: int) -> Tensor:
        numbers = draws[rows, said]
        if not top:
            return _drawn(scores, temperature, numbers)
        best, places = top_k(scores, top)
        return places.gather(1, _drawn(best, temperature, numbers)[:, None])[:, 0]

    return decode_step_by_step(decoding, first, limits, rules, choose)


def uniform_draws(limits: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """(B, T) numbers for rows of these limits, from a generator of the CPU; none: torch's own."""
    width = int(limits.max()) + 1 if len(limits) else 0
    return torch.rand((len(limits), width), generator=generator)


def _drawn(scores: Tensor, temperature: float, numbers: Tensor) -> Tensor:
    """(R,) places in (R, V) scores: where the sum of the probabilities passes the number."""
    sums = (scores / temperature).softmax(1).cumsum(1)
    total = sums[:, -1:]
    below = torch.nextafter(total, torch.zeros_like(total))  # a number that was rounded to 1 would find no place
    return torch.searchsorted(sums, torch.minimum(numbers[:, None] * total, below), right=True)[:, 0]


Stop = Literal["full", "likely", "sure"]


@torch.no_grad()
def beam_search(
    decoding: DecodingState,
    first: Tensor,
    limits: Tensor,
    rules: TokenConstraints,
    width: int,
    *,
    penalty: LengthPenalty,
    stop: Stop = "likely",
) -> Hypotheses:
    """The best `width` hypotheses of each row, in the order of their penalised scores; fewer where there are no more.

    Args:
        decoding: a batch that has been read.
        first: (B,) what each row begins with: the target language.
        limits: (B,) the most subwords of each row.
        rules: which subwords may be chosen.
        width: K.
        penalty: by what hypotheses of different length are compared.
        stop: when a row is done: with K ended hypotheses (`full`), or once none that goes on would be among the best K
            if it ended next (`likely`), or could ever be (`sure`, as XLM does).

    Raises:
        CheckpointError: the model computes no numbers.
    """
    count, device = len(first), first.device
    restraint = ConstraintMask(rules, limits.cpu(), device)
    longest = int(limits.max()) if count else 0
    found = ended = FinishedBeams.none(count, width, longest, device)
    rows, tokens = torch.arange(count, device=device), first
    growing = LiveBeams(torch.zeros((count, 1), device=device), first.new_zeros((count, 1, 0)))
    while len(rows):
        looked = Candidates.at(decoding.step(tokens), growing, restraint, width)
        ended = ended.joined(looked, growing, penalty)
        before = growing.sums.shape[1]
        growing, parents = growing.next(looked)
        most = restraint.limits.view(-1, before)[:, 0].to(device)
        done = _done(growing, ended, most, penalty, stop)
        if bool(done.any()):
            found.put(rows[done], ended.select(done))
        left = (~done).nonzero()[:, 0]
        chosen = (left[:, None] * before + parents[left]).view(-1)
        restraint.select(chosen)
        decoding = decoding.select(chosen)
        rows, growing, ended = rows[left], growing.select(left), ended.select(left)
        tokens = growing.ids[:, :, -1].reshape(-1)
    longest = int(found.lengths.max()) if count else 0
    ids = found.ids[:, :, :longest]
    behind = torch.arange(longest, device=device) >= found.lengths[:, :, None]
    return Hypotheses(ids.masked_fill(behind, rules.pad), found.lengths, found.logprobs)


def _done(growing: LiveBeams, ended: FinishedBeams, most: Tensor, penalty: LengthPenalty, stop: Stop) -> Tensor:
    """(B,) which rows need not go on; `most` is each one's limit."""
    best, worst = growing.sums[:, 0], ended.scores[:, -1]
    if stop == "full":
        return (worst > NEVER) | (best == NEVER)
    bound = best / penalty.of(torch.full_like(most, growing.said + 1))
    if stop == "sure":  # a sum only falls, but what it is divided by may grow up to the longest
        bound = torch.maximum(bound, best / penalty.of(most + 1))
    return ~(worst < bound)  # so that a row at its limit is done, whatever its scores are


@dataclass(frozen=True)
class Candidates:
    """The 2K best continuations of each row, best first; of equals, that of the better hypothesis comes first.

    sums: (B, 2K) log-probabilities, -inf where there are no more. tokens: what is said next. parents: of which of the
    row's hypotheses. ends: whether it ends there.
    """

    sums: Tensor
    tokens: Tensor
    parents: Tensor
    ends: Tensor

    @classmethod
    def at(cls, scores: Tensor, growing: LiveBeams, restraint: ConstraintMask, width: int) -> Candidates:
        """From the (B * G, V) scores of the next subword."""
        total = log_normalizer(scores)
        restraint.keep(scores, growing.said)
        values, places = top_k(scores, 2 * width)
        count, grown = growing.sums.shape
        each = places.shape[1]
        sums = values - total[:, None] + growing.sums.view(-1, 1)
        sums, order = sums.view(count, -1).sort(dim=1, descending=True, stable=True)
        order = order[:, : 2 * width]
        tokens = places.view(count, grown * each).gather(1, order)
        ends = (tokens == restraint.end) & (sums[:, : 2 * width] > NEVER)
        short = 2 * width - order.shape[1]
        parts = sums[:, : 2 * width], tokens, order // each, ends
        return cls(*(pad(part, (0, short), value=fill) for part, fill in zip(parts, (NEVER, 0, 0, 0), strict=True)))

    def counted(self) -> Tensor:
        """(B, 2K) which end, and have fewer than K better ones that go on."""
        better = (~self.ends).cumsum(1)
        return self.ends & (better < self.ends.shape[1] // 2)


@dataclass(frozen=True)
class LiveBeams:
    """Hypotheses that go on.

    sums: (B, G) log-probabilities, best first; -inf where there are fewer than G. ids: (B, G, T) their subwords.
    """

    sums: Tensor
    ids: Tensor

    @property
    def said(self) -> int:
        """How many subwords each has."""
        return int(self.ids.shape[2])

    def next(self, looked: Candidates) -> tuple[LiveBeams, Tensor]:
        """The K best continuations that do not end; and (B, K) of which of the row's hypotheses each is.

        There are so many: each of at most K hypotheses ends in one way only.
        """
        width = looked.ends.shape[1] // 2
        going = looked.ends.to(torch.int8).argsort(dim=1, stable=True)[:, :width]
        parents = looked.parents.gather(1, going)
        before = self.ids.gather(1, parents[:, :, None].expand(-1, -1, self.said))
        return LiveBeams(
            looked.sums.gather(1, going), torch.cat([before, looked.tokens.gather(1, going)[:, :, None]], dim=2)
        ), parents

    def select(self, rows: Tensor) -> LiveBeams:
        """The named rows."""
        return LiveBeams(self.sums[rows], self.ids[rows])


@dataclass(frozen=True)
class FinishedBeams:
    """The K best hypotheses that have ended, best first.

    scores: (B, K) by which they are ordered; -inf where there are fewer. logprobs, lengths: (B, K), without the end in
    the length. ids: (B, K, T), zero behind each.
    """

    scores: Tensor
    logprobs: Tensor
    lengths: Tensor
    ids: Tensor

    @classmethod
    def none(cls, rows: int, width: int, longest: int, device: torch.device) -> FinishedBeams:
        """Before the search."""
        shape = (rows, width)
        worst = torch.full(shape, NEVER, device=device)
        lengths = torch.full(shape, -1, device=device)
        return cls(worst, worst.clone(), lengths, torch.zeros((*shape, longest), dtype=torch.int64, device=device))

    def joined(self, looked: Candidates, growing: LiveBeams, penalty: LengthPenalty) -> FinishedBeams:
        """With those of the continuations that end here, where they are better."""
        counted = looked.counted()
        if not bool(counted.any()):
            return self
        length = torch.full_like(looked.tokens, growing.said)
        logprobs = looked.sums.masked_fill(~counted, NEVER)
        before = growing.ids.gather(1, looked.parents[:, :, None].expand(-1, -1, growing.said))
        new = FinishedBeams(
            logprobs / penalty.of(length + 1),
            logprobs,
            length.masked_fill(~counted, -1),
            pad(before, (0, self.ids.shape[2] - growing.said)),
        )
        both = [torch.cat(pair, dim=1) for pair in zip(self._parts(), new._parts(), strict=True)]
        order = both[0].sort(dim=1, descending=True, stable=True).indices[:, : self.scores.shape[1]]
        scores, logprobs, lengths = (part.gather(1, order) for part in both[:3])
        return FinishedBeams(scores, logprobs, lengths, both[3].gather(1, order[:, :, None].expand_as(self.ids)))

    def select(self, rows: Tensor) -> FinishedBeams:
        """The named rows."""
        return FinishedBeams(*(part[rows] for part in self._parts()))

    def put(self, rows: Tensor, others: FinishedBeams) -> None:
        """Write others in the place of the named rows."""
        for part, other in zip(self._parts(), others._parts(), strict=True):
            part[rows] = other

    def _parts(self) -> list[Tensor]:
        return [getattr(self, field.name) for field in fields(self)]
