"""Annotation projection: tags and names of source words on the words of their translations, through word alignments.

Yarowsky and Ngai (2001) project tags over single links; names are projected as spans, as by Ehrmann et al. (2011).
"""

import re
from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from interlace.core.errors import DataError
from interlace.core.ragged import IntegerArray, Ragged

Labels = Sequence[Sequence[str]]

_NAME = re.compile(r"O|[BI]-.+")


def project(
    labels: Labels,
    links: Ragged,
    confidence: NDArray[np.floating],
    lengths: tuple[IntegerArray, IntegerArray],
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
    are_names = all(_NAME.fullmatch(label) for label in chain.from_iterable(labels))
    link_starts = (links.offsets - links.offsets[0]).tolist()
    projected = []
    for number, row in enumerate(labels):
        source_words = int(lengths[0][number])
        target_words = int(lengths[1][number])
        if len(row) != source_words:
            raise DataError(
                f"line {number + 1}: {len(row)} labels, but the source has {source_words} words"
            )
        pair_links = links[number]
        pair_confidence = confidence[link_starts[number] : link_starts[number + 1]]
        if are_names:
            row_labels = _projected_names(row, pair_links, pair_confidence, target_words)
        else:
            row_labels = _tags(row, pair_links, pair_confidence, target_words, missing)
        projected.append(row_labels)
    return projected


def _tags(
    row: Sequence[str],
    links: IntegerArray,
    confidence: NDArray[np.floating],
    length: int,
    missing: str,
) -> list[str]:
    tags = [missing] * length
    order = np.lexsort((-links[:, 0], confidence))  # the best of a word is written last
    for source, target in links[order].tolist():
        tags[target] = row[source]
    return tags


def _projected_names(
    row: Sequence[str], links: IntegerArray, confidence: NDArray[np.floating], target_words: int
) -> list[str]:
    """Return the IOB2 tags of the target words; of names that overlap, the one of higher confidence keeps the words."""
    spans = []  # confidence, minus the first target word, the end, and the kind; the largest first
    for start, end, kind in name_spans(row):
        is_inside = (links[:, 0] >= start) & (links[:, 0] < end)
        if is_inside.any():
            words = links[is_inside, 1].tolist()
            total = float(confidence[is_inside].sum())
            spans.append((total, -min(words), max(words) + 1, kind))
    tags = ["O"] * target_words
    for _, minus_first, end, kind in sorted(spans, reverse=True):
        word = -minus_first
        while word < end and tags[word] != "O":
            word += 1
        prefix = "B"
        while word < end and tags[word] == "O":  # up to the first word of another name
            tags[word] = f"{prefix}-{kind}"
            prefix = "I"
            word += 1
    return tags


def name_spans(row: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return (start, end, kind) of the names in IOB2 labels; an `I-` without its `B-` begins a name.

    >>> name_spans(["B-PER", "I-PER", "O", "I-LOC"])
    [(0, 2, 'PER'), (3, 4, 'LOC')]
    """
    spans: list[tuple[int, int, str]] = []
    for word, label in enumerate(row):
        kind = label[2:]
        if label.startswith("I-") and spans and spans[-1][1:] == (word, kind):
            spans[-1] = (spans[-1][0], word + 1, kind)
        elif kind:
            spans.append((word, word + 1, kind))
    return spans
