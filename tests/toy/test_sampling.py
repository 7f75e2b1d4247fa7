"""Distributions of sampled scenes: words of a topic occur together, and habits make some words frequent."""

from collections import Counter

import numpy as np

from interlace.toy import problems, sample, split_of
from interlace.toy.concepts import ADJECTIVES, CONCEPTS, NOUNS, VERBS

PLACE = {concept: number for number, concept in enumerate(("be", *CONCEPTS))}


def company(scenes):
    """How often two concepts occur in one scene; one row and one column a concept."""
    counts = np.zeros((len(PLACE), len(PLACE)))
    for scene in scenes:
        bag = {scene.predicate, scene.quality, scene.category, scene.time, scene.manner}
        bag |= {part for _, phrase in scene.phrases() for part in phrase}
        inside = [PLACE[word] for word in bag if word]
        for word in inside:
            counts[word, inside] += 1
    np.fill_diagonal(counts, 0)
    return counts


def test_neighbors_share_a_topic():
    content = [
        concept
        for concept in (*NOUNS, *VERBS, *ADJECTIVES)
        if concept not in ("person", "animal", "tool")
    ]
    inside = [PLACE[concept] for concept in content]
    together = company(sample(12_000, seed=1))[np.ix_(inside, inside)]
    expected = np.outer(together.sum(1), together.sum(0)) / together.sum()
    ratio = np.divide(together, expected, out=np.ones_like(together), where=expected > 0)
    vectors = np.log(np.maximum(ratio, 1.0))  # positive pointwise mutual information
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    nouns = [concept for concept in content if concept in NOUNS and NOUNS[concept].topics]
    vectors = vectors[[content.index(noun) for noun in nouns]]
    likeness = vectors @ vectors.T - 2 * np.eye(len(nouns))
    shared = np.array(
        [[bool(NOUNS[one].topics & NOUNS[other].topics) for other in nouns] for one in nouns]
    )
    hits = np.take_along_axis(shared, np.argsort(-likeness, axis=1)[:, :3], axis=1).mean()
    assert hits > 3 * (shared.mean() - 1 / len(nouns))


def test_scenes_with_habits_are_valid_distinct_and_in_their_split():
    scenes = sample(500, "dev", seed=3, habits=1.5)
    assert len(set(scenes)) == 500
    assert not [scene for scene in scenes if problems(scene)]
    assert {split_of(scene) for scene in scenes} == {"dev"}
    assert sample(200, seed=5, habits=0.0) == sample(200, seed=5) != sample(200, seed=5, habits=0.5)


def test_streams_have_the_same_habits():
    texts = (sample(4000, seed=1, stream=stream, habits=1.0) for stream in (1, 2))
    one, other = (
        Counter(phrase.head for scene in text for _, phrase in scene.phrases()) for text in texts
    )
    words = sorted(set(one) & set(other))
    assert np.corrcoef([one[word] for word in words], [other[word] for word in words])[0, 1] > 0.97


def test_habits_identify_words_by_their_contexts():
    even, habitual = (_identified(habits) for habits in (0.0, 1.0))
    assert habitual > even + 0.15


def _identified(habits):
    """The share of frequent words that are nearest to themselves by their company in other text."""
    one, other = (company(sample(4000, seed=1, stream=stream, habits=habits)) for stream in (1, 2))
    frequent = np.argsort(-one.sum(1))[:150]
    one, other = (np.sqrt(counts[frequent]) for counts in (one, other))
    one, other = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (one, other))
    return float(np.mean((one @ other.T).argmax(1) == np.arange(len(frequent))))
