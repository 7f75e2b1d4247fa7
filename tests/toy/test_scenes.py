"""Scenes: good ones, refused ones, splits that never share one, and text with gold."""

from collections import Counter

import pytest

from interlace.toy import Phrase, Scene, problems, sample, split_of
from interlace.toy.concepts import ADJECTIVES, CONCEPTS, NOUNS, VERBS

ANNA, KEY = Phrase("anna"), Phrase("key", "the")


def test_tables_refer_to_existing_concepts():
    assert len(CONCEPTS) == len(set(CONCEPTS))
    tags = {tag for noun in NOUNS.values() for tag in noun.tags}
    for verb in VERBS.values():
        assert verb.subject | verb.objects <= tags
        assert set(verb.places) <= set(NOUNS)
    for adjective in ADJECTIVES.values():
        assert adjective.tags <= tags
        assert not adjective.antonym or adjective.antonym in ADJECTIVES
    for noun in NOUNS.values():
        if noun.hypernym:
            assert (
                not NOUNS[noun.hypernym].hypernym or noun.hypernym == NOUNS[noun.hypernym].hypernym
            )


def test_samples_are_valid_distinct_reproducible_and_of_one_split():
    scenes = sample(3000, seed=5)
    assert len(set(scenes)) == 3000
    assert not [scene for scene in scenes if problems(scene)]
    assert scenes == sample(3000, seed=5)
    assert len(set(scenes) & set(sample(3000, seed=5, stream=1))) < 60
    assert sample(10, seed=6) != scenes[:10]
    by_split = {split: sample(1500, split) for split in ("train", "dev", "test")}
    for split, scenes in by_split.items():
        assert {split_of(scene) for scene in scenes} == {split}


def test_every_concept_is_used():
    used = Counter()
    for scene in sample(30_000):
        used.update([scene.predicate, scene.time, scene.manner, scene.quality, scene.category])
        for _, phrase in scene.phrases():
            used.update(phrase)
    assert not [concept for concept in CONCEPTS if not used[concept]]


@pytest.mark.parametrize(
    "scene",
    [
        Scene("find", ANNA),  # no object
        Scene("sleep", ANNA, object=KEY),
        Scene("eat", ANNA, object=KEY),  # nobody eats keys
        Scene("find", ANNA, object=Phrase("key")),  # counted without a determiner
        Scene("drink", ANNA, object=Phrase("milk", "the")),  # mass with one
        Scene("find", ANNA, "past", KEY, time="tomorrow"),
        Scene("read", ANNA, "past", Phrase("book", "the")),  # English could not tell in the plural
        Scene(
            "find", ANNA, "past", Phrase("key", "three"), negated=True
        ),  # three keys not found, or not three?
        Scene("find", Phrase("doctor", "no"), "past", KEY, negated=True),
        Scene("see", ANNA, object=ANNA),
        Scene("be", ANNA, quality="tired", place=Phrase("berlin")),
        Scene("be", Phrase("peter"), category="nurse"),
        Scene("find", ANNA, object=KEY, fronted=True),
    ],
)
def test_invalid_scenes(scene):
    assert problems(scene)
