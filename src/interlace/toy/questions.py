"""Extractive questions on short passages: each is answered by a span of one statement, and by no other statement."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from interlace.core.randomness import Generator
from interlace.text.scripts import is_unspaced
from interlace.toy.concepts import NOUNS, TOWNS
from interlace.toy.inference import CONTRADICTION, nli_label
from interlace.toy.languages import language
from interlace.toy.sampling import generator, sample, stream
from interlace.toy.scenes import Scene, answerable_roles

_MOVES = frozenset("go travel return run arrive".split())


class Passage(NamedTuple):
    """Statements in order, and questions as (statement, role out of `ANSWER_ROLES`)."""

    scenes: tuple[Scene, ...]
    questions: tuple[tuple[int, str], ...]


def passages(count: int, split: str, seed: int = 0, habits: float = 0.0) -> list[Passage]:
    """Return passages of two to four statements with `count` questions in all, a pure function of the arguments."""
    rng = generator(split, seed, stream("qa/passages"))
    pool = sample(max(200, 3 * count), split, seed, stream("qa"), habits)
    near: dict[str, list[int]] = defaultdict(list)
    for number, scene in enumerate(pool):
        for key in _keys(scene):
            near[key].append(number)
    found: list[Passage] = []
    left = count
    while left:
        passage = _passage(pool, near, rng)
        if passage.questions:
            found.append(passage._replace(questions=passage.questions[:left]))
            left -= len(found[-1].questions)
    return found


def paragraph(passage: Passage, code: str, name: str) -> dict[str, Any]:
    """Return a passage as a SQuAD paragraph in one language."""
    grammar = language(code)
    statements = [grammar.realize(scene) for scene in passage.scenes]
    gap = "" if any(map(is_unspaced, statements[0].text)) else " "
    starts = [sum(len(before.text) + len(gap) for before in statements[:place]) for place in range(len(statements))]
    context = gap.join(statement.text for statement in statements)
    questions = []
    for number, (place, role) in enumerate(passage.questions, 1):
        about, _, counted = role.partition(".")
        start, end = (starts[place] + at for at in statements[place].span(f"{about}.determiner" if counted else about))
        answer = {"text": context[start:end], "answer_start": start}
        question = grammar.realize(passage.scenes[place], role).text
        questions.append({"id": f"{name}-{number}", "question": question, "answers": [answer]})
    return {"context": context, "qas": questions}


def _passage(pool: Sequence[Scene], near: dict[str, list[int]], rng: Generator) -> Passage:
    """Draw a scene with one to three scenes that share something with it, and questions about them."""
    scenes = [pool[int(rng.integers(len(pool)))]]
    wanted = int(rng.integers(2, 5))
    keys = list(_keys(scenes[0]))
    for _ in range(4 * wanted):
        candidates = near[keys[int(rng.integers(len(keys)))]]
        other = pool[candidates[int(rng.integers(len(candidates)))]]
        labels = {label for scene in scenes for label in (nli_label(scene, other), nli_label(other, scene))}
        if other not in scenes and CONTRADICTION not in labels:
            scenes.append(other)
        if len(scenes) == wanted:
            break
    ordered = tuple(scenes[place] for place in rng.permutation(len(scenes)).tolist())
    return Passage(ordered, _questions(ordered, rng) if len(ordered) > 1 else ())


def _questions(scenes: tuple[Scene, ...], rng: Generator) -> tuple[tuple[int, str], ...]:
    """Draw at most two questions on different statements, none that another statement might answer."""
    found = []
    for place in rng.permutation(len(scenes)).tolist():
        others = [scene for at, scene in enumerate(scenes) if at != place]
        roles = answerable_roles(scenes[place])
        roles = tuple(role for role in roles if not any(may_answer(scenes[place], role, one) for one in others))
        if roles:
            found.append((place, roles[int(rng.integers(len(roles)))]))
    return tuple(found[:2])


def may_answer(scene: Scene, role: str, other: Scene) -> bool:
    """Whether another statement might also answer the question; errs on the side of yes."""
    about, _, counted = role.partition(".")
    if about in ("place", "goal") and (other.place or other.goal) and _alike(scene.subject.head, other.subject.head):
        return True
    moves = scene.predicate in _MOVES and other.predicate in _MOVES
    if (scene.predicate != other.predicate and not moves) or scene.tense != other.tense:
        return False
    if (scene.quality, scene.category) != (other.quality, other.category):
        return False
    for named, phrase in scene.phrases():
        same = getattr(other, named)
        if (named != about or counted) and same is not None and not _alike(phrase.head, same.head):
            return False
    return True


def _alike(first: str, second: str) -> bool:
    """Whether two heads may refer to the same one: "the dog" and "an animal", "Anna" and "a person"."""
    if first == second or "person" in (first, second):
        return True
    hypernyms = [NOUNS[head].hypernym if head in NOUNS else "" for head in (first, second)]
    return first == hypernyms[1] or second == hypernyms[0]


def _keys(scene: Scene) -> Iterator[str]:
    """Yield what scenes may share: a predicate and participants."""
    yield scene.predicate
    yield from (phrase.head for _, phrase in scene.phrases() if phrase.head not in TOWNS)
