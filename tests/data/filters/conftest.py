from __future__ import annotations

import pytest

from interlace.text import Text, TextPairs
from interlace.text.word_tokenizers import WORD_TOKENIZERS


def text(lines, language="en", word_tokenizer="whitespace"):
    return Text(language, list(lines), WORD_TOKENIZERS.build(word_tokenizer).split(lines), word_tokenizer)


@pytest.fixture
def of():
    """Lines of one language as `Text`."""
    return text


@pytest.fixture
def both():
    """Rows of (source, target) as `TextPairs`."""

    def make(rows, languages=("en", "de")):
        sources, targets = zip(*rows, strict=True) if rows else ((), ())
        return TextPairs(text(sources, languages[0]), text(targets, languages[1]))

    return make
