"""Dictionaries: citation forms that sentences hold, in both directions."""

from __future__ import annotations

import pytest

from interlace.toy import LANGUAGES, language, sample
from interlace.toy.lexicon import dictionary

OTHERS = [code for code in LANGUAGES.names() if code != "en"]


def test_entries_by_hand() -> None:
    found = dictionary("en", "de")
    assert found == sorted(set(found))
    assert {("dog", "Hund"), ("quickly", "schnell"), ("Anna", "Anna"), ("three", "drei")} <= set(found)
    assert {target for source, target in found if source == "clean"} == {"putzen", "sauber"}  # a verb and a quality
    sources = {source for source, _ in found}
    assert not sources & {"look for", "look", "last week", "New Delhi"}


@pytest.mark.parametrize("code", OTHERS)
def test_both_directions_say_the_same(code: str) -> None:
    forth, back = dictionary("en", code), dictionary(code, "en")
    assert sorted((target, source) for source, target in back) == forth
    assert len(forth) > 200


@pytest.mark.parametrize("code", OTHERS)
def test_entries_are_single_words_of_sentences(code: str) -> None:
    held = {word.form for scene in sample(10_000) for word in language(code).realize(scene).words}
    for _, target in dictionary("en", code):
        assert " " not in target
        assert target in held
