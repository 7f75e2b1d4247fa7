"""Little worlds in which two scenes are true or false: a second opinion on what follows from what.

A world is a set of individuals with kinds and qualities, and a set of events. A scene is true by counting: "many" is
four or more, "some" three or more, a number that many or more. "The dog", "this dog" and "the old dog" are one
individual, and what is said of the old dog is neither true nor false where it is not old. Nothing here knows the rules
by which the toy corpus labels its pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import TYPE_CHECKING

from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from interlace.toy import language
from interlace.toy.concepts import ADJECTIVES, GIVEN, NOUNS, NUMERALS, TOWNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interlace.toy import Phrase, Scene

ROLES = ("subject", "object", "recipient", "goal", "companion", "place")
LEAST = {"a": 1, "some": 3, "many": 4} | {
    numeral: number for number, numeral in enumerate(NUMERALS, 2)
}
MOMENT = ("", "now", "today")
COLOURS = set("red blue green white black yellow".split())
Event = dict[str, str]  # role -> individual; time, manner, quality, category -> concept


@dataclass
class World:
    """kinds, qualities: by individual; known: the individuals that "the" and "these" point to, by head."""

    kinds: dict[str, set[str]] = field(default_factory=dict)
    qualities: dict[str, set[str]] = field(default_factory=dict)
    known: dict[str, list[str]] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)

    def members(self, phrase: Phrase) -> list[str]:
        """Individuals of the phrase's kind with its quality."""
        wanted = {phrase.quality} - {""}
        return [
            one
            for one, kinds in self.kinds.items()
            if phrase.head in kinds and wanted <= self.qualities[one]
        ]

    def pointed(self, phrase: Phrase, role: str) -> list[str] | None:
        """The individuals that a known phrase means; None for quantifiers."""
        if phrase.named:
            return [phrase.head if phrase.head in self.kinds else f"{phrase.head}-{phrase.surname}"]
        if phrase.determiner in ("the", "this") or (not phrase.determiner and role == "subject"):
            return self.known[phrase.head][:1]
        return self.known[phrase.head] if phrase.determiner == "these" else None


def truths(
    premise: Scene, hypothesis: Scene, seed: int
) -> Iterator[tuple[bool | None, bool | None]]:
    """Whether the two are true in world after world, without end, drawn so that each of them is true in many."""
    rng = Random(seed)
    scenes = (premise, hypothesis)
    for number in count():
        world = _individuals(scenes, rng)
        for scene, bit in zip(scenes, (1, 2), strict=True):
            if number & bit:
                _make_true(scene, world, rng)
        for _ in range(rng.choice((0, 0, 2, 6))):
            world.events.append(_noise(scenes, world, rng))
        if not _impossible(world):
            yield holds(premise, world), holds(hypothesis, world)


def holds(scene: Scene, world: World) -> bool | None:
    """Whether the scene is true; None where something is not as the scene presupposes."""
    for role, phrase in scene.phrases():
        if any(
            {phrase.quality} - {""} - world.qualities[one]
            for one in world.pointed(phrase, role) or []
        ):
            return None
        if phrase.determiner == "every" and not world.members(phrase):
            return None
    roles = [role for role in ROLES if getattr(scene, role) is not None]

    def said(bound: Event) -> bool:
        if len(bound) == len(roles):
            return any(_matches(scene, bound, event) for event in world.events)
        role = roles[len(bound)]
        phrase: Phrase = getattr(scene, role)
        denied = role == "subject" and scene.negated  # "not" stands within the reach of the subject
        return _enough(phrase, role, world, lambda one: said({**bound, role: one}) != denied)

    return said({})


def _enough(phrase: Phrase, role: str, world: World, true_of: Callable[[str], bool]) -> bool:
    pointed = world.pointed(phrase, role)
    if pointed is not None:
        return all(true_of(one) for one in pointed)
    members = world.members(phrase)
    number = sum(true_of(one) for one in members)
    if phrase.determiner == "every":
        return bool(members) and number == len(members)
    return number == 0 if phrase.determiner == "no" else number >= LEAST.get(phrase.determiner, 1)


def _matches(scene: Scene, bound: Event, event: Event) -> bool:
    facts = {"manner": scene.manner, "quality": scene.quality, "category": scene.category}
    wanted = bound | {key: value for key, value in facts.items() if value}
    time = event.get("time", "")
    now = scene.predicate != "be" or scene.tense != "present" or time in MOMENT
    return all(event.get(key) == value for key, value in wanted.items()) and (
        time == scene.time if scene.time else now
    )


def _individuals(scenes: tuple[Scene, Scene], rng: Random) -> World:
    """Enough of each kind for every number to be met twice."""
    world = World()
    phrases = [phrase for scene in scenes for _, phrase in scene.phrases()]
    most = 3 * max([LEAST.get(phrase.determiner, 1) for phrase in phrases] + [4])
    chance = rng.choice((0.3, 0.9))
    qualities = sorted({phrase.quality for phrase in phrases} - {""})

    def add(name: str, *kinds: str) -> None:
        world.kinds[name] = set(kinds) - {""}
        world.qualities[name] = {quality for quality in qualities if rng.random() < chance}

    for noun in sorted({phrase.head for phrase in phrases if not phrase.named}):
        for number in range(most):
            add(f"{noun}-{number}", noun, NOUNS[noun].hypernym)
        world.known[noun] = [f"{noun}-{number}" for number in range(3)]
    for phrase in phrases:
        if phrase.named:
            surnames = {other.surname for other in phrases if other.head == phrase.head}
            name = phrase.head if len(surnames - {""}) < 2 else f"{phrase.head}-{phrase.surname}"
            add(name, "person" if phrase.head in GIVEN else "town")
    return world


def _make_true(scene: Scene, world: World, rng: Random) -> None:
    """Events that make the scene's positive core true, for as few individuals as will do."""
    bound: list[Event] = [{}]
    for role in ROLES:
        phrase: Phrase | None = getattr(scene, role)
        if phrase is not None:
            bound = [
                {**event, role: one} for event in bound for one in _some(phrase, role, world, rng)
            ]
    facts = {
        "time": scene.time,
        "manner": scene.manner,
        "quality": scene.quality,
        "category": scene.category,
    }
    world.events += [
        event | {key: value for key, value in facts.items() if value} for event in bound
    ]


def _some(phrase: Phrase, role: str, world: World, rng: Random) -> list[str]:
    """As many individuals as the phrase asks for; now and then all there are, or all of one kind."""
    pointed = world.pointed(phrase, role)
    if pointed is not None:
        return pointed
    members = world.members(phrase)
    everyone = phrase.determiner == "every" or rng.random() < 0.2
    wanted = len(members) if everyone else LEAST.get(phrase.determiner, 1)
    head = rng.choice(sorted({one.partition("-")[0] for one in members}) or [""])
    alike = [one for one in members if one.startswith(head)] if rng.random() < 0.5 else members
    return rng.sample(alike if len(alike) >= wanted else members, min(wanted, len(members)))


def _noise(scenes: tuple[Scene, Scene], world: World, rng: Random) -> Event:
    """An event like those of one scene, about anybody, perhaps with details of the other."""
    scene, other = rng.sample(scenes, 2)
    event: Event = {}
    for role in ROLES:
        phrase = getattr(scene, role) or (getattr(other, role) if scene.predicate != "be" else None)
        if phrase is not None and (getattr(scene, role) or rng.random() < 0.5):
            pointed = world.pointed(phrase, role)
            event[role] = rng.choice(pointed or world.members(phrase._replace(quality="")))
    facts = {"time": rng.choice(scenes).time, "quality": scene.quality, "category": scene.category}
    facts["manner"] = rng.choice(scenes).manner
    return event | {key: value for key, value in facts.items() if value}


def _impossible(world: World) -> bool:
    """Whether somebody is in two places, or of two qualities, that exclude each other at one moment."""
    for number, one in enumerate(world.events):
        for other in world.events[:number]:
            if one["subject"] != other["subject"] or not {
                one.get("time", ""),
                other.get("time", ""),
            } <= set(MOMENT):
                continue
            qualities = one.get("quality", ""), other.get("quality", "")
            places = one.get("place", ""), other.get("place", "")
            if all(qualities) and _exclusive(*qualities):
                return True
            if "quality" not in one and "object" not in one and _elsewhere(*places):
                return True
    return False


def _exclusive(first: str, second: str) -> bool:
    ages = {frozenset({"old", "new"}), frozenset({"old", "young"})}
    if first == second:
        return False
    return (
        ADJECTIVES[first].antonym == second
        or {first, second} <= COLOURS
        or frozenset({first, second}) in ages
    )


def _elsewhere(first: str, second: str) -> bool:
    """Two towns, or two buildings or landscapes none of which holds the other."""
    apart = set(
        "airport church theater factory beach bakery hospital forest field museum school".split()
    )
    heads = {first.partition("-")[0], second.partition("-")[0]}
    return len(heads) == 2 and (heads <= set(TOWNS) or heads <= apart)


def accuracy_of_bigrams(
    train: list[tuple[Scene, object]], test: list[tuple[Scene, object]]
) -> float:
    """The accuracy on `test` of a logistic regression over English words and bigrams that predicts a scene's label."""
    counts = CountVectorizer(token_pattern=r"\w+", ngram_range=(1, 2))
    texts = [[language("en").realize(scene).text for scene, _ in pairs] for pairs in (train, test)]
    labels = [[label for _, label in pairs] for pairs in (train, test)]
    model = LogisticRegression(max_iter=300).fit(counts.fit_transform(texts[0]), labels[0])
    return float(model.score(counts.transform(texts[1]), labels[1]))
