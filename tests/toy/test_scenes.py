"""Scenes: good ones, refused ones, splits that never share one, and text with gold."""

from collections import Counter

import pytest

from interlace.toy.concepts import CONCEPTS
from interlace.toy.sampling import sample
from interlace.toy.scenes import is_valid, split_of
from toy_scenes import parse


@pytest.mark.parametrize("split", ["train", "dev", "test"])
@pytest.mark.parametrize("habits", [0.0, 1.5])
def test_samples_are_valid_distinct_reproducible_and_of_one_split(split, habits):
    scenes = sample(1500, split, seed=5, habits=habits)
    assert len(set(scenes)) == 1500
    assert all(is_valid(scene) for scene in scenes)
    assert {split_of(scene) for scene in scenes} == {split}
    assert scenes == sample(1500, split, seed=5, habits=habits)
    assert scenes[:10] != sample(10, split, seed=6, habits=habits)


def test_streams_share_few_scenes():
    assert len(set(sample(3000, seed=5)) & set(sample(3000, seed=5, stream=1))) < 60


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
