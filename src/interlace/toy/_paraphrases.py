"""Paraphrases: two sentences of the same words, that say the same or do not (PAWS: Zhang et al. 2019).

The second sentence always has its time elsewhere, so that moved words alone tell nothing: beside that it says what the
first says, or two participants have changed places, determiners or qualities. Every first sentence has something that
could be exchanged so that English keeps all its words, and it is a matter of chance what becomes of it. Where case,
agreement or classifiers change words of other languages, these tell some of the rest from paraphrases.
"""

from __future__ import annotations

from itertools import combinations
from itertools import count as naturals
from typing import TYPE_CHECKING, Any, NamedTuple

from interlace.core.randomness import Purpose, generator
from interlace.toy import language
from interlace.toy._edits import Edits
from interlace.toy._sampling import sample
from interlace.toy._scenes import SPLITS, problems, split_of
from interlace.toy._settings import PIVOT, stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlace.toy._scenes import Phrase, Scene

_CHUNK = 300  # scenes drawn at a time
_CHAINS = 200  # of changes tried to find scenes that are close to one; most fall into another split
_CHANGES = 3  # in a chain
_SHARE = 2  # pairs made of scenes close to one
_ALIKE = frozenset({"the", "this"})  # that these change places is too little to be sure of


class Paraphrase(NamedTuple):
    """A labelled pair. The first scene is of its split; the second of training too, or held out too."""

    first: Scene
    second: Scene
    same: bool


def paraphrases(count: int, split: str, seed: int = 0, habits: float = 0.0) -> list[Paraphrase]:
    """`count` pairs in random order, half of them paraphrases, a pure function of the arguments."""
    rng = generator(Purpose.TOY, seed, list(SPLITS).index(split), stream("pawsx/changes"))
    edits = Edits(rng)
    left = {True: max(0, count - count // 2), False: max(0, count // 2)}
    pairs: list[Paraphrase] = []
    tried: set[Scene] = set()  # who has many exchanges would have many chances to become no paraphrase
    scenes = _scenes(split, seed, habits)
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
            if taken == _SHARE or len(pairs) == count:
                break
    return [pairs[place] for place in rng.permutation(len(pairs)).tolist()]


def exchanged(scene: Scene) -> list[Scene]:
    """What English says with the same words when two participants change places, determiners or qualities."""
    found: list[Scene] = []
    words = _words(scene)
    for (one, first), (other, second) in combinations(scene.phrases(), 2):
        for changed in _exchanges(first, second, together={one, other} == {"subject", "companion"}):
            roles: dict[str, Any] = dict(zip((one, other), changed, strict=True))
            new = scene._replace(**roles)
            if new != scene and not problems(new) and _words(new) == words:
                found.append(new)
    return found


def _words(scene: Scene) -> list[str]:
    return sorted(word.form.lower() for word in language(PIVOT).realise(scene).words)


def _exchanges(first: Phrase, second: Phrase, *, together: bool) -> Iterator[tuple[Phrase, Phrase]]:
    """Of two who do something `together` it does not matter who comes first."""
    if not together:
        yield second, first
    if {first.determiner, second.determiner} != _ALIKE:
        yield first._replace(determiner=second.determiner), second._replace(determiner=first.determiner)
    yield first._replace(quality=second.quality), second._replace(quality=first.quality)


def _scenes(split: str, seed: int, habits: float) -> Iterator[Scene]:
    """Scenes without end from whose neighbourhood pairs are taken; held-out ones are too rare to begin with."""
    for chunk in naturals():
        drawn = sample(_CHUNK, "train", seed, stream(f"pawsx/{split}/{chunk}"), habits)
        yield from (scene for scene in drawn if scene.predicate != "be" and exchanged(scene))


def _near(scene: Scene, split: str, edits: Edits) -> Iterator[Scene]:
    """Good scenes of the split a few changes away, with a time that can be moved."""
    for _ in range(_CHAINS):
        for changed in edits.changed(scene, _CHANGES):
            if changed.time and split_of(changed) == split and not problems(changed):
                yield changed


def _pair(first: Scene, same: bool, split: str, edits: Edits) -> Paraphrase | None:
    others = exchanged(first)
    if not others:
        return None
    meant = first if same else others[edits.below(len(others))]
    second = meant._replace(fronted=not first.fronted)
    held_out = split_of(second) != "train"
    return Paraphrase(first, second, same) if held_out == (split != "train") else None
