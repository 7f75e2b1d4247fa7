"""Scenes: the meaning of a sentence, independent of any language. `problems` defines which scenes are valid.

Every choice is one that every language has to express:

- A count noun has a determiner from `DETERMINERS`, which marks definiteness and number at once: the, a, this, these,
  two .. ten, many, some (several), every, no. There is no bare plural and no plural "the", because Chinese and (often)
  Hindi do not distinguish them from the singular. Names and mass nouns have no determiner.
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

TENSES = ("past", "present", "future")
PARTICIPANTS = (
    "subject",
    "object",
    "recipient",
    "goal",
    "companion",
    "place",
)  # fields of a scene that are phrases
ANSWER_ROLES = (*PARTICIPANTS, "time", "subject.count", "object.count")
_SINGULAR = ("the", "a", "this", "every", "no")
_PERSON = frozenset({"person"})
SPLITS = {"test": range(5), "dev": range(5, 10), "train": range(10, 100)}  # percent of all scenes
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


def problems(scene: Scene) -> list[str]:
    """Return why a scene is invalid; empty for a valid one."""
    heads = [scene.category] if scene.category else []
    of_phrases = []
    for role, phrase in scene.phrases():
        heads.append(phrase.head)
        problem = _phrase_problem(role, phrase)
        if problem:
            of_phrases.append(f"{role}: {problem}")
    if of_phrases:
        return of_phrases
    clause_problem = _be_problem(scene) if scene.predicate == "be" else _event_problem(scene)
    of_clause = [clause_problem, _time_problem(scene), _negation_problem(scene)]
    if len(set(heads)) < len(heads):
        of_clause.append("one participant twice")
    return [problem for problem in of_clause if problem]


def _phrase_problem(role: str, phrase: Phrase) -> str:
    if phrase.named:
        return _name_problem(role, phrase)
    noun = NOUNS[phrase.head]
    if phrase.surname or (noun.mass and phrase.determiner):
        return "a noun has no surname, a mass noun no determiner"
    if not noun.mass and phrase.determiner not in DETERMINERS:
        return f"a counted noun needs a determiner, not {phrase.determiner!r}"
    if phrase.quality and not ADJECTIVES[phrase.quality].tags & noun.tags:
        return f"{phrase.head} cannot be {phrase.quality}"
    if role in ("place", "goal") and (phrase.determiner != "the" or "place" not in noun.tags):
        return "a place is a town or a definite place"
    if role == "companion" and (not phrase.person or phrase.determiner not in ("the", "this")):
        return "a companion is one known person"
    if role == "recipient" and not phrase.person:
        return "a recipient is a person"
    return "only subjects are 'no'" if phrase.determiner == "no" and role != "subject" else ""


def _name_problem(role: str, phrase: Phrase) -> str:
    if phrase.head not in GIVEN and phrase.head not in TOWNS:
        return f"{phrase.head!r} is neither noun nor name"
    if phrase.determiner or phrase.quality:
        return "a name has neither determiner nor quality"
    if phrase.surname and (phrase.head not in GIVEN or phrase.surname not in SURNAMES):
        return "only given names are followed by surnames"
    if (role in ("place", "goal")) != (phrase.head in TOWNS):
        return "towns are places and goals, persons everything else"
    return ""


def _be_problem(scene: Scene) -> str:
    subject = scene.subject
    if (bool(scene.quality), bool(scene.category), scene.place is not None).count(True) != 1:
        return "'be' needs one of quality, category, place"
    if scene.manner or scene.object or scene.recipient or scene.goal or scene.companion:
        return "'be' takes no further participants"
    if scene.category:
        has_gender = subject.head in GIVEN and NOUNS[scene.category].gender == subject.gender
        if has_gender and scene.time in ("", "now", "last_year", "next_year"):
            return ""
        return "a category needs a name of its gender, and a time of years"
    if scene.quality:
        return _quality_problem(scene)
    return "a place has no place" if "place" in _tags(subject) else ""


def _quality_problem(scene: Scene) -> str:
    subject = scene.subject
    quality = ADJECTIVES[scene.quality]
    if quality.lasting and (scene.time or scene.tense != "present"):
        return "a lasting quality needs the present without a time"
    if subject.quality or not quality.tags & _tags(subject):
        return f"{subject.head} has a quality already, or cannot be {scene.quality}"
    return ""


def _event_problem(scene: Scene) -> str:
    verb = VERBS[scene.predicate]
    if not verb.subject & _tags(scene.subject):
        return f"{scene.subject.head} cannot {scene.predicate}"
    if (scene.object is not None) != bool(verb.objects):
        return "a transitive verb has an object, no other has"
    if scene.object and not verb.objects & _tags(scene.object):
        return "the object does not fit the verb"
    wrong_recipient = (scene.recipient is not None) != ("recipient" in verb.flags)
    wrong_goal = (scene.goal is not None) != ("goal" in verb.flags)
    if wrong_recipient or wrong_goal:
        return "the verb needs a recipient or a goal, or takes none"
    if scene.quality or scene.category:
        return "an event has no quality or category of its own"
    if scene.companion and "companion" not in verb.flags:
        return "the verb takes no companion"
    if scene.manner and scene.manner not in verb.manners:
        return "the manner does not fit the verb"
    fits = (
        scene.place is None
        or scene.place.head in verb.places
        or (scene.place.named and verb.places)
    )
    return "" if fits else "the verb does not happen there"


def _tags(phrase: Phrase) -> frozenset[str]:
    return _PERSON if phrase.named else NOUNS[phrase.head].tags


def _time_problem(scene: Scene) -> str:
    is_state = scene.predicate == "be" or "timed" in VERBS[scene.predicate].flags
    if scene.tense not in TENSES or (scene.time and TIMES[scene.time] != scene.tense):
        return "tense and time differ"
    if is_state and scene.tense != "present" and not scene.time:
        return "this predicate needs a time outside the present"
    if scene.time == "now" and not is_state:
        return "'now' goes with states"
    if scene.fronted and not scene.time:
        return "only a time can be fronted"
    return ""


def _negation_problem(scene: Scene) -> str:
    if not scene.denied:
        return ""
    if scene.time.startswith("every_"):
        return "'not every day' and 'every day not' differ"
    if scene.subject.determiner == "no":
        return _no_problem(scene)
    if scene.manner or scene.subject.determiner not in (*_QUIET, *NUMERALS, "many", "some"):
        return "a negated scene has no quantifier in the scope of 'not', and no manner"
    for role, phrase in scene.phrases():
        is_indefinite_object = role == "object" and phrase.determiner == "a"
        if role != "subject" and phrase.determiner not in _QUIET and not is_indefinite_object:
            return "a negated scene has no quantifier in the scope of 'not', and no manner"
    return ""


_QUIET = ("", "the", "this", "these")  # determiners without a scope


def _no_problem(scene: Scene) -> str:
    has_quantifier = any(
        phrase.determiner not in _QUIET for role, phrase in scene.phrases() if role != "subject"
    )
    if scene.negated or scene.manner or scene.category or has_quantifier:
        return "'no' allows no other quantifier or manner"
    return ""
