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
    last_tokenized = int(layout.words.max(initial=0))
    last_linked = int(links.flat.max(initial=0))
    last_word = max(last_tokenized, last_linked)
    has_token = np.zeros((2 * pairs, last_word + 2), np.bool_)
    sentences = np.arange(2 * pairs)
    has_token[sentences[:, None], layout.words] = layout.content
    rows = links.rows()
    source, target = links.flat.T
    has_source = has_token[rows, source]
    has_target = has_token[rows + pairs, target]
    is_visible = has_source & has_target
    if confidence is None:
        confidence = np.ones(len(rows), np.float32)
    source_words = layout.words[:pairs]
    target_words = layout.words[pairs:]
    max_source_words = int(source_words.max(initial=-1)) + 1
    max_target_words = int(target_words.max(initial=-1)) + 1
    shape = (pairs, max_source_words + 1, max_target_words + 1)
    confidences = np.zeros(shape, np.float32)
    cells = (rows[is_visible], source[is_visible], target[is_visible])
    confidences[cells] = confidence[is_visible]
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
    words_of_rows = source_words[:, :, None]
    words_of_columns = target_words[:, None, :]
    real = (words_of_rows >= 0) & (words_of_columns >= 0)  # (B, L, L)
    with torch.autocast(states.device.type, enabled=False):  # bf16 is too coarse for cosines
        source, target = normalize(states.float(), dim=2).chunk(2)  # (B, L, H) each
        cosines = source @ target.transpose(1, 2)
    lowest = torch.finfo(cosines.dtype).min
    scores = (cosines / temperature).masked_fill(~real, lowest)
    forward = scores.log_softmax(2)
    backward = scores.log_softmax(1)

    pairs = torch.arange(len(real), device=states.device)
    statistical = confidences[pairs[:, None, None], words_of_rows, words_of_columns]
    mean = (forward + backward) / 2
    expected = mean.detach().exp()
    targets = (expected + statistical) / 2
    linked = (targets > MIN_TARGET) & real
    targets = targets * linked

    source_mass = forward.masked_fill(~linked, lowest).logsumexp(2)  # (B, L)
    target_mass = backward.masked_fill(~linked, lowest).logsumexp(1)
    source_losses = targets.amax(2) * source_mass
    target_losses = targets.amax(1) * target_mass
    return -source_losses.sum() - target_losses.sum()
