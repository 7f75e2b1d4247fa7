"""Dictionaries and similarity scores: words that occur in sentences, the same in both directions."""

import pytest

from interlace.toy import LANGUAGES, language, sample
from interlace.toy.corpus import dictionary, jaccard, similarity

OTHERS = [code for code in LANGUAGES.names() if code != "en"]


def test_entries_by_hand():
    found = dictionary("en", "de")
    assert found == sorted(set(found))
    assert {("dog", "Hund"), ("quickly", "schnell"), ("Anna", "Anna"), ("three", "drei")} <= set(
        found
    )
    assert {target for source, target in found if source == "clean"} == {
        "putzen",
        "sauber",
    }  # a verb and a quality
    sources = {source for source, _ in found}
    assert not sources & {"look for", "look", "last week", "New Delhi"}


@pytest.mark.parametrize("code", OTHERS)
def test_both_directions_have_the_same_entries(code):
    forth, back = dictionary("en", code), dictionary(code, "en")
    assert sorted((target, source) for source, target in back) == forth
    assert len(forth) > 200


@pytest.mark.parametrize("code", OTHERS)
def test_entries_are_single_words_that_occur(code):
    held = {word.form for scene in sample(10_000) for word in language(code).realize(scene).words}
    for _, target in dictionary("en", code):
        assert " " not in target
        assert target in held


def test_similarity_by_hand():
    """dog: pet, animal, home, dog itself and the kind animal; cat the same but for its name: 3 of 5 in common."""
    assert jaccard("dog", "cat") == pytest.approx(3 / 5)
    assert jaccard("dog", "cat") > jaccard("dog", "wolf") > jaccard("dog", "hammer")
    assert jaccard("hammer", "tool") > jaccard("hammer", "vehicle")


@pytest.mark.parametrize("code", [code for code in LANGUAGES.names() if code != "en"])
def test_cross_lingual_similarity(code):
    """The first concept in English and the second in the other language, similarity as within one language."""
    english, other, rows = (
        similarity(*pair) for pair in (("en", "en"), (code, code), ("en", code))
    )
    assert 100 < len(rows) < 400
    first, second = ({row[side]: row[2] for row in rows} for side in (0, 1))
    assert set(first) <= {row[0] for row in english}
    assert set(second) <= {row[1] for row in other} | set(language(code).words.values())
    words, others = language("en").words, language(code).words
    scores = {(one, another): score for one, another, score in rows}
    assert scores[words["dog"], others["cat"]] == f"{10 * jaccard('dog', 'cat'):.2f}"
