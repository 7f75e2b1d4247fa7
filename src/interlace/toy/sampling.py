"""Random scenes: sampled by topic, so that words have distinctive contexts, and edited.

Among the words that fit, draws are even by default, so that many words (names, days) share all contexts. `habits` gives
each word a frequency of its own, overall and in each context, as in natural text.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
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
from interlace.toy.scenes import SPLITS, Phrase, Scene, problems, split_of

Item = TypeVar("Item")
_NAMES = tuple(GIVEN)
_PERSON = frozenset({"person"})
_ANYTHING = frozenset({"person", "animal", "object"})


class WeightTable(NamedTuple):
    """Options to draw from, and their cumulated weights."""

    options: tuple[str, ...]
    cumulated: tuple[float, ...]


def sample(
    count: int, split: str = "train", seed: int = 0, stream: int = 0, habits: float = 0.0
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
        return [items[place] for place in self._rng.permutation(len(items)).tolist()]


class SceneSampler(Draws):
    """Draws scenes one after another."""

    def __init__(self, rng: Generator, habits: float = 0.0) -> None:
        super().__init__(rng)
        self._habits = habits

    def scene(self) -> Scene:
        """Return a valid scene."""
        while True:
            scene: Scene | None
            topic = self._of(TOPICS, "topic")
            kind = self.number()
            if kind < 0.8:
                scene = self._event(topic)
            elif kind < 0.89:
                scene = self._property(topic)
            elif kind < 0.95:
                scene = self._location(topic)
            else:
                scene = self._category(topic)
            if scene is not None and not problems(scene):
                return scene

    def _event(self, topic: str) -> Scene:
        name = self._from(_verbs(topic), topic)
        verb = VERBS[name]
        negated = self._chance(0.15)
        subject = self._subject(verb.subject, topic, negated, name)
        tense = self._of(("past", "present", "future"))
        scene = Scene(name, subject, tense=tense, negated=negated and subject.determiner != "no")
        if self._chance(0.5) or "timed" in verb.flags:
            scene = scene._replace(time=self._of(times_of(tense, "event"), name))
        if verb.objects:
            scene = scene._replace(
                object=self._noun(verb.objects, topic, negated, f"{name} object")
            )
        if "recipient" in verb.flags:
            scene = scene._replace(recipient=self._person(topic, f"{name} recipient"))
        if "goal" in verb.flags:
            scene = scene._replace(goal=self._place(_places((), topic), name))
        if "companion" in verb.flags and self._chance(0.15):
            scene = scene._replace(companion=self._person(topic, f"{name} companion"))
        if verb.places and self._chance(0.45):
            scene = scene._replace(place=self._place(_places(verb.places, topic), name))
        if verb.manners and not negated and self._chance(0.15):
            scene = scene._replace(manner=self._of(verb.manners, name))
        if scene.time:
            scene = scene._replace(fronted=self._chance(0.4))
        return scene

    def _property(self, topic: str) -> Scene | None:
        negated = self._chance(0.2)
        subject = self._subject(_ANYTHING, topic, negated, "quality")._replace(quality="")
        fitting = qualities_of("woman" if subject.named else subject.head)
        if not fitting:
            return None
        return self._state(Scene("be", subject, quality=self._of(fitting, subject.head)), negated)

    def _location(self, topic: str) -> Scene:
        negated = self._chance(0.2)
        subject = self._subject(_ANYTHING, topic, negated, "place")
        place = self._place(_places((), topic), subject.head)
        return self._state(Scene("be", subject, place=place), negated)

    def _category(self, topic: str) -> Scene:
        noun = self._from(_nouns(frozenset({"profession"}), topic), "category")
        return self._state(Scene("be", self._name(noun), category=noun), self._chance(0.2))

    def _state(self, scene: Scene, negated: bool) -> Scene:
        tense = self._of(("past", "present", "present", "future"))
        time = ""
        if tense != "present" or self._chance(0.3):
            time = self._of(times_of(tense), scene.subject.head)
        fronted = bool(time) and self._chance(0.4)
        negated = negated and scene.subject.determiner != "no"
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
        head = self._from(_nouns(tags, topic), context)
        determiner = ""
        if not NOUNS[head].mass:
            determiner = self._from(_UNQUANTIFIED if negated else _DETERMINERS, head)
        return Phrase(head, determiner, self._quality(head, 0.3))

    def _person(self, topic: str, context: str) -> Phrase:
        if self._chance(0.5):
            return self._name(context)
        return Phrase(self._from(_nouns(_PERSON, topic), context), self._of(("the", "the", "this")))

    def _place(self, table: WeightTable, context: str) -> Phrase:
        if self._chance(0.3):
            return Phrase(self._of(TOWNS, context))
        head = self._from(table, context)
        return Phrase(head, "the", self._quality(head, 0.15))

    def _name(self, context: str) -> Phrase:
        name = self._of(_NAMES, context)
        return Phrase(name, surname=self._of(SURNAMES, name) if self._chance(0.3) else "")

    def _quality(self, head: str, chance: float) -> str:
        fitting = qualities_of(head)
        if fitting and self._chance(chance):
            return self._of(fitting, head)
        return ""

    def _chance(self, chance: float) -> bool:
        return self.number() < chance

    def _of(self, options: tuple[str, ...], context: str = "") -> str:
        if self._habits and context:
            return self._from(_even(options), context)
        return options[self.below(len(options))]

    def _from(self, table: WeightTable, context: str) -> str:
        if self._habits:
            table = _habitual(table, context, self._habits)
        position = bisect_right(table.cumulated, self.number() * table.cumulated[-1])
        return table.options[position]


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
    for option, (before, after) in zip(
        table.options, pairwise((0.0, *table.cumulated)), strict=True
    ):
        factor = exp(habits * (_normal(option) + _normal(f"{context}\t{option}")))
        weights[option] = (after - before) * factor
    return _table(weights)


@cache
def _normal(name: str) -> float:
    """Return a standard normal number that depends on the name alone, whatever the seed."""
    number = int.from_bytes(blake2b(name.encode(), digest_size=6).digest(), "big")
    return NormalDist().inv_cdf((number + 0.5) / 2**48)


@cache
def _verbs(topic: str) -> WeightTable:
    return _table({name: 8.0 if topic in verb.topics else 0.5 for name, verb in VERBS.items()})


@cache
def _nouns(tags: frozenset[str], topic: str) -> WeightTable:
    fitting = {name: noun for name, noun in NOUNS.items() if noun.tags & tags}
    return _table({name: 8.0 if topic in noun.topics else 0.4 for name, noun in fitting.items()})


@cache
def _places(places: tuple[str, ...], topic: str) -> WeightTable:
    return _table(
        {
            name: 8.0 if topic in NOUNS[name].topics else 1.0
            for name in places or nouns_with("place")
        }
    )


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
    """Draws edits of scenes, from which premises are made. Not all results are valid (`problems`)."""

    def __init__(self, rng: Generator) -> None:
        super().__init__(rng)
        # An edit that is listed more often is drawn more often.
        edits = [
            self._time,
            self.deny,
            self.deny,
            self._determiner,
            self._determiner,
            self._kind,
            self._surname,
        ]
        edits += [self._subject, self._front]
        self._states: list[Callable[[Scene], Scene]] = [*edits, *[self._state] * 5]
        self._events: list[Callable[[Scene], Scene]] = [
            *edits,
            self._place,
            self._place,
            self._manner,
        ]
        self._events += [self._companion, self._quality, self._quality]

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
            return scene._replace(
                subject=subject._replace(determiner=self._of(("the", "a", "every")))
            )
        if not scene.negated and subject.determiner and self.below(4) == 0:
            return scene._replace(subject=subject._replace(determiner="no"))
        if subject.determiner in ("a", "every"):
            subject = subject._replace(determiner="the")
        return scene._replace(negated=not scene.negated, subject=subject)

    def _of(self, options: Sequence[str]) -> str:
        if options:
            return options[self.below(len(options))]
        return ""

    def _place(self, scene: Scene) -> Scene:
        places = VERBS[scene.predicate].places
        if not places or (scene.place and self.below(2)):
            return scene._replace(place=None)
        return scene._replace(place=self._somewhere(places))

    def _somewhere(self, places: Sequence[str]) -> Phrase:
        if self.below(3) == 0:
            return Phrase(self._of(TOWNS))
        return Phrase(self._of(places), "the")

    def _time(self, scene: Scene) -> Scene:
        if scene.time and self.below(2):
            return scene._replace(time="", fronted=False)
        return scene._replace(time=self._of(times_of(scene.tense)))

    def _front(self, scene: Scene) -> Scene:
        return scene._replace(fronted=bool(scene.time) and not scene.fronted)

    def _manner(self, scene: Scene) -> Scene:
        return scene._replace(
            manner="" if scene.manner else self._of(VERBS[scene.predicate].manners)
        )

    def _companion(self, scene: Scene) -> Scene:
        if scene.companion or "companion" not in VERBS[scene.predicate].flags:
            return scene._replace(companion=None)
        if self.below(2):
            return scene._replace(companion=Phrase(self._of(_NAMES)))
        return scene._replace(companion=Phrase(self._of(nouns_with("person")), "the"))

    def _subject(self, scene: Scene) -> Scene:
        subject = scene.subject
        if subject.named:
            return scene._replace(subject=Phrase(self._of(_NAMES)))
        heads = nouns_with("person") if subject.person else tuple(NOUNS)
        return scene._replace(subject=subject._replace(head=self._of(heads), quality=""))

    def _state(self, scene: Scene) -> Scene:
        """Exchange the predicate of "be", mostly a place for a place and a quality for a quality."""
        if scene.place and self.below(4):
            return scene._replace(place=self._somewhere(nouns_with("place")))
        quality = ""
        if scene.quality and self.below(2):
            quality = ADJECTIVES[scene.quality].antonym
        if not quality:
            quality = self._of(qualities_of("woman" if scene.subject.named else scene.subject.head))
        return scene._replace(quality=quality, category="", place=None)

    def _determiner(self, scene: Scene) -> Scene:
        role = self._of([role for role, phrase in scene.phrases() if phrase.determiner])
        return (
            self._changed(scene, role, determiner=self._of(_OTHER_DETERMINERS)) if role else scene
        )

    def _quality(self, scene: Scene) -> Scene:
        role = self._of([role for role, phrase in scene.phrases() if not phrase.named])
        if not role:
            return scene
        phrase = getattr(scene, role)
        return self._changed(
            scene, role, quality="" if phrase.quality else self._of(qualities_of(phrase.head))
        )

    def _kind(self, scene: Scene) -> Scene:
        """Exchange a noun for its hypernym or a hyponym, a name for "a person"."""
        role = self._of([role for role, _ in scene.phrases()])
        phrase: Phrase = getattr(scene, role)
        if phrase.head in TOWNS:
            return scene
        if phrase.named:
            changes: Any = {role: Phrase("person", self._of(("a", "no")))}
            return scene._replace(**changes)
        head = self._of(_hyponyms(phrase.head)) or NOUNS[phrase.head].hypernym or phrase.head
        return self._changed(scene, role, head=head)

    def _surname(self, scene: Scene) -> Scene:
        role = self._of([role for role, phrase in scene.phrases() if phrase.head in GIVEN])
        if not role:
            return scene
        return self._changed(
            scene, role, surname="" if getattr(scene, role).surname else self._of(SURNAMES)
        )

    def _changed(self, scene: Scene, role: str, **fields: str) -> Scene:
        """Return the scene with other fields of a phrase."""
        changes: Any = {role: getattr(scene, role)._replace(**fields)}
        return scene._replace(**changes)
