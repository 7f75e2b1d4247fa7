"""Turkish suffixes: vowel harmony, consonant assimilation, buffer letters, and the declension and conjugation of them.

A suffix is written as a template: A is a or e, I is ı, i, u or ü by the vowel before it, D is d or t by the consonant
before it, and a letter in brackets at the start stands behind vowels only ("(y)I": kapıyı, evi).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

_HIGH = {"a": "ı", "ı": "ı", "â": "ı", "e": "i", "i": "i", "o": "u", "u": "u", "ö": "ü", "ü": "ü"}  # vowel -> its I
_FRONT = frozenset("eiöü")
_VOICELESS = frozenset("fstkçşhp")
_CASES = {"": "", "acc": "(y)I", "dat": "(y)A", "loc": "DA", "ins": "(y)lA"}
_BOUND_CASES = {"": "", "acc": "nI", "dat": "nA", "loc": "ndA", "ins": "ylA"}  # behind the suffix of a compound


class Noun(NamedTuple):
    """A noun's forms. `before`: the first word of a compound, unchanging ("kız" of kız kardeş)."""

    before: str
    form: str
    soft: str  # the stem before vowels: kitab, ağac, nehr
    plural: str
    bound: bool  # a compound with the possessive suffix: cases follow with n (havaalanında)
    front: bool  # takes front vowels against its own (saat, saati)


class Verb(NamedTuple):
    """A verb's stems. `before`: the noun of a light verb ("yardım" of yardım etmek)."""

    before: str
    root: str
    soft: str  # before vowels: gid, ed
    case: str  # of the object: "" (accusative where it is definite) or "dat"

    @property
    def infinitive(self) -> str:
        """Citation form, in one or two words."""
        return (self.before + " " if self.before else "") + attach(self.root, "mAk")


@cache
def ending(stem: str, template: str, *, front: bool = False) -> str:
    """The suffix that a template becomes behind a stem."""
    text = stem.lower()
    last = "e" if front else next(letter for letter in reversed(text) if letter in _HIGH)
    before = text[-1]
    found = ""
    if template.startswith("("):
        template = (template[1] if before in _HIGH else "") + template[3:]
    for letter in template:
        if letter == "A":
            before = "e" if last in _FRONT else "a"
        elif letter == "I":
            before = _HIGH[last]
        elif letter == "D":
            before = "t" if before in _VOICELESS else "d"
        else:
            before = letter
        last = before if before in _HIGH else last
        found += before
    return found


def attach(stem: str, template: str) -> str:
    """A stem with its suffix."""
    return stem + ending(stem, template)


@cache
def declined(noun: Noun, case: str, *, plural: bool) -> str:
    """The noun (its last word) in a case: "", acc, dat, loc, ins."""
    form = noun.plural if plural else noun.form
    if noun.bound:
        return attach(form, _BOUND_CASES[case])
    if plural:
        return attach(form, _CASES[case])
    stem = noun.soft if case in ("acc", "dat") else form
    return stem + ending(stem, _CASES[case], front=noun.front)


@cache
def declined_name(name: str, case: str) -> str:
    """A proper noun in a case, behind an apostrophe; its spelling never changes."""
    return f"{name}'{ending(name, _CASES[case])}" if case else name


@cache
def conjugated(verb: Verb, tense: str, *, negated: bool) -> str:
    """Third person singular (the plural is the same behind a plural subject) of past, present or future."""
    stem = attach(verb.root, "mA") if negated else verb.root if tense == "past" else verb.soft
    if tense == "past":
        return attach(stem, "DI")
    if tense == "future":
        return attach(stem, "(y)AcAk")
    if stem[-1] not in _HIGH:
        return attach(stem, "Iyor")
    short = stem[:-1]  # -Iyor swallows a last vowel: bekle, bekliyor
    return short + ending(short if any(letter in _HIGH for letter in short) else stem, "Iyor")


@cache
def was(form: str) -> str:
    """The past copula on a predicate: güzeldi, evdeydi, kitaptı."""
    return attach(form, "(y)DI")
