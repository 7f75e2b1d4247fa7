"""Which states stand in for which: word links as places in a batch, in numpy and without a matrix of L x L.

Legend: B rows, L subwords of the longest row, N predictions, A of them exchanged, E places that are gathered.
A place is a number in 0 .. B * L - 1: row * L + column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.alignment.subwords import Expansion
    from interlace.data import Pairs
    from interlace.data.layout import Layout

Pooling = Literal["last", "first", "mean"]


@dataclass(frozen=True)
class Exchange:
    """A sparse sum over states: row `to` of the result takes `weights` times the state at `places`.

    which: (A,) the predictions that are made from exchanged states, as indices into the batch's predictions.
    to: (E,) index into `which`; rising. places: (E,). weights: (E,) float32.
    aligned: how many predictions have a partner at all.
    """

    which: NDArray[np.int64]
    to: NDArray[np.int64]
    places: NDArray[np.int64]
    weights: NDArray[np.float32]
    aligned: int


@dataclass(frozen=True)
class Words:
    """Every word of a batch with its subwords, numbered by row and then by place in the sentence.

    numbers: (B, M) the number of a row's word, -1 where no subword of it is there.
    places: (P,) of subwords that make up its vector. to: (P,) the word each belongs to, rising. weights: (P,) float32.
    heads: (words,) the place of one subword of each: the one that stands for it, with `mean` the last.
    """

    numbers: NDArray[np.int64]
    places: NDArray[np.int64]
    to: NDArray[np.int64]
    weights: NDArray[np.float32]
    heads: NDArray[np.int64]

    def until(self, row: int) -> Words:
        """The words of the first rows; their numbers and places stay."""
        count = int(self.numbers[:row].max(initial=-1)) + 1
        pieces = int(np.searchsorted(self.to, count))
        places, to, weights = self.places[:pieces], self.to[:pieces], self.weights[:pieces]
        return Words(self.numbers[:row], places, to, weights, self.heads[:count])


def links_of(pairs: Pairs, what: str) -> Ragged:
    """The word links beside the pairs.

    Raises:
        DataError: there are none; names the cure.
    """
    if pairs.links is None:
        raise DataError(
            f"{what} needs word links beside its pairs, and these have none; let an [align] section of the recipe "
            "find them, or open the corpus with ParallelCorpus.with_alignments"
        )
    return pairs.links


def one_to_one(links: Ragged, confidence: Ragged | None) -> NDArray[np.bool_]:
    """(total,) which links are the one best of both of their words; without confidences the only one of both.

    links: n rows of (source word, target word). confidence: a number a link, or None.
    """
    rows, flat = links.rows(), links.flat
    keep = np.ones(len(flat), np.bool_)
    for side in (0, 1):
        keys = rows * (int(flat[:, side].max(initial=0)) + 1) + flat[:, side]
        top = np.ones(len(keys), np.bool_)
        if confidence is not None:
            best = np.zeros(int(keys.max(initial=0)) + 1, confidence.flat.dtype)
            np.maximum.at(best, keys, confidence.flat)
            top = confidence.flat == best[keys]
        keep &= top & (np.bincount(keys[top], minlength=int(keys.max(initial=0)) + 1)[keys] == 1)
    return keep


def only(links: Ragged, keep: NDArray[np.bool_]) -> Ragged:
    """The links that are kept, row by row."""
    lengths = np.bincount(links.rows()[keep], minlength=len(links))
    return Ragged.from_lengths(links.flat[keep], lengths)


def exchange(
    layout: Layout,
    links: Ragged,
    at: tuple[NDArray[Any], NDArray[Any]],
    *,
    expansion: Expansion = "all",
    mean: bool = True,
    every: bool = False,
    forbid_masked: bool = False,
) -> Exchange:
    """For every prediction the states of what it is linked to, in the other language.

    Gives what `links.subwords.to_subwords` would link, but looks at masked words only, which is several times as fast.

    layout: rows of two sides. links: a row a pair; those of words that were cut off are left out.
    at: rows and columns of the N predictions, in row-major order.
    expansion: what becomes of a link between words of several subwords, as in `to_subwords`.
    mean: divide by the number of partners, else sum. every: predictions without a partner get a row of zeros, else no
    row. forbid_masked: partners that are predicted themselves do not count.
    """
    count, width = len(at[0]), layout.ids.shape[1]
    flat = at[0] * width + at[1]
    to, places = _partners(layout, links, flat, expansion)
    if forbid_masked:
        predicted = np.zeros(layout.ids.size, np.bool_)
        predicted[flat] = True
        keep = ~predicted[places]
        to, places = to[keep], places[keep]
    degree = np.bincount(to, minlength=count)
    aligned = degree > 0
    weights = 1 / degree[to] if mean else np.ones(len(to))
    which = np.arange(count) if every else np.flatnonzero(aligned)
    row = to if every else (np.cumsum(aligned) - 1)[to]
    return Exchange(which, row, places, weights.astype(np.float32), int(aligned.sum()))


def _partners(
    layout: Layout, links: Ragged, flat: NDArray[np.int64], expansion: Expansion
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which prediction, rising, and the place of each partner; `flat` are the places of the predictions.

    Words go by a key that rises with row, side and number, so that a word's subwords stand side by side.
    """
    places = np.flatnonzero(layout.content.reshape(-1))
    words = layout.words.reshape(-1)
    most = int(words.max(initial=0)) + 1
    width = max(layout.ids.shape[1], 1)

    def keys(of: NDArray[np.int64]) -> NDArray[np.int64]:
        found: NDArray[np.int64] = (of // width * 2 + layout.sides.reshape(-1)[of]) * most + words[of]
        return found

    size = np.bincount(keys(places), minlength=len(layout.ids) * 2 * most)
    first = np.cumsum(size) - size  # of each word, in `places`
    mine = keys(flat)
    begin, degree, others = _linked(links, mine, most, len(size))
    prediction, link = _spread(begin[mine], degree[mine])
    other = others[link]
    if expansion == "all":
        start, pieces = first[other], size[other]
    else:
        rank = np.searchsorted(places, flat) - first[mine]  # which subword of its word is predicted
        start, pieces = _steps(rank[prediction], size[mine[prediction]], size[other], expansion)
        start += first[other]
    to, piece = _spread(start, pieces)
    return prediction[to], places[piece]


def _linked(
    links: Ragged, wanted: NDArray[np.int64], most: int, count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """By key of a word, where its links begin and how many it has; and by link the key of the other word.

    wanted: keys of the words whose links are asked for. most: words of a sentence. count: keys that there are.
    """
    ends = links.flat.astype(np.int64)
    key = links.rows()[:, None] * (2 * most) + ends + [[0, most]]
    inside = (ends < most).all(axis=1)
    if not inside.all():
        key = key[inside]
    asked = np.zeros(count, np.bool_)
    asked[wanted] = True
    mine, others = np.concatenate([key[:, 0], key[:, 1]]), np.concatenate([key[:, 1], key[:, 0]])
    keep = np.flatnonzero(asked[mine])
    mine, others = mine[keep], others[keep]
    order = np.argsort(mine, kind="stable")
    degree = np.bincount(mine, minlength=count)
    return np.cumsum(degree) - degree, degree, others[order]


def _spread(start: NDArray[np.int64], count: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every number of the stretches `start[i] .. start[i] + count[i] - 1`, and the `i` of each."""
    shift = start - (np.cumsum(count) - count)
    owner = np.repeat(np.arange(len(count)), count)
    return owner, shift[owner] + np.arange(len(owner))


def _steps(
    rank: NDArray[np.int64], mine: NDArray[np.int64], theirs: NDArray[np.int64], expansion: Expansion
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First partner, and how many, of subword `rank` of a word of `mine` that is linked to a word of `theirs`."""
    if expansion == "first":
        return np.zeros_like(rank), ((rank == 0) & (theirs > 0)).astype(np.int64)
    longer = mine >= theirs  # of the longer word each subword has one partner, of the shorter one some
    start, end = (-(-place * theirs // mine) for place in (rank, rank + 1))  # rounded up
    return np.where(longer, rank * theirs // mine, start), np.where(longer, theirs > 0, end - start)


def words_of(layout: Layout, pooling: Pooling) -> Words:
    """All words of a batch of single sentences, and which subwords make up the vector of each."""
    places = np.flatnonzero(layout.content.reshape(-1))
    words = layout.words.reshape(-1)[places].astype(np.int64)
    rows, width = len(layout.ids), int(words.max(initial=0)) + 1
    pieces = np.bincount(places // max(layout.ids.shape[1], 1) * width + words, minlength=rows * width)
    there = pieces > 0
    numbers = np.where(there, np.cumsum(there) - 1, -1).reshape(rows, width)
    size = pieces[there]
    end = np.cumsum(size)
    heads = places[end - size if pooling == "first" else end - 1]
    if pooling != "mean":
        return Words(numbers, heads, np.arange(len(size)), np.ones(len(size), np.float32), heads)
    return Words(
        numbers, places, np.repeat(np.arange(len(size)), size), np.repeat(1 / size, size).astype(np.float32), heads
    )


def linked_words(words: Words, links: Ragged, first: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(total,) numbers of the linked words, -1 where a word was cut off; that of the side whose rows come first, first.

    words: of twice as many rows as `links` has: one side's, then the other's. first: 0 where the source's come first.
    """
    rows, most = links.rows(), words.numbers.shape[1]
    found = []
    for block, side in enumerate((first, 1 - first)):
        place = links.flat[:, side]
        number = words.numbers[rows + block * len(links), np.minimum(place, most - 1)]
        found.append(np.where(place < most, number, -1))
    return found[0], found[1]
