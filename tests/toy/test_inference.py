"""Inference: labels worked by hand, and hypotheses without cues."""

from collections import Counter
from functools import cache
from hashlib import blake2b

import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from interlace.toy.inference import (
    LABELS,
    inferences,
    nli_label,
)
from interlace.toy.languages import language
from interlace.toy.scenes import is_valid, split_of
from toy_scenes import parse

# premise / hypothesis > label, or "-" where annotators would disagree
LABELED = """
# what is left out, and what is added
find anna past object=a.key time=yesterday / find anna past object=a.key > entailment
find anna past object=the.small.key / find anna past object=a.key > entailment
find anna.weber past object=a.key / find anna past object=a.key > entailment
# the same Anna?
find anna past object=a.key / find anna.weber past object=a.key > -
find anna past object=a.hammer / find anna past object=a.tool > entailment
# new for a hammer?
find anna past object=a.new.hammer / find anna past object=a.new.tool > -
# one find or two?
find anna past object=a.key / find anna past object=a.hat > -
find anna past object=the.key / find peter past object=the.key > -
find anna past object=a.key place=berlin / find anna past object=a.key place=paris > -
# quantifiers
sleep every.dog / sleep every.old.dog > entailment
sleep many.dog / sleep some.dog > entailment
sleep two.dog / sleep some.dog > -
# exactly or at least?
sleep five.dog / sleep three.dog > -
sleep no.dog / sleep no.old.dog > entailment
sleep no.animal / sleep the.dog negated > entailment
# unless there are no dogs
sleep no.dog / sleep every.animal > -
# negation
find anna past object=a.key place=berlin / find anna past object=a.key negated > contradiction
find anna past object=a.key place=berlin negated / find anna past object=a.key > neutral
find anna past object=a.key negated / find anna past object=two.small.key > contradiction
# the same key?
find anna past object=the.key negated / find anna past object=the.small.key > -
find anna past object=a.tool negated / find anna past object=a.hammer negated > entailment
sleep every.dog / sleep three.dog negated > contradiction
# states
be the.car quality=red / be the.car quality=blue > contradiction
be the.car quality=red / be the.car quality=blue negated > entailment
be the.car quality=blue negated / be the.car quality=red > -
be anna place=berlin / be anna place=the.kitchen > neutral
be anna place=the.hospital / be anna place=the.church > contradiction
# hospitals have gardens
be anna place=the.garden / be anna place=the.hospital > -
# she may have travelled
be anna past place=berlin time=yesterday / be anna past place=paris time=yesterday > -
be anna category=doctor / be anna category=nurse > -
"""


@pytest.mark.parametrize(
    "line",
    [line for line in LABELED.strip().splitlines() if not line.startswith("#")],
)
def test_labels_by_hand(line):
    scenes, label = line.split(" > ")
    premise, hypothesis = map(parse, scenes.split(" / "))
    assert (nli_label(premise, hypothesis) or "-") == label


@cache
def pairs(count, split):
    return inferences(count, split, seed=3)


@pytest.mark.parametrize(("count", "split"), [(600, "train"), (240, "test")])
def test_pairs_are_valid_and_balanced(count, split):
    found = pairs(count, split)
    assert Counter(pair.label for pair in found) == dict.fromkeys(LABELS, count // 3)
    for pair in found:
        assert is_valid(pair.premise)
        assert is_valid(pair.hypothesis)
        assert split_of(pair.hypothesis) == split
        assert (split_of(pair.premise) == "train") == (split == "train")
        assert nli_label(pair.premise, pair.hypothesis) == pair.label
    assert len({(pair.premise, pair.hypothesis) for pair in found}) == count
    labels = {(pair.hypothesis, pair.label) for pair in found}  # each hypothesis has each label
    assert len(labels) == count == 3 * len({hypothesis for hypothesis, _ in labels})


def accuracy_of_bigrams(train, test):
    """The accuracy on `test` of a logistic regression over English words and bigrams that predicts a scene's label."""
    counts = CountVectorizer(token_pattern=r"\w+", ngram_range=(1, 2))
    english = language("en")
    texts = [[english.realize(scene).text for scene, _ in scenes] for scenes in (train, test)]
    labels = [[label for _, label in scenes] for scenes in (train, test)]
    model = LogisticRegression(max_iter=300).fit(counts.fit_transform(texts[0]), labels[0])
    return model.score(counts.transform(texts[1]), labels[1])


@pytest.mark.parametrize(("side", "most"), [("hypothesis", 0.40), ("premise", 0.52)])
def test_one_side_alone_does_not_predict_the_label(side, most):
    train, test = (
        [(getattr(pair, side), pair.label) for pair in pairs(*size)]
        for size in ((600, "train"), (240, "test"))
    )
    assert accuracy_of_bigrams(train, test) < most


def test_pairs_are_those_whose_labels_agreed_with_models_of_small_worlds():
    """Models drawn at random, in which premise and hypothesis are true or false, agreed at commit 0e47a5a5."""
    digest = blake2b(digest_size=8)
    for pair in pairs(600, "train"):
        digest.update(repr((pair.premise, pair.hypothesis, pair.label)).encode())
    assert digest.hexdigest() == "fee8e8eac9ba1e45"
