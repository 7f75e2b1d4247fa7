"""Nearest neighbors by cosine and CSLS, with a common rule for ties.

Some vectors, hubs, are near to everything. CSLS (Conneau et al. 2018, section 2.3) subtracts from a cosine the mean r
of the cosines of both vectors to their k nearest neighbors on the other side: cos(x, y) - (r(x) + r(y)) / 2 is half of
CSLS, which gives the same order.

Similarities are computed in blocks by torch, on a GPU if available. Cosines of equal vectors differ by rounding errors
between blocks and machines, so differences up to `TIE` are ties.

Legend: n queries, m candidates, H width, k neighbors, b queries of a block. Vectors are rows of length 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.finite import check_finite
from interlace.core.ragged import AnyArray, FloatArray, Int32Array, IntArray, Ragged
from interlace.core.randomness import Generator

if TYPE_CHECKING:
    from torch import Tensor

    Floats = FloatArray
    Numbers = IntArray

CELLS = 1 << 24  # similarities of a block: 64 MiB of float32
TIE = 1e-6  # differences of scores up to this are ties
_GPU_FACTOR = 16  # larger blocks keep a GPU busy


def unit(vectors: AnyArray) -> Floats:
    """(n, H) rows scaled to length 1; rows of zeros remain. Raise a DataError if a value is not finite."""
    vectors = np.asarray(vectors, np.float32)
    check_finite(vectors, "vectors")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.finfo(np.float32).tiny), np.float32)


@dataclass(frozen=True)
class Csls:
    """Computes CSLS from cosines and r, the mean cosine of a vector to its nearest neighbors on the other side.

    candidates: (m,) r of each. queries: (n,) or None for 0, which does not change the order of a query's candidates.
    """

    candidates: Floats
    queries: Floats | None = None

    @classmethod
    def of(cls, candidates: Floats, others: Floats, k: int) -> Csls:
        """Return the scorer without r of the queries; candidates' neighbors are searched among the others."""
        return cls(mean_neighbor_similarity(candidates, others, k))

    def scores(self, cosines: Tensor, rows: slice) -> Tensor:
        """(b, m) half of CSLS from the cosines of the queries `rows` to all candidates."""
        mean = cosines.new_tensor(self.candidates) / 2
        if self.queries is not None:
            mean = mean + cosines.new_tensor(self.queries[rows, None]) / 2
        return cosines - mean


def mean_neighbor_similarity(vectors: Floats, others: Floats, k: int) -> Floats:
    """(n,) r: the mean cosine of each vector to its k nearest neighbors among the others (all if fewer)."""
    k = min(k, len(others))
    means = np.zeros(len(vectors), np.float32)
    for rows, cosines in _blocks(vectors, others):
        nearest_cosines = cosines.topk(k, dim=1).values
        means[rows] = nearest_cosines.mean(dim=1).cpu().numpy()
    return means


@dataclass(frozen=True)
class Neighbors:
    """The nearest candidates of n queries, nearest first.

    numbers: (n, k) int32. cosines: (n, k) float32.
    """

    numbers: Int32Array
    cosines: Floats

    @classmethod
    def nearest(cls, parts: Sequence[Neighbors], k: int) -> Neighbors:
        """Return the k nearest (all if fewer) among the neighbors in several sets of candidates."""
        numbers = np.concatenate([part.numbers for part in parts], axis=1)
        cosines = np.concatenate([part.cosines for part in parts], axis=1)
        order = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
        return cls(
            np.take_along_axis(numbers, order, axis=1),
            np.take_along_axis(cosines, order, axis=1),
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Neighbors]) -> Neighbors:
        """Return the neighbors of the queries of all parts, in order."""
        numbers = np.concatenate([part.numbers for part in parts])
        return cls(numbers, np.concatenate([part.cosines for part in parts]))

    def shifted(self, start: int) -> Neighbors:
        """Return the neighbors with candidates that are counted from another start."""
        return Neighbors(self.numbers + np.int32(start), self.cosines)


def nearest_both_ways(vectors: Floats, others: Floats, k: int) -> tuple[Neighbors, Neighbors]:
    """Return the k nearest others (all if fewer) of each of n vectors, and the k nearest vectors of each of m others.

    Each cosine is computed once for both.
    """
    forward: list[Neighbors] = []
    backward: list[Neighbors] = []
    for rows, cosines in _blocks(vectors, others):
        forward.append(_top(cosines, k))
        backward.append(_top(cosines.T.contiguous(), k).shifted(rows.start))
        backward = [Neighbors.nearest(backward, k)]
    return Neighbors.concatenate(forward), backward[0]


def _top(cosines: Tensor, k: int) -> Neighbors:
    """Return the k nearest of each row."""
    best = cosines.topk(min(k, cosines.shape[1]), dim=1)
    return Neighbors(best.indices.cpu().numpy().astype(np.int32), best.values.cpu().numpy())


def nearest(queries: Floats, candidates: Floats, scorer: Csls | None = None) -> Numbers:
    """Return (n,) the nearest candidate of each query, ties to the first; scorer: None: compare cosines."""
    numbers = np.zeros(len(queries), np.int64)
    for rows, scores in _blocks(queries, candidates, scorer):
        best = scores.amax(dim=1, keepdim=True)
        is_best = scores >= best - TIE
        numbers[rows] = is_best.byte().argmax(dim=1).cpu().numpy()
    return numbers


def nearest_among_sample(
    queries: Floats, candidates: Floats, scorer: Csls, share: float, rng: Generator
) -> tuple[Numbers, Numbers, float]:
    """Return (p,) queries and (p,) the nearest candidate of each in a random sample per query.

    Queries whose sample is empty are dropped. The last result is the mean score of the nearest among all candidates.
    """
    import torch

    numbers = np.zeros(len(queries), np.int64)
    has_sample = np.zeros(len(queries), bool)
    total = 0.0
    for rows, scores in _blocks(queries, candidates, scorer):
        best_scores = scores.amax(dim=1)
        total += float(best_scores.sum())
        draws = rng.random(tuple(scores.shape), np.float32)
        is_hidden = torch.from_numpy(draws >= share).to(scores.device)
        scores.masked_fill_(is_hidden, -torch.inf)
        best = scores.max(dim=1)
        numbers[rows] = best.indices.cpu().numpy()
        has_sample[rows] = best.values.isfinite().cpu().numpy()
    sampled_queries = np.flatnonzero(has_sample)
    return sampled_queries, numbers[sampled_queries], total / max(len(queries), 1)


def ranks(
    queries: Floats,
    candidates: Floats,
    gold: Ragged,
    scorer: Csls | None = None,
    excluded: Ragged | None = None,
) -> Numbers:
    """(n,) the rank, from 1, of the best correct candidate of each query; ties rank wrong candidates first.

    gold: n rows of the correct candidates, at least one each; other correct candidates are not counted.
    scorer: as in `nearest`.
    excluded: n rows of wrong candidates that are not counted for that query.
    """
    import torch

    query_ranks = np.zeros(len(queries), np.int64)
    for rows, scores in _blocks(queries, candidates, scorer):
        correct = _cells(gold, rows, scores.device)
        best = scores.new_full((len(scores),), -torch.inf)
        best = best.scatter_reduce(0, correct[0], scores[correct], "amax")
        scores[correct] = -torch.inf
        if excluded is not None:
            scores[_cells(excluded, rows, scores.device)] = -torch.inf
        is_wrong_and_near = scores >= best[:, None] - TIE
        query_ranks[rows] = 1 + is_wrong_and_near.sum(dim=1).cpu().numpy()
    return query_ranks


def mutual_nearest(source: Floats, target: Floats, k: int) -> tuple[Numbers, Numbers]:
    """(pairs,) rows of both sides that are mutual nearest neighbors by CSLS (Conneau et al. 2018, section 2.3)."""
    forward_scorer = Csls.of(target, source, k)
    forward = nearest(source, target, forward_scorer)  # (n,)
    backward_scorer = Csls.of(source, target, k)
    backward = nearest(target, source, backward_scorer)  # (m,)
    # a source vector is the nearest of its own nearest target vector
    is_mutual = backward[forward] == np.arange(len(source))
    rows = np.flatnonzero(is_mutual)
    return rows, forward[rows]


def _cells(rows: Ragged, block: slice, device: Any) -> tuple[Tensor, Tensor]:
    """Return the row in the block and the column of each value."""
    import torch

    part = rows.slice(block.start, block.stop)
    columns = torch.from_numpy(part.flat.astype(np.int64))
    return torch.from_numpy(part.rows()).to(device), columns.to(device)


def _blocks(
    queries: Floats, candidates: Floats, scorer: Csls | None = None
) -> Iterator[tuple[slice, Tensor]]:
    """Yield blocks of queries and their scores of all candidates, (b, m), which may be modified."""
    import torch

    device = torch.device("cpu")
    cells = CELLS
    if torch.cuda.is_available():
        device = torch.device("cuda")
        cells *= _GPU_FACTOR
    all_queries = _tensor(queries, device)
    transposed = _tensor(candidates, device).T
    size = max(1, cells // max(len(candidates), 1))
    for start in range(0, len(queries), size):
        stop = min(start + size, len(queries))
        rows = slice(start, stop)
        with torch.autocast(device.type, enabled=False):  # half precision would create ties
            scores = all_queries[rows] @ transposed
            if scorer is not None:
                scores = scorer.scores(scores, rows)
        yield rows, scores


def _tensor(vectors: Floats, device: Any) -> Tensor:
    import torch

    writable = np.require(vectors, np.float32, ["C", "W"])
    return torch.from_numpy(writable).to(device)
