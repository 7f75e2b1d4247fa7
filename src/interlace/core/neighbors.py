"""Nearest neighbours by cosine, by CSLS and by margins: one search and one rule of ties for all who ask.

Some vectors are near to everything: hubs. CSLS (Conneau et al. 2018, section 2.3) and margins (Artetxe & Schwenk 2019,
section 3.1) hold a cosine against the mean cosine of both vectors to their k nearest on the other side, r:

    distance   cos(x, y) - (r(x) + r(y)) / 2      half of CSLS, so in the same order
    ratio      cos(x, y) / ((r(x) + r(y)) / 2)

The table of similarities never stands in memory as a whole: it is worked on in blocks, by torch, on the GPU where there
is one. Cosines of equal vectors differ by a rounding error from block to block and from machine to machine, so what is
not farther than `TIE` away is as near.

Legend: n queries, m candidates, H width, k neighbours, b queries of a block. Vectors are rows of length 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from torch import Tensor

    from interlace.core.ragged import Ragged
    from interlace.core.randomness import Generator

    Floats = NDArray[np.float32]
    Places = NDArray[np.int64]

CELLS = 1 << 24  # similarities of a block: 64 MiB of float32
TIE = 1e-6  # what is no farther away than that ties
_ON_GPU = 16  # times as many there: a block must be large to keep it busy
_LEAST = 1e-6  # surroundings further away than this count so: a ratio to a negative number orders nothing

Margin = Literal["absolute", "distance", "ratio"]
"""The cosine itself, its difference from the mean of its surroundings, or its ratio to it."""


def unit(vectors: NDArray[Any]) -> Floats:
    """(n, H) rows of length 1; a row of zeros stays one, and is like nothing."""
    vectors = np.asarray(vectors, np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.finfo(np.float32).tiny), np.float32)


@dataclass(frozen=True)
class MarginScorer:
    """What cosines are held against: r, the mean cosine of a vector to its nearest on the other side.

    candidates: (m,) r of each; not read by 'absolute'. queries: (n,); None: taken for 0. By 'distance' they are the
        same for all candidates of a query, so its order does not hang on them.
    """

    kind: Margin
    candidates: Floats
    queries: Floats | None = None

    @classmethod
    def of(cls, kind: Margin, queries: Floats, candidates: Floats, k: int) -> MarginScorer:
        """From both sides; 'absolute' needs no neighbours, so none are searched."""
        if kind == "absolute":
            return cls(kind, np.zeros(len(candidates), np.float32), np.zeros(len(queries), np.float32))
        return cls(
            kind, mean_neighbor_similarity(candidates, queries, k), mean_neighbor_similarity(queries, candidates, k)
        )

    @classmethod
    def csls(cls, candidates: Floats, others: Floats, k: int) -> MarginScorer:
        """CSLS, the candidates' neighbours being counted among vectors that need not be the queries."""
        return cls("distance", mean_neighbor_similarity(candidates, others, k))

    def reversed(self) -> MarginScorer:
        """The same with candidates asked for queries."""
        queries = np.zeros(0, np.float32) if self.queries is None else self.queries
        return MarginScorer(self.kind, queries, self.candidates)

    def margins(self, likeness: Tensor, rows: slice) -> Tensor:
        """(b, m) margins from the cosines of the queries in `rows` to all candidates."""
        if self.kind == "absolute":
            return likeness
        around = likeness.new_tensor(self.candidates) / 2
        if self.queries is not None:
            around = around + likeness.new_tensor(self.queries[rows, None]) / 2
        return likeness - around if self.kind == "distance" else likeness / around.clamp(min=_LEAST)


def mean_neighbor_similarity(vectors: Floats, others: Floats, k: int) -> Floats:
    """(n,) r: the mean cosine of each vector to its k nearest among the others (all, where there are fewer)."""
    k = min(k, len(others))
    found = np.zeros(len(vectors), np.float32)
    for rows, likeness in _blocks(vectors, others):
        found[rows] = likeness.topk(k, dim=1).values.mean(dim=1).cpu().numpy()
    return found


def nearest(
    queries: Floats, candidates: Floats, around: MarginScorer | None = None
) -> tuple[NDArray[np.int64], Floats]:
    """(n,) the nearest candidate of each query, the first of those as near; and (n,) its margin.

    around: what cosines are held against; none: cosines are compared.
    """
    places, margins = np.zeros(len(queries), np.int64), np.zeros(len(queries), np.float32)
    for rows, scores in _blocks(queries, candidates, around):
        best = scores.amax(dim=1, keepdim=True)
        first = (scores >= best - TIE).byte().argmax(dim=1, keepdim=True)
        places[rows] = first[:, 0].cpu().numpy()
        margins[rows] = scores.gather(1, first)[:, 0].cpu().numpy()
    return places, margins


def nearest_among_sample(
    queries: Floats, candidates: Floats, around: MarginScorer, share: float, rng: Generator
) -> tuple[Places, Places, float]:
    """(p,) queries and (p,) the nearest to each among a share of the candidates, drawn anew for every query.

    Queries for which none was drawn are left out. The last number is the mean margin of the nearest among all.
    """
    import torch

    places, there, total = np.zeros(len(queries), np.int64), np.zeros(len(queries), bool), 0.0
    for rows, scores in _blocks(queries, candidates, around):
        total += float(scores.amax(dim=1).sum())
        hidden = torch.from_numpy(rng.random(tuple(scores.shape), np.float32) >= share).to(scores.device)
        best = scores.masked_fill_(hidden, -torch.inf).max(dim=1)
        places[rows], there[rows] = best.indices.cpu().numpy(), best.values.isfinite().cpu().numpy()
    found = np.flatnonzero(there)
    return found, places[found], total / max(len(queries), 1)


def ranks(
    queries: Floats,
    candidates: Floats,
    gold: Ragged,
    around: MarginScorer | None = None,
    barred: Ragged | None = None,
) -> Places:
    """(n,) the place, from 1, of the best right candidate of each query. A wrong one that is as near goes first.

    gold: n rows of the right candidates, at least one each; others of them are no rivals.
    around: as in `nearest`.
    barred: n rows of candidates that do not count for that query; never right ones.
    """
    import torch

    found = np.zeros(len(queries), np.int64)
    for rows, scores in _blocks(queries, candidates, around):
        owners, right = _places(gold, rows, scores.device)
        best = scores.new_full((len(scores),), -torch.inf)
        best = best.scatter_reduce(0, owners, scores[owners, right], "amax")
        scores[owners, right] = -torch.inf
        if barred is not None:
            scores[_places(barred, rows, scores.device)] = -torch.inf
        found[rows] = 1 + (scores >= best[:, None] - TIE).sum(dim=1).cpu().numpy()
    return found


def mutual(one: Floats, other: Floats, k: int) -> tuple[Places, Places]:
    """(pairs,) rows of both sides that are each other's nearest by CSLS (Conneau et al. 2018, section 2.3)."""
    around = MarginScorer.of("distance", one, other, k)
    forward, _ = nearest(one, other, around)
    backward, _ = nearest(other, one, around.reversed())
    rows = np.flatnonzero(backward[forward] == np.arange(len(one)))
    return rows, forward[rows]


def _places(rows: Ragged, block: slice, device: Any) -> tuple[Tensor, Tensor]:
    """Row in the block and column of each value."""
    import torch

    part = rows.slice(block.start, block.stop)
    return torch.from_numpy(part.rows()).to(device), torch.from_numpy(part.flat.astype(np.int64)).to(device)


def _blocks(queries: Floats, candidates: Floats, around: MarginScorer | None = None) -> Iterator[tuple[slice, Tensor]]:
    """Margins of some queries to all candidates, block by block: (b, m), free to be written to."""
    import torch

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    sides = [torch.from_numpy(np.require(side, np.float32, ["C", "W"])).to(device) for side in (queries, candidates)]
    cells = CELLS if device.type == "cpu" else CELLS * _ON_GPU
    size = max(1, cells // max(len(candidates), 1))
    for start in range(0, len(queries), size):
        rows = slice(start, min(start + size, len(queries)))
        with torch.autocast(device.type, enabled=False):  # in half floats words tie that are not equal
            likeness = sides[0][rows] @ sides[1].T
            scores = likeness if around is None else around.margins(likeness, rows)
        yield rows, scores
