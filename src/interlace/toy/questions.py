"""Extractive questions on short passages: each is answered by a span of one statement, and by no other statement."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from interlace.core.json_files import JsonObject
from interlace.core.randomness import Generator
from interlace.toy.concepts import NOUNS, TOWNS
from interlace.toy.inference import CONTRADICTION, nli_label
from interlace.toy.languages import language
from interlace.toy.sampling import generator, sample, stream
from interlace.toy.scenes import Scene, answerable_roles

Item = TypeVar("Item")
_MOVES = frozenset("go travel return run arrive".split())


class Passage(NamedTuple):
    """Statements in order, and questions as (statement, role out of `ANSWER_ROLES`)."""

    scenes: tuple[Scene, ...]
    questions: tuple[tuple[int, str], ...]


def passages(
    count: int,
    split: str,
    seed: int = 0,
    habits: float = 0.0,
) -> list[Passage]:
    """Return passages of two to four statements with `count` questions in all, a pure function of the arguments."""
    rng = generator(split, seed, stream("qa/passages"))
    pool = sample(max(200, 3 * count), split, seed, stream("qa"), habits)
    pool_by_key: dict[str, list[Scene]] = defaultdict(list)
    for scene in pool:
        for key in _keys(scene):
            pool_by_key[key].append(scene)
    drawn: list[Passage] = []
    remaining = count
    while remaining:
        scenes = _related_scenes(pool, pool_by_key, rng)
        if len(scenes) == 1:
            continue
        questions = _questions(scenes, rng)[:remaining]
        if questions:
            drawn.append(Passage(scenes, questions))
            remaining -= len(questions)
    return drawn


def paragraph(passage: Passage, code: str, name: str) -> JsonObject:
    """Return a passage as a SQuAD paragraph in one language."""
    grammar = language(code)
    statements = [grammar.realize(scene) for scene in passage.scenes]
    context = ""
    starts = []  # of each statement in the context
    for statement in statements:
        context += " " if context else ""
        starts.append(len(context))
        context += statement.text
    questions = []
    for number, (index, role) in enumerate(passage.questions, 1):
        start, end = statements[index].span(_answer_role(role))
        text = statements[index].text[start:end]
        answer = {"text": text, "answer_start": starts[index] + start}
        question = grammar.realize(passage.scenes[index], role).text
        questions.append({"id": f"{name}-{number}", "question": question, "answers": [answer]})
    return {"context": context, "qas": questions}


def _answer_role(role: str) -> str:
    """Return the role of the words that answer a question: for "object.count", that is "object.determiner"."""
    return role.replace(".count", ".determiner")


def _related_scenes(
    pool: Sequence[Scene],
    pool_by_key: dict[str, list[Scene]],
    rng: Generator,
) -> tuple[Scene, ...]:
    """Draw a scene with one to three scenes that share something with it and contradict none, in random order."""
    scenes = [_drawn(pool, rng)]
    count = int(rng.integers(2, 5))
    keys = list(_keys(scenes[0]))
    for _ in range(4 * count):
        key = _drawn(keys, rng)
        candidate = _drawn(pool_by_key[key], rng)
        is_contradicted = any(_contradict(scene, candidate) for scene in scenes)
        if candidate not in scenes and not is_contradicted:
            scenes.append(candidate)
        if len(scenes) == count:
            break
    order = rng.permutation(len(scenes))
    return tuple(scenes[index] for index in order.tolist())


def _drawn(items: Sequence[Item], rng: Generator) -> Item:
    number = int(rng.integers(len(items)))
    return items[number]


def _contradict(first: Scene, second: Scene) -> bool:
    return CONTRADICTION in (nli_label(first, second), nli_label(second, first))


def _questions(scenes: tuple[Scene, ...], rng: Generator) -> tuple[tuple[int, str], ...]:
    """Draw at most two questions on different statements, none that another statement might answer."""
    questions = []
    for index in rng.permutation(len(scenes)).tolist():
        scene = scenes[index]
        other_scenes = scenes[:index] + scenes[index + 1 :]
        roles = []
        for role in answerable_roles(scene):
            answers = [may_answer(scene, role, statement) for statement in other_scenes]
            if not any(answers):
                roles.append(role)
        if roles:
            role = _drawn(roles, rng)
            questions.append((index, role))
    return tuple(questions[:2])


def may_answer(scene: Scene, role: str, other: Scene) -> bool:
    """Whether another statement might also answer the question; errs on the side of yes."""
    about, _, counted = role.partition(".")
    asks_where = about in ("place", "goal")
    says_where = other.place or other.goal
    if asks_where and says_where and _alike(scene.subject.head, other.subject.head):
        return True
    both_move = scene.predicate in _MOVES and other.predicate in _MOVES
    if scene.predicate != other.predicate and not both_move:
        return False
    if scene.tense != other.tense:
        return False
    if scene.quality != other.quality or scene.category != other.category:
        return False
    for name, phrase in scene.phrases():
        if name == about and not counted:
            continue
        other_phrase = getattr(other, name)
        if other_phrase is not None and not _alike(phrase.head, other_phrase.head):
            return False
    return True


def _alike(first: str, second: str) -> bool:
    """Whether two heads may refer to the same one: "the dog" and "an animal", "Anna" and "a person"."""
    if first == second or "person" in (first, second):
        return True
    return first == _hypernym(second) or second == _hypernym(first)


def _hypernym(head: str) -> str:
    return NOUNS[head].hypernym if head in NOUNS else ""


def _keys(scene: Scene) -> Iterator[str]:
    """Yield what scenes may share: a predicate and participants."""
    yield scene.predicate
    for _, phrase in scene.phrases():
        if phrase.head not in TOWNS:
            yield phrase.head
