"""One toy corpus for all tests that train a shipped recipe, so that it is written, split and encoded only once."""

from __future__ import annotations

WORLD = {
    "world.sentences": "300",
    "world.pairs": "200",
    "world.labelled": "20",
    "world.nli": "20",
    "world.questions": "5",
    "world.dev": "120",
    "world.test": "20",
}
VOCAB = {"vocab.size": "1800"}  # enough for some words of a dictionary to be whole
SHORT = {"train.steps": "2", "train.tokens_per_batch": "512", "train.threads": "1", "train.evaluate_tokens": "512"}
