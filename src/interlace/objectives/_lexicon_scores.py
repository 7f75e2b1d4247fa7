"""Do the words of a run's dictionaries stand next to their translations? What was learnt from, and what was held out.

ALIGN-MLM's code measures over all words, those it trained on among them; here each part is measured by itself.

Legend: W words; Q words asked; C target words of a dictionary; H width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.objectives._lexicons import Part

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from torch import Tensor

    from interlace.models.backbone import Backbone
    from interlace.objectives._lexicons import Dictionaries

MOST = 1000  # words asked of a part of a dictionary, evenly over it: a probe beside training must be cheap


def dictionary_scores(backbone: Backbone, dictionaries: Mapping[str, Dictionaries | None]) -> dict[str, float]:
    """`OBJECTIVE/drawn/p@1`, `OBJECTIVE/drawn/cosine` and the same of `held-out`; parts without entries are left out.

    p@1: percent of source words whose nearest target word of the dictionary, by cosine in the input table, is one of
        their translations in that part. Words of several subwords are the mean of their rows.
    """
    import torch

    found: dict[str, float] = {}
    with torch.inference_mode():
        for name, one in dictionaries.items():
            if one is None:
                continue
            vectors = _vectors(backbone.input_embeddings, one)
            for part, label in ((Part.DRAWN, "drawn"), (Part.HELD_OUT, "held-out")):
                if len(at := one.of(part)):
                    near = (vectors[one.source[at]] * vectors[one.target[at]]).sum(dim=1)
                    hits = [hit for owner in np.unique(one.owner[at]) for hit in _hits(vectors, one, part, owner)]
                    found[f"{name}/{label}/cosine"] = round(float(near.mean()), 5)
                    found[f"{name}/{label}/p@1"] = round(100 * sum(hits) / len(hits), 3)
    return found


def _vectors(table: Tensor, one: Dictionaries) -> Tensor:
    """(W, H) unit vectors."""
    import torch
    from torch.nn.functional import embedding_bag, normalize

    ids, starts = (torch.from_numpy(array.astype(np.int64)) for array in (one.words.flat, one.words.offsets[:-1]))
    return normalize(embedding_bag(ids.to(table.device), table, starts.to(table.device), mode="mean").float())


def _hits(vectors: Tensor, one: Dictionaries, part: Part, owner: int) -> list[bool]:
    """Of each word asked, whether the nearest is right. Its translations of other parts, and itself, do not count."""
    import torch

    mine = one.owner == owner
    asked = np.unique(one.source[mine & (one.parts == part)])
    asked = asked[:: -(-len(asked) // MOST)]
    words = np.unique(one.target[mine])
    likeness = vectors[asked] @ vectors[words].T  # (Q, C)
    entries = np.flatnonzero(mine & np.isin(one.source, asked))
    rows = np.searchsorted(asked, one.source[entries])
    columns = np.searchsorted(words, one.target[entries])
    right = one.parts[entries] == part
    best = torch.full((len(asked),), -2.0, device=likeness.device)
    at = torch.from_numpy(rows[right]).to(likeness.device)
    best = best.scatter_reduce(0, at, likeness[rows[right], columns[right]], "amax")
    likeness[rows, columns] = -2.0
    own = _own(asked, words)
    likeness[own] = -2.0
    found: list[bool] = (best > likeness.amax(dim=1)).tolist()
    return found


def _own(asked: NDArray[np.int64], words: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where a word that is asked stands among the target words."""
    rows = np.flatnonzero(np.isin(asked, words))
    return rows, np.searchsorted(words, asked[rows])
