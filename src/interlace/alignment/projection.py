"""Annotation projection: tags and names of source words on the words of their translations, through word alignments.

Yarowsky and Ngai (2001) project tags over single links; names are projected as spans, as by Ehrmann et al. (2011).
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged

Labels = Sequence[Sequence[str]]

_NAME = re.compile(r"O|[BI]-.+")


def project(
    labels: Labels,
    links: Ragged,
    confidence: NDArray[np.floating],
    lengths: tuple[NDArray[np.integer], NDArray[np.integer]],
    missing: str = "_",
) -> list[list[str]]:
    """Return a label for each target word of n pairs.

    Tags: that of the source word with the most confident link, of equal ones the first; words without a link get
    `missing`. Names (every label is `O`, `B-..` or `I-..`): a name covers the target words from the first to the last
    one linked to its words; where two overlap, the one with more confidence keeps its words.

    labels: one string a source word. confidence: (links,) of each link. lengths: (n,) words of source
    and target.

    Raises:
        DataError: the labels are not those of the source text.
    """
    if len(labels) != len(links):
        raise DataError(f"{len(labels):,} lines of labels, but {len(links):,} pairs")
    names = all(_NAME.fullmatch(label) for row in labels for label in row)
    starts, found = (links.offsets - links.offsets[0]).tolist(), []
    for number, row in enumerate(labels):
        pair, sure = links[number], confidence[starts[number] : starts[number + 1]]
        if len(row) != (words := int(lengths[0][number])):
            raise DataError(f"line {number + 1}: {len(row)} labels, but the source has {words} words")
        if names:
            found.append(_names(row, pair, sure, int(lengths[1][number])))
        else:
            found.append(_tags(row, pair, sure, int(lengths[1][number]), missing))
    return found


def _tags(
    row: Sequence[str], pair: NDArray[np.integer], sure: NDArray[np.floating], length: int, missing: str
) -> list[str]:
    tags = [missing] * length
    for link in np.lexsort((-pair[:, 0], sure)).tolist():  # the best of a word is written last
        tags[pair[link, 1]] = row[pair[link, 0]]
    return tags


def _names(row: Sequence[str], pair: NDArray[np.integer], sure: NDArray[np.floating], length: int) -> list[str]:
    tags = ["O"] * length
    spans = []
    for start, end, kind in name_spans(row):
        inside = (pair[:, 0] >= start) & (pair[:, 0] < end)
        if inside.any():
            words = pair[inside, 1]
            spans.append((float(sure[inside].sum()), -int(words.min()), int(words.max()) + 1, kind))
    for _, first, last, kind in sorted(spans, reverse=True):
        free = [word for word in range(-first, last) if tags[word] == "O"]
        run = [word for place, word in enumerate(free) if word - place == free[0]]  # up to the first gap
        for word in run:
            tags[word] = f"{'I' if word > run[0] else 'B'}-{kind}"
    return tags


def name_spans(row: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return (start, end, kind) of the names in IOB2 labels; an `I-` without its `B-` begins a name.

    >>> name_spans(["B-PER", "I-PER", "O", "I-LOC"])
    [(0, 2, 'PER'), (3, 4, 'LOC')]
    """
    spans: list[tuple[int, int, str]] = []
    for place, label in enumerate(row):
        kind = label[2:]
        if label.startswith("I-") and spans and spans[-1][1:] == (place, kind):
            spans[-1] = spans[-1][0], place + 1, kind
        elif kind:
            spans.append((place, place + 1, kind))
    return spans
