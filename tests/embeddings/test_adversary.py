"""Adversarial training in 32 dimensions, where no search by chance succeeds."""

import numpy as np
import pytest

from interlace.core.neighbors import nearest, unit
from interlace.embeddings import EmbeddingSources, WordVectors
from interlace.embeddings.common.mapping import Mapping
from interlace.embeddings.muse import Muse

WIDTH, COUNT = 32, 500
GAME = {
    "hidden": 64,
    "epochs": 4,
    "updates": 500,
    "discriminator_steps": 2,
    "learning_rate": 0.4,
}
UNCHANGED = Mapping(normalization=[])


@pytest.fixture(scope="module")
def pair():
    """English: clusters of different sizes, narrower in each direction. xx: the same, rotated, with some noise."""
    rng = np.random.default_rng(0)
    spread = np.logspace(0, -2, WIDTH)
    words = 0.6 * rng.normal(0, 1, (COUNT, WIDTH))
    centres = rng.normal(0, 1, (6, WIDTH))
    words += centres[rng.choice(6, COUNT, p=[0.35, 0.25, 0.15, 0.12, 0.08, 0.05])]
    words *= spread
    words *= 4 / np.sqrt((words**2).sum(axis=1).mean())
    turn, axes = (np.linalg.qr(rng.normal(size=(WIDTH, WIDTH)))[0] for _ in range(2))
    english = words @ axes
    other = english @ turn + rng.normal(0, 0.04 / np.sqrt(WIDTH), (COUNT, WIDTH))
    names = [*map(str, range(COUNT))]
    return {
        language: WordVectors(language, names, vectors.astype(np.float32))
        for language, vectors in (("en", english), ("xx", other))
    }


def right(moved, english):
    """Share of the words whose nearest English vector is their own."""
    best = nearest(unit(moved), unit(english.vectors))
    return float((best == np.arange(COUNT)).mean())


def test_adversarial_training_finds_the_rotation(pair):
    learnt = Muse(adversary=GAME, mapping=UNCHANGED).fit(EmbeddingSources(vectors=pair))
    assert right(learnt.vectors["xx"].vectors, learnt.vectors["en"]) > 0.9
    told = learnt.about["mappings"]["xx"]
    assert told["criterion"][0] > told["chance"] + 0.01  # before any refinement
    assert told["converged"]


def test_a_single_run_on_languages_with_nothing_in_common_is_no_better_than_chance(
    pair, caplog
):
    noise = np.random.default_rng(3).normal(size=(COUNT, WIDTH)).astype(np.float32)
    unrelated = {"en": pair["en"], "xx": pair["xx"].with_vectors(noise)}
    game = {**GAME, "epochs": 1, "updates": 20, "restarts": 1}
    learnt = Muse(adversary=game).fit(EmbeddingSources(vectors=unrelated))
    assert learnt.about["mappings"]["xx"]["converged"] is False
    assert "xx onto en" in caplog.text
