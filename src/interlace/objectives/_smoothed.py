"""Cross-entropy of many predictions over a large vocabulary, with label smoothing, in parts that fit into memory.

Legend: N predictions, H width, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.models.backbone import Backbone

MOST_LOGITS = 1 << 28  # held at once; four bytes each, four times over at the peak of the way back


def smoothed_entropy(backbone: Backbone, states: Tensor, labels: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """The sum that is learnt from, and the plain sum of -log p(label); without smoothing they are the same.

    Where nearly every subword is predicted all scores together may not fit: they are made in parts, and made again for
    the gradient.

    Args:
        backbone: whose vocabulary head is used.
        states: (N, H).
        labels: (N,).
        smoothing: the share of the right answer's weight that is spread over the vocabulary (Szegedy et al. 2016,
            section 7; Vaswani et al. 2017, section 5.4).
    """
    import torch
    from torch.utils.checkpoint import checkpoint

    if len(states) * backbone.vocab_size <= MOST_LOGITS:
        total, plain = _sums(backbone, states, labels, smoothing)
        return total, plain
    size = max(1, MOST_LOGITS // backbone.vocab_size)
    pieces = zip(torch.split(states, size), torch.split(labels, size), strict=True)
    sums = [checkpoint(_sums, backbone, *piece, smoothing, use_reentrant=False) for piece in pieces]
    totals, plains = zip(*sums, strict=True)
    return torch.stack(totals).sum(), torch.stack(plains).sum()


def _sums(backbone: Backbone, states: Tensor, labels: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Both from one softmax: torch's own smoothing gives the first sum alone, and the second would cost another."""
    from torch.nn.functional import log_softmax, nll_loss

    logs = log_softmax(backbone.logits(states).float(), dim=1)  # (N, V)
    plain = nll_loss(logs, labels, reduction="sum")
    if not smoothing:
        return plain, plain.detach()
    return (1 - smoothing) * plain - smoothing / logs.shape[1] * logs.sum(), plain.detach()
