"""Random edits of scenes, from which premises and paraphrases are made. Not all results are valid (`problems`)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from interlace.toy.concepts import ADJECTIVES, GIVEN, NOUNS, NUMERALS, SURNAMES, TIMES, TOWNS, VERBS
from interlace.toy.scenes import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from interlace.core.randomness import Generator
    from interlace.toy.scenes import Scene

_DETERMINERS = (*"the the a a this these many some every no".split(), *NUMERALS)
_GIVEN, _ALL = tuple(GIVEN), tuple(NOUNS)
_PEOPLE = tuple(noun for noun in NOUNS if "person" in NOUNS[noun].tags)
_PLACES = tuple(noun for noun in NOUNS if "place" in NOUNS[noun].tags)


class SceneEditor:
    """Draws edits from one generator."""

    def __init__(self, rng: Generator) -> None:
        self._rng = rng
        self._numbers: Iterator[float] = iter(())
        anywhere = (self._time, self._deny, self._deny, self._determiner, self._determiner, self._kind, self._surname,
                    self._subject, self._front)  # fmt: skip
        self._states: tuple[Callable[[Scene], Scene], ...] = (*anywhere, *[self._state] * 5)
        self._events: tuple[Callable[[Scene], Scene], ...] = (
            *anywhere, self._place, self._place, self._manner, self._companion, self._quality, self._quality,
        )  # fmt: skip

    def below(self, count: int) -> int:
        """Return a random integer from 0 to `count` - 1."""
        number = next(self._numbers, None)
        if number is None:
            self._numbers = iter(self._rng.random(4096).tolist())
            number = next(self._numbers)
        return int(number * count)

    def chain(self, scene: Scene, count: int) -> Iterator[Scene]:
        """Yield the scene after one edit, after two, and so on; some change nothing."""
        changes = self._states if scene.predicate == "be" else self._events
        for _ in range(count):
            scene = changes[self.below(len(changes))](scene)
            yield scene

    def denied(self, scene: Scene) -> Scene:
        """Return the scene with "not" inserted or removed, or sometimes with "no" on its subject."""
        return self._deny(scene)

    def _of(self, options: Sequence[str]) -> str:
        return options[self.below(len(options))] if options else ""

    def _place(self, scene: Scene) -> Scene:
        places = VERBS[scene.predicate].places
        if not places or (scene.place and self.below(2)):
            return scene._replace(place=None)
        return scene._replace(place=self._somewhere(places))

    def _somewhere(self, places: Sequence[str]) -> Phrase:
        return Phrase(self._of(TOWNS)) if self.below(3) == 0 else Phrase(self._of(places), "the")

    def _time(self, scene: Scene) -> Scene:
        time = "" if scene.time and self.below(2) else self._of(_times(scene.tense))
        return scene._replace(time=time, fronted=scene.fronted and bool(time))

    def _front(self, scene: Scene) -> Scene:
        return scene._replace(fronted=bool(scene.time) and not scene.fronted)

    def _manner(self, scene: Scene) -> Scene:
        return scene._replace(manner="" if scene.manner else self._of(VERBS[scene.predicate].manners))

    def _companion(self, scene: Scene) -> Scene:
        if scene.companion or "companion" not in VERBS[scene.predicate].flags:
            return scene._replace(companion=None)
        known = Phrase(self._of(_GIVEN)) if self.below(2) else Phrase(self._of(_PEOPLE), "the")
        return scene._replace(companion=known)

    def _deny(self, scene: Scene) -> Scene:
        subject = scene.subject
        if subject.determiner == "no":
            return scene._replace(subject=subject._replace(determiner=self._of(("the", "a", "every"))))
        if not scene.negated and subject.determiner and self.below(4) == 0:
            return scene._replace(subject=subject._replace(determiner="no"))
        quiet = "the" if subject.determiner in ("a", "every") else subject.determiner
        return scene._replace(negated=not scene.negated, subject=subject._replace(determiner=quiet))

    def _determiner(self, scene: Scene) -> Scene:
        role, phrase = self._any_of(scene, [role for role, its in scene.phrases() if its.determiner])
        return _with(scene, role, phrase and phrase._replace(determiner=self._of(_DETERMINERS)))

    def _quality(self, scene: Scene) -> Scene:
        role, phrase = self._any_of(scene, [role for role, its in scene.phrases() if not its.named])
        if phrase is None or phrase.quality:
            return _with(scene, role, phrase and phrase._replace(quality=""))
        return _with(scene, role, phrase._replace(quality=self._of(_qualities(phrase.head))))

    def _kind(self, scene: Scene) -> Scene:
        """Exchange a noun for its hypernym or a hyponym, a name for "a person"."""
        role, phrase = self._any_of(scene, [role for role, _ in scene.phrases()])
        if phrase is None or phrase.head in TOWNS:
            return scene
        if phrase.named:
            return _with(scene, role, Phrase("person", self._of(("a", "no"))))
        head = self._of(_narrower(phrase.head)) or NOUNS[phrase.head].hypernym or phrase.head
        return _with(scene, role, phrase._replace(head=head))

    def _surname(self, scene: Scene) -> Scene:
        role, phrase = self._any_of(scene, [role for role, its in scene.phrases() if its.head in GIVEN])
        return _with(scene, role, phrase and phrase._replace(surname="" if phrase.surname else self._of(SURNAMES)))

    def _subject(self, scene: Scene) -> Scene:
        subject = scene.subject
        if subject.named:
            return scene._replace(subject=Phrase(self._of(_GIVEN)))
        heads = _PEOPLE if subject.person else _ALL
        return scene._replace(subject=subject._replace(head=self._of(heads), quality=""))

    def _state(self, scene: Scene) -> Scene:
        """Exchange the predicate of "be", mostly a place for a place and a quality for a quality."""
        if scene.place and self.below(4):
            return scene._replace(place=self._somewhere(_PLACES))
        head = "woman" if scene.subject.named else scene.subject.head
        antonym = ADJECTIVES[scene.quality].antonym if scene.quality and self.below(2) else ""
        return scene._replace(quality=antonym or self._of(_qualities(head)), category="", place=None)

    def _any_of(self, scene: Scene, roles: Sequence[str]) -> tuple[str, Phrase | None]:
        role = self._of(roles)
        return role, getattr(scene, role) if role else None


def _with(scene: Scene, role: str, phrase: Phrase | None) -> Scene:
    changed: dict[str, Any] = {} if phrase is None else {role: phrase}
    return scene._replace(**changed)


@cache
def _times(tense: str) -> tuple[str, ...]:
    return tuple(time for time, its in TIMES.items() if its == tense)


@cache
def _qualities(noun: str) -> tuple[str, ...]:
    return tuple(name for name, adjective in ADJECTIVES.items() if adjective.tags & NOUNS[noun].tags)


@cache
def _narrower(noun: str) -> tuple[str, ...]:
    return tuple(name for name, its in NOUNS.items() if its.hypernym == noun)
