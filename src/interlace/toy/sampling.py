"""Random scenes: sampled by topic, so that words have distinctive contexts, and edited.

Among the words that fit, draws are even by default, so that many words (names, days) share all contexts. `habits` gives
each word a frequency of its own, overall and in each context, as in natural text.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import blake2b
from itertools import accumulate, pairwise
from math import exp
from statistics import NormalDist
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

from interlace.core import randomness
from interlace.core.errors import SettingsError, did_you_mean
from interlace.core.randomness import Generator
from interlace.toy.concepts import (
    ADJECTIVES,
    GIVEN,
    NOUNS,
    NUMERALS,
    SURNAMES,
    TIMES,
    TOPICS,
    TOWNS,
    VERBS,
)
from interlace.toy.scenes import SPLITS, Phrase, Scene, is_valid, split_of

Item = TypeVar("Item")
_NAMES = tuple(GIVEN)
_PERSON = frozenset({"person"})
_ANYTHING = frozenset({"person", "animal", "object"})


class WeightTable(NamedTuple):
    """Options to draw from, and their cumulated weights."""

    options: tuple[str, ...]
    cumulated: tuple[float, ...]


def sample(
    count: int,
    split: str = "train",
    seed: int = 0,
    stream: int = 0,
    habits: float = 0.0,
) -> list[Scene]:
    """Return `count` different scenes of a split, a pure function of the arguments.

    No scene belongs to two splits (`split_of`). Streams of one split are independent draws, such as each language's
    monolingual text. habits: see `ToyCorpus.habits`.
    """
    if split not in SPLITS:
        raise SettingsError(
            f"there is no split {split!r} of the toy corpus{did_you_mean(split, SPLITS)}"
        )
    sampler = SceneSampler(generator(split, seed, stream), habits)
    scenes: dict[Scene, None] = {}
    while len(scenes) < count:  # billions of scenes exist: this terminates
        scene = sampler.scene()
        if split_of(scene) == split:
            scenes[scene] = None
    return list(scenes)


def stream(name: str) -> int:
    """Return the number of a named stream of scenes (see `sample`), so that lists are drawn independently."""
    return crc32(name.encode())


def generator(split: str, seed: int, stream: int) -> Generator:
    """Return the generator of a stream."""
    return randomness.generator(randomness.Purpose.TOY, seed, list(SPLITS).index(split), stream)


class Draws:
    """Draws from a generator, through a buffer of uniform numbers."""

    def __init__(self, rng: Generator) -> None:
        self._rng = rng
        self._numbers: Iterator[float] = iter(())

    def number(self) -> float:
        """Return a uniform number from 0 to 1."""
        number = next(self._numbers, None)
        if number is None:
            self._numbers = iter(self._rng.random(4096).tolist())
            number = next(self._numbers)
        return number

    def below(self, count: int) -> int:
        """Return an integer from 0 to `count` - 1."""
        return int(self.number() * count)

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """Return the items in random order."""
        order = self._rng.permutation(len(items))
        return [items[number] for number in order.tolist()]


class SceneSampler(Draws):
    """Draws scenes one after another."""

    def __init__(self, rng: Generator, habits: float = 0.0) -> None:
        super().__init__(rng)
        self._habits = habits

    def scene(self) -> Scene:
        """Return a valid scene."""
        while True:
            topic = self._of(TOPICS, "topic")
            kinds = (self._event, self._property, self._location, self._category)
            kind = bisect_right((0.8, 0.89, 0.95), self.number())
            scene = kinds[kind](topic)
            if scene is not None and is_valid(scene):
                return scene

    def _event(self, topic: str) -> Scene:
        name = self._from(_verbs(topic), topic)
        verb = VERBS[name]
        negated = self._chance(0.15)
        subject = self._subject(verb.subject, topic, negated, name)
        tense = self._of(("past", "present", "future"))
        parts: dict[str, Any] = {}
        if self._chance(0.5) or "timed" in verb.flags:
            parts["time"] = self._of(times_of(tense, "event"), name)
        if verb.objects:
            parts["object"] = self._noun(verb.objects, topic, negated, f"{name} object")
        if "recipient" in verb.flags:
            parts["recipient"] = self._person(topic, f"{name} recipient")
        if "goal" in verb.flags:
            parts["goal"] = self._place(_places((), topic), name)
        if "companion" in verb.flags and self._chance(0.15):
            parts["companion"] = self._person(topic, f"{name} companion")
        if verb.places and self._chance(0.45):
            parts["place"] = self._place(_places(verb.places, topic), name)
        if verb.manners and not negated and self._chance(0.15):
            parts["manner"] = self._of(verb.manners, name)
        if "time" in parts:
            parts["fronted"] = self._chance(0.4)
        return Scene(name, subject, tense, negated=_not(negated, subject), **parts)

    def _property(self, topic: str) -> Scene | None:
        negated = self._chance(0.2)
        subject = self._subject(_ANYTHING, topic, negated, "quality")._replace(quality="")
        head = "woman" if subject.named else subject.head
        qualities = qualities_of(head)
        if not qualities:
            return None
        quality = self._of(qualities, subject.head)
        scene = Scene("be", subject, quality=quality)
        return self._state(scene, negated)

    def _location(self, topic: str) -> Scene:
        negated = self._chance(0.2)
        subject = self._subject(_ANYTHING, topic, negated, "place")
        place = self._place(_places((), topic), subject.head)
        scene = Scene("be", subject, place=place)
        return self._state(scene, negated)

    def _category(self, topic: str) -> Scene:
        professions = _nouns(frozenset({"profession"}), topic)
        noun = self._from(professions, "category")
        subject = self._name(noun)
        scene = Scene("be", subject, category=noun)
        negated = self._chance(0.2)
        return self._state(scene, negated)

    def _state(self, scene: Scene, negated: bool) -> Scene:
        tense = self._of(("past", "present", "present", "future"))
        time = ""
        if tense != "present" or self._chance(0.3):
            times = times_of(tense)
            time = self._of(times, scene.subject.head)
        fronted = bool(time) and self._chance(0.4)
        negated = _not(negated, scene.subject)
        return scene._replace(tense=tense, time=time, negated=negated, fronted=fronted)

    def _subject(self, tags: frozenset[str], topic: str, negated: bool, context: str) -> Phrase:
        if "person" in tags and self._chance(0.35):
            return self._name(context)
        phrase = self._noun(tags, topic, negated, context)
        if phrase.determiner and self._chance(0.03):
            return phrase._replace(determiner="no")
        if negated and phrase.determiner == "a":
            return phrase._replace(determiner="the")
        return phrase

    def _noun(self, tags: frozenset[str], topic: str, negated: bool, context: str) -> Phrase:
        if "person" in tags and self._chance(0.25):
            return self._name(context)
        nouns = _nouns(tags, topic)
        head = self._from(nouns, context)
        determiner = ""
        if not NOUNS[head].mass:
            determiners = _UNQUANTIFIED if negated else _DETERMINERS
            determiner = self._from(determiners, head)
        quality = self._quality(head, 0.3)
        return Phrase(head, determiner, quality)

    def _person(self, topic: str, context: str) -> Phrase:
        if self._chance(0.5):
            return self._name(context)
        persons = _nouns(_PERSON, topic)
        head = self._from(persons, context)
        determiner = self._of(("the", "the", "this"))
        return Phrase(head, determiner)

    def _place(self, table: WeightTable, context: str) -> Phrase:
        if self._chance(0.3):
            town = self._of(TOWNS, context)
            return Phrase(town)
        head = self._from(table, context)
        quality = self._quality(head, 0.15)
        return Phrase(head, "the", quality)

    def _name(self, context: str) -> Phrase:
        name = self._of(_NAMES, context)
        surname = ""
        if self._chance(0.3):
            surname = self._of(SURNAMES, name)
        return Phrase(name, surname=surname)

    def _quality(self, head: str, chance: float) -> str:
        qualities = qualities_of(head)
        if qualities and self._chance(chance):
            return self._of(qualities, head)
        return ""

    def _chance(self, chance: float) -> bool:
        return self.number() < chance

    def _of(self, options: tuple[str, ...], context: str = "") -> str:
        if self._habits and context:
            table = _even(options)
            return self._from(table, context)
        number = self.below(len(options))
        return options[number]

    def _from(self, table: WeightTable, context: str) -> str:
        if self._habits:
            table = _habitual(table, context, self._habits)
        total = table.cumulated[-1]
        position = bisect_right(table.cumulated, self.number() * total)
        return table.options[position]


def _not(negated: bool, subject: Phrase) -> bool:
    """Whether a clause has "not": one with "no" is denied without it."""
    return negated and subject.determiner != "no"


def _table(weights: dict[str, float]) -> WeightTable:
    return WeightTable(tuple(weights), tuple(accumulate(weights.values())))


_UNQUANTIFIED = _table({"the": 5.0, "this": 1.0, "these": 1.0, "a": 3.0})
_DETERMINERS = _table(
    {"the": 8.0, "a": 5.0, "this": 1.5, "these": 1.0, "many": 0.8, "some": 0.8, "every": 0.8}
    | dict.fromkeys(NUMERALS, 0.25)
)


@cache
def _even(options: tuple[str, ...]) -> WeightTable:
    return _table(dict.fromkeys(options, 1.0))


@cache
def _habitual(table: WeightTable, context: str, habits: float) -> WeightTable:
    """Return the table with log-normal factors for each option, overall and in this context."""
    weights = {}
    bounds = pairwise((0.0, *table.cumulated))
    for option, (before, after) in zip(table.options, bounds, strict=True):
        overall = _normal(option)
        in_context = _normal(f"{context}\t{option}")
        factor = exp(habits * (overall + in_context))
        weights[option] = (after - before) * factor
    return _table(weights)


@cache
def _normal(name: str) -> float:
    """Return a standard normal number that depends on the name alone, whatever the seed."""
    digest = blake2b(name.encode(), digest_size=6).digest()
    number = int.from_bytes(digest, "big")
    share = (number + 0.5) / 2**48
    return NormalDist().inv_cdf(share)


@cache
def _verbs(topic: str) -> WeightTable:
    weights = {}
    for name, verb in VERBS.items():
        weights[name] = 8.0 if topic in verb.topics else 0.5
    return _table(weights)


@cache
def _nouns(tags: frozenset[str], topic: str) -> WeightTable:
    weights = {}
    for name, noun in NOUNS.items():
        if noun.tags & tags:
            weights[name] = 8.0 if topic in noun.topics else 0.4
    return _table(weights)


@cache
def _places(places: tuple[str, ...], topic: str) -> WeightTable:
    weights = {}
    for name in places or nouns_with("place"):
        weights[name] = 8.0 if topic in NOUNS[name].topics else 1.0
    return _table(weights)


@cache
def nouns_with(tag: str) -> tuple[str, ...]:
    """Return the nouns with a tag."""
    return tuple(name for name, noun in NOUNS.items() if tag in noun.tags)


@cache
def qualities_of(head: str) -> tuple[str, ...]:
    """Return the qualities that a noun may have."""
    return tuple(
        name for name, adjective in ADJECTIVES.items() if adjective.tags & NOUNS[head].tags
    )


@cache
def times_of(tense: str, kind: str = "state") -> tuple[str, ...]:
    """Return the time phrases of a tense; "now" only for states."""
    times = [time for time, its_tense in TIMES.items() if its_tense == tense]
    if kind != "state" and "now" in times:
        times.remove("now")
    return tuple(times)


@cache
def _hyponyms(noun: str) -> tuple[str, ...]:
    return tuple(name for name, concept in NOUNS.items() if concept.hypernym == noun)


_OTHER_DETERMINERS = (*"the the a a this these many some every no".split(), *NUMERALS)


class SceneEditor(Draws):
    """Draws edits of scenes, from which premises are made. Not all results are valid (`is_valid`)."""

    def __init__(self, rng: Generator) -> None:
        super().__init__(rng)
        # An edit that is listed more often is drawn more often.
        deny_or_count = [self.deny, self.deny, self._determiner, self._determiner]
        edits = [self._time, *deny_or_count, self._kind, self._surname, self._subject, self._front]
        places = [self._place, self._place, self._manner, self._companion]
        self._states = [*edits, *[self._state] * 5]
        self._events = [*edits, *places, self._quality, self._quality]

    def chain(self, scene: Scene) -> Iterator[Scene]:
        """Yield the scene after one, two and three edits; some change nothing."""
        edits = self._states if scene.predicate == "be" else self._events
        for _ in range(3):
            scene = edits[self.below(len(edits))](scene)
            yield scene

    def deny(self, scene: Scene) -> Scene:
        """Return the scene with "not" inserted or removed, or sometimes with "no" on its subject."""
        subject = scene.subject
        if subject.determiner == "no":
            determiner = self._of(("the", "a", "every"))
            return scene._replace(subject=subject._replace(determiner=determiner))
        if not scene.negated and subject.determiner and self.below(4) == 0:
            return scene._replace(subject=subject._replace(determiner="no"))
        if subject.determiner in ("a", "every"):
            subject = subject._replace(determiner="the")
        return scene._replace(negated=not scene.negated, subject=subject)

    def _of(self, options: Sequence[str]) -> str:
        if not options:
            return ""
        number = self.below(len(options))
        return options[number]

    def _place(self, scene: Scene) -> Scene:
        places = VERBS[scene.predicate].places
        if not places or (scene.place and self.below(2)):
            return scene._replace(place=None)
        place = self._somewhere(places)
        return scene._replace(place=place)

    def _somewhere(self, places: Sequence[str]) -> Phrase:
        if self.below(3) == 0:
            town = self._of(TOWNS)
            return Phrase(town)
        head = self._of(places)
        return Phrase(head, "the")

    def _time(self, scene: Scene) -> Scene:
        if scene.time and self.below(2):
            return scene._replace(time="", fronted=False)
        times = times_of(scene.tense)
        return scene._replace(time=self._of(times))

    def _front(self, scene: Scene) -> Scene:
        fronted = bool(scene.time) and not scene.fronted
        return scene._replace(fronted=fronted)

    def _manner(self, scene: Scene) -> Scene:
        if scene.manner:
            return scene._replace(manner="")
        manners = VERBS[scene.predicate].manners
        return scene._replace(manner=self._of(manners))

    def _companion(self, scene: Scene) -> Scene:
        flags = VERBS[scene.predicate].flags
        if scene.companion or "companion" not in flags:
            return scene._replace(companion=None)
        if self.below(2):
            companion = Phrase(self._of(_NAMES))
        else:
            companion = Phrase(self._of(nouns_with("person")), "the")
        return scene._replace(companion=companion)

    def _subject(self, scene: Scene) -> Scene:
        subject = scene.subject
        if subject.named:
            subject = Phrase(self._of(_NAMES))
            return scene._replace(subject=subject)
        heads = nouns_with("person") if subject.person else tuple(NOUNS)
        subject = subject._replace(head=self._of(heads), quality="")
        return scene._replace(subject=subject)

    def _state(self, scene: Scene) -> Scene:
        """Exchange the predicate of "be", mostly a place for a place and a quality for a quality."""
        if scene.place and self.below(4):
            place = self._somewhere(nouns_with("place"))
            return scene._replace(place=place)
        quality = ""
        if scene.quality and self.below(2):
            quality = ADJECTIVES[scene.quality].antonym
        if not quality:
            head = "woman" if scene.subject.named else scene.subject.head
            quality = self._of(qualities_of(head))
        return scene._replace(quality=quality, category="", place=None)

    def _determiner(self, scene: Scene) -> Scene:
        role = self._of([role for role, phrase in scene.phrases() if phrase.determiner])
        if not role:
            return scene
        determiner = self._of(_OTHER_DETERMINERS)
        return self._changed(scene, role, determiner=determiner)

    def _quality(self, scene: Scene) -> Scene:
        role = self._of([role for role, phrase in scene.phrases() if not phrase.named])
        if not role:
            return scene
        phrase = getattr(scene, role)
        quality = ""
        if not phrase.quality:
            qualities = qualities_of(phrase.head)
            quality = self._of(qualities)
        return self._changed(scene, role, quality=quality)

    def _kind(self, scene: Scene) -> Scene:
        """Exchange a noun for its hypernym or a hyponym, a name for "a person"."""
        role = self._of([role for role, _ in scene.phrases()])
        phrase: Phrase = getattr(scene, role)
        if phrase.head in TOWNS:
            return scene
        if phrase.named:
            determiner = self._of(("a", "no"))
            return self._changed(scene, role, head="person", determiner=determiner, surname="")
        head = self._of(_hyponyms(phrase.head)) or NOUNS[phrase.head].hypernym or phrase.head
        return self._changed(scene, role, head=head)

    def _surname(self, scene: Scene) -> Scene:
        role = self._of([role for role, phrase in scene.phrases() if phrase.head in GIVEN])
        if not role:
            return scene
        phrase = getattr(scene, role)
        surname = ""
        if not phrase.surname:
            surname = self._of(SURNAMES)
        return self._changed(scene, role, surname=surname)

    def _changed(self, scene: Scene, role: str, **fields: str) -> Scene:
        """Return the scene with other fields of a phrase."""
        changes: Any = {role: getattr(scene, role)._replace(**fields)}
        return scene._replace(**changes)
