"""How alike two nouns are, as the concepts have it: what people would say where languages are real.

Alike is what shares its tags (what it is and what one does with it) and its topics (where it is at home): the share of
the common ones in all of both, from 0 to 10. The noun that names the kind of another one counts as a tag of that.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from interlace.toy import language
from interlace.toy._concepts import NOUNS
from interlace.toy._dictionary import seen

if TYPE_CHECKING:
    from collections.abc import Iterator

_EACH = 40  # pairs of each degree of likeness, spread over all there are


def judged(source: str, target: str) -> list[tuple[str, str, str]]:
    """(word of the source, word of the target, score), of all degrees of likeness; both may be one language.

    The concepts are the same in every language. A noun that is no single word of any sentence has no place in a table
    of words, so its pairs are left out.
    """
    (words, there), (others, also) = ((language(code).words, seen(code)) for code in (source, target))
    rows = [(words[one], others[other], f"{10 * score:.2f}") for one, other, score in _pairs()]
    return [row for row in rows if row[0] in there and row[1] in also and row[0] != row[1]]


def _pairs() -> Iterator[tuple[str, str, float]]:
    """Pairs of concepts: at most so many of each tenth of likeness, at even distances in the order of the tables."""
    degrees: dict[int, list[tuple[str, str, float]]] = {}
    for one, other in combinations(NOUNS, 2):
        score = _likeness(one, other)
        degrees.setdefault(int(10 * score), []).append((one, other, score))
    for _, pairs in sorted(degrees.items()):
        yield from pairs[:: -(-len(pairs) // _EACH)]


def _likeness(one: str, other: str) -> float:
    marks = [NOUNS[name].tags | NOUNS[name].topics | {name, NOUNS[name].hypernym} - {""} for name in (one, other)]
    return len(marks[0] & marks[1]) / len(marks[0] | marks[1])
