"""Questions: one answer, a span of the passage, the same question in every language."""

from functools import cache

import pytest

from interlace.toy.inference import ENTAILMENT, nli_label
from interlace.toy.languages import LANGUAGES, language
from interlace.toy.questions import Passage, paragraph, passages
from interlace.toy.scenes import Phrase, answerable_roles, is_valid, split_of
from toy_scenes import parse

FOUND = parse("find anna past object=a.key place=the.garden time=yesterday fronted")


@cache
def found(count, split="train"):
    return passages(count, split, seed=2)


@pytest.mark.parametrize(("split", "count"), [("train", 301), ("dev", 60)])
def test_passages_are_valid_and_counted(split, count):
    made = found(count, split)
    assert sum(len(passage.questions) for passage in made) == count
    for scenes, questions in made:
        assert 2 <= len(scenes) == len(set(scenes)) <= 4
        assert 1 <= len({place for place, _ in questions}) == len(questions) <= 2
        assert {split_of(scene) for scene in scenes} == {split}
        assert all(map(is_valid, scenes))
        assert all(role in answerable_roles(scenes[place]) for place, role in questions)


def test_a_paragraph_by_hand():
    questions = ((1, "place"), (1, "object"), (1, "time"), (0, "subject"))
    made = paragraph(Passage((parse("sleep peter"), FOUND), questions), "en", "x")
    assert made["context"] == "Peter sleeps. Yesterday Anna found a key in the garden."
    shown = []
    for question in made["qas"]:
        [answer] = question["answers"]
        shown.append(
            (question["id"], question["question"], answer["text"], answer["answer_start"])
        )
    assert shown == [
        ("x-1", "Where did Anna find a key yesterday?", "in the garden", 41),
        ("x-2", "What did Anna find in the garden yesterday?", "a key", 35),
        ("x-3", "When did Anna find a key in the garden?", "Yesterday", 14),
        ("x-4", "Who sleeps?", "Peter", 0),
    ]


@pytest.mark.parametrize("code", LANGUAGES.names())
def test_answers_are_spans_of_the_passage(code):
    member = language(code)
    for number, passage in enumerate(found(301)):
        made = paragraph(passage, code, str(number))
        context = made["context"]
        statements = [member.realize(scene).text for scene in passage.scenes]
        for question, (place, role) in zip(made["qas"], passage.questions, strict=True):
            (answer,) = question["answers"]
            start, text = answer["answer_start"], answer["text"]
            assert context[start : start + len(text)] == text != ""
            assert text in statements[place]
            assert question["question"] == member.realize(passage.scenes[place], role).text


def answers(scene, role, other):
    """Whether another statement entails what the question says, with its own participant as the answer."""
    about = role.partition(".")[0]
    answer = getattr(other, about)
    return bool(answer) and nli_label(other, scene._replace(**{about: answer})) == ENTAILMENT


def test_exactly_one_statement_answers_a_question():
    """By the rules of entailment, which the generator of questions does not use."""
    for scenes, questions in found(1200):
        for place, role in questions:
            answering = [answers(scenes[place], role, other) for other in scenes]
            assert answering == [at == place for at in range(len(scenes))]
    elsewhere = FOUND._replace(manner="quickly", place=Phrase("berlin"))
    assert answers(FOUND, "place", elsewhere)  # the check can fail


@pytest.mark.parametrize("code", LANGUAGES.names())
def test_exactly_one_answer_span_fits_a_question(code):
    """No other part of the passage is asked for by the same words."""
    grammar = language(code)
    for passage in found(301):
        asked = [
            (grammar.realize(scene, role).text, place, role)
            for place, scene in enumerate(passage.scenes)
            for role in answerable_roles(scene)
        ]
        for place, role in passage.questions:
            question = grammar.realize(passage.scenes[place], role).text
            assert [(at, its) for text, at, its in asked if text == question] == [(place, role)]
