"""The outcomes of examples add up to the main metric."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.ragged import Ragged
from interlace.data import LabeledExamples, Pairs, Sentences
from interlace.tasks import TASKS, FineTuneTask


@st.composite
def tagged(draw, classes):
    lengths = draw(st.lists(st.integers(0, 5), min_size=1, max_size=8))
    gold, found = (
        Ragged.from_lengths(
            np.array(
                draw(st.lists(st.integers(-1, classes - 1), min_size=sum(lengths), max_size=sum(lengths))), np.int32
            ),
            lengths,
        )
        for _ in range(2)
    )
    return LabeledExamples([], tags=gold), found


def total(scores):
    outcomes = scores.outcomes
    assert np.all(outcomes.score <= outcomes.weight)
    return 100 * outcomes.score.sum() / outcomes.weight.sum() if outcomes.weight.sum() else 0.0


@given(tagged(17))
@settings(deadline=None)
def test_words_add_up_to_accuracy(sides):
    examples, found = sides
    if (examples.tags.flat >= 0).any():
        scores = TASKS.build("pos").score(examples, found)
        assert len(scores.outcomes.score) == len(examples.tags)
        assert total(scores) == pytest.approx(scores["accuracy"])


@given(tagged(5))
@settings(deadline=None)
def test_sentences_add_up_to_entity_f1(sides):
    examples, found = sides
    if (examples.tags.flat >= 0).any():
        scores = TASKS.build({"name": "ner", "types": ["PER", "LOC"]}).score(examples, found)
        assert total(scores) == pytest.approx(scores["f1"])


def pairs(labels):
    ids = Ragged.of([[5, 6], [5, 6], [7], [8], [9]])
    side = Sentences(ids, Ragged(ids.columns().astype(np.int32), ids.offsets), "en")
    return LabeledExamples(Pairs(side, side), labels=np.array(labels, np.int32))


def test_pairs_add_up_to_accuracy_and_share_a_group_by_their_first_sentence():
    scores = TASKS.build("xnli").score(pairs([0, 2, 2, 1, -1]), np.array([0, 1, 2, -1, 0]))
    outcomes = scores.outcomes
    assert (outcomes.score.tolist(), outcomes.weight.tolist()) == ([1, 0, 1, 0, 0], [1, 1, 1, 1, 0])
    assert total(scores) == scores["accuracy"] == 50
    assert outcomes.groups.tolist() == [0, 0, 1, 2, 3]
    other = TASKS.build("xnli").score(pairs([0, 2, 2, 1, 1]), np.array([0, 1, 2, -1, 0]))
    assert len({outcomes.identity, other.outcomes.identity}) == 2


def test_entities_of_a_sentence_by_hand():
    gold = Ragged.of([[1, 2, 0, 1], [0, 0], [1]])
    found = Ragged.of([[1, 2, 0, 0], [1, 0], [1]])
    outcomes = TASKS.build({"name": "ner", "types": ["PER"]}).score(LabeledExamples([], tags=gold), found).outcomes
    assert (outcomes.score.tolist(), outcomes.weight.tolist()) == ([2, 0, 2], [3, 1, 2])  # 2 TP, and 2 TP + FP + FN


@pytest.mark.parametrize("name", TASKS.names())
def test_a_head_predicts_as_many_classes_as_the_task_names(name):
    task = TASKS.build(name)
    if isinstance(task, FineTuneTask) and task.classes:
        assert len(task.classes) == task.head().classes
