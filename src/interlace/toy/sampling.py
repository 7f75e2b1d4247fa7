"""Random scenes: sampled by topic, so that words have distinctive contexts, and edited.

Among the words that fit, draws are even by default, so that many words (names, days) share all contexts. `habits` gives
each word a frequency of its own, overall and in each context, as in natural text.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from hashlib import blake2b
from itertools import accumulate
from math import exp
from statistics import NormalDist
from typing import Any, TypeVar
from zlib import crc32

from interlace.core import randomness
from interlace.core.errors import SettingsError, did_you_mean
from interlace.core.json_files import JsonObject
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


class WeightTable:
    """Options to draw from, with their weights."""

    def __init__(self, weights: dict[str, float]) -> None:
        self.weights = weights
        self.options = tuple(weights)
        self.cumulated = tuple(accumulate(weights.values()))

    def option(self, uniform: float) -> str:
        """Return the option for a uniform number from 0 to 1."""
        return self.options[bisect_right(self.cumulated, uniform * self.cumulated[-1])]

    @cache  # noqa: B019 - there are few tables, and all are cached themselves
    def habitual(self, context: str, habits: float) -> "WeightTable":
        """Return the table with log-normal factors for each option, overall and in this context."""
        weights = {}
        for option, weight in self.weights.items():
            deviation = _normal(option) + _normal(f"{context}\t{option}")
            weights[option] = weight * exp(habits * deviation)
        return WeightTable(weights)


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

    def item(self, items: Sequence[Item]) -> Item:
        """Return one of the items."""
        return items[self.below(len(items))]

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
            topic = self._even(TOPICS, "topic")
            kinds = (self._event, self._property, self._location, self._category)
            kind = bisect_right((0.8, 0.89, 0.95), self.number())
            scene = kinds[kind](topic)
            if scene is not None and is_valid(scene):
                return scene

    def _event(self, topic: str) -> Scene:
        name = self._drawn(_verbs(topic), topic)
        verb = VERBS[name]
        negated = self._chance(0.15)
        subject = self._subject(verb.subject, topic, negated, name)
        tense = self._even(("past", "present", "future"))
        parts: JsonObject = {}
        if self._chance(0.5) or "timed" in verb.flags:
            parts["time"] = self._even(times_of(tense, "event"), name)
        if verb.objects:
            parts["object"] = self._noun(verb.objects, topic, negated, f"{name} object")
        if "recipient" in verb.flags:
            parts["recipient"] = self._person(topic, f"{name} recipient")
        if "goal" in verb.flags:
            parts["goal"] = self._place(nouns_with("place"), topic, name)
        if "companion" in verb.flags and self._chance(0.15):
            parts["companion"] = self._person(topic, f"{name} companion")
        if verb.places and self._chance(0.45):
            parts["place"] = self._place(verb.places, topic, name)
        if verb.manners and not negated and self._chance(0.15):
            parts["manner"] = self._even(verb.manners, name)
        if "time" in parts:
            parts["fronted"] = self._chance(0.4)
        return Scene(name, subject, tense, negated=_not(negated, subject), **parts)

    def _property(self, topic: str) -> Scene | None:
        negated = self._chance(0.2)
        subject = self._subject(_ANYTHING, topic, negated, "quality")._replace(quality="")
        qualities = qualities_of(subject)
        if not qualities:
            return None
        return self._state(negated, subject, quality=self._even(qualities, subject.head))

    def _location(self, topic: str) -> Scene:
        negated = self._chance(0.2)
        subject = self._subject(_ANYTHING, topic, negated, "place")
        place = self._place(nouns_with("place"), topic, subject.head)
        return self._state(negated, subject, place=place)

    def _category(self, topic: str) -> Scene:
        noun = self._drawn(_nouns(frozenset({"profession"}), topic), "category")
        subject = self._name(noun)
        return self._state(self._chance(0.2), subject, category=noun)

    def _state(self, negated: bool, subject: Phrase, **predicate: Any) -> Scene:
        tense = self._even(("past", "present", "present", "future"))
        time = ""
        if tense != "present" or self._chance(0.3):
            time = self._even(times_of(tense), subject.head)
        fronted = bool(time) and self._chance(0.4)
        negated = _not(negated, subject)
        return Scene(
            "be", subject, tense, time=time, negated=negated, fronted=fronted, **predicate
        )

    def _subject(
        self,
        tags: frozenset[str],
        topic: str,
        negated: bool,
        context: str,
    ) -> Phrase:
        if "person" in tags and self._chance(0.35):
            return self._name(context)
        phrase = self._noun(tags, topic, negated, context)
        if phrase.determiner and self._chance(0.03):
            return phrase._replace(determiner="no")
        if negated and phrase.determiner == "a":
            return phrase._replace(determiner="the")
        return phrase

    def _noun(
        self,
        tags: frozenset[str],
        topic: str,
        negated: bool,
        context: str,
    ) -> Phrase:
        if "person" in tags and self._chance(0.25):
            return self._name(context)
        head = self._drawn(_nouns(tags, topic), context)
        determiner = ""
        if not NOUNS[head].mass:
            determiner = self._drawn(_UNQUANTIFIED if negated else _DETERMINERS, head)
        return self._with_quality(Phrase(head, determiner), 0.3)

    def _person(self, topic: str, context: str) -> Phrase:
        if self._chance(0.5):
            return self._name(context)
        head = self._drawn(_nouns(_PERSON, topic), context)
        return Phrase(head, self._even(("the", "the", "this")))

    def _place(self, places: tuple[str, ...], topic: str, context: str) -> Phrase:
        if self._chance(0.3):
            return Phrase(self._even(TOWNS, context))
        head = self._drawn(_places(places, topic), context)
        return self._with_quality(Phrase(head, "the"), 0.15)

    def _name(self, context: str) -> Phrase:
        name = self._even(_NAMES, context)
        surname = ""
        if self._chance(0.3):
            surname = self._even(SURNAMES, name)
        return Phrase(name, surname=surname)

    def _with_quality(self, phrase: Phrase, chance: float) -> Phrase:
        qualities = qualities_of(phrase)
        if qualities and self._chance(chance):
            return phrase._replace(quality=self._even(qualities, phrase.head))
        return phrase

    def _chance(self, chance: float) -> bool:
        return self.number() < chance

    def _even(self, options: tuple[str, ...], context: str = "") -> str:
        if self._habits and context:
            return self._drawn(_even_table(options), context)
        return self.item(options)

    def _drawn(self, table: WeightTable, context: str) -> str:
        if self._habits:
            table = table.habitual(context, self._habits)
        return table.option(self.number())


def _not(negated: bool, subject: Phrase) -> bool:
    """Whether a clause has "not": one with "no" is denied without it."""
    return negated and subject.determiner != "no"


_UNQUANTIFIED = WeightTable({"the": 5.0, "this": 1.0, "these": 1.0, "a": 3.0})
_DETERMINERS = WeightTable(
    {"the": 8.0, "a": 5.0, "this": 1.5, "these": 1.0, "many": 0.8, "some": 0.8, "every": 0.8}
    | dict.fromkeys(NUMERALS, 0.25)
)


@cache
def _even_table(options: tuple[str, ...]) -> WeightTable:
    return WeightTable(dict.fromkeys(options, 1.0))


@cache
def _normal(name: str) -> float:
    """Return a standard normal number that depends on the name alone, whatever the seed."""
    digest = blake2b(name.encode(), digest_size=6).digest()
    share = (int.from_bytes(digest, "big") + 0.5) / 2**48
    return NormalDist().inv_cdf(share)


@cache
def _verbs(topic: str) -> WeightTable:
    return WeightTable(
        {name: 8.0 if topic in verb.topics else 0.5 for name, verb in VERBS.items()}
    )


@cache
def _nouns(tags: frozenset[str], topic: str) -> WeightTable:
    nouns = [name for name, noun in NOUNS.items() if noun.tags & tags]
    return WeightTable({name: 8.0 if topic in NOUNS[name].topics else 0.4 for name in nouns})


@cache
def _places(places: tuple[str, ...], topic: str) -> WeightTable:
    return WeightTable({name: 8.0 if topic in NOUNS[name].topics else 1.0 for name in places})


@cache
def nouns_with(tag: str) -> tuple[str, ...]:
    """Return the nouns with a tag."""
    return tuple(name for name, noun in NOUNS.items() if tag in noun.tags)


@cache
def _qualities(tags: frozenset[str]) -> tuple[str, ...]:
    return tuple(name for name, adjective in ADJECTIVES.items() if adjective.tags & tags)


def qualities_of(phrase: Phrase) -> tuple[str, ...]:
    """Return the qualities that a noun may have, or the bearer of a name."""
    return _qualities(NOUNS["woman" if phrase.named else phrase.head].tags)


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
        edits = [
            self._time,
            *deny_or_count,
            self._kind,
            self._surname,
            self._subject,
            self._front,
        ]
        places = [self._place, self._place, self._manner, self._companion]
        self._states = [*edits, *[self._state] * 5]
        self._events = [*edits, *places, self._quality, self._quality]

    def chain(self, scene: Scene) -> Iterator[Scene]:
        """Yield the scene after one, two and three edits; some change nothing."""
        edits = self._states if scene.predicate == "be" else self._events
        for _ in range(3):
            scene = self.item(edits)(scene)
            yield scene

    def deny(self, scene: Scene) -> Scene:
        """Return the scene with "not" inserted or removed, or sometimes with "no" on its subject."""
        determiner = scene.subject.determiner
        if determiner == "no":
            return _changed(scene, "subject", determiner=self.item(("the", "a", "every")))
        if not scene.negated and determiner and self.below(4) == 0:
            return _changed(scene, "subject", determiner="no")
        if determiner in ("a", "every"):
            scene = _changed(scene, "subject", determiner="the")
        return scene._replace(negated=not scene.negated)

    def _of(self, options: Sequence[str]) -> str:
        return self.item(options) if options else ""

    def _role(self, scene: Scene, fits: Callable[[Phrase], object]) -> str:
        """Draw the role of a participant that fits, or ""."""
        return self._of([role for role, phrase in scene.phrases() if fits(phrase)])

    def _place(self, scene: Scene) -> Scene:
        places = VERBS[scene.predicate].places
        if not places or (scene.place and self.below(2)):
            return scene._replace(place=None)
        return scene._replace(place=self._somewhere(places))

    def _somewhere(self, places: Sequence[str]) -> Phrase:
        if self.below(3) == 0:
            return Phrase(self.item(TOWNS))
        return Phrase(self.item(places), "the")

    def _time(self, scene: Scene) -> Scene:
        if scene.time and self.below(2):
            return scene._replace(time="", fronted=False)
        return scene._replace(time=self._of(times_of(scene.tense)))

    def _front(self, scene: Scene) -> Scene:
        return scene._replace(fronted=bool(scene.time) and not scene.fronted)

    def _manner(self, scene: Scene) -> Scene:
        if scene.manner:
            return scene._replace(manner="")
        return scene._replace(manner=self._of(VERBS[scene.predicate].manners))

    def _companion(self, scene: Scene) -> Scene:
        companion = None
        if not scene.companion and "companion" in VERBS[scene.predicate].flags:
            if self.below(2):
                companion = Phrase(self.item(_NAMES))
            else:
                companion = Phrase(self.item(nouns_with("person")), "the")
        return scene._replace(companion=companion)

    def _subject(self, scene: Scene) -> Scene:
        subject = scene.subject
        if subject.named:
            return scene._replace(subject=Phrase(self.item(_NAMES)))
        heads = nouns_with("person") if subject.person else tuple(NOUNS)
        return _changed(scene, "subject", head=self.item(heads), quality="")

    def _state(self, scene: Scene) -> Scene:
        """Exchange the predicate of "be", mostly a place for a place and a quality for a quality."""
        if scene.place and self.below(4):
            return scene._replace(place=self._somewhere(nouns_with("place")))
        quality = ""
        if scene.quality and self.below(2):
            quality = ADJECTIVES[scene.quality].antonym
        if not quality:
            quality = self._of(qualities_of(scene.subject))
        return scene._replace(quality=quality, category="", place=None)

    def _determiner(self, scene: Scene) -> Scene:
        role = self._role(scene, lambda phrase: phrase.determiner)
        if not role:
            return scene
        return _changed(scene, role, determiner=self.item(_OTHER_DETERMINERS))

    def _quality(self, scene: Scene) -> Scene:
        role = self._role(scene, lambda phrase: not phrase.named)
        if not role:
            return scene
        phrase: Phrase = getattr(scene, role)
        quality = "" if phrase.quality else self._of(qualities_of(phrase))
        return _changed(scene, role, quality=quality)

    def _kind(self, scene: Scene) -> Scene:
        """Exchange a noun for its hypernym or a hyponym, a name for "a person"."""
        role = self._role(scene, lambda _: True)
        phrase: Phrase = getattr(scene, role)
        if phrase.head in TOWNS:
            return scene
        if phrase.named:
            determiner = self.item(("a", "no"))
            return _changed(scene, role, head="person", determiner=determiner, surname="")
        head = self._of(_hyponyms(phrase.head)) or NOUNS[phrase.head].hypernym or phrase.head
        return _changed(scene, role, head=head)

    def _surname(self, scene: Scene) -> Scene:
        role = self._role(scene, lambda phrase: phrase.head in GIVEN)
        if not role:
            return scene
        phrase: Phrase = getattr(scene, role)
        return _changed(scene, role, surname="" if phrase.surname else self.item(SURNAMES))


def _changed(scene: Scene, role: str, **fields: str) -> Scene:
    """Return the scene with other fields of a phrase."""
    changes: Any = {role: getattr(scene, role)._replace(**fields)}
    return scene._replace(**changes)
