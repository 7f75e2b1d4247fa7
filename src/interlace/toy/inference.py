"""Natural language inference: labels by natural logic, and pairs in which no hypothesis alone gives a cue.

Premise and hypothesis are compared feature by feature (`Relation`), and the results are joined: more information
makes an affirmative clause stronger and a negated one weaker. There is no label where annotators would disagree, as on
another time or place of what may happen twice, another number, or "the key" versus "the small key" under negation.

Each hypothesis has one premise of each label, a random edit of it. To make "not" a weak cue too, nearly half of the
hypotheses are negated, and contradictions of two affirmative scenes (hot, cold) and negations that follow from an
affirmative one (hot, not cold) are preferred.
"""

from enum import Enum
from itertools import chain
from itertools import count as naturals
from typing import NamedTuple

from interlace.toy.concepts import ADJECTIVES, NOUNS, NUMERALS, TOWNS
from interlace.toy.sampling import SceneEditor, generator, sample, stream
from interlace.toy.scenes import Phrase, Scene, is_valid, split_of

ENTAILMENT, NEUTRAL, CONTRADICTION = LABELS = ("entailment", "neutral", "contradiction")
_COLORS = frozenset("red blue green white black yellow".split())
_FURTHER_ANTONYMS = frozenset({frozenset({"old", "young"}), frozenset({"old", "new"})})
_DISJOINT = frozenset(
    "airport church theater factory beach bakery hospital forest field museum school".split()
)
# may be another noun's too
_UNSPECIFIC = frozenset("man woman boy girl person animal tool vehicle instrument".split())
# to the kind
_RELATIVE = frozenset(
    "old young new big small long short heavy expensive cheap strong weak".split()
)
# at least "some", which is more than two
_SEVERAL = frozenset(NUMERALS[1:]) | {
    "these",
    "many",
}


# The relation of the first of two expressions to the second, in an affirmative clause (MacCartney 2009). FORWARD and
# REVERSE: the first implies the second, the second the first. INDEPENDENT: neither implies or excludes the other.
# EXCLUSION: both cannot hold. UNSURE: annotators would disagree.
Relation = Enum("Relation", "EQUIVALENT FORWARD REVERSE INDEPENDENT EXCLUSION UNSURE")
EQUIVALENT, FORWARD, REVERSE, INDEPENDENT, EXCLUSION, UNSURE = Relation
_ENTAILING = frozenset({EQUIVALENT, FORWARD})
_FLIPPED = {FORWARD: REVERSE, REVERSE: FORWARD}


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
    subject = _subjects(premise, hypothesis)
    relations = {subject} | _other_relations(premise, hypothesis)
    if UNSURE in relations:
        return None
    if subject is INDEPENDENT:
        return NEUTRAL
    if EXCLUSION in relations:
        same = _known(premise.subject) and _known(hypothesis.subject) and subject in _ENTAILING
        return CONTRADICTION if same and relations <= _ENTAILING | {EXCLUSION} else None
    return _entailment_if(relations <= _ENTAILING)


def _entailment_if(entailed: bool) -> str:
    return ENTAILMENT if entailed else NEUTRAL


def _both_negative(premise: Scene, hypothesis: Scene) -> str | None:
    """Return the label of two negated scenes: less information is stronger; only a subject with "no" is in scope."""
    relations = _other_relations(hypothesis, premise, unclear=_ENTAILING | {REVERSE})
    premise_has_no = premise.subject.determiner == "no"
    hypothesis_has_no = hypothesis.subject.determiner == "no"
    if premise.time != hypothesis.time or relations & {UNSURE, EXCLUSION}:
        return None
    if not premise_has_no and not hypothesis_has_no:
        subject = _subjects(premise, hypothesis)
        if subject is UNSURE:
            return None
        return _entailment_if(subject in _ENTAILING and relations <= _ENTAILING)
    if not _related(premise.subject, hypothesis.subject):
        return None
    if not premise_has_no:
        return NEUTRAL
    if not hypothesis_has_no and not _known(hypothesis.subject):
        return None  # "no dog" implies "some dogs .. not" only if there are dogs
    return _entailment_if(
        _subsumes(premise.subject, hypothesis.subject) and relations <= _ENTAILING
    )


def _mixed(affirmative: Scene, denied: Scene, *, affirmative_first: bool) -> str | None:
    """Return the label of an affirmative and a negated scene; "the key" refers to "the small key" after it only."""
    licensed = _ENTAILING if affirmative_first else frozenset({EQUIVALENT})
    relations = _other_relations(
        affirmative,
        denied,
        unclear=frozenset({FORWARD, REVERSE}) - licensed,
    )
    if UNSURE in relations:
        return None
    same = _same_subject(affirmative.subject, denied.subject, licensed)
    if EXCLUSION in relations:  # "hot", so "not cold"; "not cold" leaves "hot" open
        follows = (
            same
            and affirmative_first
            and denied.negated
            and relations <= _ENTAILING | {EXCLUSION}
        )
        return ENTAILMENT if follows else None
    if same is None:
        return NEUTRAL if _different_subjects(affirmative, denied) else None
    if same and relations <= _ENTAILING:
        return CONTRADICTION
    return NEUTRAL


def _same_subject(
    affirmative: Phrase,
    denied: Phrase,
    licensed: frozenset[Relation],
) -> bool | None:
    """Whether the subject of the denied clause includes one of the other subject; None if unclear."""
    if not _related(affirmative, denied):
        return None
    if denied.determiner == "no":  # "no old dog", "every dog": unless no dog is old
        if _subsumes(denied, affirmative):
            return True
        return None if affirmative.determiner == "every" else False
    if affirmative.determiner == "every":
        return _subsumes(affirmative, denied)
    if _known(affirmative) and _known(denied):
        return True if _phrases(affirmative, denied) in licensed else None
    if _known(affirmative) or _known(denied) or affirmative.determiner == "a":
        return None
    return False


def _related(first: Phrase, second: Phrase) -> bool:
    if first.named or second.named:
        return first.head == second.head or "person" in (first.head, second.head)
    return _nouns(first, second) is not UNSURE


def _subjects(first: Scene, second: Scene) -> Relation:
    if _different_subjects(first, second):
        return INDEPENDENT
    widened = not first.subject.named and first.subject.head != second.subject.head
    if widened and (first.quality in _RELATIVE or second.quality in _RELATIVE):
        return UNSURE  # a big mouse is no big animal
    return _phrases(first.subject, second.subject)


def _different_subjects(first: Scene, second: Scene) -> bool:
    """Whether the subjects are identified and certainly different, and no object limits the event to one of them."""
    subject = first.subject
    other_subject = second.subject
    if not (subject.definite and other_subject.definite):
        return False
    if subject.named != other_subject.named or {subject.head, other_subject.head} & _UNSPECIFIC:
        return False
    have_surnames = subject.surname and other_subject.surname
    if subject.head == other_subject.head and not (
        have_surnames and subject.surname != other_subject.surname
    ):
        return False
    return not any(scene.object and scene.object.definite for scene in (first, second))


def _other_relations(
    first: Scene,
    second: Scene,
    unclear: frozenset[Relation] = frozenset(),
) -> set[Relation]:
    """Return the relations of all but the subject. unclear: those of identified participants to count as UNSURE."""
    relations = {_times(first, second), _optional(first.manner, second.manner)}
    if first.predicate == "be":
        return relations | {_states(first, second, unclear)}
    for role in ("object", "recipient", "goal", "companion", "place"):
        phrase = getattr(first, role)
        other_phrase = getattr(second, role)
        if phrase is None or other_phrase is None:
            relations.add(_optional(phrase, other_phrase))
        else:
            relations.add(_identified(phrase, other_phrase, unclear))
    return relations


def _identified(first: Phrase, second: Phrase, unclear: frozenset[Relation]) -> Relation:
    relation = _phrases(first, second)
    if second.definite and relation in unclear - {EQUIVALENT}:
        return UNSURE
    return relation


def _optional(first: object, second: object) -> Relation:
    """Return the relation of optional parts without degrees."""
    if first == second:
        return EQUIVALENT
    if first and second:
        return UNSURE
    return FORWARD if first else REVERSE


def _times(first: Scene, second: Scene) -> Relation:
    relation = _optional(first.time, second.time)
    if relation in (EQUIVALENT, UNSURE) or first.tense != "present":
        return relation
    habit = (first.time or second.time).startswith("every_")
    if first.predicate != "be":  # the present without a time may be habitual
        return relation if habit else UNSURE
    if habit or relation is REVERSE:  # a state without a time holds now
        return UNSURE
    return relation


def _states(first: Scene, second: Scene, unclear: frozenset[Relation]) -> Relation:
    """Return the relation of the predicates of "be"."""
    if first.place and second.place:
        heads = {first.place.head, second.place.head}
        if len(heads) == 1:
            return _identified(first.place, second.place, unclear)
        towns = heads & set(TOWNS)
        if heads - towns and not heads <= _DISJOINT:
            indoor = any("indoor" in NOUNS[head].tags for head in heads - towns)
            return INDEPENDENT if towns and indoor else UNSURE
    elif first.quality and second.quality:
        if first.quality == second.quality:
            return EQUIVALENT
        qualities = frozenset({first.quality, second.quality})
        opposite = (
            ADJECTIVES[first.quality].antonym == second.quality
            or qualities in _FURTHER_ANTONYMS
        )
        if not opposite and not qualities <= _COLORS:
            return INDEPENDENT
    elif first.category and second.category:
        return EQUIVALENT if first.category == second.category else UNSURE
    else:
        return INDEPENDENT
    momentary = (
        first.tense == "present" and first.time == second.time and first.time in ("", "now")
    )
    return EXCLUSION if momentary else UNSURE


# ---- participants ----


def _nouns(first: Phrase, second: Phrase) -> Relation:
    """Return the relation of nouns with qualities, without determiners: a small dog implies a dog, a dog an animal."""
    qualities = _optional(first.quality, second.quality)
    if qualities is UNSURE or first.head == second.head:
        return qualities
    if NOUNS[first.head].hypernym == second.head:
        heads = FORWARD
        wider = second
    elif NOUNS[second.head].hypernym == first.head:
        heads = REVERSE
        wider = first
    else:
        return UNSURE
    if wider.quality in _RELATIVE or qualities not in (heads, EQUIVALENT):
        return UNSURE
    return heads


def _phrases(first: Phrase, second: Phrase) -> Relation:
    """Return the relation of two participants in the same role."""
    if first.named or second.named:
        return _names(first, second)
    relation = _nouns(first, second)
    if first.definite and second.definite and first.head != second.head:
        return UNSURE  # "the dog", "the animal": the same one?
    if relation is UNSURE or not (first.determiner and second.determiner):
        return relation  # mass nouns have no determiner
    if "every" in (first.determiner, second.determiner):
        return _every(first.determiner, second.determiner, relation)
    if first.determiner == second.determiner:
        if first.determiner == "many" and relation is FORWARD:
            return UNSURE
        return relation
    return _determiners(first.determiner, second.determiner, relation)


def _subsumes(wider: Phrase, narrower: Phrase) -> bool:
    """Whether the first noun includes everything the second refers to ("person" includes Anna)."""
    if narrower.named:
        return (wider.head, wider.quality) == ("person", "")
    return _nouns(narrower, wider) in _ENTAILING


def _known(phrase: Phrase) -> bool:
    """Whether the referent is identified; a mass noun refers to all there is."""
    return phrase.definite or not phrase.determiner


def _names(first: Phrase, second: Phrase) -> Relation:
    if first.head == second.head:
        if first.surname == second.surname:
            return EQUIVALENT
        return UNSURE if second.surname else FORWARD
    if (second.determiner, second.head, second.quality) == ("a", "person", ""):
        return FORWARD
    if (first.determiner, first.head) == ("a", "person"):
        return REVERSE
    return UNSURE


def _every(first: str, second: str, relation: Relation) -> Relation:
    """Return the relation with "every", which reverses that of the nouns: every dog implies every small dog."""
    if second == "every":
        if first == "every":
            return _FLIPPED.get(relation, relation)
        return REVERSE
    if second in ("the", "this", "these"):
        return REVERSE if relation is FORWARD else FORWARD
    if second in ("a", "some") and relation in _ENTAILING:
        return FORWARD
    return UNSURE


def _determiners(first: str, second: str, relation: Relation) -> Relation:
    """Return the relation of two different determiners other than "every"; `relation` is that of the nouns."""
    if (
        second == "a"
        or (second == "some" and first in _SEVERAL)
        or (first, second) == ("this", "the")
    ):
        return FORWARD if relation in _ENTAILING else REVERSE
    first_is_one = first in ("a", "the", "this")
    if second in ("some", "many") and (first_is_one or (first, second) == ("some", "many")):
        return REVERSE
    if first == "some" and second in NUMERALS[2:]:  # "some" may well be four
        return REVERSE
    return UNSURE


# ---- pairs ----


class InferencePair(NamedTuple):
    """A labelled pair. The hypothesis is of its split; dev and test may share premises."""

    premise: Scene
    hypothesis: Scene
    label: str  # one of `LABELS`


def inferences(
    count: int,
    split: str,
    seed: int = 0,
    habits: float = 0.0,
) -> list[InferencePair]:
    """Return `count` pairs in random order, a third of each label, a pure function of the arguments."""
    edits = SceneEditor(generator(split, seed, stream("nli/changes")))
    pairs: dict[Scene, list[InferencePair]] = {}
    scenes = chain.from_iterable(
        sample(300, split, seed, stream(f"nli/{chunk}"), habits) for chunk in naturals()
    )
    while len(pairs) * len(LABELS) < count:
        scene = next(scenes)
        # Scenes of "be" have small families that often fail among the few held-out scenes. Taking only half of the
        # held-out events makes the splits more alike.
        if split == "train" or scene.predicate == "be" or edits.below(2):
            pairs |= _triples(_family(scene, split, edits), split, edits)
    every_pair = [*chain.from_iterable(pairs.values())]
    return edits.shuffled(every_pair[:count])


def _family(scene: Scene, split: str, edits: SceneEditor) -> list[Scene]:
    """Return the scene and some forty valid ones a few edits away, all in training or all held out."""
    if split == "train":
        splits = {"train"}
    else:
        splits = {"dev", "test"}
    family = [scene]
    for _ in range(400):  # most edits fall into another split
        start = edits.deny(scene) if edits.below(2) else scene
        for changed in edits.chain(start):
            if split_of(changed) in splits and changed not in family and is_valid(changed):
                family.append(changed)
        if len(family) >= 40:
            break
    return family


def _triples(
    family: list[Scene],
    split: str,
    edits: SceneEditor,
) -> dict[Scene, list[InferencePair]]:
    """Return a pair of each label for at most two affirmative and two negated hypotheses of a family."""
    triples: dict[Scene, list[InferencePair]] = {}
    remaining = {False: 2, True: 2}  # by whether hypotheses are denied
    for hypothesis in family:
        if split_of(hypothesis) != split or not remaining[hypothesis.denied]:
            continue
        premises: dict[str, list[Scene]] = {label: [] for label in LABELS}
        for premise in family:
            label = nli_label(premise, hypothesis)
            if label and premise._replace(fronted=hypothesis.fronted) != hypothesis:
                premises[label].append(premise)
        if all(premises.values()):
            remaining[hypothesis.denied] -= 1
            triples[hypothesis] = []
            for label, premises_of_label in premises.items():
                premise = _chosen(label, premises_of_label, hypothesis, edits)
                triples[hypothesis].append(InferencePair(premise, hypothesis, label))
        if not any(remaining.values()):
            break
    return triples


def _chosen(
    label: str,
    premises: list[Scene],
    hypothesis: Scene,
    edits: SceneEditor,
) -> Scene:
    """Choose a premise whose negation misleads, if there is one; for neutral pairs, of either kind."""
    kinds = {premise.denied for premise in premises}
    is_denied = hypothesis.denied
    if label == ENTAILMENT:
        is_denied = not hypothesis.denied
    if label == NEUTRAL or is_denied not in kinds:
        is_denied = edits.item(sorted(kinds))
    return edits.item([premise for premise in premises if premise.denied == is_denied])
