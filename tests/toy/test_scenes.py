"""Scenes: good ones, refused ones, splits that never share one, and text with gold."""

from collections import Counter

import pytest

from interlace.toy import is_valid, sample, split_of
from interlace.toy.concepts import CONCEPTS
from toy_scenes import parse


def test_samples_are_valid_distinct_reproducible_and_of_one_split():
    scenes = sample(3000, seed=5)
    assert len(set(scenes)) == 3000
    assert all(is_valid(scene) for scene in scenes)
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


INVALID = """
find anna
sleep anna object=the.key
eat anna object=the.key
find anna object=key
drink anna object=the.milk
find anna past object=the.key time=tomorrow
read anna past object=the.book
find anna past object=three.key negated
find no.doctor past object=the.key negated
see anna object=anna
be anna place=berlin quality=tired
be peter category=nurse
find anna object=the.key fronted
"""


@pytest.mark.parametrize("scene", INVALID.strip().splitlines())
def test_invalid_scenes(scene):
    assert not is_valid(parse(scene))
