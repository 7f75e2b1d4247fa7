"""Inference: labels worked by hand, labels compared with small models, and hypotheses without cues."""

from collections import Counter
from functools import cache
from itertools import islice

import pytest

from interlace.toy import Phrase, Scene, problems, split_of
from interlace.toy.inference import (
    CONTRADICTION,
    ENTAILMENT,
    LABELS,
    NEUTRAL,
    inferences,
    nli_label,
)
from little_models import accuracy_of_bigrams, truths

ANNA, WEBER, PETER = Phrase("anna"), Phrase("anna", surname="weber"), Phrase("peter")
KITCHEN, GARDEN, HOSPITAL, CHURCH = (
    Phrase(place, "the") for place in ("kitchen", "garden", "hospital", "church")
)
BERLIN, PARIS = Phrase("berlin"), Phrase("paris")


def finds(subject, thing, noun, quality="", **more):
    return Scene("find", subject, "past", Phrase(noun, thing, quality), **more)


def sleeps(determiner, noun="dog", quality="", **more):
    return Scene("sleep", Phrase(noun, determiner, quality), **more)


def is_(subject, quality="", **more):
    return Scene("be", subject, quality=quality, **more)


CAR = Phrase("car", "the")


@pytest.mark.parametrize(
    ("premise", "hypothesis", "label"),
    [
        # what is left out, and what is added
        (finds(ANNA, "a", "key", time="yesterday"), finds(ANNA, "a", "key"), ENTAILMENT),
        (finds(ANNA, "the", "key", "small"), finds(ANNA, "a", "key"), ENTAILMENT),
        (finds(WEBER, "a", "key"), finds(ANNA, "a", "key"), ENTAILMENT),
        (finds(ANNA, "a", "key"), finds(WEBER, "a", "key"), None),  # the same Anna?
        (finds(ANNA, "a", "hammer"), finds(ANNA, "a", "tool"), ENTAILMENT),
        (
            finds(ANNA, "a", "hammer", "new"),
            finds(ANNA, "a", "tool", "new"),
            None,
        ),  # new for a hammer?
        (finds(ANNA, "a", "key"), finds(ANNA, "a", "hat"), None),  # one find or two?
        (finds(ANNA, "the", "key"), finds(PETER, "the", "key"), None),
        (finds(ANNA, "a", "key", place=BERLIN), finds(ANNA, "a", "key", place=PARIS), None),
        # quantifiers
        (sleeps("every"), sleeps("every", quality="old"), ENTAILMENT),
        (sleeps("many"), sleeps("some"), ENTAILMENT),
        (sleeps("two"), sleeps("some"), None),
        (sleeps("five"), sleeps("three"), None),  # exactly or at least?
        (sleeps("no"), sleeps("no", quality="old"), ENTAILMENT),
        (sleeps("no", "animal"), sleeps("the", negated=True), ENTAILMENT),
        (sleeps("no"), sleeps("every", "animal"), None),  # unless there are no dogs
        # negation
        (
            finds(ANNA, "a", "key", place=BERLIN),
            finds(ANNA, "a", "key", negated=True),
            CONTRADICTION,
        ),
        (finds(ANNA, "a", "key", place=BERLIN, negated=True), finds(ANNA, "a", "key"), NEUTRAL),
        (finds(ANNA, "a", "key", negated=True), finds(ANNA, "two", "key", "small"), CONTRADICTION),
        (
            finds(ANNA, "the", "key", negated=True),
            finds(ANNA, "the", "key", "small"),
            None,
        ),  # the same key?
        (
            finds(ANNA, "a", "tool", negated=True),
            finds(ANNA, "a", "hammer", negated=True),
            ENTAILMENT,
        ),
        (sleeps("every"), sleeps("three", negated=True), CONTRADICTION),
        # states
        (is_(CAR, "red"), is_(CAR, "blue"), CONTRADICTION),
        (is_(CAR, "red"), is_(CAR, "blue", negated=True), ENTAILMENT),
        (is_(CAR, "blue", negated=True), is_(CAR, "red"), None),
        (is_(ANNA, place=BERLIN), is_(ANNA, place=KITCHEN), NEUTRAL),
        (is_(ANNA, place=HOSPITAL), is_(ANNA, place=CHURCH), CONTRADICTION),
        (is_(ANNA, place=GARDEN), is_(ANNA, place=HOSPITAL), None),  # hospitals have gardens
        (
            is_(ANNA, place=BERLIN, tense="past", time="yesterday"),
            is_(ANNA, place=PARIS, tense="past", time="yesterday"),
            None,  # she may have travelled
        ),
        (is_(ANNA, category="doctor"), is_(ANNA, category="nurse"), None),
    ],
)
def test_labels_by_hand(premise, hypothesis, label):
    assert nli_label(premise, hypothesis) == label


@cache
def pairs(count, split):
    return inferences(count, split, seed=3)


def test_pairs_are_valid_and_balanced():
    for split in ("train", "test"):
        found = pairs(600, split) if split == "train" else pairs(240, split)
        assert Counter(pair.label for pair in found) == dict.fromkeys(LABELS, len(found) // 3)
        for pair in found:
            assert not problems(pair.premise)
            assert not problems(pair.hypothesis)
            assert split_of(pair.hypothesis) == split
            assert (split_of(pair.premise) == "train") == (split == "train")
            assert nli_label(pair.premise, pair.hypothesis) == pair.label
        assert len({(pair.premise, pair.hypothesis) for pair in found}) == len(found)
        labels = {(pair.hypothesis, pair.label) for pair in found}  # each hypothesis has each label
        assert len(labels) == len(found) == 3 * len({hypothesis for hypothesis, _ in labels})
    assert pairs(600, "train")[:5] != pairs(240, "test")[:5]


@pytest.mark.parametrize(("side", "most"), [("hypothesis", 0.40), ("premise", 0.52)])
def test_one_side_alone_does_not_predict_the_label(side, most):
    train, test = (
        [(getattr(pair, side), pair.label) for pair in pairs(*size)]
        for size in ((600, "train"), (240, "test"))
    )
    assert accuracy_of_bigrams(train, test) < most


@pytest.mark.parametrize("label", LABELS)
def test_labels_agree_with_small_models(label):
    """In worlds drawn at random, where the premise is true: the hypothesis always is, never is, or now and then."""
    told = [pair for pair in pairs(600, "train") if pair.label == label][::2]
    lively = 0
    for number, pair in enumerate(told):
        worlds = truths(pair.premise, pair.hypothesis, number)
        if label == NEUTRAL:
            ways = (bool(its) for premise, its in islice(worlds, 3000) if premise)
            first = next(ways)
            assert any(way != first for way in ways), pair
        else:
            sure = [its for premise, its in islice(worlds, 60) if premise and its is not None]
            assert set(sure) <= {label == ENTAILMENT}, pair
            lively += bool(sure)
    assert label == NEUTRAL or lively > 0.9 * len(told)
