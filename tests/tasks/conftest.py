"""A vocabulary in which a few words are whole and others fall into letters, and tiny models over it."""

import pytest

from interlace.data.vocab import Vocab
from interlace.models.build import from_shape
from interlace.models.settings import Shape

WORDS = ["the", "doctor", "reads", "letters", "der", "arzt", "liest", "briefe"]


@pytest.fixture(scope="session")
def vocab():
    return Vocab.learn(
        {"en": [" ".join(WORDS[:4])] * 20, "de": [" ".join(WORDS[4:])] * 20}, size=400
    )


@pytest.fixture(scope="session")
def model(vocab):
    """Makes a model from the languages it has embeddings for."""

    def make(*languages, **changes):
        settings = {
            "layers": 3,
            "width": 16,
            "heads": 2,
            "max_length": 48,
            "dropout": 0.0,
            "attention_dropout": 0.0,
        }
        return from_shape(Shape(**(settings | changes)), vocab, languages, seed=0)

    return make
