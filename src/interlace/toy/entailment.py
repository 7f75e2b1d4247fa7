"""Entailment, contradiction or neutrality between two scenes, by natural logic.

Premise and hypothesis are compared feature by feature (`Relation`), and the results are joined: more information
makes an affirmative clause stronger and a negated one weaker. There is no label where annotators would disagree, as on
another time or place of what may happen twice, another number, or "the key" versus "the small key" under negation.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from interlace.toy.concepts import ADJECTIVES, NOUNS, NUMERALS, TOWNS

if TYPE_CHECKING:
    from interlace.toy.scenes import Phrase, Scene

ENTAILMENT, NEUTRAL, CONTRADICTION = LABELS = ("entailment", "neutral", "contradiction")

_COLORS = frozenset("red blue green white black yellow".split())
_FURTHER_ANTONYMS = frozenset({frozenset({"old", "young"}), frozenset({"old", "new"})})
_DISJOINT = frozenset("airport church theater factory beach bakery hospital forest field museum school".split())
_UNSPECIFIC = frozenset(
    "man woman boy girl person animal tool vehicle instrument".split()
)  # may refer to the same individual as another noun
_MOMENT = ("", "now")

RELATIVE = frozenset("old young new big small long short heavy expensive cheap strong weak".split())
"""Qualities relative to the kind: a big mouse is no big animal."""

_SEVERAL = frozenset(NUMERALS[1:]) | {"these", "many"}  # at least "some", which is more than two
_POINTING = ("the", "this", "these")


class Relation(Enum):
    """The relation of the first of two expressions to the second, in an affirmative clause (MacCartney 2009)."""

    EQUIVALENT = auto()
    FORWARD = auto()  # forward entailment: the first implies the second
    REVERSE = auto()  # reverse entailment: the second implies the first
    INDEPENDENT = auto()  # neither implies or excludes the other
    EXCLUSION = auto()  # both cannot hold
    UNSURE = auto()  # annotators would disagree


ENTAILING = frozenset({Relation.EQUIVALENT, Relation.FORWARD})
_FLIPPED = {Relation.FORWARD: Relation.REVERSE, Relation.REVERSE: Relation.FORWARD}


def nli_label(premise: Scene, hypothesis: Scene) -> str | None:
    """Return one of `LABELS`, or None if the scenes differ too much or annotators would disagree."""
    if premise.predicate != hypothesis.predicate or premise.tense != hypothesis.tense:
        return None
    if premise.denied and hypothesis.denied:
        return _both_negative(premise, hypothesis)
    if premise.denied:
        return _mixed(hypothesis, premise, affirmative_first=False)
    if hypothesis.denied:
        return _mixed(premise, hypothesis, affirmative_first=True)
    return _both_affirmative(premise, hypothesis)


def _both_affirmative(premise: Scene, hypothesis: Scene) -> str | None:
    subject = _subjects(premise, hypothesis)
    relations = {subject} | _other_relations(premise, hypothesis)
    if Relation.UNSURE in relations:
        return None
    if subject is Relation.INDEPENDENT:
        return NEUTRAL
    if Relation.EXCLUSION in relations:
        same = identified(premise.subject) and identified(hypothesis.subject) and subject in ENTAILING
        return CONTRADICTION if same and relations <= ENTAILING | {Relation.EXCLUSION} else None
    return ENTAILMENT if relations <= ENTAILING else NEUTRAL


def _both_negative(premise: Scene, hypothesis: Scene) -> str | None:
    """Return the label of two negated scenes: less information is stronger; only a subject with "no" is in scope."""
    others = _other_relations(hypothesis, premise, unclear=ENTAILING | {Relation.REVERSE})
    no_subject = [scene.subject.determiner == "no" for scene in (premise, hypothesis)]
    if premise.time != hypothesis.time or others & {Relation.UNSURE, Relation.EXCLUSION}:
        return None
    if no_subject == [False, False]:
        subject = _subjects(premise, hypothesis)
        if subject is Relation.UNSURE:
            return None
        return ENTAILMENT if subject in ENTAILING and others <= ENTAILING else NEUTRAL
    if not _related(premise.subject, hypothesis.subject):
        return None
    if no_subject == [False, True]:
        return NEUTRAL
    if not no_subject[1] and not identified(hypothesis.subject):
        return None  # "no dog" implies "some dogs .. not" only if there are dogs
    return ENTAILMENT if subsumes(premise.subject, hypothesis.subject) and others <= ENTAILING else NEUTRAL


def _mixed(affirmative: Scene, denied: Scene, *, affirmative_first: bool) -> str | None:
    licensed = (
        ENTAILING if affirmative_first else frozenset({Relation.EQUIVALENT})
    )  # "the key" refers to "the small key" after it, not before
    others = _other_relations(affirmative, denied, unclear=frozenset({Relation.FORWARD, Relation.REVERSE}) - licensed)
    if Relation.UNSURE in others:
        return None
    same = _same_subject(affirmative.subject, denied.subject, licensed)
    if same is None and Relation.EXCLUSION not in others and _different_subjects(affirmative, denied):
        return NEUTRAL
    if Relation.EXCLUSION in others:  # "hot", so "not cold"; "not cold" leaves "hot" open
        follows = same and affirmative_first and denied.negated and others <= ENTAILING | {Relation.EXCLUSION}
        return ENTAILMENT if follows else None
    if same is None:
        return None
    return CONTRADICTION if same and others <= ENTAILING else NEUTRAL


def _same_subject(affirmative: Phrase, denied: Phrase, licensed: frozenset[Relation]) -> bool | None:
    """Whether the subject of the denied clause includes one of the other subject; None if unclear."""
    if not _related(affirmative, denied):
        return None
    if denied.determiner == "no":  # "no old dog", "every dog": unless no dog is old
        return subsumes(denied, affirmative) or (None if affirmative.determiner == "every" else False)
    if affirmative.determiner == "every":
        return subsumes(affirmative, denied)
    if identified(affirmative) and identified(denied):
        return True if phrase_relation_of(affirmative, denied) in licensed else None
    return None if identified(affirmative) or identified(denied) or affirmative.determiner == "a" else False


def _related(first: Phrase, second: Phrase) -> bool:
    if first.named or second.named:
        return first.head == second.head or "person" in (first.head, second.head)
    return noun_relation(first, second) is not Relation.UNSURE


def _subjects(first: Scene, second: Scene) -> Relation:
    if _different_subjects(first, second):
        return Relation.INDEPENDENT
    widened = not first.subject.named and first.subject.head != second.subject.head
    if widened and (first.quality in RELATIVE or second.quality in RELATIVE):
        return Relation.UNSURE  # a big mouse is no big animal
    return phrase_relation_of(first.subject, second.subject)


def _different_subjects(first: Scene, second: Scene) -> bool:
    """Whether the subjects are identified and certainly different, and no object limits the event to one of them."""
    one, other = first.subject, second.subject
    if not (one.definite and other.definite) or {one.head, other.head} & _UNSPECIFIC:
        return False
    if one.head == other.head and not (one.surname and other.surname and one.surname != other.surname):
        return False
    alone = [scene.object is None or not scene.object.definite for scene in (first, second)]
    return all(alone) and one.named == other.named


def _other_relations(first: Scene, second: Scene, unclear: frozenset[Relation] = frozenset()) -> set[Relation]:
    """Return the relations of all but the subject. unclear: those of identified participants to count as UNSURE."""
    relations = {_times(first, second), _optional(first.manner, second.manner)}
    if first.predicate == "be":
        return relations | {_states(first, second, unclear)}
    for role in ("object", "recipient", "goal", "companion", "place"):
        one, other = getattr(first, role), getattr(second, role)
        if one is None or other is None:
            relations.add(_optional(one, other))
        else:
            relations.add(_identified(one, other, unclear))
    return relations


def _identified(first: Phrase, second: Phrase, unclear: frozenset[Relation]) -> Relation:
    relation = phrase_relation_of(first, second)
    differ = relation is not Relation.EQUIVALENT and second.definite
    return Relation.UNSURE if differ and relation in unclear else relation


def _optional(first: object, second: object) -> Relation:
    """Return the relation of optional parts without degrees."""
    if first == second:
        return Relation.EQUIVALENT
    if first and second:
        return Relation.UNSURE
    return Relation.FORWARD if first else Relation.REVERSE


def _times(first: Scene, second: Scene) -> Relation:
    relation = _optional(first.time, second.time)
    if relation in (Relation.EQUIVALENT, Relation.UNSURE) or first.tense != "present":
        return relation
    habit = (first.time or second.time).startswith("every_")
    if first.predicate != "be":  # the present without a time may be habitual
        return relation if habit else Relation.UNSURE
    return Relation.UNSURE if habit or relation is Relation.REVERSE else relation  # a state without a time holds now


def _states(first: Scene, second: Scene, unclear: frozenset[Relation]) -> Relation:
    """Return the relation of the predicates of "be"."""
    if first.place and second.place:
        return _places(first, second, unclear)
    if first.quality and second.quality:
        return _qualities(first, second)
    if first.category and second.category:
        return Relation.EQUIVALENT if first.category == second.category else Relation.UNSURE
    return Relation.INDEPENDENT


def _qualities(first: Scene, second: Scene) -> Relation:
    one, other = first.quality, second.quality
    if one == other:
        return Relation.EQUIVALENT
    both = frozenset({one, other})
    if ADJECTIVES[one].antonym == other or both in _FURTHER_ANTONYMS or both <= _COLORS:
        return Relation.EXCLUSION if _simultaneous(first, second) else Relation.UNSURE
    return Relation.INDEPENDENT


def _places(first: Scene, second: Scene, unclear: frozenset[Relation]) -> Relation:
    one, other = first.place, second.place
    if one is None or other is None:
        return Relation.INDEPENDENT
    towns = [place.head in TOWNS for place in (one, other)]
    if one.head == other.head:
        return _identified(one, other, unclear)
    if all(towns) or {one.head, other.head} <= _DISJOINT:
        return Relation.EXCLUSION if _simultaneous(first, second) else Relation.UNSURE
    inside = [not town and "indoor" in NOUNS[place.head].tags for town, place in zip(towns, (one, other), strict=True)]
    return Relation.INDEPENDENT if any(towns) and any(inside) else Relation.UNSURE


def _simultaneous(first: Scene, second: Scene) -> bool:
    return first.tense == "present" and first.time == second.time and first.time in _MOMENT


# ---- participants ----


def noun_relation(first: Phrase, second: Phrase) -> Relation:
    """Return the relation of nouns with qualities, without determiners: a small dog implies a dog, a dog an animal."""
    heads = _heads(first.head, second.head)
    if first.quality == second.quality:
        qualities = Relation.EQUIVALENT
    elif first.quality and second.quality:
        return Relation.UNSURE
    else:
        qualities = Relation.FORWARD if first.quality else Relation.REVERSE
    if heads is Relation.EQUIVALENT:
        return qualities
    wider = second if heads is Relation.FORWARD else first
    return Relation.UNSURE if wider.quality in RELATIVE or qualities not in (heads, Relation.EQUIVALENT) else heads


def phrase_relation_of(first: Phrase, second: Phrase) -> Relation:
    """Return the relation of two participants in the same role."""
    if first.named or second.named:
        return _names(first, second)
    relation = noun_relation(first, second)
    if first.definite and second.definite and first.head != second.head:
        return Relation.UNSURE  # "the dog", "the animal": the same one?
    if relation is Relation.UNSURE or not (first.determiner and second.determiner):
        return relation  # mass nouns have no determiner
    if "every" in (first.determiner, second.determiner):
        return _every(first.determiner, second.determiner, relation)
    if first.determiner == second.determiner:
        return Relation.UNSURE if first.determiner == "many" and relation is Relation.FORWARD else relation
    return _determiners(first.determiner, second.determiner, relation)


def subsumes(wider: Phrase, narrower: Phrase) -> bool:
    """Whether the first noun includes everything the second refers to ("person" includes Anna)."""
    if narrower.named:
        return (wider.head, wider.quality) == ("person", "")
    return noun_relation(narrower, wider) in ENTAILING


def identified(phrase: Phrase) -> bool:
    """Whether the referent is identified; a mass noun refers to all there is."""
    return phrase.definite or not phrase.determiner


def _heads(first: str, second: str) -> Relation:
    if first == second:
        return Relation.EQUIVALENT
    if NOUNS[first].hypernym == second:
        return Relation.FORWARD
    return Relation.REVERSE if NOUNS[second].hypernym == first else Relation.UNSURE


def _names(first: Phrase, second: Phrase) -> Relation:
    if first.head == second.head:
        if first.surname == second.surname:
            return Relation.EQUIVALENT
        return Relation.UNSURE if second.surname else Relation.FORWARD
    if (second.determiner, second.head, second.quality) == ("a", "person", ""):
        return Relation.FORWARD
    return Relation.REVERSE if (first.determiner, first.head) == ("a", "person") else Relation.UNSURE


def _every(first: str, second: str, relation: Relation) -> Relation:
    """Return the relation with "every", which reverses that of the nouns: every dog implies every small dog."""
    if second == "every":
        return _FLIPPED.get(relation, relation) if first == "every" else Relation.REVERSE
    if second in _POINTING:
        return Relation.REVERSE if relation is Relation.FORWARD else Relation.FORWARD
    return Relation.FORWARD if second in ("a", "some") and relation in ENTAILING else Relation.UNSURE


def _determiners(first: str, second: str, relation: Relation) -> Relation:
    """Return the relation of two different determiners other than "every"; `relation` is that of the nouns."""
    one = first in ("a", "the", "this")
    if second == "a" or (second == "some" and first in _SEVERAL) or (first, second) == ("this", "the"):
        return Relation.FORWARD if relation in ENTAILING else Relation.REVERSE
    if second in ("some", "many") and (one or (first, second) == ("some", "many")):
        return Relation.REVERSE
    return (
        Relation.REVERSE if first == "some" and second in NUMERALS[2:] else Relation.UNSURE
    )  # "some" may well be four
