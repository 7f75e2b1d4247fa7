"""Inference: for each hypothesis three premises; it follows from one, one leaves it open, and one excludes it.

So a hypothesis says nothing about its label, which only the pair decides. Premises are random changes of the
hypothesis that `relation` labels. So that "not" says little either, nearly half the hypotheses are denied, and where
there is a contradiction of two plain scenes (hot, cold) or a denial that follows from a plain one (hot, not cold), it
is taken.
"""

from __future__ import annotations

from itertools import count as naturals
from typing import TYPE_CHECKING, NamedTuple

from interlace.core.randomness import Purpose, generator
from interlace.toy._edits import Edits
from interlace.toy._relations import CONTRADICTION, ENTAILMENT, LABELS, relation
from interlace.toy._sampling import sample
from interlace.toy._scenes import SPLITS, problems, split_of
from interlace.toy._settings import stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlace.toy._scenes import Scene

_CHUNK = 300  # scenes drawn at a time
_CHAINS = 400  # of changes tried to find a scene's family; most fall into another split
_CHANGES = 3  # in a chain
_FAMILY = 40  # scenes close to each other
_SHARE = 2  # plain hypotheses taken from a family, and as many denied ones


class Inference(NamedTuple):
    """A labelled pair. Its scenes are of its split, but dev and test, which are drawn from few, share premises."""

    premise: Scene
    hypothesis: Scene
    label: str  # one of `LABELS`


def inferences(count: int, split: str, seed: int = 0, habits: float = 0.0) -> list[Inference]:
    """`count` pairs in random order, a third of each label, a pure function of the arguments."""
    rng = generator(Purpose.TOY, seed, list(SPLITS).index(split), stream("nli/changes"))
    edits = Edits(rng)
    pairs: dict[Scene, list[Inference]] = {}
    for scene in _scenes(split, seed, habits, edits):
        pairs |= _triples(_family(scene, split, edits), split, edits)
        if len(pairs) * len(LABELS) >= count:
            break
    kept = [pair for three in pairs.values() for pair in three][:count]
    return [kept[place] for place in rng.permutation(len(kept)).tolist()]


def _scenes(split: str, seed: int, habits: float, edits: Edits) -> Iterator[Scene]:
    """Scenes of the split without end.

    "Be" has few changes, so its families are small and often fruitless among the few held-out scenes: of those we take
    half the events only, which brings the splits closer to each other.
    """
    for chunk in naturals():
        for scene in sample(_CHUNK, split, seed, stream(f"nli/{chunk}"), habits):
            if split == "train" or scene.predicate == "be" or edits.below(2):
                yield scene


def _family(scene: Scene, split: str, edits: Edits) -> list[Scene]:
    """The scene and good ones that are a few changes away, all for training or all held out."""
    splits = {"train"} if split == "train" else set(SPLITS) - {"train"}
    family = [scene]
    for _ in range(_CHAINS):
        start = edits.denied(scene) if edits.below(2) else scene
        for changed in edits.changed(start, _CHANGES):
            if split_of(changed) in splits and changed not in family and not problems(changed):
                family.append(changed)
        if len(family) >= _FAMILY:
            break
    return family


def _triples(family: list[Scene], split: str, edits: Edits) -> dict[Scene, list[Inference]]:
    """For some hypotheses of a family, a pair of each label."""
    triples: dict[Scene, list[Inference]] = {}
    left = {False: _SHARE, True: _SHARE}
    for hypothesis in family:
        if split_of(hypothesis) != split or not left[hypothesis.denied]:
            continue
        premises = _by_label(hypothesis, family)
        if all(premises.values()):
            left[hypothesis.denied] -= 1
            triples[hypothesis] = [
                Inference(_chosen(label, its, hypothesis, edits), hypothesis, label) for label, its in premises.items()
            ]
        if not any(left.values()):
            break
    return triples


def _by_label(hypothesis: Scene, family: list[Scene]) -> dict[str, dict[bool, list[Scene]]]:
    """The premises of each label, the plain ones and the denied ones apart."""
    found: dict[str, dict[bool, list[Scene]]] = {label: {} for label in LABELS}
    for premise in family:
        if premise._replace(fronted=hypothesis.fronted) != hypothesis:
            label = relation(premise, hypothesis)
            if label is not None:
                found[label].setdefault(premise.denied, []).append(premise)
    return found


def _chosen(label: str, premises: dict[bool, list[Scene]], hypothesis: Scene, edits: Edits) -> Scene:
    """A premise of the kind that "not" misleads about, if there is one; if neutral, of both kinds alike."""
    misleading = {CONTRADICTION: hypothesis.denied, ENTAILMENT: not hypothesis.denied}
    kinds = [premises[denied] for denied in sorted(premises)]
    kind = premises.get(misleading[label]) if label in misleading else None
    kind = kind or kinds[edits.below(len(kinds))]
    return kind[edits.below(len(kind))]
