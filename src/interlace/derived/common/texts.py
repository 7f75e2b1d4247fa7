"""Derived texts with their alignments: sliced into parts, put together again, and composed."""

from __future__ import annotations

import gc
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from interlace.alignment.links import reverse_links, sorted_links
from interlace.core.ragged import Ragged
from interlace.derived.common.labels import NOWHERE, moved_span
from interlace.text import Text, TextPairs
from interlace.text.word_tokenizers import WORD_TOKENIZERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

_PART = 10_000  # lines
_OWN_TEXT = "answers not found in their passage, transformed as text of their own"


@dataclass(frozen=True)
class DerivedText:
    """Text of a derived language.

    text: as many lines as the original, in its order, with tags, labels and answers; its language is the original's.
    links: a row per line of (word of the original, word of the derived line), sorted, shape (total, 2) int32.
    """

    text: Text
    links: Ragged

    def pairs(self, original: Text) -> TextPairs:
        """Return the original and the derived text as translations of each other."""
        return TextPairs(original, self.text, self.links)


@dataclass(frozen=True)
class DerivedPairs:
    """Pairs with both sides transformed.

    source, target: links from the words of each side to those of the derived side.
    """

    pairs: TextPairs
    source: Ragged
    target: Ragged


# ---- parts ----


def in_parts(text: Text, derive: Callable[[Text], DerivedText]) -> DerivedText:
    """Apply a function to slices of a text that fit a processor's caches."""
    with _without_garbage_collection():
        return concatenated([derive(part) for part in parts(text)]) if len(text) else unchanged(text)


def parts(text: Text, lines: int = _PART) -> Iterator[Text]:
    """Yield the lines of a text in slices; nothing for a text without lines."""
    if len(text) <= lines:
        yield from [text] if len(text) else []
        return
    for start in range(0, len(text), lines):
        stop = min(start + lines, len(text))
        yield replace(
            text,
            lines=text.lines[start:stop],
            words=text.words.slice(start, stop),
            tags={kind: rows[start:stop] for kind, rows in text.tags.items()},
            labels=None if text.labels is None else text.labels[start:stop],
            answers=None if text.answers is None else text.answers[start:stop],
            notes={} if start else text.notes,
            heads=None if text.heads is None else text.heads.slice(start, stop),
        )


def concatenated(derived: Sequence[DerivedText]) -> DerivedText:
    """Concatenate texts of one language with their links; notes are added up."""
    if len(derived) == 1:
        return derived[0]
    texts = [one.text for one in derived]
    first, notes = texts[0], Counter[str]()
    for text in texts:
        notes.update(text.notes)
    whole = replace(
        first,
        lines=list(chain.from_iterable(text.lines for text in texts)),
        words=Ragged.concatenate([text.words for text in texts]),
        tags={kind: list(chain.from_iterable(text.tags[kind] for text in texts)) for kind in first.tags},
        labels=None if first.labels is None else list(chain.from_iterable(text.labels or () for text in texts)),
        answers=None if first.answers is None else list(chain.from_iterable(text.answers or () for text in texts)),
        notes=dict(notes),
        heads=None if first.heads is None else Ragged.concatenate([text.heads for text in texts if text.heads]),
    )
    return DerivedText(whole, Ragged.concatenate([one.links for one in derived]))


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Pause cyclic garbage collection, which takes half of the time where many small lists are made."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


# ---- links ----


def unchanged(text: Text) -> DerivedText:
    """Return the text with each word linked to itself."""
    return DerivedText(text, identity(text))


def identity(text: Text) -> Ragged:
    """Return links from each word to itself."""
    words = Ragged(text.words.flat, text.words.offsets - text.words.offsets[0])
    places = words.columns().astype(np.int32)
    return Ragged(np.stack([places, places], axis=1), words.offsets)


def keeps_order(derived: DerivedText) -> bool:
    """Whether each word is linked to the word in its place."""
    links = derived.links
    return np.array_equal(links.lengths, derived.text.words.lengths) and bool(
        (links.flat[:, 0] == links.flat[:, 1]).all()
    )


def composed(first: Ragged, second: Ragged) -> Ragged:
    """Compose links: i-k for each i-j of `first` and j-k of `second`; both sorted, as is the result."""
    if _are_one_to_one(first, second):
        at = first.flat[:, 1] + np.repeat(second.offsets[:-1] - second.offsets[0], first.lengths)
        links = np.stack([first.flat[:, 0], second.flat[at, 1]], axis=1)
        return Ragged(links, first.offsets - first.offsets[0])
    rows, links = _joined(first, second)
    return sorted_links(rows, links, len(first))


def overlaps(one: Ragged, other: Ragged) -> Ragged:
    """Link two tokenizations of the same lines: (i, j) where the i-th and the j-th word share a character.

    one, other: rows of (start, end) spans, in order and disjoint.
    """
    width = 1 + max([int(side.flat[:, 1].max()) for side in (one, other) if len(side.flat)], default=0)
    spans = [(side.flat.astype(np.int64) + side.rows()[:, None] * width).T for side in (one, other)]
    (begin, end), (begin_other, end_other) = spans  # positions in all lines, for a single search
    first = np.searchsorted(end_other, begin, "right")
    count = np.maximum(np.searchsorted(begin_other, end, "left") - first, 0)
    rows = np.repeat(one.rows(), count)
    step = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    at = np.repeat(first, count) + step - (other.offsets[:-1] - other.offsets[0])[rows]
    links = np.stack([np.repeat(one.columns(), count), at], axis=1).astype(np.int32)
    return Ragged.from_lengths(links, np.bincount(rows, minlength=len(one)))


def _are_one_to_one(first: Ragged, second: Ragged) -> bool:
    """Whether in both, every word of the left side has one link, and both have as many words."""
    return np.array_equal(first.lengths, second.lengths) and all(
        bool((links.flat[:, 0] == links.columns()).all()) for links in (first, second)
    )


def _joined(first: Ragged, second: Ragged) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return rows and composed links in any order."""
    rows = first.rows()
    width = 1 + max(int(side.max(initial=0)) for side in (first.flat[:, 1], second.flat[:, 0]))
    wanted = rows * width + first.flat[:, 1]
    there = second.rows() * width + second.flat[:, 0]
    starts = np.searchsorted(there, wanted, "left")
    counts = np.searchsorted(there, wanted, "right") - starts
    spread = Ragged.from_lengths(np.empty(0), counts)
    at = np.repeat(starts - spread.offsets[:-1], counts) + np.arange(spread.offsets[-1])
    links = np.stack([np.repeat(first.flat[:, 0], counts), second.flat[at, 1]], axis=1)
    return np.repeat(rows, counts), links.astype(np.int32)


# ---- pairs ----


def derived_pairs(pairs: TextPairs, apply: Callable[[Text], DerivedText]) -> DerivedPairs:
    """Transform both sides of pairs; labels stay, links and answers follow their words."""
    source, target = apply(pairs.source), apply(pairs.target)
    links = pairs.links
    if links is not None:
        links = composed(composed(reverse_links(source.links), links), target.links)
    answers, alone = _answers(pairs, source, apply)
    notes = pairs.notes | ({_OWN_TEXT: alone} if alone else {})
    derived = replace(pairs, source=source.text, target=target.text, links=links, answers=answers, notes=notes)
    return DerivedPairs(derived, source.links, target.links)


def _answers(
    pairs: TextPairs, source: DerivedText, apply: Callable[[Text], DerivedText]
) -> tuple[list[list[str]] | None, int]:
    """Return all answers as in the derived passages, and how many of them are not in theirs."""
    if pairs.answers is None:
        return None, 0
    alone: list[str] = []
    answers = []
    for row, texts in enumerate(pairs.answers):
        place = pairs.source.answers[row] if pairs.source.answers is not None else NOWHERE
        new = [_in_passage(pairs.source, source, row, answer, place) for answer in texts]
        alone += [answer for answer, found in zip(texts, new, strict=True) if found is None]
        answers.append(new)
    tokenizer = pairs.source.word_tokenizer if pairs.source.word_tokenizer in WORD_TOKENIZERS.names() else "unicode"
    transformed = iter(apply(Text.of(alone, pairs.source.language, tokenizer)).text.lines)
    return [[next(transformed) if one is None else one for one in row] for row in answers], len(alone)


def _in_passage(original: Text, derived: DerivedText, row: int, answer: str, place: tuple[int, int]) -> str | None:
    """Return the answer as in the derived passage; None if it is not there or its words are not adjacent."""
    line = original.lines[row]
    if place == NOWHERE or line[slice(*place)] != answer:
        start = line.find(answer)
        place = (start, start + len(answer)) if start >= 0 else NOWHERE
    links = derived.links[row]
    to = np.full(len(original.words[row]), -1, np.int64)
    to[links[:, 0]] = links[:, 1]
    start, end = moved_span(place, original.words[row], derived.text.words[row], to)
    return derived.text.lines[row][start:end] if (start, end) != NOWHERE else None
