"""IOB2 tags of named entities: which there are, and entities that begin with `I-`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable

_OUTSIDE = "O"


def is_iob(tag: str) -> bool:
    """Whether it is O, B-TYPE or I-TYPE."""
    return tag == _OUTSIDE or (tag[:2] in {"B-", "I-"} and bool(tag[2:]))


def begun(tags: Iterable[str], notes: Counter[str]) -> list[str]:
    """The tags of a sentence; an `I-` that does not go on with an entity of its type becomes a `B-`, and is counted."""
    found: list[str] = []
    for tag in tags:
        before = found[-1] if found else _OUTSIDE
        if tag.startswith("I-") and before[2:] != tag[2:]:
            notes["I- without B- made B-"] += 1
            found.append("B-" + tag[2:])
        else:
            found.append(tag)
    return found
