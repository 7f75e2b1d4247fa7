"""Agreement of word alignments with gold alignments: precision, recall, F1 and alignment error rate (AER)."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from operator import add

import numpy as np

from interlace.alignment.links import contained_in, select_links, sorted_links
from interlace.core.errors import DataError
from interlace.core.ragged import IntArray, Ragged


@dataclass(frozen=True)
class Agreement:
    """Counts over a corpus and the rates that follow from them; counts can be added.

    links: number of predicted links. sure, possible: number of gold links; sure links are also possible.
    in_sure, in_possible: number of predicted links that are sure, and that are possible.

    Rates are fractions from 0 to 1 (Och and Ney 2003, section 5). Precision is 1 without predicted links, recall is 1
    without sure links, and AER is 0 without either.
    """

    links: int = 0
    sure: int = 0
    possible: int = 0
    in_sure: int = 0
    in_possible: int = 0

    @property
    def precision(self) -> float:
        """The fraction of predicted links that are possible."""
        return self.in_possible / self.links if self.links else 1.0

    @property
    def recall(self) -> float:
        """The fraction of sure links that are predicted."""
        return self.in_sure / self.sure if self.sure else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; 0 if both are 0."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    @property
    def aer(self) -> float:
        """The alignment error rate: 1 - (in_sure + in_possible) / (links + sure)."""
        total = self.links + self.sure
        return 1 - (self.in_sure + self.in_possible) / total if total else 0.0

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(*map(add, astuple(self), astuple(other)))

    def __str__(self) -> str:
        rates = f"precision {self.precision:.1%}, recall {self.recall:.1%}, F1 {self.f1:.1%}, AER {self.aer:.1%}"
        gold = f"{self.sure:,} sure"
        if self.possible > self.sure:
            gold += f" and {self.possible - self.sure:,} possible"
        return f"{rates} ({self.links:,} links; gold: {gold})"


def agreement(links: Ragged, sure: Ragged, possible: Ragged | None = None) -> Agreement:
    """Compare predicted links of n pairs with gold links, counted over the whole corpus.

    links, sure: n rows of (source word, target word), in any order; duplicates count once.
    possible: n rows; sure links need not be repeated in it. None: all gold links are sure.

    Raises:
        DataError: the numbers of rows differ.
    """
    return Agreement(*map(int, agreement_by_pair(links, sure, possible).sum(axis=0)))


def agreement_by_pair(links: Ragged, sure: Ragged, possible: Ragged | None = None) -> IntArray:
    """(n, 5) the counts of each pair, columns in the order of the fields of `Agreement`; raises as `agreement`."""
    possible = sure if possible is None else possible
    if not len(links) == len(sure) == len(possible):
        raise DataError(
            f"links of {len(links)} pairs, but gold links of {len(sure)} (sure) and {len(possible)} (possible)"
        )
    links = _sorted(links)
    sure = _sorted(sure)
    possible = _sorted(possible)
    in_sure = contained_in(links, sure)
    in_either = in_sure | contained_in(links, possible)
    only_sure = ~contained_in(sure, possible)
    columns = [
        links.lengths,
        sure.lengths,
        possible.lengths + select_links(sure, only_sure).lengths,
        select_links(links, in_sure).lengths,
        select_links(links, in_either).lengths,
    ]
    return np.stack(columns, axis=1)


def _sorted(links: Ragged) -> Ragged:
    return sorted_links(links.rows(), links.flat, len(links))
