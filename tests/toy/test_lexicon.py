"""Dictionaries and similarity scores: words that occur in sentences, the same in both directions."""

import pytest

from interlace.toy.corpus import dictionary, jaccard, similarity


def test_entries_by_hand():
    found = dictionary("en", "de")
    assert found == sorted(set(found))
    assert {("dog", "Hund"), ("quickly", "schnell"), ("Anna", "Anna")} <= set(found)
    translations = {target for source, target in found if source == "clean"}
    assert translations == {"putzen", "sauber"}  # a verb and a quality
    sources = {source for source, _ in found}
    assert not sources & {"look for", "look", "last week", "New Delhi"}
    assert sorted((source, target) for target, source in dictionary("de", "en")) == found


def test_similarity_by_hand():
    """dog: pet, animal, home, dog itself and the kind animal; cat the same but for its name: 3 of 5 in common."""
    assert jaccard("dog", "cat") == pytest.approx(3 / 5)
    assert jaccard("dog", "cat") > jaccard("dog", "wolf") > jaccard("dog", "hammer")
    assert jaccard("hammer", "tool") > jaccard("hammer", "vehicle")
    assert ("dog", "Katze", "6.00") in similarity("en", "de")
    assert ("Hund", "Katze", "6.00") in similarity("de", "de")
