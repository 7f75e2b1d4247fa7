"""One toy corpus for all tests that train a shipped recipe, so that it is written, split and encoded only once."""

from __future__ import annotations

TOY = {
    "toy.sentences": "300",
    "toy.pairs": "200",
    "toy.labelled": "20",
    "toy.nli": "20",
    "toy.questions": "5",
    "toy.dev": "120",
    "toy.test": "20",
}
VOCAB = {"vocab.size": "1800"}  # enough for some words of a dictionary to be whole
SHORT = {"train.steps": "2", "train.tokens_per_update": "512", "train.threads": "1", "train.evaluate_tokens": "512"}
