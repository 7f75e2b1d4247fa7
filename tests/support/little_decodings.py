"""Decodings whose every probability is known: a row's scores hang on the row and on all that it has said."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

END = 1


@lru_cache(maxsize=100_000)
def scores_of(seed: int, said: tuple[int, ...], size: int, steps: int) -> tuple[float, ...]:
    """Scores of the next subword; `steps` of a unit they are rounded to, so that ties come about, 0 for not at all."""
    rng = np.random.default_rng([seed, len(said), *said])
    scores = rng.normal(scale=2.0, size=size)
    return tuple((np.round(scores * steps) / steps if steps else scores).tolist())


@dataclass
class Little:
    """A decoding.

    seeds: what the scores of each row hang on. walked: how many rows each step had.
    """

    seeds: list[int]
    size: int
    steps: int = 0
    said: list[tuple[int, ...]] = field(default_factory=list)
    walked: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.said = self.said or [()] * len(self.seeds)

    def step(self, tokens: torch.Tensor) -> torch.Tensor:
        self.walked.append(len(tokens))
        self.said = [
            (*said, token) for said, token in zip(self.said, tokens.tolist(), strict=True)
        ]
        rows = zip(self.seeds, self.said, strict=True)
        return torch.tensor(
            [scores_of(seed, said[1:], self.size, self.steps) for seed, said in rows]
        )

    def select(self, rows: torch.Tensor, *_sources: Any, **_options: Any) -> Little:
        chosen = rows.tolist()
        said, seeds = [self.said[row] for row in chosen], [self.seeds[row] for row in chosen]
        return Little(seeds, self.size, self.steps, said, self.walked)


def logprobs_of(seed: int, said: tuple[int, ...], size: int, steps: int = 0) -> np.ndarray:
    """Log-probabilities of the next subword."""
    return (
        torch.tensor(scores_of(seed, said, size, steps), dtype=torch.float64)
        .log_softmax(0)
        .numpy()
    )


def everything(
    seed: int, size: int, limit: int, banned_ids: tuple[int, ...] = (), steps: int = 0
) -> Iterator[Any]:
    """Every hypothesis of at most `limit` subwords, without its end, and its log-probability."""
    may = [token for token in range(size) if token != END and token not in banned_ids]
    for length in range(limit + 1):
        for said in itertools.product(may, repeat=length):
            path = (*said, END)
            yield (
                said,
                sum(
                    logprobs_of(seed, path[:place], size, steps)[path[place]]
                    for place in range(length + 1)
                ),
            )
