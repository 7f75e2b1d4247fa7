"""How much one participant says beside another: the steps from which `_relations` finds what follows from what."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from interlace.toy._concepts import NOUNS, NUMERALS

if TYPE_CHECKING:
    from interlace.toy._scenes import Phrase

RELATIVE = frozenset("old young new big small long short heavy expensive cheap strong weak".split())
"""Qualities that depend on the kind: a big mouse is no big animal."""

_SEVERAL = frozenset(NUMERALS[1:]) | {"these", "many"}  # at least "some", which is more than two
_POINTING = ("the", "this", "these")


class Step(Enum):
    """From the first of two things to the second, in a clause that says them both."""

    SAME = auto()
    NARROWER = auto()  # the first says more: where it holds, the second holds
    WIDER = auto()  # the first says less, and leaves the second open
    OPEN = auto()  # about different things: neither follows, neither is excluded
    APART = auto()  # they exclude each other
    UNSURE = auto()  # readers would not agree


FOLLOWS = frozenset({Step.SAME, Step.NARROWER})
_FLIPPED = {Step.NARROWER: Step.WIDER, Step.WIDER: Step.NARROWER}


def kind(first: Phrase, second: Phrase) -> Step:
    """The nouns with their qualities, determiners aside: a small dog is narrower than a dog, a dog than an animal."""
    heads = _heads(first.head, second.head)
    if first.quality == second.quality:
        qualities = Step.SAME
    elif first.quality and second.quality:
        return Step.UNSURE
    else:
        qualities = Step.NARROWER if first.quality else Step.WIDER
    if heads is Step.SAME:
        return qualities
    wider = second if heads is Step.NARROWER else first
    return Step.UNSURE if wider.quality in RELATIVE or qualities not in (heads, Step.SAME) else heads


def phrases(first: Phrase, second: Phrase) -> Step:
    """Two participants in the same role: nouns with determiners, or names."""
    if first.named or second.named:
        return _names(first, second)
    step = kind(first, second)
    if first.definite and second.definite and first.head != second.head:
        return Step.UNSURE  # "the dog", "the animal": the same one?
    if step is Step.UNSURE or not (first.determiner and second.determiner):
        return step  # mass nouns have no determiner, and no wider nouns that have one
    if "every" in (first.determiner, second.determiner):
        return _every(first.determiner, second.determiner, step)
    if first.determiner == second.determiner:
        return Step.UNSURE if first.determiner == "many" and step is Step.NARROWER else step
    return _determiners(first.determiner, second.determiner, step)


def covers(wider: Phrase, narrower: Phrase) -> bool:
    """Whether all that the second speaks of is of the first's kind ("no person" speaks of Anna too)."""
    if narrower.named:
        return (wider.head, wider.quality) == ("person", "")
    return kind(narrower, wider) in FOLLOWS


def known(phrase: Phrase) -> bool:
    """The hearer knows which one is meant; a mass noun stands for all there is."""
    return phrase.definite or not phrase.determiner


def _heads(first: str, second: str) -> Step:
    if first == second:
        return Step.SAME
    if NOUNS[first].hypernym == second:
        return Step.NARROWER
    return Step.WIDER if NOUNS[second].hypernym == first else Step.UNSURE


def _names(first: Phrase, second: Phrase) -> Step:
    if first.head == second.head:
        if first.surname == second.surname:
            return Step.SAME
        return Step.UNSURE if second.surname else Step.NARROWER
    if (second.determiner, second.head, second.quality) == ("a", "person", ""):
        return Step.NARROWER
    return Step.WIDER if (first.determiner, first.head) == ("a", "person") else Step.UNSURE


def _every(first: str, second: str, step: Step) -> Step:
    """With "every" the nouns turn round: every dog, so every small dog, and the small dog."""
    if second == "every":
        return _FLIPPED.get(step, step) if first == "every" else Step.WIDER
    if second in _POINTING:
        return Step.WIDER if step is Step.NARROWER else Step.NARROWER
    return Step.NARROWER if second in ("a", "some") and step in FOLLOWS else Step.UNSURE


def _determiners(first: str, second: str, step: Step) -> Step:
    """Two different determiners, neither of them "every"; `step` is that of the nouns."""
    one = first in ("a", "the", "this")
    if second == "a" or (second == "some" and first in _SEVERAL) or (first, second) == ("this", "the"):
        return Step.NARROWER if step in FOLLOWS else Step.WIDER
    if second in ("some", "many") and (one or (first, second) == ("some", "many")):
        return Step.WIDER
    return Step.WIDER if first == "some" and second in NUMERALS[2:] else Step.UNSURE  # "some" may well be four
