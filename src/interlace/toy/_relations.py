"""What one scene says about another: whether it follows, is excluded, or stays open, under plain reading.

The premise is compared with the hypothesis feature by feature (`Step`), and the steps are joined as in natural logic:
saying more makes a plain clause stronger and a denied one weaker. Where readers would not agree there is no label:
another time or place of what may happen twice, another number, "the key" beside "the small key" under a negation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.toy._concepts import ADJECTIVES, NOUNS, TOWNS
from interlace.toy._phrases import FOLLOWS, RELATIVE, Step, covers, kind, known, phrases

if TYPE_CHECKING:
    from interlace.toy._scenes import Phrase, Scene

ENTAILMENT, NEUTRAL, CONTRADICTION = LABELS = ("entailment", "neutral", "contradiction")

_COLOURS = frozenset("red blue green white black yellow".split())
_FURTHER_ANTONYMS = frozenset({frozenset({"old", "young"}), frozenset({"old", "new"})})
_DISJOINT = frozenset("airport church theater factory beach bakery hospital forest field museum school".split())
_WHO_EVER = frozenset(
    "man woman boy girl person animal tool vehicle instrument".split()
)  # may be the same one as another noun's
_MOMENT = ("", "now")


def relation(premise: Scene, hypothesis: Scene) -> str | None:
    """One of `LABELS`, or None where the scenes are too far apart, or readers would not agree."""
    if premise.predicate != hypothesis.predicate or premise.tense != hypothesis.tense:
        return None
    if premise.denied and hypothesis.denied:
        return _both_denied(premise, hypothesis)
    if premise.denied:
        return _said_and_denied(hypothesis, premise, said_first=False)
    if hypothesis.denied:
        return _said_and_denied(premise, hypothesis, said_first=True)
    return _both_said(premise, hypothesis)


def _both_said(premise: Scene, hypothesis: Scene) -> str | None:
    subject = _subjects(premise, hypothesis)
    steps = {subject} | _rest(premise, hypothesis)
    if Step.UNSURE in steps:
        return None
    if subject is Step.OPEN:
        return NEUTRAL
    if Step.APART in steps:
        same = known(premise.subject) and known(hypothesis.subject) and subject in FOLLOWS
        return CONTRADICTION if same and steps <= FOLLOWS | {Step.APART} else None
    return ENTAILMENT if steps <= FOLLOWS else NEUTRAL


def _both_denied(premise: Scene, hypothesis: Scene) -> str | None:
    """Saying less is stronger here; a subject other than "no" stands outside the negation."""
    rest = _rest(hypothesis, premise, vague=FOLLOWS | {Step.WIDER})
    nobody = [scene.subject.determiner == "no" for scene in (premise, hypothesis)]
    if premise.time != hypothesis.time or rest & {Step.UNSURE, Step.APART}:
        return None
    if nobody == [False, False]:
        subject = _subjects(premise, hypothesis)
        if subject is Step.UNSURE:
            return None
        return ENTAILMENT if subject in FOLLOWS and rest <= FOLLOWS else NEUTRAL
    if not _related(premise.subject, hypothesis.subject):
        return None
    if nobody == [False, True]:
        return NEUTRAL
    if not nobody[1] and not known(hypothesis.subject):
        return None  # "no dog", so "some dogs .. not": if there are any
    return ENTAILMENT if covers(premise.subject, hypothesis.subject) and rest <= FOLLOWS else NEUTRAL


def _said_and_denied(said: Scene, denied: Scene, *, said_first: bool) -> str | None:
    told = FOLLOWS if said_first else frozenset({Step.SAME})  # who "the key" is, after "the small key"; not before
    rest = _rest(said, denied, vague=frozenset({Step.NARROWER, Step.WIDER}) - told)
    if Step.UNSURE in rest:
        return None
    same = _same_subject(said.subject, denied.subject, told)
    if same is None and Step.APART not in rest and _others(said, denied):
        return NEUTRAL
    if Step.APART in rest:  # "hot", so "not cold"; nobody can tell from "not cold"
        follows = same and said_first and denied.negated and rest <= FOLLOWS | {Step.APART}
        return ENTAILMENT if follows else None
    if same is None:
        return None
    return CONTRADICTION if same and rest <= FOLLOWS else NEUTRAL


def _same_subject(said: Phrase, denied: Phrase, told: frozenset[Step]) -> bool | None:
    """Whether the denied clause speaks of one of whom the other says it; None where nobody can tell."""
    if not _related(said, denied):
        return None
    if denied.determiner == "no":  # "no old dog", "every dog": unless no dog is old
        return covers(denied, said) or (None if said.determiner == "every" else False)
    if said.determiner == "every":
        return covers(said, denied)
    if known(said) and known(denied):
        return True if phrases(said, denied) in told else None
    return None if known(said) or known(denied) or said.determiner == "a" else False


def _related(first: Phrase, second: Phrase) -> bool:
    if first.named or second.named:
        return first.head == second.head or "person" in (first.head, second.head)
    return kind(first, second) is not Step.UNSURE


def _subjects(first: Scene, second: Scene) -> Step:
    if _others(first, second):
        return Step.OPEN
    widened = not first.subject.named and first.subject.head != second.subject.head
    if widened and (first.quality in RELATIVE or second.quality in RELATIVE):
        return Step.UNSURE  # a big mouse is no big animal
    return phrases(first.subject, second.subject)


def _others(first: Scene, second: Scene) -> bool:
    """Two known subjects, surely not the same one, and nothing that only one of them can have done."""
    one, other = first.subject, second.subject
    if not (one.definite and other.definite) or {one.head, other.head} & _WHO_EVER:
        return False
    if one.head == other.head and not (one.surname and other.surname and one.surname != other.surname):
        return False
    alone = [scene.object is None or not scene.object.definite for scene in (first, second)]
    return all(alone) and one.named == other.named


def _rest(first: Scene, second: Scene, vague: frozenset[Step] = frozenset()) -> set[Step]:
    """Steps of all but the subject. vague: steps between known participants that make readers disagree here."""
    steps = {_times(first, second), _optional(first.manner, second.manner)}
    if first.predicate == "be":
        return steps | {_states(first, second, vague)}
    for role in ("object", "recipient", "goal", "companion", "place"):
        one, other = getattr(first, role), getattr(second, role)
        if one is None or other is None:
            steps.add(_optional(one, other))
        else:
            steps.add(_known(one, other, vague))
    return steps


def _known(first: Phrase, second: Phrase, vague: frozenset[Step]) -> Step:
    step = phrases(first, second)
    differ = step is not Step.SAME and second.definite
    return Step.UNSURE if differ and step in vague else step


def _optional(first: object, second: object) -> Step:
    """What may be left out, and has no degrees."""
    if first == second:
        return Step.SAME
    if first and second:
        return Step.UNSURE
    return Step.NARROWER if first else Step.WIDER


def _times(first: Scene, second: Scene) -> Step:
    step = _optional(first.time, second.time)
    if step in (Step.SAME, Step.UNSURE) or first.tense != "present":
        return step
    habit = (first.time or second.time).startswith("every_")
    if first.predicate != "be":  # a present without a time may be a habit
        return step if habit else Step.UNSURE
    return Step.UNSURE if habit or step is Step.WIDER else step  # and a state without a time holds now


def _states(first: Scene, second: Scene, vague: frozenset[Step]) -> Step:
    """What is said with "be"."""
    if first.place and second.place:
        return _places(first, second, vague)
    if first.quality and second.quality:
        return _qualities(first, second)
    if first.category and second.category:
        return Step.SAME if first.category == second.category else Step.UNSURE
    return Step.OPEN


def _qualities(first: Scene, second: Scene) -> Step:
    one, other = first.quality, second.quality
    if one == other:
        return Step.SAME
    both = frozenset({one, other})
    if ADJECTIVES[one].antonym == other or both in _FURTHER_ANTONYMS or both <= _COLOURS:
        return Step.APART if _at_once(first, second) else Step.UNSURE
    return Step.OPEN


def _places(first: Scene, second: Scene, vague: frozenset[Step]) -> Step:
    one, other = first.place, second.place
    if one is None or other is None:
        return Step.OPEN
    towns = [place.head in TOWNS for place in (one, other)]
    if one.head == other.head:
        return _known(one, other, vague)
    if all(towns) or {one.head, other.head} <= _DISJOINT:
        return Step.APART if _at_once(first, second) else Step.UNSURE
    inside = [not town and "indoor" in NOUNS[place.head].tags for town, place in zip(towns, (one, other), strict=True)]
    return Step.OPEN if any(towns) and any(inside) else Step.UNSURE


def _at_once(first: Scene, second: Scene) -> bool:
    return first.tense == "present" and first.time == second.time and first.time in _MOMENT
