"""The loss that trains an encoder to align words by soft links, without gold alignments.

The cosines of the subwords of a sentence with those of its translation, divided by a temperature, give by a softmax the
probability of each link in both directions (Dou & Neubig 2021, section 2.1). The target of a link is the mean of this
probability, without its gradient, and of the confidence of another aligner: what both expect is reinforced, and of what
one expects alone only the surest. The loss of a subword is the negative logarithm of the probability of all its links
together, so that a subword may have several links, and does not learn how it shares them out.

Legend: B pairs; L tokens of the longest sentence; S and T words of the longest sides; H width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.core.ragged import FloatArray, Ragged
from interlace.data.layout import Layout

if TYPE_CHECKING:
    from torch import Tensor

TEMPERATURE = 0.02  # of cosines
MIN_TARGET = 0.3  # links below it are not learned


def word_confidences(
    links: Ragged, confidence: FloatArray | None, layout: Layout
) -> FloatArray:
    """(B, S + 1, T + 1) the confidence of the link of each source word and target word, 0 without one.

    The last row and the last column are 0: the index -1 of tokens that belong to no word selects them. Links of words
    without a token, such as truncated ones, are left out.

    links: a row per pair. confidence: (total,) of each link; None: 1. layout: of `data.layout.separate_sides`.
    """
    pairs = len(links)
    max_words = max(int(layout.words.max(initial=0)), int(links.flat.max(initial=0))) + 1
    has_token = np.zeros((2 * pairs, max_words + 1), np.bool_)
    has_token[np.arange(2 * pairs)[:, None], layout.words] = layout.content
    rows = links.rows()
    source, target = links.flat.T
    is_visible = has_token[rows, source] & has_token[rows + pairs, target]
    values = np.ones(len(rows), np.float32) if confidence is None else confidence
    source_words = int(layout.words[:pairs].max(initial=-1)) + 1
    target_words = int(layout.words[pairs:].max(initial=-1)) + 1
    confidences = np.zeros((pairs, source_words + 1, target_words + 1), np.float32)
    cells = (rows[is_visible], source[is_visible], target[is_visible])
    confidences[cells] = values[is_visible]
    return confidences


def self_alignment_loss(
    states: Tensor, words: Tensor, confidences: Tensor, temperature: float
) -> Tensor:
    """Return the summed loss of all subwords of both sides that have a link.

    states: (2B, L, H) of the sources, then of the targets. words: (2B, L) the word of each subword, -1 without one.
    confidences: see `word_confidences`.
    """
    import torch
    from torch.nn.functional import normalize

    source_words, target_words = words.long().chunk(2)  # (B, L) each
    real = (source_words >= 0)[:, :, None] & (target_words >= 0)[:, None, :]  # (B, L, L)
    with torch.autocast(states.device.type, enabled=False):  # bf16 is too coarse for cosines
        source, target = normalize(states.float(), dim=2).chunk(2)  # (B, L, H) each
        cosines = source @ target.transpose(1, 2)
    lowest = torch.finfo(cosines.dtype).min
    scores = (cosines / temperature).masked_fill(~real, lowest)
    forward = scores.log_softmax(2)
    backward = scores.log_softmax(1)

    rows = torch.arange(len(real), device=states.device)[:, None, None]
    statistical = confidences[rows, source_words[:, :, None], target_words[:, None, :]]
    expected = ((forward + backward) / 2).detach().exp()
    targets = (expected + statistical) / 2
    linked = (targets > MIN_TARGET) & real
    targets = targets * linked

    source_mass = forward.masked_fill(~linked, lowest).logsumexp(2)  # (B, L)
    target_mass = backward.masked_fill(~linked, lowest).logsumexp(1)
    source_loss = (targets.amax(2) * source_mass).sum()
    target_loss = (targets.amax(1) * target_mass).sum()
    return -source_loss - target_loss
