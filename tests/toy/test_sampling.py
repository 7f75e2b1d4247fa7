"""Scenes sampled with habits, which make some words frequent."""

from interlace.toy import is_valid, sample, split_of


def test_scenes_with_habits_are_valid_distinct_and_in_their_split():
    scenes = sample(500, "dev", seed=3, habits=1.5)
    assert len(set(scenes)) == 500
    assert all(is_valid(scene) for scene in scenes)
    assert {split_of(scene) for scene in scenes} == {"dev"}
    assert sample(200, seed=5, habits=0.0) == sample(200, seed=5) != sample(200, seed=5, habits=0.5)
