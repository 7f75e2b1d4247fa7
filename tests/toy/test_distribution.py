"""Words have a meaning by their company: what is at home in one topic is said together."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache

import numpy as np

from interlace.toy import sample
from interlace.toy.concepts import ADJECTIVES, NOUNS, VERBS


@cache
def _bags() -> list[set[str]]:
    """The concepts of each of some scenes."""
    return [
        {scene.predicate, scene.quality, scene.category, scene.time, scene.manner}
        | {part for _, phrase in scene.phrases() for part in phrase}
        for scene in sample(12_000, seed=1)
    ]


def test_neighbors_share_a_topic() -> None:
    content = [concept for concept in (*NOUNS, *VERBS, *ADJECTIVES) if concept not in ("person", "animal", "tool")]
    place = {concept: number for number, concept in enumerate(content)}
    together = np.zeros((len(content), len(content)))
    for bag in _bags():
        inside = [place[concept] for concept in bag if concept in place]
        for one in inside:
            together[one, inside] += 1
    np.fill_diagonal(together, 0)
    nouns = [concept for concept in NOUNS if concept in place and NOUNS[concept].topics]
    vectors = _association(together)[[place[noun] for noun in nouns]]
    likeness = vectors @ vectors.T - 2 * np.eye(len(nouns))
    shared = np.array([[bool(NOUNS[one].topics & NOUNS[other].topics) for other in nouns] for one in nouns])
    nearest = np.argsort(-likeness, axis=1)[:, :3]
    hits = np.take_along_axis(shared, nearest, axis=1).mean()
    assert hits > 3 * (shared.mean() - 1 / len(nouns))


def _association(together: np.ndarray) -> np.ndarray:
    """Positive pointwise mutual information, rows of length one."""
    total = together.sum()
    expected = np.outer(together.sum(1), together.sum(0)) / total
    ratio = np.divide(together, expected, out=np.ones_like(together), where=expected > 0)
    vectors = np.log(np.maximum(ratio, 1.0))
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def test_verbs_select_their_objects() -> None:
    objects = defaultdict(Counter)
    for scene in sample(12_000, seed=1):
        if scene.object is not None:
            objects[scene.predicate][scene.object.head] += 1
    assert not set(objects["drink"]) & set(objects["drive"])
    for heads in objects.values():
        assert len(heads) < 0.7 * len(NOUNS)
