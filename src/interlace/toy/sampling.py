"""Sampling of scenes: a topic first, then words that fit it, so that words have distinctive contexts.

Among the words that fit, draws are even by default, so that many words (names, days) share all contexts. `habits` gives
each word a frequency of its own, overall and in each context, as in natural text.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from hashlib import blake2b
from itertools import accumulate, pairwise
from math import exp
from statistics import NormalDist
from typing import TYPE_CHECKING
from zlib import crc32

from interlace.core.errors import SettingsError, did_you_mean
from interlace.core.randomness import Purpose, generator
from interlace.toy.concepts import ADJECTIVES, GIVEN, NOUNS, NUMERALS, SURNAMES, TIMES, TOPICS, TOWNS, VERBS
from interlace.toy.scenes import SPLITS, Phrase, Scene, problems, split_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlace.core.randomness import Generator

Table = tuple[tuple[str, ...], tuple[float, ...]]  # options and their cumulative weights
_DETERMINERS = {
    "the": 8.0,
    "a": 5.0,
    "this": 1.5,
    "these": 1.0,
    "many": 0.8,
    "some": 0.8,
    "every": 0.8,
} | dict.fromkeys(NUMERALS, 0.25)
_ABOUT = 8.0  # weight of a concept under its own topic


def sample(count: int, split: str = "train", seed: int = 0, stream: int = 0, habits: float = 0.0) -> list[Scene]:
    """Return `count` different scenes of a split, a pure function of the arguments.

    No scene belongs to two splits (`split_of`). Streams of one split are independent draws, such as each language's
    monolingual text. habits: see `ToyCorpus.habits`.

    Raises:
        SettingsError: an unknown split.
    """
    if split not in SPLITS:
        raise SettingsError(f"there is no split {split!r} of the toy corpus{did_you_mean(split, SPLITS)}")
    rng = generator(Purpose.TOY, seed, list(SPLITS).index(split), stream)
    return list(_distinct(SceneSampler(rng, habits), split, count))


def stream(name: str) -> int:
    """Return the number of a named stream of scenes (see `sample`), so that lists are drawn independently."""
    return crc32(name.encode())


def _distinct(draw: SceneSampler, split: str, count: int) -> Iterator[Scene]:
    seen: set[Scene] = set()
    while len(seen) < count:
        scene = draw.scene()
        if scene not in seen and split_of(scene) == split:  # billions of scenes exist: this terminates
            seen.add(scene)
            yield scene


class SceneSampler:
    """Draws scenes one after another from a generator, through a buffer of uniform numbers."""

    def __init__(self, rng: Generator, habits: float = 0.0) -> None:
        self._rng = rng
        self._habits = habits
        self._numbers: Iterator[float] = iter(())

    def scene(self) -> Scene:
        """Return a valid scene."""
        while True:
            scene = self._any()
            if scene is not None and not problems(scene):
                return scene

    def _any(self) -> Scene | None:
        topic = self._of(TOPICS, "topic")
        kind = self._number()
        if kind < 0.8:
            return self._event(topic)
        if kind < 0.89:
            return self._property(topic)
        return self._location(topic) if kind < 0.95 else self._category(topic)

    def _event(self, topic: str) -> Scene | None:
        name = self._from(_verbs(topic), topic)
        verb = VERBS[name]
        negated = self._chance(0.15)
        subject = self._subject(verb.subject, topic, negated, name)
        tense = self._of(("past", "present", "future"))
        time = self._time(tense, name, state=False) if self._chance(0.5) or "timed" in verb.flags else ""
        accompanied = "companion" in verb.flags
        return Scene(
            name,
            subject,
            tense=tense,
            object=self._noun(verb.objects, topic, negated, f"{name} object") if verb.objects else None,
            recipient=self._person(topic, f"{name} recipient") if "recipient" in verb.flags else None,
            goal=self._place(_places((), topic), name) if "goal" in verb.flags else None,
            companion=self._person(topic, f"{name} companion") if accompanied and self._chance(0.15) else None,
            place=self._place(_places(verb.places, topic), name) if verb.places and self._chance(0.45) else None,
            time=time,
            manner=self._of(verb.manners, name) if verb.manners and not negated and self._chance(0.15) else "",
            negated=negated and subject.determiner != "no",
            fronted=bool(time) and self._chance(0.4),
        )

    def _property(self, topic: str) -> Scene | None:
        subject = self._subject(_ANYTHING, topic, negated := self._chance(0.2), "quality")._replace(quality="")
        fitting = _qualities("woman" if subject.named else subject.head)
        return self._state(Scene("be", subject, quality=self._of(fitting, subject.head)), negated) if fitting else None

    def _location(self, topic: str) -> Scene | None:
        subject = self._subject(_ANYTHING, topic, negated := self._chance(0.2), "place")
        return self._state(Scene("be", subject, place=self._place(_places((), topic), subject.head)), negated)

    def _category(self, topic: str) -> Scene | None:
        noun = self._from(_nouns(frozenset({"profession"}), topic), "category")
        return self._state(Scene("be", self._name(noun), category=noun), self._chance(0.2))

    def _state(self, scene: Scene, negated: bool) -> Scene:
        tense = self._of(("past", "present", "present", "future"))
        time = self._time(tense, scene.subject.head, state=True) if tense != "present" or self._chance(0.3) else ""
        fronted = bool(time) and self._chance(0.4)
        negated = negated and scene.subject.determiner != "no"
        return scene._replace(tense=tense, time=time, negated=negated, fronted=fronted)

    def _subject(self, tags: frozenset[str], topic: str, negated: bool, context: str) -> Phrase:
        if "person" in tags and self._chance(0.35):
            return self._name(context)
        phrase = self._noun(tags, topic, negated, context)
        if phrase.determiner and self._chance(0.03):
            return phrase._replace(determiner="no")
        return phrase._replace(determiner="the") if negated and phrase.determiner == "a" else phrase

    def _noun(self, tags: frozenset[str], topic: str, negated: bool, context: str) -> Phrase:
        if "person" in tags and self._chance(0.25):
            return self._name(context)
        head = self._from(_nouns(tags, topic), context)
        determiner = "" if NOUNS[head].mass else self._from(_QUIET if negated else _ALL, head)
        return Phrase(head, determiner, self._quality(head, 0.3))

    def _person(self, topic: str, context: str) -> Phrase:
        if self._chance(0.5):
            return self._name(context)
        return Phrase(self._from(_nouns(frozenset({"person"}), topic), context), self._of(("the", "the", "this")))

    def _place(self, table: Table, context: str) -> Phrase:
        if self._chance(0.3):
            return Phrase(self._of(TOWNS, context))
        head = self._from(table, context)
        return Phrase(head, "the", self._quality(head, 0.15))

    def _name(self, context: str) -> Phrase:
        name = self._of(_NAMES, context)
        return Phrase(name, surname=self._of(SURNAMES, name) if self._chance(0.3) else "")

    def _quality(self, head: str, chance: float) -> str:
        fitting = _qualities(head)
        return self._of(fitting, head) if fitting and self._chance(chance) else ""

    def _time(self, tense: str, context: str, *, state: bool) -> str:
        return self._of(_times(tense, state), context)

    def _number(self) -> float:
        number = next(self._numbers, None)
        if number is None:
            self._numbers = iter(self._rng.random(4096).tolist())
            number = next(self._numbers)
        return number

    def _chance(self, chance: float) -> bool:
        return self._number() < chance

    def _of(self, options: tuple[str, ...], context: str = "") -> str:
        if self._habits and context:
            return self._from(_even(options), context)
        return options[int(self._number() * len(options))]

    def _from(self, table: Table, context: str) -> str:
        options, cumulated = _habitual(table, context, self._habits) if self._habits else table
        return options[bisect_right(cumulated, self._number() * cumulated[-1])]


def _table(weights: dict[str, float]) -> Table:
    return tuple(weights), tuple(accumulate(weights.values()))


@cache
def _even(options: tuple[str, ...]) -> Table:
    return _table(dict.fromkeys(options, 1.0))


@cache
def _habitual(table: Table, context: str, habits: float) -> Table:
    """Return the table with log-normal factors for each option, overall and in this context."""
    options, cumulated = table
    weights = [after - before for before, after in pairwise((0.0, *cumulated))]
    factors = [_normal(option) + _normal(f"{context}\t{option}") for option in options]
    return _table({one: weight * exp(habits * by) for one, weight, by in zip(options, weights, factors, strict=True)})


@cache
def _normal(name: str) -> float:
    """Return a standard normal number that depends on the name alone, whatever the seed."""
    number = int.from_bytes(blake2b(name.encode(), digest_size=6).digest(), "big")
    return NormalDist().inv_cdf((number + 0.5) / 2**48)


@cache
def _verbs(topic: str) -> Table:
    return _table({name: _ABOUT if topic in verb.topics else 0.5 for name, verb in VERBS.items()})


@cache
def _nouns(tags: frozenset[str], topic: str) -> Table:
    fitting = {name: noun for name, noun in NOUNS.items() if noun.tags & tags}
    return _table({name: _ABOUT if topic in noun.topics else 0.4 for name, noun in fitting.items()})


@cache
def _places(places: tuple[str, ...], topic: str) -> Table:
    options = places or tuple(name for name, noun in NOUNS.items() if "place" in noun.tags)
    return _table({name: _ABOUT if topic in NOUNS[name].topics else 1.0 for name in options})


@cache
def _qualities(head: str) -> tuple[str, ...]:
    return tuple(name for name, adjective in ADJECTIVES.items() if adjective.tags & NOUNS[head].tags)


@cache
def _times(tense: str, state: bool) -> tuple[str, ...]:
    return tuple(time for time, its_tense in TIMES.items() if its_tense == tense and (state or time != "now"))


_NAMES = tuple(GIVEN)
_ANYTHING = frozenset({"person", "animal", "object"})
_ALL = _table(_DETERMINERS)
_QUIET = _table({"the": 5.0, "this": 1.0, "these": 1.0, "a": 3.0})
