"""How much a search takes on at once: a fixed amount, and on a GPU as much as there is memory for.

Of the memory that is free, a half is for what is kept of each subword and a quarter for scores of the vocabulary. The
last quarter is for what comes and goes. All figures are for float32, so less precise arithmetic has room to spare.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.models.seq2seq import Seq2Seq

TOKENS = 16_384
SCORES = 1 << 27
MOST_SCORES = 1 << 30  # kernels count numbers in 31 bits
_FLOAT = 4
_COPIES = 4  # of all scores, at their most: as the head makes them, normalised, and two on the way


@dataclass(frozen=True)
class Budget:
    """What a batch may be made of.

    tokens: padded subwords of its sources, times the beam. scores: of the vocabulary, of all rows, at once.
    """

    tokens: int = TOKENS
    scores: int = SCORES

    @classmethod
    def of(cls, models: Sequence[Seq2Seq]) -> Budget:
        """That of models where they are."""
        device = models[0].device
        if device.type != "cuda":
            return cls()
        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        free = torch.cuda.mem_get_info(device)[0] + kept
        return cls.within(free, sum(map(_bytes, models)), len(models))

    @classmethod
    def within(cls, free: int, token: int, models: int = 1) -> Budget:
        """That of so many free bytes; never less than on a CPU, for what a subword takes is reckoned high.

        Args:
            free: bytes.
            token: bytes that are kept of a source's subword in a hypothesis, in all models.
            models: how many score at once.
        """
        tokens = free // 2 // token
        scores = free // 4 // (_FLOAT * _COPIES * models)
        return cls(max(TOKENS, tokens), min(max(SCORES, scores), MOST_SCORES))


def bytes_of(width: int, layers: int) -> int:
    """Bytes that a search keeps of a source's subword in a hypothesis.

    In each decoder layer a key and a value of what is said, for three subwords a source's subword, as a translation
    may be half as long again and room is made ahead; and of the source. All of it stands twice while rows are
    reordered. An encoder layer at work holds its input, what attends, and four times that between.
    """
    said, source, encoder = 2 * 2 * 3 * layers, 2 * 2 * layers, 12
    return _FLOAT * width * (said + source + encoder)


def _bytes(model: Seq2Seq) -> int:
    return bytes_of(model.width, int(model.decoder.config.num_hidden_layers))
