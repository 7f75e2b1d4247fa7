"""Derived texts and pairs with their alignments, which can be checked and composed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from interlace.alignment.links import reverse_links, sorted_links
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged, ranges
from interlace.derived.common.labels import NOWHERE, Span, moved_span
from interlace.text import Text, TextPairs
from interlace.text.word_tokenizers import WORD_TOKENIZERS


@dataclass(frozen=True)
class DerivedText:
    """Text of a derived language.

    text: as many lines as the original, in its order, with tags, labels and answers; its language is the original's.
    links: a row per line of (word of the original, word of the derived line), sorted, shape (total, 2) int32.
    """

    text: Text
    links: Ragged


@dataclass(frozen=True)
class DerivedPairs:
    """Pairs with both sides transformed; source, target: links from the words of each side to the derived ones."""

    pairs: TextPairs
    source: Ragged
    target: Ragged


# ---- links ----


def unchanged(text: Text) -> DerivedText:
    """Return the text with each word linked to itself."""
    offsets = text.words.offsets - text.words.offsets[0]
    columns = text.words.columns().astype(np.int32)
    return DerivedText(text, Ragged(np.stack([columns, columns], axis=1), offsets))


def checked(derived: DerivedText, text: Text, name: str) -> DerivedText:
    """Return the derived text; raise a DataError unless each word has one counterpart, in order."""
    if _is_one_to_one(derived, text):
        return derived
    lengths = zip(text.words.lengths.tolist(), derived.text.words.lengths.tolist(), strict=True)
    for line, links, (length, derived_length) in zip(
        text.lines, derived.links, lengths, strict=True
    ):
        words = list(range(length))
        are_sources = links[:, 0].tolist() == words
        are_targets = sorted(links[:, 1].tolist()) == words
        if length != derived_length or not are_sources or not are_targets:
            raise DataError(
                f"the transformation {name!r} must give each word exactly one counterpart, in order; "
                f"links of {line!r}: {links.tolist()}"
            )
    return derived


def _is_one_to_one(derived: DerivedText, text: Text) -> bool:
    links = derived.links
    lengths = text.words.lengths
    if not np.array_equal(links.lengths, lengths) or not np.array_equal(
        derived.text.words.lengths, lengths
    ):
        return False
    targets = links.flat[:, 1] + np.repeat(
        links.offsets[:-1] - links.offsets[0], lengths
    )  # (W,) over all lines
    is_complete = np.array_equal(np.sort(targets), np.arange(len(targets)))
    return is_complete and np.array_equal(links.flat[:, 0], links.columns())


def followed_by(first: Ragged, second: Ragged) -> Ragged:
    """Compose links that give each word one counterpart, in order.

    >>> reverse = Ragged.of([[(0, 2), (1, 1), (2, 0)]], width=2)
    >>> followed_by(reverse, Ragged.of([[(0, 1), (1, 2), (2, 0)]], width=2)).to_lists()
    [[[0, 0], [1, 2], [2, 1]]]
    """
    line_starts = np.repeat(second.offsets[:-1] - second.offsets[0], second.lengths)  # (W,)
    targets = second.flat[first.flat[:, 1] + line_starts, 1]
    return Ragged(np.stack([first.flat[:, 0], targets], axis=1), first.offsets - first.offsets[0])


def composed(first: Ragged, second: Ragged) -> Ragged:
    """Compose links: i-k for each i-j of `first` and j-k of `second`; both sorted, as is the result.

    >>> first = Ragged.of([[(0, 0), (0, 1), (1, 2)]], width=2)
    >>> composed(first, Ragged.of([[(1, 3), (2, 0), (2, 1)]], width=2)).to_lists()
    [[[0, 3], [1, 0], [1, 1]]]
    """
    rows = first.rows()
    width = 1 + max(int(first.flat[:, 1].max(initial=0)), int(second.flat[:, 0].max(initial=0)))
    middle_words = rows * width + first.flat[:, 1]  # (links of first,) numbered over all lines
    second_words = second.rows() * width + second.flat[:, 0]  # (links of second,) sorted
    starts = np.searchsorted(second_words, middle_words, "left")
    counts = np.searchsorted(second_words, middle_words, "right") - starts
    sources = np.repeat(first.flat[:, 0], counts)
    targets = second.flat[ranges(starts, counts), 1]
    links = np.stack([sources, targets], axis=1).astype(np.int32)
    return sorted_links(np.repeat(rows, counts), links, len(first))


def overlaps(words: Ragged, other_words: Ragged) -> Ragged:
    """Link two tokenizations of the same lines, (i, j) where words share a character; spans in order and disjoint.

    >>> overlaps(Ragged.of([[(0, 3), (4, 6)]], width=2), Ragged.of([[(0, 1), (1, 3), (4, 6)]], width=2)).to_lists()
    [[[0, 0], [0, 1], [1, 2]]]
    """
    width = 1 + max(
        int(words.flat[:, 1].max(initial=0)), int(other_words.flat[:, 1].max(initial=0))
    )
    begins, ends = _positions(words, width)
    other_begins, other_ends = _positions(other_words, width)
    first = np.searchsorted(
        other_ends, begins, "right"
    )  # (words,) the first other word that ends behind the begin
    counts = np.maximum(np.searchsorted(other_begins, ends, "left") - first, 0)
    rows = np.repeat(words.rows(), counts)
    line_starts = (other_words.offsets[:-1] - other_words.offsets[0])[rows]
    targets = ranges(first, counts) - line_starts
    links = np.stack([np.repeat(words.columns(), counts), targets], axis=1).astype(np.int32)
    return Ragged.from_lengths(links, np.bincount(rows, minlength=len(words)))


def _positions(words: Ragged, width: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """(2, W) begin and end of each word, counted over all lines as if each had `width` characters."""
    line_starts = words.rows() * width
    return (words.flat.astype(np.int64) + line_starts[:, None]).T


# ---- pairs ----


def derived_pairs(pairs: TextPairs, apply: Callable[[Text], DerivedText]) -> DerivedPairs:
    """Transform both sides of pairs; labels stay, links and answers follow their words."""
    source = apply(pairs.source)
    target = apply(pairs.target)
    derived = replace(pairs, source=source.text, target=target.text)
    if pairs.links is not None:
        links = composed(composed(reverse_links(source.links), pairs.links), target.links)
        derived = replace(derived, links=links)
    if pairs.answers is not None:
        derived = _with_answers(derived, pairs.source, source, pairs.answers, apply)
    return DerivedPairs(derived, source.links, target.links)


def _with_answers(
    pairs: TextPairs,
    original: Text,
    derived: DerivedText,
    answers: Sequence[Sequence[str]],
    apply: Callable[[Text], DerivedText],
) -> TextPairs:
    """Return derived pairs with the derived answers; those that are not in their passage are transformed alone."""
    derived_answers = [
        [_answer_in_passage(original, derived, row, answer) for answer in row_answers]
        for row, row_answers in enumerate(answers)
    ]
    alone: list[str] = []
    for row_answers, row_derived in zip(answers, derived_answers, strict=True):
        for answer, derived_answer in zip(row_answers, row_derived, strict=True):
            if derived_answer is None:
                alone.append(answer)
    notes = dict(pairs.notes)
    if alone:
        notes["answers not found in their passage, transformed as text of their own"] = len(alone)
    tokenizer = original.word_tokenizer
    if tokenizer not in WORD_TOKENIZERS.names():
        tokenizer = "unicode"
    transformed = iter(apply(Text.of(alone, original.language, tokenizer)).text.lines)
    complete: list[list[str]] = []
    for row_derived in derived_answers:
        complete.append([next(transformed) if answer is None else answer for answer in row_derived])
    return replace(pairs, answers=complete, notes=notes)


def _answer_in_passage(original: Text, derived: DerivedText, row: int, answer: str) -> str | None:
    """Return the answer as in the derived passage; None if it is not there or its words are not adjacent."""
    span = _span_of(original, row, answer)
    links = derived.links[row]
    to = np.full(
        len(original.words[row]), -1, np.int64
    )  # (words,) the place of each word in the derived line
    to[links[:, 0]] = links[:, 1]
    moved = moved_span(span, original.words[row], derived.text.words[row], to)
    if moved == NOWHERE:
        return None
    start, end = moved
    return derived.text.lines[row][start:end]


def _span_of(text: Text, row: int, answer: str) -> Span:
    """Return where an answer is in its line: at its position if it has one, else where it first occurs."""
    line = text.lines[row]
    if text.answers is not None and text.answers[row] != NOWHERE:
        start, end = text.answers[row]
        if line[start:end] == answer:
            return start, end
    start = line.find(answer)
    if start < 0:
        return NOWHERE
    return start, start + len(answer)
