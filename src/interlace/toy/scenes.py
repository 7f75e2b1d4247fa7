"""Scenes: the meaning of a sentence, independent of any language. `is_valid` defines which scenes are valid.

Every choice is one that every language has to express:

- A count noun has a determiner from `DETERMINERS`, which marks definiteness and number at once: the, a, this, these,
  two .. ten, many, some (several), every, no. There is no bare plural and no plural "the", because Hindi
  (often) does not distinguish them from the singular. Names and mass nouns have no determiner.
- Tense is the verb's (inflection, particle or auxiliary). Where a language cannot mark it (states, copular clauses,
  verbs flagged `timed`), the past and the future always name their time, and each time phrase has exactly one tense.
- `negated` denies the whole clause; quantifiers that would fight with it for scope are left out of negated scenes, so
  "did not find a key" has one reading, and German may say "kein". Determiner "no" is for subjects only and denies
  the clause by itself (`negated` stays False): languages with negative concord mark their verb there too.
- `fronted` puts the time phrase first; otherwise it takes the default position of the language, which must differ.
- A clause is an event (a verb), or "be" with exactly one of: quality ("is hot"), category ("is a doctor": subject a
  given name of the same gender), place ("is in the kitchen").
"""

from collections.abc import Iterator
from typing import NamedTuple
from zlib import crc32

from interlace.toy.concepts import (
    ADJECTIVES,
    DETERMINERS,
    GIVEN,
    NOUNS,
    NUMERALS,
    SURNAMES,
    TIMES,
    TOWNS,
    VERBS,
)

# fields of a scene that are phrases
PARTICIPANTS = ("subject", "object", "recipient", "goal", "companion", "place")
ANSWER_ROLES = (*PARTICIPANTS, "time", "subject.count", "object.count")
_SINGULAR = ("the", "a", "this", "every", "no")
_PERSON = frozenset({"person"})
# percent of all scenes
SPLITS = {
    "test": range(5),
    "dev": range(5, 10),
    "train": range(10, 100),
}
_PARTS = [split for split, parts in SPLITS.items() for _ in parts]


class Phrase(NamedTuple):
    """A participant: a noun with determiner and quality, a person's name, or a town."""

    head: str  # noun, given name or town
    determiner: str = ""  # "" for names, towns and mass nouns
    quality: str = ""  # an adjective, or ""
    surname: str = ""  # after a given name only, or ""

    @property
    def named(self) -> bool:
        """Whether it is a person's name or a town."""
        return self.head not in NOUNS

    @property
    def plural(self) -> bool:
        """Whether it is more than one; names and mass nouns are singular."""
        return bool(self.determiner) and self.determiner not in _SINGULAR

    @property
    def person(self) -> bool:
        """Whether it is a human being ("who")."""
        return self.head in GIVEN or (self.head in NOUNS and "person" in NOUNS[self.head].tags)

    @property
    def gender(self) -> str:
        """Natural gender of persons, "m" or "f", else ""; grammatical genders are in the lexicons."""
        return GIVEN.get(self.head) or (NOUNS[self.head].gender if self.head in NOUNS else "")

    @property
    def definite(self) -> bool:
        """Whether it is a name or has "the", "this" or "these"."""
        return self.named or self.determiner in ("the", "this", "these")


class Scene(NamedTuple):
    """One clause. Unused participants are None, unused concepts ""."""

    predicate: str  # a verb, or "be"
    subject: Phrase
    tense: str = "present"
    object: Phrase | None = None
    recipient: Phrase | None = None
    goal: Phrase | None = None
    companion: Phrase | None = None
    place: Phrase | None = None
    quality: str = ""  # of "be"
    category: str = ""  # of "be": a noun for a person
    time: str = ""
    manner: str = ""
    negated: bool = False
    fronted: bool = False

    def phrases(self) -> Iterator[tuple[str, Phrase]]:
        """Iterate over (role, phrase) of the participants."""
        for role in PARTICIPANTS:
            phrase = getattr(self, role)
            if phrase is not None:
                yield role, phrase

    @property
    def denied(self) -> bool:
        """Whether it is negated, or has a subject with "no" (negative concord marks this on the verb)."""
        return self.negated or self.subject.determiner == "no"


def split_of(scene: Scene) -> str:
    """Return the split of a scene: a hash of the scene, so splits never overlap, whatever the seed."""
    return _PARTS[crc32(repr(tuple(scene)).encode()) % 100]


def answerable_roles(scene: Scene) -> tuple[str, ...]:
    """Return the roles out of `ANSWER_ROLES` that a question can ask for, answered by words of the statement."""
    if scene.denied:
        return ()
    roles = []
    counts = []
    for role, phrase in scene.phrases():
        if role != "subject" or phrase.person:
            roles.append(role)
        if role in ("subject", "object") and phrase.determiner in NUMERALS:
            counts.append(f"{role}.count")
    if scene.time:
        roles.append("time")
    return (*roles, *counts)


def is_valid(scene: Scene) -> bool:
    """Whether every language can express the scene, and people would say it."""
    heads = []
    for role, phrase in scene.phrases():
        if not _fits_role(phrase, role):
            return False
        heads.append(phrase.head)
    heads.append(scene.category)
    if len(set(heads)) < len(heads):  # one participant twice
        return False
    fits = _is_state(scene) if scene.predicate == "be" else _is_event(scene)
    return fits and _has_valid_time(scene) and (not scene.denied or _has_one_scope(scene))


def _fits_role(phrase: Phrase, role: str) -> bool:
    in_place = role in ("place", "goal")
    if phrase.named:
        if phrase.determiner or phrase.quality:
            return False
        if phrase.surname and (in_place or phrase.surname not in SURNAMES):
            return False
        return phrase.head in (TOWNS if in_place else GIVEN)
    noun = NOUNS[phrase.head]
    determiners = ("",) if noun.mass else DETERMINERS
    has_quality = not phrase.quality or ADJECTIVES[phrase.quality].tags & noun.tags
    if phrase.surname or phrase.determiner not in determiners or not has_quality:
        return False
    if in_place:
        return phrase.determiner == "the" and "place" in noun.tags
    if role in ("companion", "recipient") and not phrase.person:
        return False
    if role == "companion":
        return phrase.determiner in ("the", "this")
    return role == "subject" or phrase.determiner != "no"


def _is_state(scene: Scene) -> bool:
    """Whether "be" has one of quality, category and place, and nothing that events have."""
    subject = scene.subject
    if [bool(scene.quality), bool(scene.category), bool(scene.place)].count(True) != 1:
        return False
    if scene.manner or scene.object or scene.recipient or scene.goal or scene.companion:
        return False
    if scene.category:  # of a given name with its gender; a time of years
        has_gender = subject.head in GIVEN and NOUNS[scene.category].gender == subject.gender
        return has_gender and scene.time in ("", "now", "last_year", "next_year")
    if scene.place:
        return "place" not in _tags(subject)
    quality = ADJECTIVES[scene.quality]
    if quality.lasting and (scene.time or scene.tense != "present"):
        return False
    return not subject.quality and bool(quality.tags & _tags(subject))


def _is_event(scene: Scene) -> bool:
    """Whether the verb has the participants that it needs, and others only where it allows them."""
    verb = VERBS[scene.predicate]
    thing = scene.object
    place = scene.place
    if scene.quality or scene.category or not verb.subject & _tags(scene.subject):
        return False
    if bool(thing) != bool(verb.objects) or (thing and not verb.objects & _tags(thing)):
        return False
    if bool(scene.recipient) != ("recipient" in verb.flags):
        return False
    if bool(scene.goal) != ("goal" in verb.flags):
        return False
    if scene.companion and "companion" not in verb.flags:
        return False
    if scene.manner and scene.manner not in verb.manners:
        return False
    return not place or place.head in verb.places or (place.named and bool(verb.places))


def _tags(phrase: Phrase) -> frozenset[str]:
    return _PERSON if phrase.named else NOUNS[phrase.head].tags


def _has_valid_time(scene: Scene) -> bool:
    is_state = scene.predicate == "be" or "timed" in VERBS[scene.predicate].flags
    if not scene.time:
        return not scene.fronted and (not is_state or scene.tense == "present")
    return TIMES[scene.time] == scene.tense and (is_state or scene.time != "now")


_QUIET = ("", "the", "this", "these")  # determiners without a scope


def _has_one_scope(scene: Scene) -> bool:
    """Whether a negated scene has one reading: "not every day" and "every day not" differ."""
    determiner = scene.subject.determiner
    if scene.manner or scene.time.startswith("every_"):
        return False
    if determiner == "no":
        if scene.negated or scene.category:
            return False
    elif determiner not in (*_QUIET, *NUMERALS, "many", "some"):
        return False
    for role, phrase in scene.phrases():
        is_indefinite_object = (
            role == "object" and phrase.determiner == "a" and determiner != "no"
        )
        if role != "subject" and phrase.determiner not in _QUIET and not is_indefinite_object:
            return False
    return True
