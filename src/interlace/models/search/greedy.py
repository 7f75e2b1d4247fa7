"""The likeliest subword at each place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.models.search._walk import walk

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.models.search import Decoding, Found, Rules


def greedy(decoding: Decoding, first: Tensor, limits: Tensor, rules: Rules) -> Found:
    """A hypothesis a row, of the likeliest subword at each place; of equals that with the lowest id.

    Args:
        decoding: a batch that has been read.
        first: (B,) what each row begins with: the target language.
        limits: (B,) the most subwords of each row.
        rules: which subwords may be chosen.

    Raises:
        CheckpointError: the model computes no numbers.
    """
    return walk(decoding, first, limits, rules, lambda scores, _rows, _said: scores.argmax(1))
