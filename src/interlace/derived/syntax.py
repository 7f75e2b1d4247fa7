"""Put the dependents of nouns and verbs in the order of another language (T_syn of Tang et al. 2022)."""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from interlace.core.display import listed
from interlace.core.errors import DataError
from interlace.derived import DerivedText, Transformation
from interlace.derived.common.labels import numbered
from interlace.derived.common.layout import WordSpans, reorder
from interlace.derived.common.trees import (
    FileState,
    Forest,
    file_states,
    forest_of,
    parsed,
    read_trees,
)
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
    required: ClassVar[tuple[str, str]] = (
        "like",
        "a treebank to learn from; set syntax.like to CoNLL-U files",
    )

    like: tuple[Path, ...] = Field(
        (), description="CoNLL-U files of the language with the target order; required."
    )
    heads: tuple[str, ...] = Field(
        ("NOUN", "VERB"),
        min_length=1,
        description="Parts of speech (UPOS) whose dependents are reordered; add PROPN to treat names as nouns.",
    )
    trees: tuple[Path, ...] = Field(
        (),
        description="CoNLL-U files with parses of text without trees: lines are matched by characters.",
    )
    prior: float = Field(
        1.0, gt=0, description="Inverse variance of the Gaussian prior of the model's weights."
    )

    def derive(self, text: Text, key: int) -> DerivedText:
        """Return the derived lines; raise a DataError if no treebank is set, or a line has no tree."""
        from interlace.derived.common.kernels import hash_lines, order_words

        if self.missing:
            raise DataError(self.missing)
        models = _fitted(file_states(self.like), self.heads, self.prior)
        forest = parsed(text, self.trees)
        words = WordSpans.of(text)
        count = len(forest.heads)
        kinds, kind_numbers = _dependents(forest)
        tables = [models[tag].between([HEAD, *kinds]) for tag in self.heads]
        bits = np.empty(count, np.uint64)
        order = np.empty(count, np.int64)
        hash_lines(words, np.uint64(key), bits)
        crowded = order_words(
            (forest.heads, forest.offsets, forest.final),
            self._head_kinds(forest),
            kind_numbers,
            bits,
            np.stack([table.weights for table in tables]),
            np.stack([table.known for table in tables]),
            order,
        )
        derived = reorder(text, words, order, forest.final)
        if crowded:
            derived.text.notes["heads with too many dependents to reorder"] = crowded
        return derived

    def _head_kinds(self, forest: Forest) -> NDArray[np.int64]:
        """(W,) the place of each word's tag in `heads`, -1 for words whose dependents stay."""
        codes, tags = numbered(forest.tags, len(forest.heads))
        places = [self.heads.index(tag) if tag in self.heads else -1 for tag in tags]
        return np.array(places, np.int64)[codes]


_MAX_FAMILY = 8  # words of a family that the model is fitted to

Key = tuple[str, str]
Family = tuple[Key, ...]  # a head and its dependents in their order
HEAD: Key = (
    "",
    "",
)  # the key of the head among its dependents, which are known by (relation, part of speech)


def _dependents(forest: Forest) -> tuple[list[Key], NDArray[np.int64]]:
    """Return the kinds of dependents that occur, and (W,) the number of each word's kind."""
    pairs = list(zip(forest.relations, forest.tags, strict=True))
    kinds = sorted(set(pairs))
    numbers = {kind: number for number, kind in enumerate(kinds)}
    return kinds, np.array([numbers[pair] for pair in pairs], np.int64)


@dataclass(frozen=True)
class PairWeights:
    """(n, n) the weight of a before b for some keys, and whether the pair occurs in the treebank."""

    weights: NDArray[np.float64]
    known: NDArray[np.bool_]


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
        counts = Counter(family for family in families if 1 < len(family) <= _MAX_FAMILY)
        occurring = {HEAD}
        for family in counts:
            occurring.update(family)
        keys = {key: number for number, key in enumerate(sorted(occurring))}
        relation_names = sorted({relation for relation, _ in keys})
        relations = {name: number for number, name in enumerate(relation_names)}
        relation_of_key = np.array([relations[relation] for relation, _ in keys])
        before = np.zeros((len(keys), len(keys)))  # (K, K) how often a precedes b
        groups: Counter[tuple[int, ...]] = Counter()  # families as sorted keys
        for family, count in counts.items():
            numbers = [keys[key] for key in family]
            groups[tuple(sorted(numbers))] += count
            for place, number in enumerate(numbers):
                np.add.at(before[number], numbers[place + 1 :], count)
        likelihood = _Likelihood(before, groups, np.eye(len(relations))[relation_of_key], prior)
        by_relation, by_key = likelihood.maximum()
        keys_together = before + before.T > 0
        relations_together = np.zeros((len(relations), len(relations)), np.bool_)
        np.logical_or.at(
            relations_together, (relation_of_key[:, None], relation_of_key[None, :]), keys_together
        )
        return cls(
            relations,
            keys,
            by_relation=np.pad(by_relation, (0, 1)),
            by_key=np.pad(by_key, (0, 1)),
            relations_together=np.pad(relations_together, (0, 1)),
            keys_together=np.pad(keys_together, (0, 1)),
        )

    def between(self, keys: Sequence[Key]) -> PairWeights:
        """Return the weights of all pairs of these keys; a key that the model does not know has its relation's."""
        relations = np.array([self.relations.get(relation, -1) for relation, _ in keys], np.int64)
        numbers = np.array([self.keys.get(key, -1) for key in keys], np.int64)
        relation_pairs = np.ix_(relations, relations)
        key_pairs = np.ix_(numbers, numbers)
        known = self.relations_together[relation_pairs] & (relations[:, None] != relations[None, :])
        known |= self.keys_together[key_pairs] & (numbers[:, None] != numbers[None, :])
        return PairWeights(self.by_relation[relation_pairs] + self.by_key[key_pairs], known)


class _Likelihood:
    """The likelihood of a treebank under the weights, with a Gaussian prior.

    Weights are antisymmetric, so the parameters are those of pairs above the diagonal that occur: first of relations,
    then of keys.

    before: (K, K) how often a precedes b. groups: families as sorted keys, with counts. one_hot: (K, R) the relation
    of each key.
    """

    def __init__(
        self,
        before: NDArray[np.float64],
        groups: Counter[tuple[int, ...]],
        one_hot: NDArray[np.float64],
        prior: float,
    ) -> None:
        self.before = before
        self.one_hot = one_hot
        self.prior = prior
        self.items = np.array([key for group in groups for key in group], np.int64)
        self.offsets = np.append(0, np.cumsum([len(group) for group in groups])).astype(np.int64)
        self.counts = np.array(list(groups.values()), np.float64)
        together = before + before.T
        self.key_pairs = np.nonzero(np.triu(together, 1))
        self.relation_pairs = np.nonzero(
            np.triu(one_hot.T @ _without_diagonal(together) @ one_hot, 1)
        )

    def maximum(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the weights of relations (R, R) and of keys (K, K) that fit best."""
        from scipy.optimize import minimize

        start = np.zeros(len(self.relation_pairs[0]) + len(self.key_pairs[0]))
        if not len(start):
            return self.tables(start)
        options = {"maxiter": 200, "ftol": 1e-7}
        return self.tables(
            minimize(self.loss, start, jac=True, method="L-BFGS-B", options=options).x
        )

    def tables(
        self, parameters: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the weights of relations (R, R) and of keys (K, K)."""
        keys, relations = self.one_hot.shape
        split = len(self.relation_pairs[0])
        by_relation = np.zeros((relations, relations))
        by_relation[self.relation_pairs] = parameters[:split]
        by_key = np.zeros((keys, keys))
        by_key[self.key_pairs] = parameters[split:]
        return by_relation - by_relation.T, by_key - by_key.T

    def loss(self, parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return minus the log-likelihood, and its gradient: expected minus observed counts."""
        from interlace.derived.common.kernels import expect

        by_relation, by_key = self.tables(parameters)
        weights = self.one_hot @ by_relation @ self.one_hot.T + by_key  # (K, K)
        expected = np.zeros(by_key.shape)
        log_sums = expect(self.items, self.offsets, self.counts, weights, expected)
        loss = log_sums - float((self.before * weights).sum())
        slope = expected - self.before
        slope -= slope.T
        relation_slope = self.one_hot.T @ slope @ self.one_hot
        gradient = np.concatenate([relation_slope[self.relation_pairs], slope[self.key_pairs]])
        gradient += self.prior * parameters
        return loss + 0.5 * self.prior * float(parameters @ parameters), gradient


def _without_diagonal(table: NDArray[np.float64]) -> NDArray[np.float64]:
    upper = np.triu(table, 1)
    return upper + upper.T


def families(forest: Forest, kind: str) -> list[Family]:
    """Return the heads of a part of speech with their dependents in order, without marks that end a tree."""
    line_starts = np.repeat(forest.offsets[:-1], np.diff(forest.offsets))
    heads = np.where(forest.heads < 0, -1, forest.heads + line_starts)  # (W,) over all lines
    dependents: dict[int, list[int]] = {
        word: [] for word, tag in enumerate(forest.tags) if tag == kind
    }
    for word, head in enumerate(heads.tolist()):
        if head in dependents and not forest.final[word]:
            dependents[head].append(word)
    families_of_kind: list[Family] = []
    for head, words in dependents.items():
        keys = [(forest.relations[word], forest.tags[word]) for word in words]
        before_head = bisect(words, head)
        keys.insert(before_head, HEAD)
        families_of_kind.append(tuple(keys))
    return families_of_kind


@lru_cache(maxsize=8)
def _fitted(
    files: tuple[FileState, ...], heads: tuple[str, ...], prior: float
) -> dict[str, Precedence]:
    """Return a model of the order of dependents for each part of speech, fitted on these treebanks."""
    forests = [forest_of(chunk) for chunk in read_trees(files)]
    models: dict[str, Precedence] = {}
    for tag in heads:
        seen: list[Family] = []
        for forest in forests:
            seen += [family for family in families(forest, tag) if len(family) > 1]
        if not seen:
            names = listed(path for path, _, _ in files)
            tags: set[str] = set()
            for forest in forests:
                tags.update(forest.tags)
            raise DataError(
                f"{names}: no {tag} has a dependent; parts of speech in it: {listed(sorted(tags))}"
            )
        models[tag] = Precedence.fit(seen, prior)
    return models
