"""Distributions of sampled scenes: words of a topic occur together, and habits make some words frequent."""

from collections import Counter

import numpy as np

from interlace.toy import is_valid, sample, split_of


def test_scenes_with_habits_are_valid_distinct_and_in_their_split():
    scenes = sample(500, "dev", seed=3, habits=1.5)
    assert len(set(scenes)) == 500
    assert all(is_valid(scene) for scene in scenes)
    assert {split_of(scene) for scene in scenes} == {"dev"}
    assert sample(200, seed=5, habits=0.0) == sample(200, seed=5) != sample(200, seed=5, habits=0.5)


def test_streams_have_the_same_habits():
    texts = (sample(4000, seed=1, stream=stream, habits=1.0) for stream in (1, 2))
    one, other = (
        Counter(phrase.head for scene in text for _, phrase in scene.phrases()) for text in texts
    )
    words = sorted(set(one) & set(other))
    assert np.corrcoef([one[word] for word in words], [other[word] for word in words])[0, 1] > 0.97
