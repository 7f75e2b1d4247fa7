"""Which dependent comes first: a model of word order learnt from a treebank, and drawn from.

For each kind of head (nouns, verbs) the order of the head and its dependents follows a log-linear model,

    p(order) ~ exp of the sum over all pairs, a before b, of w(a, b),    w(a, b) = r(a, b) + t(a, b) = -w(b, a),

where r hangs on the relations of both to the head and t on relations and parts of speech; the head itself is a relation
of its own. This is the model of Wang and Eisner (2016, section 4) with precedence features; weights are the most
likely ones under a Gaussian prior, found by L-BFGS. Sums over all orders are exact (`_order_kernels`).
Dependents that are alike, or that the treebank never shows together, keep the order they had.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from interlace.derived._forest import Forest

HEAD = ("", "")  # the key of the head among its dependents, which are known by (relation, part of speech)
_LARGEST = 8  # things in a family that is learnt from
_CLOSE = 1e-7  # relative gain of a step at which weights are good enough

Key = tuple[str, str]
Family = tuple[Key, ...]  # a head and its dependents in their order


@dataclass(frozen=True)
class Precedence:
    """Weights of one kind of head.

    relations, keys: what the rows of the weights stand for. by_relation: (R, R); by_key: (K, K); both antisymmetric.
    relations_together: (R, R), keys_together: (K, K) which the treebank shows in one family.
    """

    relations: dict[str, int]
    keys: dict[Key, int]
    by_relation: NDArray[np.float64]
    by_key: NDArray[np.float64]
    relations_together: NDArray[np.bool_]
    keys_together: NDArray[np.bool_]

    @classmethod
    def learn(cls, families: Iterable[Family], prior: float) -> Precedence:
        """The most likely weights.

        families: of heads of one kind; those of one word or of too many say nothing.
        prior: how strongly weights are drawn to zero: the inverse of the variance of the Gaussian.
        """
        seen = Counter(family for family in families if 1 < len(family) <= _LARGEST)
        keys = {key: place for place, key in enumerate(sorted({key for family in seen for key in family} | {HEAD}))}
        relations = {name: place for place, name in enumerate(sorted({relation for relation, _ in keys}))}
        of_key = np.array([relations[relation] for relation, _ in keys])
        before = np.zeros((len(keys), len(keys)))
        groups: Counter[tuple[int, ...]] = Counter()
        for family, count in seen.items():
            numbers = [keys[key] for key in family]
            groups[tuple(sorted(numbers))] += count
            for place, one in enumerate(numbers):
                np.add.at(before[one], numbers[place + 1 :], count)
        by_relation, by_key = _fitted(before, groups, of_key, len(relations), prior)
        keys_together = before + before.T > 0
        relations_together = np.zeros((len(relations), len(relations)), np.bool_)
        np.logical_or.at(relations_together, (of_key[:, None], of_key[None, :]), keys_together)
        return cls(relations, keys, by_relation, by_key, relations_together, keys_together)

    def between(self, keys: Sequence[Key]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """(n, n) the weight of a before b for these keys, and where the treebank has something to say of it."""
        relations = np.array([self.relations.get(relation, -1) for relation, _ in keys], np.int64)
        own = np.array([self.keys.get(key, -1) for key in keys], np.int64)
        weights = _looked_up(self.by_relation, relations) + _looked_up(self.by_key, own)
        unlike = relations[:, None] != relations[None, :]
        known = _looked_up(self.relations_together, relations) & unlike
        known |= _looked_up(self.keys_together, own) & (own[:, None] != own[None, :])
        return weights, known


def _looked_up(table: NDArray[Any], places: NDArray[np.int64]) -> NDArray[Any]:
    """The table's entries of all pairs of places, 0 where one is -1."""
    padded = np.zeros((len(table) + 1, len(table) + 1), table.dtype)
    padded[:-1, :-1] = table
    return padded[np.ix_(places, places)]


def _fitted(
    before: NDArray[np.float64],
    groups: Counter[tuple[int, ...]],
    of_key: NDArray[np.int64],
    relations: int,
    prior: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights of relations (R, R) and of keys (K, K).

    before: (K, K) how often a stood before b. groups: what families are made of, in any order, and how often.
    """
    from scipy.optimize import minimize

    from interlace.derived._order_kernels import expect

    size = len(of_key)
    flat = np.array([key for group in groups for key in group], np.int64)
    offsets = np.concatenate([[0], np.cumsum([len(group) for group in groups])]).astype(np.int64)
    counts = np.array(list(groups.values()), np.float64)
    one_hot = np.eye(relations)[of_key]  # (K, R)
    seen = np.triu(before + before.T, 1)
    upper = np.nonzero(np.triu(one_hot.T @ (seen + seen.T) @ one_hot, 1)), np.nonzero(seen)
    split = len(upper[0][0])

    def tables(weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return _antisymmetric(weights[:split], upper[0], relations), _antisymmetric(weights[split:], upper[1], size)

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        by_relation, by_key = tables(weights)
        whole = one_hot @ by_relation @ one_hot.T + by_key
        expected = np.zeros((size, size))
        total = expect(flat, offsets, counts, whole, expected) - float((before * whole).sum())
        slope = expected - before
        slope -= slope.T
        coarse = one_hot.T @ slope @ one_hot
        gradient = np.concatenate([coarse[upper[0]], slope[upper[1]]]) + prior * weights
        return total + 0.5 * prior * float(weights @ weights), gradient

    start = np.zeros(split + len(upper[1][0]))
    if not len(start):
        return tables(start)
    return tables(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200, "ftol": _CLOSE}).x)


def _antisymmetric(
    weights: NDArray[np.float64], upper: tuple[NDArray[np.int64], ...], size: int
) -> NDArray[np.float64]:
    table = np.zeros((size, size))
    table[upper] = weights
    return table - table.T


def families(forest: Forest, kind: str) -> list[Family]:
    """The heads of a part of speech with their dependents, each family in its order; marks that end a tree left out."""
    base = np.repeat(forest.offsets[:-1], np.diff(forest.offsets))
    above = np.where(forest.heads < 0, -1, forest.heads + base)
    members: dict[int, list[int]] = {word: [] for word, tag in enumerate(forest.tags) if tag == kind}
    for word, head in enumerate(above.tolist()):
        if head in members and not forest.final[word]:
            members[head].append(word)
    found = []
    for head, dependents in members.items():
        ordered = sorted([head, *dependents])
        found.append(tuple(HEAD if word == head else (forest.relations[word], forest.tags[word]) for word in ordered))
    return found
