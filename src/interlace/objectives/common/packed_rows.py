"""Batches as one row of fixed shape, in which the sequences follow each other without padding.

    padded    <s> a b </s>        packed    <s> a b </s> <s> c </s> # #     ends 0, 4, 7, 9, 9
              <s> c </s> _

What remains of the row is filled with sequences of padding tokens (#), which attend to themselves and are never
predicted. The kernel for it is torch's variable-length attention, on GPUs (`models.attention`).

Legend: B sequences, L tokens of the longest, T tokens of the row.
"""

from dataclasses import dataclass, replace

import numpy as np

from interlace.core.ragged import AnyArray, BoolArray, IntArray, ranges
from interlace.models.families import SEQUENCE_ENDS
from interlace.objectives import Batch

MEAN_LENGTH = 16  # tokens per sequence down to which the number of sequences has one shape


@dataclass(frozen=True)
class PackedRow:
    """The shape of packed batches, and what fills them.

    tokens: T; a batch with more is a longer row. max_length: of a sequence, in tokens.
    pad: id of the padding token. first_position: position id of a sequence's first token.
    """

    tokens: int
    max_length: int
    pad: int
    first_position: int

    def pack(self, batch: Batch) -> Batch:
        """Return a batch of numpy arrays whose inputs have the shape (1, T), and the ends of its sequences."""
        ids = batch.inputs["input_ids"]  # (B, L)
        is_real = np.ones(ids.shape, np.bool_)
        if "attention_mask" in batch.inputs:
            is_real = batch.inputs["attention_mask"].astype(np.bool_)
        used = np.flatnonzero(is_real)  # places of the tokens in the padded batch
        columns = np.cumsum(is_real) - 1  # (B * L,) of the tokens in the row
        needed = -(-len(used) // self.max_length) * self.max_length
        length = max(self.tokens, needed)
        lengths = self._with_filler(is_real.sum(axis=1), length)
        inputs = dict(batch.inputs)
        inputs.pop("attention_mask", None)
        if "position_ids" not in inputs:
            inputs["position_ids"] = self._positions(is_real)
        for name, array in inputs.items():
            row = np.full((1, length), self.pad if name == "input_ids" else 0, np.int64)
            row[0, : len(used)] = array.reshape(-1)[used]
            inputs[name] = row
        filler_lengths = lengths[len(ids) :]
        filler_positions = ranges(np.zeros_like(filler_lengths), filler_lengths)
        inputs["position_ids"][0, len(used) :] = filler_positions + self.first_position
        inputs[SEQUENCE_ENDS] = self._ends(lengths, length)
        rows, row_columns = batch.at
        predicted = columns[rows * ids.shape[1] + row_columns]
        return replace(
            batch,
            inputs=inputs,
            at=(np.zeros_like(predicted), predicted),
            places={name: columns[places] for name, places in batch.places.items()},
            sides=None,
        )

    def _with_filler(self, lengths: IntArray, length: int) -> IntArray:
        """Return the lengths of the sequences, then those of sequences that fill a row of `length` tokens."""
        missing = length - int(lengths.sum())
        whole, part = divmod(missing, self.max_length)
        filler = [self.max_length] * whole
        if part:
            filler.append(part)
        return np.concatenate([lengths, np.array(filler, np.int64)])

    def _positions(self, is_real: BoolArray) -> AnyArray:
        """(B, L) position ids that count the real tokens of a sequence."""
        positions: AnyArray = np.cumsum(is_real, axis=1) - 1 + self.first_position
        return positions

    def _ends(self, lengths: IntArray, length: int) -> AnyArray:
        """Return 0 and the end of each sequence, repeating the last one up to one of few sizes."""
        size = -(-length // MEAN_LENGTH)
        while size < len(lengths):
            size *= 2
        ends = np.full(size + 1, length, np.int32)
        ends[0] = 0
        ends[1 : len(lengths) + 1] = np.cumsum(lengths)
        return ends
