"""Put the dependents of nouns and verbs in the order of another language (T_syn of Tang et al. 2022)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from interlace.core.display import listed
from interlace.core.errors import DataError
from interlace.derived import DerivedText, Transformation
from interlace.derived.common.labels import numbered
from interlace.derived.common.layout import WordSpans, reorder
from interlace.derived.common.trees import FileState, Forest, file_states, forest_of, parsed, read_trees
from interlace.text import Text


class Syntax(Transformation):
    """Reorders the dependents of heads by a model fitted on a treebank of another language.

    After Wang and Eisner (2016), whose Galactic Dependencies the paper uses (English in the order of French): trees
    keep their arcs, each word stays contiguous with its descendants, and only the order within a family changes. It is
    sampled from a log-linear model of which relation precedes which, fitted by kind of head (`Precedence`).
    Samples depend on the seed, the letters of the line and the number of letters before the head.

    Text needs trees: CoNLL-U read with `trees`, those of the toy corpus, or `trees` here for text whose parses are in
    other files. Crossing arcs are lifted first. The mark at the end of a sentence stays, and heads with more than
    eleven dependents stay unchanged.
    """

    moves_words: ClassVar[bool] = True
    required: ClassVar[tuple[str, str]] = ("like", "a treebank to learn from; set syntax.like to CoNLL-U files")

    like: tuple[Path, ...] = Field((), description="CoNLL-U files of the language with the target order; required.")
    heads: tuple[str, ...] = Field(
        ("NOUN", "VERB"),
        min_length=1,
        description="Parts of speech (UPOS) whose dependents are reordered; add PROPN to treat names as nouns.",
    )
    trees: tuple[Path, ...] = Field(
        (), description="CoNLL-U files with parses of text without trees: lines are matched by characters."
    )
    prior: float = Field(1.0, gt=0, description="Inverse variance of the Gaussian prior of the model's weights.")

    def derive(self, text: Text, key: int) -> DerivedText:
        """Return the derived lines; raise a DataError if no treebank is set, or a line has no tree."""
        from interlace.derived.common.kernels import hash_lines, order_words

        if self.missing:
            raise DataError(self.missing)
        models = _fitted(file_states(self.like), self.heads, self.prior)
        forest = parsed(text, self.trees)
        words, count = WordSpans.of(text), len(forest.heads)
        (relations, names), (own, parts) = numbered(forest.relations, count), numbered(forest.tags, count)
        used, keys = np.unique(relations * np.int64(len(parts)) + own, return_inverse=True)
        pairs = [(names[pair // len(parts)], parts[pair % len(parts)]) for pair in used.tolist()]
        tables = [models[tag].between([HEAD, *pairs]) for tag in self.heads]
        weights, known = (np.stack(table) for table in zip(*tables, strict=True))
        kinds = np.array([self.heads.index(tag) if tag in self.heads else -1 for tag in parts], np.int64)[own]
        bits, order = np.empty(count, np.uint64), np.empty(count, np.int64)
        hash_lines(words, np.uint64(key), bits)
        trees = forest.heads, forest.offsets, forest.final
        crowded = order_words(trees, kinds, keys, bits, weights, known, order)
        derived = reorder(text, words, order, forest.final)
        if crowded:
            derived.text.notes["heads with too many dependents to reorder"] = crowded
        return derived


Key = tuple[str, str]
Family = tuple[Key, ...]  # a head and its dependents in their order
HEAD: Key = ("", "")  # the key of the head among its dependents, which are known by (relation, part of speech)


@dataclass(frozen=True)
class Precedence:
    """A model of word order: which dependent precedes which, for one kind of head (nouns, verbs).

    The order of the head and its dependents follows a log-linear model,

        p(order) ~ exp of the sum over all pairs, a before b, of w(a, b),    w(a, b) = r(a, b) + t(a, b) = -w(b, a),

    where r depends on the relations of both to the head and t on relations and parts of speech; the head has a relation
    of its own. This is the model of Wang and Eisner (2016, section 4) with precedence features, fitted by maximum
    likelihood with a Gaussian prior and L-BFGS; sums over all orders are exact (`common.kernels`). Dependents that are
    alike, or never occur together in the treebank, keep their order.

    relations, keys: row numbers of the tables, each of which has a row and a column of zeros at the end.
    by_relation: (R, R), by_key: (K, K) weights, antisymmetric.
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
        """Fit the weights to families of heads of one kind; those of one word or of more than eight are ignored."""
        seen = Counter(family for family in families if 1 < len(family) <= 8)
        keys = {key: place for place, key in enumerate(sorted({key for family in seen for key in family} | {HEAD}))}
        relations = {name: place for place, name in enumerate(sorted({relation for relation, _ in keys}))}
        of_key = np.array([relations[relation] for relation, _ in keys])
        before = np.zeros((len(keys), len(keys)))  # how often a precedes b
        groups: Counter[tuple[int, ...]] = Counter()  # families as sorted keys
        for family, count in seen.items():
            numbers = [keys[key] for key in family]
            groups[tuple(sorted(numbers))] += count
            for place, one in enumerate(numbers):
                np.add.at(before[one], numbers[place + 1 :], count)
        by_relation, by_key = _weights(before, groups, np.eye(len(relations))[of_key], prior)
        keys_together = before + before.T > 0
        relations_together = np.zeros((len(relations), len(relations)), np.bool_)
        np.logical_or.at(relations_together, (of_key[:, None], of_key[None, :]), keys_together)
        tables: Any = (by_relation, by_key, relations_together, keys_together)
        return cls(relations, keys, *(np.pad(table, (0, 1)) for table in tables))

    def between(self, keys: Sequence[Key]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """(n, n) the weight of a before b for these keys, and whether the pair occurs in the treebank."""
        relations = np.array([self.relations.get(relation, -1) for relation, _ in keys], np.int64)
        own = np.array([self.keys.get(key, -1) for key in keys], np.int64)
        of_relations, of_keys = np.ix_(relations, relations), np.ix_(own, own)
        known = self.relations_together[of_relations] & (relations[:, None] != relations[None, :])
        known |= self.keys_together[of_keys] & (own[:, None] != own[None, :])
        return self.by_relation[of_relations] + self.by_key[of_keys], known


def _weights(
    before: NDArray[np.float64], groups: Counter[tuple[int, ...]], one_hot: NDArray[np.float64], prior: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights of relations (R, R) and of keys (K, K); one_hot: (K, R) the relation of each key."""
    from scipy.optimize import minimize

    from interlace.derived.common.kernels import expect

    size, relations = one_hot.shape
    flat = np.array([key for group in groups for key in group], np.int64)
    offsets = np.append(0, np.cumsum([len(group) for group in groups])).astype(np.int64)
    counts = np.array(list(groups.values()), np.float64)
    seen = np.triu(before + before.T, 1)
    upper = np.nonzero(np.triu(one_hot.T @ (seen + seen.T) @ one_hot, 1)), np.nonzero(seen)
    split = len(upper[0][0])

    def tables(weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        by_relation, by_key = np.zeros((relations, relations)), np.zeros((size, size))
        by_relation[upper[0]], by_key[upper[1]] = weights[:split], weights[split:]
        return by_relation - by_relation.T, by_key - by_key.T

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
    return tables(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200, "ftol": 1e-7}).x)


def families(forest: Forest, kind: str) -> list[Family]:
    """Return the heads of a part of speech with their dependents in order, without marks that end a tree."""
    base = np.repeat(forest.offsets[:-1], np.diff(forest.offsets))
    above = np.where(forest.heads < 0, -1, forest.heads + base)
    members: dict[int, list[int]] = {word: [] for word, tag in enumerate(forest.tags) if tag == kind}
    for word, head in enumerate(above.tolist()):
        if head in members and not forest.final[word]:
            members[head].append(word)
    return [
        tuple(HEAD if word == head else (forest.relations[word], forest.tags[word]) for word in sorted([head, *others]))
        for head, others in members.items()
    ]


@lru_cache(maxsize=8)
def _fitted(files: tuple[FileState, ...], heads: tuple[str, ...], prior: float) -> dict[str, Precedence]:
    """Return a model of the order of dependents for each part of speech, fitted on these treebanks."""
    forests = [forest_of(chunk) for chunk in read_trees(files)]
    models = {}
    for tag in heads:
        found = [family for forest in forests for family in families(forest, tag) if len(family) > 1]
        if not found:
            names = listed(path for path, _, _ in files)
            tags = listed(sorted({tag for forest in forests for tag in forest.tags}))
            raise DataError(f"{names}: no {tag} has a dependent; parts of speech in it: {tags}")
        models[tag] = Precedence.fit(found, prior)
    return models
