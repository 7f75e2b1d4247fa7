"""Derived texts with their alignments: in parts, composed, for pairs, and with labels that follow their words."""

import gc
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interlace.alignment.links import reverse_links, sorted_links
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged, ranges
from interlace.text import Text, TextPairs
from interlace.text.word_tokenizers import WORD_TOKENIZERS

Span = tuple[int, int]
NOWHERE: Span = (-1, -1)
_COLUMNS = ("lines", "words", "labels", "answers", "heads")  # of a text: a row per line, or None


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


# ---- parts ----


def in_parts(text: Text, derive: Callable[[Text], DerivedText]) -> DerivedText:
    """Apply a function to slices of a text that fit a processor's caches.

    Cyclic garbage collection is paused: it takes half of the time where many small lists are made.
    """
    if not len(text):
        return unchanged(text)
    collects = gc.isenabled()
    gc.disable()
    try:
        return concatenated([derive(part) for part in parts(text)])
    finally:
        if collects:
            gc.enable()


def parts(text: Text, lines: int = 10_000) -> Iterator[Text]:
    """Yield the lines of a text in slices; nothing for a text without lines."""
    if 0 < len(text) <= lines:
        yield text
        return
    for start in range(0, len(text), lines):
        part = text.slice(start, start + lines)
        yield replace(part, notes={}) if start else part


def concatenated(derived: Sequence[DerivedText]) -> DerivedText:
    """Concatenate texts of one language with their links; notes are added up."""
    if len(derived) == 1:
        return derived[0]
    texts = [one.text for one in derived]
    first = texts[0]
    columns = {name: [getattr(text, name) for text in texts] for name in _COLUMNS if getattr(first, name) is not None}
    joined: dict[str, Any] = {
        name: Ragged.concatenate(parts) if isinstance(parts[0], Ragged) else list(chain.from_iterable(parts))
        for name, parts in columns.items()
    }
    tags = {kind: list(chain.from_iterable(text.tags[kind] for text in texts)) for kind in first.tags}
    whole = replace(first, **joined, tags=tags, notes=added(*(text.notes for text in texts)))
    return DerivedText(whole, Ragged.concatenate([one.links for one in derived]))


def added(*notes: dict[str, int]) -> dict[str, int]:
    """Add up notes; counts of zero are left out."""
    sums = Counter[str]()
    for some in notes:
        sums.update(some)
    return {what: count for what, count in sums.items() if count}


# ---- links ----


def unchanged(text: Text) -> DerivedText:
    """Return the text with each word linked to itself."""
    words = Ragged(text.words.flat, text.words.offsets - text.words.offsets[0])
    places = words.columns().astype(np.int32)
    return DerivedText(text, Ragged(np.stack([places, places], axis=1), words.offsets))


def checked(derived: DerivedText, text: Text, name: str) -> DerivedText:
    """Return the derived text; raise a DataError unless each word has one counterpart, in order."""
    links, sizes = derived.links, text.words.lengths
    if all(np.array_equal(sizes, found) for found in (links.lengths, derived.text.words.lengths)):
        to = links.flat[:, 1] + np.repeat(links.offsets[:-1] - links.offsets[0], sizes)
        if np.array_equal(links.flat[:, 0], links.columns()) and np.array_equal(np.sort(to), np.arange(len(to))):
            return derived
    lines = zip(text.lines, sizes.tolist(), derived.text.words.lengths.tolist(), links, strict=True)
    line, pairs = next(
        (line, row.tolist())
        for line, size, count, row in lines
        if size != count or [row[:, 0].tolist(), sorted(row[:, 1].tolist())] != [list(range(size))] * 2
    )
    raise DataError(
        f"the transformation {name!r} must give each word exactly one counterpart, in order; links of {line!r}: {pairs}"
    )


def composed(first: Ragged, second: Ragged) -> Ragged:
    """Compose links: i-k for each i-j of `first` and j-k of `second`; both sorted, as is the result."""
    if np.array_equal(first.lengths, second.lengths) and all(
        (links.flat[:, 0] == links.columns()).all() for links in (first, second)
    ):  # one link for each word: no search
        at = first.flat[:, 1] + np.repeat(second.offsets[:-1] - second.offsets[0], first.lengths)
        links = np.stack([first.flat[:, 0], second.flat[at, 1]], axis=1)
        return Ragged(links, first.offsets - first.offsets[0])
    rows = first.rows()
    width = 1 + max(int(side.max(initial=0)) for side in (first.flat[:, 1], second.flat[:, 0]))
    wanted, there = rows * width + first.flat[:, 1], second.rows() * width + second.flat[:, 0]
    starts = np.searchsorted(there, wanted, "left")
    counts = np.searchsorted(there, wanted, "right") - starts
    links = np.stack([np.repeat(first.flat[:, 0], counts), second.flat[ranges(starts, counts), 1]], axis=1)
    return sorted_links(np.repeat(rows, counts), links.astype(np.int32), len(first))


def overlaps(one: Ragged, other: Ragged) -> Ragged:
    """Link two tokenizations of the same lines, (i, j) where words share a character; spans in order and disjoint."""
    width = 1 + max([int(side.flat[:, 1].max()) for side in (one, other) if len(side.flat)], default=0)
    spans = [(side.flat.astype(np.int64) + side.rows()[:, None] * width).T for side in (one, other)]
    (begin, end), (begin_other, end_other) = spans  # positions in all lines, for a single search
    first = np.searchsorted(end_other, begin, "right")
    count = np.maximum(np.searchsorted(begin_other, end, "left") - first, 0)
    rows = np.repeat(one.rows(), count)
    at = ranges(first, count) - (other.offsets[:-1] - other.offsets[0])[rows]
    links = np.stack([np.repeat(one.columns(), count), at], axis=1).astype(np.int32)
    return Ragged.from_lengths(links, np.bincount(rows, minlength=len(one)))


# ---- pairs ----


def derived_pairs(pairs: TextPairs, apply: Callable[[Text], DerivedText]) -> DerivedPairs:
    """Transform both sides of pairs; labels stay, links and answers follow their words."""
    source, target = apply(pairs.source), apply(pairs.target)
    links = pairs.links
    if links is not None:
        links = composed(composed(reverse_links(source.links), links), target.links)
    answers, notes = pairs.answers, pairs.notes
    if answers is not None:
        found = [[_in_passage(pairs.source, source, row, text) for text in texts] for row, texts in enumerate(answers)]
        old_and_new = zip(chain.from_iterable(answers), chain.from_iterable(found), strict=True)
        alone = [old for old, new in old_and_new if new is None]
        own = pairs.source.word_tokenizer
        tokenizer = own if own in WORD_TOKENIZERS.names() else "unicode"
        transformed = iter(apply(Text.of(alone, pairs.source.language, tokenizer)).text.lines)
        answers = [[next(transformed) if one is None else one for one in row] for row in found]
        if alone:
            notes = notes | {"answers not found in their passage, transformed as text of their own": len(alone)}
    derived = replace(pairs, source=source.text, target=target.text, links=links, answers=answers, notes=notes)
    return DerivedPairs(derived, source.links, target.links)


def _in_passage(original: Text, derived: DerivedText, row: int, answer: str) -> str | None:
    """Return the answer as in the derived passage; None if it is not there or its words are not adjacent."""
    line, links = original.lines[row], derived.links[row]
    place = original.answers[row] if original.answers is not None else NOWHERE
    if place == NOWHERE or line[slice(*place)] != answer:
        start = line.find(answer)
        place = (start, start + len(answer)) if start >= 0 else NOWHERE
    to = np.full(len(original.words[row]), -1, np.int64)
    to[links[:, 0]] = links[:, 1]
    start, end = moved_span(place, original.words[row], derived.text.words[row], to)
    return derived.text.lines[row][start:end] if (start, end) != NOWHERE else None


# ---- labels that follow their words ----


def numbered(strings: Iterable[str], count: int) -> tuple[NDArray[np.int32], list[str]]:
    """Return the number of each string (count,) and the distinct strings in order, without a Python loop."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    return np.fromiter(map(numbers.__getitem__, strings), np.int32, count), list(numbers)


def moved_tags(
    text: Text, offsets: NDArray[np.int64], order: NDArray[np.int64]
) -> tuple[dict[str, list[list[str]]], dict[str, int]]:
    """Return all tags in the new order of words, names as IOB2; and how many names were split, as a note.

    offsets: (L + 1,) the words of each line. order: (W,) the word at each place.
    """
    tags, notes = {}, {}
    for kind, rows in text.tags.items():
        if kind != "names":
            tags[kind] = _rows(np.fromiter(chain.from_iterable(rows), object, len(order))[order], offsets)
            continue
        tags[kind] = list(rows)
        if some := [line for line, row in enumerate(rows) if row.count("O") < len(row)]:
            lines, sizes = np.array(some), np.diff(offsets)[some]
            own = np.append(0, np.cumsum(sizes))
            inside = Ragged(np.arange(offsets[-1]), offsets).take(lines).values
            places = order[inside] - np.repeat(offsets[:-1][lines] - own[:-1], sizes)
            moved, split = _moved_names([rows[line] for line in some], own, places)
            notes["names split because their words are no longer adjacent"] = split
            for line, row in zip(some, moved, strict=True):
                tags[kind][line] = row
    return tags, notes


def _moved_names(
    rows: list[list[str]], offsets: NDArray[np.int64], order: NDArray[np.int64]
) -> tuple[list[list[str]], int]:
    """Return tags in the new order: `B-` at the first word of each run of words of one name, `I-` at the others.

    Moving tags unchanged would put `I-` before `B-` (Tang et al. 2022, appendix G.1). A stray `I-` begins a name.
    """
    codes, tags = numbered(chain.from_iterable(rows), len(order))
    prefixes, kinds = np.array([tag[:1] for tag in tags])[codes], [tag[2:] for tag in tags]
    outside, inside = (prefixes != "B") & (prefixes != "I"), prefixes == "I"
    types = numbered(kinds, len(kinds))[0][codes]
    first = np.zeros(len(codes), np.bool_)
    first[offsets[:-1]] = True
    continues = inside & ~first
    continues[1:] &= ~outside[:-1] & (types[1:] == types[:-1])
    own = np.where(outside, -1, np.cumsum(~outside & ~continues) - 1)[order]  # the name of the word at each place
    begins = first | (own != np.append(-1, own[:-1]))
    table = np.array([[f"I-{tag[2:]}", f"B-{tag[2:]}"] if tag[:1] in {"B", "I"} else ["O"] * 2 for tag in tags], object)
    moved = table[codes[order], begins.astype(np.int64)]
    return _rows(moved, offsets), int((np.bincount(own[begins & (own >= 0)]) > 1).sum())


def _rows(flat: NDArray[Any], offsets: NDArray[np.int64]) -> list[list[str]]:
    tags = flat.tolist()
    return [tags[start:stop] for start, stop in pairwise(offsets.tolist())]


def moved_answers(text: Text, words: Ragged, to: NDArray[np.int64]) -> tuple[list[Span] | None, dict[str, int]]:
    """Return the answer span of each derived line, and how many answers lost theirs, as a note.

    words: spans in the derived lines. to: (W,) the place in its derived line that each word moves to.
    """
    if text.answers is None:
        return None, {}
    places = Ragged(to, text.words.offsets - text.words.offsets[0])
    answers = [
        moved_span(answer, text.words[line], words[line], places[line]) for line, answer in enumerate(text.answers)
    ]
    lost = sum(old != NOWHERE and new == NOWHERE for old, new in zip(text.answers, answers, strict=True))
    return answers, {"answers lost because their words are no longer adjacent": lost}


def moved_span(answer: Span, old: NDArray[np.int32], new: NDArray[np.int32], to: NDArray[np.int64]) -> Span:
    """Return a span of one line after its words moved; nowhere if they are not adjacent, or it had no word.

    An answer that begins or ends within a word still does if its words kept their order and that word its length;
    otherwise it is extended to the whole word.

    old, new: spans of the line's words before and after. to: the place that each word moves to.
    """
    start, end = answer
    touched = np.flatnonzero((old[:, 1] > start) & (old[:, 0] < end)) if answer != NOWHERE else np.zeros(0, np.int64)
    places = to[touched]
    if not len(touched) or places.max() - places.min() >= len(touched):
        return NOWHERE
    first, last = new[places.min()], new[places.max()]
    begin, stop = int(first[0]), int(last[1])
    if (np.diff(places) > 0).all():
        opening, closing = old[touched[0]], old[touched[-1]]
        if first[1] - first[0] == opening[1] - opening[0]:
            begin += max(0, start - int(opening[0]))
        if last[1] - last[0] == closing[1] - closing[0]:
            stop -= max(0, int(closing[1]) - end)
    return begin, stop
