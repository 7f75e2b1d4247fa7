"""Lexicons as links believed in beforehand: folded, and never more than aligners can count."""

import numpy as np
import pytest

from interlace.aligners import ALIGNERS
from interlace.aligners.common.inputs import Prior, Vocabularies
from interlace.alignment.lexicon import Lexicon
from interlace.core.errors import DataError
from little_pairs import word_pairs


def prior(*entries):
    vocabularies = Vocabularies.of()
    found = Prior.of(Lexicon.of(entries), vocabularies)
    source, target = vocabularies.types
    spelt = [(source[i], target[j]) for i, j in found.entries.tolist()]
    return dict(zip(spelt, found.counts.tolist(), strict=True))


def test_entries_that_differ_in_case_are_added_up_within_limits():
    found = prior(("Hund", "dog", 2), ("hund", "Dog", 1), ("a", "x", 0))
    assert found == pytest.approx({("hund", "dog"): 3, ("a", "x"): 0})
    assert prior() == {}
    with pytest.raises(DataError, match="priors: 5e\\+09 links; expected at most 4e\\+09"):
        prior(("a", "x", 3e9), ("a", "y", 1e9), ("b", "y", 1e9))


@pytest.mark.parametrize("count", [-1.0, np.nan, np.inf])
def test_rejects_invalid_prior_counts(count):
    with pytest.raises(
        DataError, match=r"priors: 'a' - 'x' has the count .*; expected a number of at least 0"
    ):
        prior(("b", "y", 1), ("a", "x", count))


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in ALIGNERS.names()
        if ALIGNERS.get(name).can_save and "start" not in ALIGNERS.get(name).model_fields
    ],
)
def test_huge_priors_decide_the_links(name):
    pairs = word_pairs(["a b"] * 3, ["x y"] * 3)
    aligned = (
        ALIGNERS.build(name)
        .fit(pairs, Lexicon.of([("a", "y", 2e9), ("b", "x", 2e9)]))
        .align(pairs)
    )
    assert aligned.links[0].tolist() == [[0, 1], [1, 0]]
    assert (aligned.confidence > 0).all()
