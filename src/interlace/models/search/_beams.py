"""What beam search holds of its rows: continuations that are looked at, hypotheses that grow, and those that ended.

Legend: B rows that still search, G hypotheses of a row that grow (one at first, then K), K the beam's width, T
subwords.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import pad

from interlace.models.search._choice import NEVER, highest, normaliser

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.models.search._choice import Restraint
    from interlace.models.search.penalty import Penalty


@dataclass(frozen=True)
class Looked:
    """The 2K best continuations of each row, best first; of equals, that of the better hypothesis comes first.

    sums: (B, 2K) log-probabilities, -inf where there are no more. tokens: what is said next. parents: of which of the
    row's hypotheses. ends: whether it ends there.
    """

    sums: Tensor
    tokens: Tensor
    parents: Tensor
    ends: Tensor

    @classmethod
    def at(cls, scores: Tensor, growing: Growing, restraint: Restraint, width: int) -> Looked:
        """From the (B * G, V) scores of the next subword."""
        total = normaliser(scores)
        restraint.keep(scores, growing.said)
        values, places = highest(scores, 2 * width)
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
class Growing:
    """Hypotheses that go on.

    sums: (B, G) log-probabilities, best first; -inf where there are fewer than G. ids: (B, G, T) their subwords.
    """

    sums: Tensor
    ids: Tensor

    @property
    def said(self) -> int:
        """How many subwords each has."""
        return int(self.ids.shape[2])

    def next(self, looked: Looked) -> tuple[Growing, Tensor]:
        """The K best continuations that do not end; and (B, K) of which of the row's hypotheses each is.

        There are so many: each of at most K hypotheses ends in one way only.
        """
        width = looked.ends.shape[1] // 2
        going = looked.ends.to(torch.int8).argsort(dim=1, stable=True)[:, :width]
        parents = looked.parents.gather(1, going)
        before = self.ids.gather(1, parents[:, :, None].expand(-1, -1, self.said))
        return Growing(
            looked.sums.gather(1, going), torch.cat([before, looked.tokens.gather(1, going)[:, :, None]], dim=2)
        ), parents

    def select(self, rows: Tensor) -> Growing:
        """The named rows."""
        return Growing(self.sums[rows], self.ids[rows])


@dataclass(frozen=True)
class Ended:
    """The K best hypotheses that have ended, best first.

    scores: (B, K) by which they are ordered; -inf where there are fewer. logprobs, lengths: (B, K), without the end in
    the length. ids: (B, K, T), zero behind each.
    """

    scores: Tensor
    logprobs: Tensor
    lengths: Tensor
    ids: Tensor

    @classmethod
    def none(cls, rows: int, width: int, longest: int, device: torch.device) -> Ended:
        """Before the search."""
        shape = (rows, width)
        worst = torch.full(shape, NEVER, device=device)
        lengths = torch.full(shape, -1, device=device)
        return cls(worst, worst.clone(), lengths, torch.zeros((*shape, longest), dtype=torch.int64, device=device))

    def joined(self, looked: Looked, growing: Growing, penalty: Penalty) -> Ended:
        """With those of the continuations that end here, where they are better."""
        counted = looked.counted()
        if not bool(counted.any()):
            return self
        length = torch.full_like(looked.tokens, growing.said)
        logprobs = looked.sums.masked_fill(~counted, NEVER)
        before = growing.ids.gather(1, looked.parents[:, :, None].expand(-1, -1, growing.said))
        new = Ended(
            logprobs / penalty.of(length + 1),
            logprobs,
            length.masked_fill(~counted, -1),
            pad(before, (0, self.ids.shape[2] - growing.said)),
        )
        both = [torch.cat(pair, dim=1) for pair in zip(self._parts(), new._parts(), strict=True)]
        order = both[0].sort(dim=1, descending=True, stable=True).indices[:, : self.scores.shape[1]]
        scores, logprobs, lengths = (part.gather(1, order) for part in both[:3])
        return Ended(scores, logprobs, lengths, both[3].gather(1, order[:, :, None].expand_as(self.ids)))

    def select(self, rows: Tensor) -> Ended:
        """The named rows."""
        return Ended(*(part[rows] for part in self._parts()))

    def put(self, rows: Tensor, others: Ended) -> None:
        """Write others in the place of the named rows."""
        for part, other in zip(self._parts(), others._parts(), strict=True):
            part[rows] = other

    def _parts(self) -> list[Tensor]:
        return [getattr(self, field.name) for field in fields(self)]
