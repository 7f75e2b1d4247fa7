"""Texts cut into parts that fit a processor's caches, and put together again."""

from __future__ import annotations

import gc
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from interlace.text import Text

_LINES = 10_000  # a part


def parts(text: Text, lines: int = _LINES) -> Iterator[Text]:
    """The lines of a text in slices; no part of a text without lines."""
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


@contextmanager
def uncollected() -> Iterator[None]:
    """Without the search for rings of dead objects, which takes half of the time where many small lists are made.

    Nothing that is made here is part of a ring.
    """
    searching = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searching:
            gc.enable()


def concatenated(done: Sequence[tuple[Text, Ragged]]) -> tuple[Text, Ragged]:
    """Texts of one language with their links, one behind the other; notes are added up."""
    first = done[0][0]
    if len(done) == 1:
        return done[0]
    texts = [text for text, _ in done]
    notes: Counter[str] = Counter()
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
    return whole, Ragged.concatenate([links for _, links in done])


def same_words(text: Text) -> Ragged:
    """Links from each word to itself."""
    words = Ragged(text.words.flat, text.words.offsets - text.words.offsets[0])
    places = words.columns().astype(np.int32)
    return Ragged(np.stack([places, places], axis=1), words.offsets)


def is_same(links: Ragged, text: Text) -> bool:
    """Whether these link each word of a derived text to the word that stood in its place."""
    return np.array_equal(links.lengths, text.words.lengths) and bool((links.flat[:, 0] == links.flat[:, 1]).all())
