"""Bilingual dictionaries: the citation forms of two languages for the same concepts, as pairs of single words."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from interlace.toy import language, sample
from interlace.toy._concepts import CONCEPTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlace.toy._scenes import Scene

_SCENES = 10_000  # enough to see a noun or an adjective in its citation form, if sentences ever hold it


def entries(source: str, target: str) -> list[tuple[str, str]]:
    """(source word, target word), sorted and distinct; a word may stand in several (clean: putzen, sauber).

    A citation form that is no single word of any sentence ("look for", or an infinitive where verbs are always
    inflected) has no place in a table of words, so its entry is left out.
    """
    return sorted(set(_found(source, target)))


def _found(source: str, target: str) -> Iterator[tuple[str, str]]:
    for concept in CONCEPTS:
        pair = language(source).words[concept], language(target).words[concept]
        if pair[0] in seen(source) and pair[1] in seen(target):
            yield pair


@cache
def seen(code: str) -> frozenset[str]:
    """Words that sentences of a language hold."""
    member = language(code)
    return frozenset(word.form for scene in _scenes() for word in member.realise(scene).words)


@cache
def _scenes() -> list[Scene]:
    return sample(_SCENES)
