"""Which states stand in for which: word links as places in a batch, in numpy and without a matrix of L x L.

Legend: B rows, L subwords of the longest row, N predictions, A of them exchanged, E places that are gathered.
A place is a number in 0 .. B * L - 1: row * L + column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from interlace.errors import DataError
from interlace.links.subwords import to_subwords
from interlace.ragged import Ragged

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
            "find them, or open the corpus with ParallelCorpus.beside"
        )
    return pairs.links


def one_to_one(links: Ragged, confidence: Ragged | None) -> NDArray[np.bool_]:
    """(total,) which links are the one best of both of their words; without confidences the only one of both.

    links: n rows of (source word, target word). confidence: a number a link, or None.
    """
    rows, flat = links.rows(), links.flat
    sure = np.ones(len(flat)) if confidence is None else confidence.flat
    keep = np.ones(len(flat), np.bool_)
    for side in (0, 1):
        keys = rows * (int(flat[:, side].max(initial=0)) + 1) + flat[:, side]
        best = np.full(int(keys.max(initial=0)) + 1, -np.inf)
        np.maximum.at(best, keys, sure)
        top = sure == best[keys]
        keep &= top & (np.bincount(keys[top], minlength=len(best))[keys] == 1)
    return keep


def only(links: Ragged, keep: NDArray[np.bool_]) -> Ragged:
    """The links that are kept, row by row."""
    lengths = np.bincount(links.rows()[keep], minlength=len(links))
    return Ragged.from_lengths(links.flat[keep], lengths)


def partners(layout: Layout, links: Ragged, how: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of linked subwords of the two sides, a link each; links of words that were cut off are left out.

    how: what becomes of a link between words of several subwords, as `links.subwords.to_subwords` says.
    """
    found = [_side(layout, side) for side in (0, 1)]
    linked = to_subwords(links, found[0][1], found[1][1], how)
    rows = linked.rows()
    source, target = (
        places[words.offsets[:-1][rows] + linked.flat[:, side]] for side, (places, words) in enumerate(found)
    )
    return source, target


def exchange(
    layout: Layout,
    linked: tuple[NDArray[np.int64], NDArray[np.int64]],
    at: tuple[NDArray[Any], NDArray[Any]],
    *,
    mean: bool,
    every: bool,
    forbid_masked: bool,
) -> Exchange:
    """For every prediction the states of what it is linked to, in the other language.

    linked: of `partners`. at: rows and columns of the N predictions, in row-major order.
    mean: divide by the number of partners, else sum. every: predictions without a partner get a row of zeros, else no
    row. forbid_masked: partners that are predicted themselves do not count.
    """
    width = layout.ids.shape[1]
    count = len(at[0])
    slot = np.full(layout.ids.size, -1, np.int64)  # place -> prediction
    slot[at[0] * width + at[1]] = np.arange(count)
    to, places = np.concatenate(linked), np.concatenate(linked[::-1])
    prediction = slot[to]
    keep = prediction >= 0
    if forbid_masked:
        keep &= slot[places] < 0
    prediction, places = prediction[keep], places[keep]
    order = np.argsort(prediction, kind="stable")
    prediction, places = prediction[order], places[order]
    degree = np.bincount(prediction, minlength=count)
    aligned = degree > 0
    weights = 1 / degree[prediction] if mean else np.ones(len(prediction))
    which = np.arange(count) if every else np.flatnonzero(aligned)
    row = prediction if every else (np.cumsum(aligned) - 1)[prediction]
    return Exchange(which, row, places, weights.astype(np.float32), int(aligned.sum()))


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


def _side(layout: Layout, side: int) -> tuple[NDArray[np.int64], Ragged]:
    """Places of the text's subwords of one side, and the word of each, by row."""
    mine = layout.content & (layout.sides == side)
    places = np.flatnonzero(mine.reshape(-1))
    return places, Ragged.from_lengths(layout.words.reshape(-1)[places], mine.sum(axis=1))
