"""Rows for new subwords in a checkpoint's tables: embeddings, output weights where they are apart, output bias.

What a new subword begins as is the mean of the subwords that spelt it before, so that the model reads and predicts it
at first much as it did its pieces; where nothing could spell it, or by choice, it is drawn about the mean of the table
(Hewitt 2021, "Initializing New Word Embeddings for Pretrained Language Models", of which this is the diagonal form).

Legend: R rows of the table, H width, N new subwords.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from interlace.core.randomness import Purpose, generator

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.data.extension import Extension

NewRows = Literal["mean", "random"]

_MULTIPLES = (128, 64, 8)  # what tables are padded to, where they are
_KEY = 2  # of the draws: 1 is that of language embeddings


def extend(model: Any, extension: Extension, how: NewRows, seed: int) -> None:
    """Grow the tables of a model for the subwords that `extension` tells of, in place.

    A table with more rows than its tokenizer has ids keeps spare rows: new subwords take the first of them, and the
    table grows to the next multiple of what it was padded to. One without stays without.
    """
    import torch

    rows = int(model.get_input_embeddings().weight.shape[0])
    wanted = _padded(rows, extension)
    if wanted > rows:
        with torch.random.fork_rng(devices=[]):  # rows are drawn there which are all replaced here
            model.resize_token_embeddings(wanted, mean_resizing=False)
    rng = generator(Purpose.INIT, seed, step=_KEY)
    with torch.no_grad():
        for table in _tables(model):
            new = _begin(table[: extension.base], extension, how, rng)
            spare = table[extension.base : rows].mean(0) if rows > extension.base else new.mean(0)
            table[extension.base : extension.size] = new
            table[max(rows, extension.size) :] = spare


def _padded(rows: int, extension: Extension) -> int:
    if extension.size <= rows:
        return rows
    if rows == extension.base:
        return extension.size
    multiple = next((multiple for multiple in _MULTIPLES if rows % multiple == 0), 1)
    return -(-extension.size // multiple) * multiple


def _tables(model: Any) -> list[Tensor]:
    """What has a row a subword, tied tensors once."""
    head = model.get_output_embeddings()
    found = [model.get_input_embeddings().weight, head.weight, getattr(head, "bias", None)]
    apart = {tensor.data_ptr(): tensor.data for tensor in found if tensor is not None}
    spare = getattr(
        getattr(getattr(model, "cls", None), "predictions", None) or getattr(model, "lm_head", None), "bias", None
    )
    if spare is not None:
        apart[spare.data_ptr()] = spare.data
    return list(apart.values())


def _begin(old: Tensor, extension: Extension, how: NewRows, rng: np.random.Generator) -> Tensor:
    """(N, H) rows, or (N,) for a bias, which is the mean where it is not that of the pieces."""
    import torch

    numbers = len(extension.pieces)
    begun = old.mean(0).expand(numbers, *old.shape[1:]).clone()
    if old.ndim > 1:
        noise = rng.standard_normal((numbers, old.shape[1]))
        begun += torch.from_numpy(noise).to(old) * old.std(0)
    if how == "random":
        return begun
    spelt = extension.pieces.lengths > 0
    at = torch.from_numpy(extension.pieces.rows().astype(np.int64))
    ids = torch.from_numpy(extension.pieces.flat.astype(np.int64))
    means = torch.zeros_like(begun).index_add_(0, at, old[ids])
    counts = torch.from_numpy(np.maximum(extension.pieces.lengths, 1)).to(old).reshape(-1, *[1] * (old.ndim - 1))
    kept = torch.from_numpy(spelt).reshape(counts.shape)
    return torch.where(kept, means / counts, begun)
