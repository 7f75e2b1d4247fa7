"""Paraphrase identification: pairs of sentences with the same words and the same or another meaning (PAWS).

After Zhang et al. (2019). The second sentence always moves the time, so that word order alone is no cue; in addition,
two participants may have swapped places, determiners or qualities. Every first sentence allows a swap that keeps all
English words, and the label is drawn at random. In other languages case, agreement or classifiers may show a swap.
"""

from collections.abc import Iterator
from itertools import combinations
from itertools import count as naturals
from typing import Any, NamedTuple

from interlace.toy.languages import PIVOT, language
from interlace.toy.sampling import SceneEditor, generator, sample, stream
from interlace.toy.scenes import Phrase, Scene, problems, split_of

_ALIKE = frozenset({"the", "this"})  # swapping these two changes too little


class ParaphrasePair(NamedTuple):
    """A labelled pair. The first scene is of its split; the second is in training too, or held out too."""

    first: Scene
    second: Scene
    same: bool


def paraphrases(count: int, split: str, seed: int = 0, habits: float = 0.0) -> list[ParaphrasePair]:
    """Return `count` pairs in random order, half of them paraphrases, a pure function of the arguments."""
    edits = SceneEditor(generator(split, seed, stream("pawsx/changes")))
    left = {True: max(0, count - count // 2), False: max(0, count // 2)}
    pairs: list[ParaphrasePair] = []
    tried: set[Scene] = set()  # else scenes with many swaps would rarely be paraphrases
    scenes = (  # that allow swaps
        scene
        for chunk in naturals()
        for scene in sample(300, "train", seed, stream(f"pawsx/{split}/{chunk}"), habits)
        if scene.predicate != "be" and swapped(scene)
    )
    while len(pairs) < count:
        taken = 0
        for first in _near(next(scenes), split, edits):
            if first in tried:
                continue
            tried.add(first)
            same = left[True] > edits.below(left[True] + left[False])
            pair = _pair(first, same, split, edits)
            if pair is not None:
                pairs.append(pair)
                left[same] -= 1
                taken += 1
            if taken == 2 or len(pairs) == count:
                break
    return edits.shuffled(pairs)


def swapped(scene: Scene) -> list[Scene]:
    """Return valid scenes with the same English words: participants swap places, determiners or qualities."""
    found: list[Scene] = []
    words = _words(scene)
    for (one, first), (other, second) in combinations(scene.phrases(), 2):
        for changed in _swaps(first, second, together={one, other} == {"subject", "companion"}):
            roles: dict[str, Any] = dict(zip((one, other), changed, strict=True))
            new = scene._replace(**roles)
            if new != scene and not problems(new) and _words(new) == words:
                found.append(new)
    return found


def _words(scene: Scene) -> list[str]:
    return sorted(word.form.lower() for word in language(PIVOT).realize(scene).words)


def _swaps(first: Phrase, second: Phrase, *, together: bool) -> Iterator[tuple[Phrase, Phrase]]:
    """Yield the swaps of two phrases; swapping whole phrases that act `together` changes nothing."""
    if not together:
        yield second, first
    if {first.determiner, second.determiner} != _ALIKE:
        yield first._replace(determiner=second.determiner), second._replace(determiner=first.determiner)
    yield first._replace(quality=second.quality), second._replace(quality=first.quality)


def _near(scene: Scene, split: str, edits: SceneEditor) -> Iterator[Scene]:
    """Yield valid scenes of the split that are a few edits away and have a time."""
    for _ in range(200):  # most edits fall into another split
        for changed in edits.chain(scene):
            if changed.time and split_of(changed) == split and not problems(changed):
                yield changed


def _pair(first: Scene, same: bool, split: str, edits: SceneEditor) -> ParaphrasePair | None:
    others = swapped(first)
    if not others:
        return None
    meant = first if same else others[edits.below(len(others))]
    second = meant._replace(fronted=not first.fronted)
    held_out = split_of(second) != "train"
    return ParaphrasePair(first, second, same) if held_out == (split != "train") else None
