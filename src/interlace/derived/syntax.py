"""Put the dependents of nouns and verbs in the order of another language (T_syn of Tang et al. 2022)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import numpy as np
from pydantic import Field

from interlace.core.display import listed
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.derived import DerivedText, Transformation
from interlace.derived.common.arrays import Flags, Floats
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

    required = "like"

    like: tuple[Path, ...] = Field(
        (), description="CoNLL-U files of the language with the target order; required."
    )
    trees: tuple[Path, ...] = Field(
        (),
        description="CoNLL-U files with parses of text without trees: lines are matched by characters.",
    )

    def derive(self, text: Text, key: int) -> DerivedText:
        """Return the derived lines; raise a DataError if no treebank is set, or a line has no tree."""
        from interlace.derived.common.kernels import hash_lines, order_words

        self.check()
        models = _fitted(file_states(self.like))
        forest = parsed(text, self.trees)
        words = WordSpans.of(text)
        numbers: dict[Key, int] = {}  # of the distinct relations with parts of speech
        dependents: list[int] = []  # the number of each word's
        models_of_heads: list[int] = []  # that of each word, -1 if its dependents stay
        for relation, tag in forest.kinds():
            number = numbers.setdefault((relation, tag), len(numbers))
            dependents.append(number)
            models_of_heads.append(_MODELS.get(tag, -1))
        tables = [model.between([HEAD, *numbers]) for model in models]
        count = len(dependents)
        bits = np.empty(count, np.uint64)
        hash_lines(words, np.uint64(key), bits)
        order = np.empty(count, np.int64)
        order_words(
            (forest.heads, forest.offsets, forest.final),
            np.array(models_of_heads, np.int64),
            np.array(dependents, np.int64),
            bits,
            np.stack([weights for weights, _ in tables]),
            np.stack([is_known for _, is_known in tables]),
            order,
        )
        return reorder(text, words, order, forest.final)


HEADS = ("NOUN", "VERB")  # parts of speech whose dependents are reordered
_MODELS = {tag: number for number, tag in enumerate(HEADS)}
_MAX_FAMILY = 8  # words of a family that the model is fitted to

Item = TypeVar("Item", str, tuple[str, str])
Key = tuple[str, str]
Family = tuple[Key, ...]  # a head and its dependents in their order
# dependents are known by (relation, part of speech); this is the key of the head among them
HEAD: Key = ("", "")


@dataclass(frozen=True)
class Precedence:
    """A model of word order: which dependent precedes which, for one kind of head (nouns, verbs).

    The order of the head and its dependents follows a log-linear model,

        p(order) ~ exp of the sum over all pairs, a before b, of w(a, b),    w(a, b) = r(a, b) + t(a, b) = -w(b, a),

    where r depends on the relations of both to the head and t on relations and parts of speech; the head has a relation
    of its own. This is the model of Wang and Eisner (2016, section 4) with precedence features, fitted by maximum
    likelihood with a standard normal prior and L-BFGS; sums over all orders are exact (`common.kernels`). Dependents
    that are alike, or never occur together in the treebank, keep their order.

    relations, keys: row numbers of the tables, each of which has a row and a column of zeros at the end.
    by_relation: (R, R), by_key: (K, K) weights, antisymmetric.
    relations_together: (R, R), keys_together: (K, K) pairs that occur in one family of the treebank.
    """

    relations: dict[str, int]
    keys: dict[Key, int]
    by_relation: Floats
    by_key: Floats
    relations_together: Flags
    keys_together: Flags

    @classmethod
    def fit(cls, families: Iterable[Family]) -> Precedence:
        """Fit the weights to families of heads of one kind; those of one word or of more than eight are ignored."""
        counts = Counter(family for family in families if 1 < len(family) <= _MAX_FAMILY)
        keys = _numbered({HEAD}.union(*counts))
        relations = _numbered({relation for relation, _ in keys})
        before = np.zeros((len(keys), len(keys)))  # (K, K) how often a precedes b
        groups: Counter[tuple[int, ...]] = Counter()  # families as sorted keys
        for family, count in counts.items():
            numbers = [keys[key] for key in family]
            groups[tuple(sorted(numbers))] += count
            for place, number in enumerate(numbers):
                np.add.at(before[number], numbers[place + 1 :], count)
        one_hot = np.zeros((len(keys), len(relations)))  # (K, R) the relation of each key
        for (relation, _), number in keys.items():
            one_hot[number, relations[relation]] = 1
        by_relation, by_key = _Likelihood(before, groups, one_hot).maximum()
        together = before + before.T
        relations_together = one_hot.T @ together @ one_hot
        # keys and relations that do not occur have the number -1
        return cls(
            relations,
            keys,
            by_relation=np.pad(by_relation, (0, 1)),
            by_key=np.pad(by_key, (0, 1)),
            relations_together=np.pad(relations_together > 0, (0, 1)),
            keys_together=np.pad(together > 0, (0, 1)),
        )

    def between(self, keys: Sequence[Key]) -> tuple[Floats, Flags]:
        """(n, n) the weight of a before b for some keys, and whether the pair occurs in the treebank.

        A key that the model does not know has the weights of its relation.
        """
        relations = np.array([self.relations.get(relation, -1) for relation, _ in keys])
        numbers = np.array([self.keys.get(key, -1) for key in keys])
        relation_pairs = np.ix_(relations, relations)
        key_pairs = np.ix_(numbers, numbers)
        relations_differ = relations[:, None] != relations
        keys_differ = numbers[:, None] != numbers
        is_known = self.relations_together[relation_pairs] & relations_differ
        is_known |= self.keys_together[key_pairs] & keys_differ
        weights = self.by_relation[relation_pairs] + self.by_key[key_pairs]
        return weights, is_known


def _numbered(items: Iterable[Item]) -> dict[Item, int]:
    """Return the numbers of items in sorted order."""
    return {item: number for number, item in enumerate(sorted(items))}


class _Likelihood:
    """The likelihood of a treebank under the weights, with a standard normal prior.

    Weights are antisymmetric, so the parameters are those of pairs above the diagonal that occur: first of relations,
    then of keys.

    before: (K, K) how often a precedes b. groups: families as sorted keys, with counts. one_hot: (K, R) the relation
    of each key.
    """

    def __init__(
        self,
        before: Floats,
        groups: Counter[tuple[int, ...]],
        one_hot: Floats,
    ) -> None:
        self.before = before
        self.one_hot = one_hot
        self.families = Ragged.of(list(groups), np.int64)
        self.counts = np.array(list(groups.values()), np.float64)
        together = before + before.T
        self.key_pairs = np.nonzero(np.triu(together, 1))
        self.relation_pairs = np.nonzero(np.triu(one_hot.T @ together @ one_hot, 1))

    def maximum(self) -> tuple[Floats, Floats]:
        """Return the weights of relations (R, R) and of keys (K, K) that fit best."""
        from scipy.optimize import minimize

        relation_pairs, _ = self.relation_pairs
        key_pairs, _ = self.key_pairs
        start = np.zeros(len(relation_pairs) + len(key_pairs))
        if not len(start):
            return self.tables(start)
        options = {"maxiter": 200, "ftol": 1e-7}
        best = minimize(self.loss, start, jac=True, method="L-BFGS-B", options=options)
        return self.tables(best.x)

    def tables(self, parameters: Floats) -> tuple[Floats, Floats]:
        """Return the weights of relations (R, R) and of keys (K, K)."""
        keys, relations = self.one_hot.shape
        split = len(self.relation_pairs[0])
        by_relation = np.zeros((relations, relations))
        by_relation[self.relation_pairs] = parameters[:split]
        by_key = np.zeros((keys, keys))
        by_key[self.key_pairs] = parameters[split:]
        return by_relation - by_relation.T, by_key - by_key.T

    def loss(self, parameters: Floats) -> tuple[float, Floats]:
        """Return minus the log-likelihood, and its gradient: expected minus observed counts."""
        from interlace.derived.common.kernels import expect

        by_relation, by_key = self.tables(parameters)
        weights = self.one_hot @ by_relation @ self.one_hot.T + by_key  # (K, K)
        expected = np.zeros(by_key.shape)
        families = self.families
        log_sums = expect(families.values, families.offsets, self.counts, weights, expected)
        loss = log_sums - float((self.before * weights).sum())
        slope = expected - self.before
        slope -= slope.T
        relation_slope = self.one_hot.T @ slope @ self.one_hot
        gradient = np.concatenate([relation_slope[self.relation_pairs], slope[self.key_pairs]])
        gradient += parameters
        return loss + 0.5 * float(parameters @ parameters), gradient


def families(forest: Forest, kind: str) -> list[Family]:
    """Return the heads of a part of speech with their dependents in order, without marks that end a tree."""
    line_starts = np.repeat(forest.offsets[:-1], np.diff(forest.offsets))
    heads = np.where(forest.heads < 0, -1, forest.heads + line_starts)  # (W,) over all lines
    families_by_head: dict[int, list[Key]] = {}
    for word, tag in enumerate(forest.tags):
        if tag == kind:
            families_by_head[word] = []
    for word, (head, key) in enumerate(zip(heads.tolist(), forest.kinds(), strict=True)):
        if word in families_by_head:
            families_by_head[word].append(HEAD)
        if head in families_by_head and not forest.final[word]:
            families_by_head[head].append(key)
    return [tuple(family) for family in families_by_head.values()]


@lru_cache(maxsize=8)
def _fitted(files: tuple[FileState, ...]) -> list[Precedence]:
    """Return a model of the order of dependents for each part of speech in `HEADS`, fitted on these treebanks."""
    forests = [forest_of(chunk) for chunk in read_trees(files)]
    models: list[Precedence] = []
    for tag in HEADS:
        seen: list[Family] = []
        for forest in forests:
            seen += families(forest, tag)
        if max(map(len, seen), default=0) < 2:
            names = listed(path for path, _, _ in files)
            raise DataError(f"{names}: no word with the part of speech {tag} has a dependent")
        models.append(Precedence.fit(seen))
    return models
