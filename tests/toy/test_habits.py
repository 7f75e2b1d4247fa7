"""Habits: how unevenly words are drawn among those that fit."""

from __future__ import annotations

from collections import Counter

import numpy as np

from interlace.toy import Scene, problems, sample, split_of
from interlace.toy.concepts import CONCEPTS


def test_scenes_stay_valid_distinct_and_in_their_split() -> None:
    scenes = sample(500, "dev", seed=3, habits=1.5)
    assert len(set(scenes)) == 500
    assert not [scene for scene in scenes if problems(scene)]
    assert {split_of(scene) for scene in scenes} == {"dev"}


def test_without_habits_nothing_changes() -> None:
    assert sample(200, seed=5, habits=0.0) == sample(200, seed=5)
    assert sample(200, seed=5, habits=0.5) != sample(200, seed=5)


def test_languages_have_the_same_habits() -> None:
    one, other = (_heads(sample(4000, seed=1, stream=stream, habits=1.0)) for stream in (1, 2))
    words = sorted(set(one) & set(other))
    assert np.corrcoef([one[word] for word in words], [other[word] for word in words])[0, 1] > 0.97


def test_words_can_be_identified_by_their_contexts() -> None:
    even, habitual = (_told_apart(habits) for habits in (0.0, 1.0))
    assert habitual > even + 0.15


def _told_apart(habits: float) -> float:
    """The share of frequent words that are nearest to themselves by their company in other text."""
    one, other = (_company(sample(4000, seed=1, stream=stream, habits=habits)) for stream in (1, 2))
    frequent = np.argsort(-one.sum(1))[:150]
    one, other = (np.sqrt(counts[frequent]) for counts in (one, other))
    one, other = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (one, other))
    return float(np.mean((one @ other.T).argmax(1) == np.arange(len(frequent))))


def _heads(scenes: list[Scene]) -> Counter[str]:
    return Counter(phrase.head for scene in scenes for _, phrase in scene.phrases())


def _bag(scene: Scene) -> list[str]:
    words = [scene.predicate, scene.quality, scene.category, scene.time, scene.manner]
    return [word for word in [*words, *(part for _, phrase in scene.phrases() for part in phrase)] if word]


def _company(scenes: list[Scene]) -> np.ndarray:
    """How often two concepts stand in one scene; one row and one column a concept, the same for all scenes."""
    place = {concept: number for number, concept in enumerate(("be", *CONCEPTS))}
    counts = np.zeros((len(place), len(place)))
    for scene in scenes:
        inside = [place[word] for word in _bag(scene)]
        for word in inside:
            counts[word, inside] += 1
    np.fill_diagonal(counts, 0)
    return counts
