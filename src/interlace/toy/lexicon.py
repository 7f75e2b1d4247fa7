"""Bilingual dictionaries and word similarity scores, derived from the concepts."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING

from interlace.toy.concepts import CONCEPTS, NOUNS
from interlace.toy.languages import language, realize
from interlace.toy.sampling import sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlace.toy.scenes import Scene

_SCENES = 10_000  # enough to contain the citation form of every noun and adjective that occurs in it at all
_PAIRS = 40  # per tenth of similarity


def dictionary(source: str, target: str) -> list[tuple[str, str]]:
    """Return (source word, target word) pairs, sorted and distinct; a word may occur in several.

    Citation forms that are not a single word of any sentence ("look for", or infinitives where verbs are always
    inflected) are left out.
    """
    found = ((language(source).words[concept], language(target).words[concept]) for concept in CONCEPTS)
    return sorted({pair for pair in found if pair[0] in word_forms(source) and pair[1] in word_forms(target)})


def similarity(source: str, target: str) -> list[tuple[str, str, str]]:
    """Return (source word, target word, score) of nouns over all degrees of similarity; both may be one language.

    The score from 0 to 10 is the Jaccard similarity of tags, topics and hypernyms. Nouns that are not a single word of
    any sentence are left out.
    """
    (words, occurring), (others, also) = ((language(code).words, word_forms(code)) for code in (source, target))
    rows = [(words[one], others[other], f"{10 * score:.2f}") for one, other, score in _noun_pairs()]
    return [row for row in rows if row[0] in occurring and row[1] in also and row[0] != row[1]]


@cache
def word_forms(code: str) -> frozenset[str]:
    """Return the word forms that occur in sentences of a language."""
    return frozenset(word.form for sentence in realize(code, _scenes()) for word in sentence.words)


@cache
def _scenes() -> list[Scene]:
    return sample(_SCENES)


def _noun_pairs() -> Iterator[tuple[str, str, float]]:
    """Yield pairs of noun concepts: for each tenth of similarity at most `_PAIRS`, evenly spaced."""
    tenths: dict[int, list[tuple[str, str, float]]] = {}
    for one, other in combinations(NOUNS, 2):
        score = jaccard(one, other)
        tenths.setdefault(int(10 * score), []).append((one, other, score))
    for _, pairs in sorted(tenths.items()):
        yield from pairs[:: -(-len(pairs) // _PAIRS)]


def jaccard(one: str, other: str) -> float:
    """Return the Jaccard similarity of the tags, topics, names and hypernyms of two noun concepts."""
    sets = [NOUNS[name].tags | NOUNS[name].topics | {name, NOUNS[name].hypernym} - {""} for name in (one, other)]
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])
