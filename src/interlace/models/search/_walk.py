"""One hypothesis a row: what greedy and sampled search share.

Legend: B rows of a batch, R those that have not ended, T most subwords, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import torch

from interlace.models.search import Found
from interlace.models.search._choice import Restraint, normaliser

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.models.search import Decoding, Rules


class Choose(Protocol):
    """Takes a subword for each row."""

    def __call__(self, scores: Tensor, rows: Tensor, said: int) -> Tensor:
        """(R,) from (R, V) scores of the (R,) rows of the batch, behind `said` subwords."""


@torch.no_grad()
def walk(decoding: Decoding, first: Tensor, limits: Tensor, rules: Rules, choose: Choose) -> Found:
    """Choose subword after subword until every row has ended; rows that have ended leave the batch."""
    device, count = first.device, len(first)
    limits = limits.cpu()
    restraint = Restraint(rules, limits, device)
    width = int(limits.max()) + 1 if count else 0
    ids = torch.full((count, width), rules.pad, device=device)
    lengths = torch.full((count,), -1, device=device)
    logprobs = torch.zeros(count, device=device)
    rows, tokens = torch.arange(count, device=device), first
    for said in range(width):
        scores = decoding.step(tokens)
        total = normaliser(scores)
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
    return Found(ids[:, None, :longest], lengths[:, None], logprobs[:, None])
