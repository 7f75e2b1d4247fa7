"""Whether the batches of a run are packed rows, and of which shape."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import torch

from interlace.models.attention import NAME, runs_varlen
from interlace.objectives.common.packed_rows import PackedRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.objectives import Objective

log = logging.getLogger(__name__)


def packed_row(
    backbone: Backbone,
    vocab: Vocab,
    objectives: Sequence[Objective],
    tokens: int,
    precision: str,
) -> PackedRow | None:
    """Return the shape of packed batches, and prepare the backbone for them; None: batches are padded.

    tokens: of a micro-batch. precision: of training, as accelerate names it. On a GPU that cannot pack, log why.
    """
    lengths = [objective.max_length for objective in objectives if objective.packs]
    if not lengths:
        return None
    obstacle = _obstacle(backbone, precision)
    if obstacle:
        if torch.cuda.is_available():
            log.info("batches are padded, because %s", obstacle)
        return None
    backbone.max_packed_length = max(lengths)
    traits = backbone.traits
    return PackedRow(tokens, backbone.max_packed_length, vocab.pad, traits.first_position)


def _obstacle(backbone: Backbone, precision: str) -> str:
    """Return why batches cannot be packed; empty if they can be."""
    config = backbone.model.config
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision, torch.float32)
    head_size = config.hidden_size // config.num_attention_heads
    if not runs_varlen(dtype, head_size):
        return f"variable-length attention does not run in {precision} on this device"
    if getattr(config, "_attn_implementation", None) != NAME:
        return f"{backbone.family.name} models have an attention of their own"
    if backbone.causal:
        return "the model is causal"
    return ""
