from __future__ import annotations

import pytest

from interlace.core.errors import MissingDependencyError
from interlace.text.word_tokenizers import WORD_TOKENIZERS

word_tokenizer = WORD_TOKENIZERS.build("by_language")


@pytest.mark.parametrize(
    ("language", "name", "package"),
    [
        ("zh", "zh", "jieba"),
        ("zh_TW", "zh", "jieba"),
        ("jpn", "ja", "sudachipy"),
        ("th", "th", "pythainlp"),
        ("fr", "moses", "sacremoses"),
        ("km", "unicode", "numpy"),
    ],
)
def test_each_language_has_its_own(language, name, package):
    pytest.importorskip(package)
    assert word_tokenizer.of(language) == WORD_TOKENIZERS.build(name).of(language)


def test_only_the_languages_asked_for_need_their_package(monkeypatch):
    monkeypatch.setattr(
        "interlace.text.word_tokenizers.common.spans.find_spec", lambda name: None if name == "jieba" else True
    )
    assert word_tokenizer.of("fr")
    with pytest.raises(MissingDependencyError, match="pip install jieba"):
        word_tokenizer.of("zh")


def test_where_no_language_is_said_words_are_those_of_unicode():
    lines = ["l'été 三封信"]
    assert word_tokenizer.split(lines) == WORD_TOKENIZERS.build("unicode").split(lines)
