"""Sentence vectors of a backbone as it is: the mean of a layer's states, specials left out (XTREME).

Legend: n sentences, k layers, H width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from interlace.data.layout import sentence_layout
from interlace.models.backbone import pool
from interlace.objectives import BoolOrAuto, Prepared, encoder_inputs, resolve_language_ids
from interlace.tasks._predict import buckets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from interlace.data import Sentences
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone


def sentence_vectors(
    backbone: Backbone,
    vocab: Vocab,
    sentences: Sentences,
    *,
    layer: int,
    max_length: int,
    tokens_per_batch: int,
    language_ids: BoolOrAuto = "auto",
) -> NDArray[np.float32]:
    """(n, H) in the order of the sentences; a sentence without subwords gets zeros.

    layer: 0 are the embeddings, 1 the first layer's states.
    """
    found: NDArray[np.float32] = layer_vectors(
        backbone,
        vocab,
        sentences,
        layers=(layer,),
        max_length=max_length,
        tokens_per_batch=tokens_per_batch,
        language_ids=language_ids,
    )[0]
    return found


def layer_vectors(
    backbone: Backbone,
    vocab: Vocab,
    sentences: Sentences,
    *,
    layers: Sequence[int],
    max_length: int,
    tokens_per_batch: int,
    language_ids: BoolOrAuto = "auto",
) -> NDArray[np.float32]:
    """(k, n, H) as `sentence_vectors`, for several layers from one pass."""
    prepared = Prepared(vocab, backbone.traits)
    feed = resolve_language_ids(language_ids, backbone.traits, "sentence vectors")
    vectors = np.zeros((len(layers), len(sentences), backbone.width), np.float32)
    was_training = backbone.training
    backbone.eval()
    with torch.inference_mode():
        for rows in buckets(sentences, prepared, max_length, tokens_per_batch):
            layout = sentence_layout(sentences.take(rows), vocab, min(max_length, backbone.traits.max_length))
            arrays = encoder_inputs(layout, backbone.traits, (sentences.language,), language_ids=feed)
            inputs = {name: torch.from_numpy(array).to(backbone.device) for name, array in arrays.items()}
            content = torch.from_numpy(layout.content).to(backbone.device)
            states = backbone.hidden_states(inputs)
            pooled = torch.stack([pool(states[layer].float(), content, "mean") for layer in layers])
            vectors[:, rows] = pooled.cpu().numpy()
    backbone.train(was_training)
    return vectors
