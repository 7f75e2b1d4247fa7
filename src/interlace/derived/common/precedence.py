"""A model of word order, fitted on a treebank: which dependent precedes which.

For each kind of head (nouns, verbs) the order of the head and its dependents follows a log-linear model,

    p(order) ~ exp of the sum over all pairs, a before b, of w(a, b),    w(a, b) = r(a, b) + t(a, b) = -w(b, a),

where r depends on the relations of both to the head and t on relations and parts of speech; the head has a relation of
its own. This is the model of Wang and Eisner (2016, section 4) with precedence features, fitted by maximum likelihood
with a Gaussian prior and L-BFGS; sums over all orders are exact (`tree_kernels`). Dependents that are alike, or never
occur together in the treebank, keep their order.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.errors import DataError
from interlace.derived.common.trees import FileState, Forest, file_states, forest_of, read_trees

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

HEAD = ("", "")  # the key of the head among its dependents, which are known by (relation, part of speech)
_MAX_FAMILY = 8  # words; larger families are not trained on
_TOLERANCE = 1e-7  # relative gain at which L-BFGS stops

Key = tuple[str, str]
Family = tuple[Key, ...]  # a head and its dependents in their order


@dataclass(frozen=True)
class Precedence:
    """Weights of one kind of head.

    relations, keys: row numbers of the weights. by_relation: (R, R); by_key: (K, K); both antisymmetric.
    relations_together: (R, R), keys_together: (K, K) pairs that occur in one family of the treebank.
    """

    relations: dict[str, int]
    keys: dict[Key, int]
    by_relation: NDArray[np.float64]
    by_key: NDArray[np.float64]
    relations_together: NDArray[np.bool_]
    keys_together: NDArray[np.bool_]

    @classmethod
    def fit(cls, families: Iterable[Family], prior: float) -> Precedence:
        """Fit the weights.

        families: of heads of one kind; those of one word or of too many are ignored.
        prior: inverse variance of the Gaussian prior.
        """
        seen = Counter(family for family in families if 1 < len(family) <= _MAX_FAMILY)
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
        """(n, n) the weight of a before b for these keys, and whether the pair occurs in the treebank."""
        relations = np.array([self.relations.get(relation, -1) for relation, _ in keys], np.int64)
        own = np.array([self.keys.get(key, -1) for key in keys], np.int64)
        weights = _lookup(self.by_relation, relations) + _lookup(self.by_key, own)
        unlike = relations[:, None] != relations[None, :]
        known = _lookup(self.relations_together, relations) & unlike
        known |= _lookup(self.keys_together, own) & (own[:, None] != own[None, :])
        return weights, known


def _lookup(table: NDArray[Any], places: NDArray[np.int64]) -> NDArray[Any]:
    """Return the table's entries for all pairs of places, 0 where one is -1."""
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
    """Return the weights of relations (R, R) and of keys (K, K).

    before: (K, K) how often a precedes b. groups: counts of families, as sorted keys.
    """
    from scipy.optimize import minimize

    from interlace.derived.common.tree_kernels import expect

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
    return tables(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200, "ftol": _TOLERANCE}).x)


def _antisymmetric(
    weights: NDArray[np.float64], upper: tuple[NDArray[np.int64], ...], size: int
) -> NDArray[np.float64]:
    table = np.zeros((size, size))
    table[upper] = weights
    return table - table.T


def families(forest: Forest, kind: str) -> list[Family]:
    """Return the heads of a part of speech with their dependents in order, without marks that end a tree."""
    base = np.repeat(forest.offsets[:-1], np.diff(forest.offsets))
    above = np.where(forest.heads < 0, -1, forest.heads + base)
    members: dict[int, list[int]] = {word: [] for word, tag in enumerate(forest.tags) if tag == kind}
    for word, head in enumerate(above.tolist()):
        if head in members and not forest.final[word]:
            members[head].append(word)
    result = []
    for head, dependents in members.items():
        ordered = sorted([head, *dependents])
        result.append(tuple(HEAD if word == head else (forest.relations[word], forest.tags[word]) for word in ordered))
    return result


def fitted(paths: Sequence[Path], heads: Sequence[str], prior: float) -> dict[str, Precedence]:
    """Return a model of the order of dependents for each part of speech, fitted on these treebanks.

    Raises:
        DataError: a file cannot be read or has no trees, or no head of some part of speech has a dependent.
    """
    return _fitted_models(file_states(paths), tuple(heads), prior)


@lru_cache(maxsize=8)
def _fitted_models(files: tuple[FileState, ...], heads: tuple[str, ...], prior: float) -> dict[str, Precedence]:
    forests = [forest_of(chunk) for path, _, _ in files for chunk in read_trees(path)]
    models = {}
    for tag in heads:
        found = [family for forest in forests for family in families(forest, tag) if len(family) > 1]
        if not found:
            names = ", ".join(path for path, _, _ in files)
            tags = ", ".join(sorted({tag for forest in forests for tag in forest.tags}))
            raise DataError(f"{names}: no {tag} has a dependent; parts of speech in it: {tags}")
        models[tag] = Precedence.fit(found, prior)
    return models
