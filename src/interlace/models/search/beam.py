"""Beam search: the best of several hypotheses that grow side by side, in XLM's form.

A row keeps K hypotheses that go on, and the K best that have ended. At each place 2K continuations are looked at, so
that K go on however many of them end; one that ends counts where fewer than K better ones go on.

Legend: B rows that still search, K hypotheses of a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch

from interlace.models.search import Found
from interlace.models.search._beams import Ended, Growing, Looked
from interlace.models.search._choice import NEVER, Restraint

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.models.search import Decoding, Rules
    from interlace.models.search.penalty import Penalty

Stop = Literal["full", "likely", "sure"]


@torch.no_grad()
def beam(
    decoding: Decoding,
    first: Tensor,
    limits: Tensor,
    rules: Rules,
    width: int,
    *,
    penalty: Penalty,
    stop: Stop = "likely",
) -> Found:
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
    restraint = Restraint(rules, limits.cpu(), device)
    longest = int(limits.max()) if count else 0
    found = ended = Ended.none(count, width, longest, device)
    rows, tokens = torch.arange(count, device=device), first
    growing = Growing(torch.zeros((count, 1), device=device), first.new_zeros((count, 1, 0)))
    while len(rows):
        looked = Looked.at(decoding.step(tokens), growing, restraint, width)
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
    return Found(ids.masked_fill(behind, rules.pad), found.lengths, found.logprobs)


def _done(growing: Growing, ended: Ended, most: Tensor, penalty: Penalty, stop: Stop) -> Tensor:
    """(B,) which rows need not go on; `most` is each one's limit."""
    best, worst = growing.sums[:, 0], ended.scores[:, -1]
    if stop == "full":
        return (worst > NEVER) | (best == NEVER)
    bound = best / penalty.of(torch.full_like(most, growing.said + 1))
    if stop == "sure":  # a sum only falls, but what it is divided by may grow up to the longest
        bound = torch.maximum(bound, best / penalty.of(most + 1))
    return ~(worst < bound)  # so that a row at its limit is done, whatever its scores are
