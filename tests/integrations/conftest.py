"""Sentence pairs whose words are tokens of the little WordPiece vocabulary, aligned."""

import numpy as np
import pytest

import interlace as il

WORDS = (
    "the old doctor reads three letters".split(),
    "der alte Arzt liest drei Briefe".split(),
)


@pytest.fixture(scope="session")
def pairs():
    rows = np.random.default_rng(0).integers(6, size=(60, 5))
    sides = [
        [" ".join(words[number] for number in row[: 3 + row[0] % 3]) for row in rows]
        for words in WORDS
    ]
    return il.Pairs.from_lists(*sides, languages=("en", "de"), word_tokenizer="whitespace")


@pytest.fixture(scope="session")
def aligned(pairs):
    return il.align(pairs, "diagonal")


@pytest.fixture(scope="session")
def dataset(pairs):
    lines = zip(*pairs.lines(), strict=True)
    return pytest.importorskip("datasets").Dataset.from_list(
        [{"translation": {"en": source, "de": target}} for source, target in lines]
    )
