"""Outcomes by example add up to the score of the whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.ragged import Ragged
from interlace.data import LabeledExamples
from interlace.tasks import TASKS


def rows_of(draw, classes, least):
    lengths = draw(st.lists(st.integers(0, 5), min_size=1, max_size=8))
    tags = [draw(st.lists(st.integers(least, classes - 1), min_size=n, max_size=n)) for n in lengths]
    return Ragged.from_lengths(np.array([tag for row in tags for tag in row], np.int32), lengths)


@st.composite
def tagged(draw, classes):
    gold = rows_of(draw, classes, -1)
    found = draw(st.lists(st.integers(-1, classes - 1), min_size=len(gold.flat), max_size=len(gold.flat)))
    return Ragged.from_lengths(np.array(found, np.int32), gold.lengths), gold


def total(task, predictions, gold):
    score, weight = task.outcomes(None, predictions, gold)
    assert len(score) == len(weight) == len(gold)
    assert np.all(score <= weight)
    return 100 * score.sum() / weight.sum() if weight.sum() else 0.0


@given(tagged(17))
@settings(deadline=None)
def test_words_add_up_to_accuracy(sides):
    task = TASKS.build("pos")
    if (sides[1].flat >= 0).any():
        assert total(task, *sides) == pytest.approx(task.score(LabeledExamples([]), *sides)["accuracy"])


@given(tagged(5))
@settings(deadline=None)
def test_sentences_add_up_to_entity_f1(sides):
    task = TASKS.build({"name": "ner", "types": ["PER", "LOC"]})
    if (sides[1].flat >= 0).any():
        assert total(task, *sides) == pytest.approx(task.score(None, *sides)["f1"])


def test_rows_add_up_to_accuracy():
    task = TASKS.build("xnli")
    predictions, gold = np.array([0, 1, 2, -1, 0]), np.array([0, 2, 2, 1, -1])
    assert [each.tolist() for each in task.outcomes(None, predictions, gold)] == [[1, 0, 1, 0, 0], [1, 1, 1, 1, 0]]
    assert total(task, predictions, gold) == task.score(None, predictions, gold)["accuracy"] == 50


def test_entities_of_a_sentence_by_hand():
    task = TASKS.build({"name": "ner", "types": ["PER"]})
    gold = Ragged.of([[1, 2, 0, 1], [0, 0], [1]])
    found = Ragged.of([[1, 2, 0, 0], [1, 0], [1]])
    score, weight = task.outcomes(None, found, gold)
    assert (score.tolist(), weight.tolist()) == ([2, 0, 2], [3, 1, 2])  # 2 TP, and 2 TP + FP + FN


@pytest.mark.parametrize("name", TASKS.names())
def test_classes_are_as_many_as_the_learner_predicts(name):
    task = TASKS.build(name)
    learner = task.learner()
    assert not task.classes or len(task.classes) == learner.classes
    assert bool(task.classes) == hasattr(learner, "classes")
