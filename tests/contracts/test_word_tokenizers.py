"""The contract of word tokenizers, for every entry of the registry."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.errors import MissingDependencyError
from interlace.readers.common.text import plain
from interlace.text.word_tokenizers import WORD_TOKENIZERS, WordTokenizer

ANY = st.characters(exclude_categories=["Cs"], exclude_characters="\n")
LETTERS = st.sampled_from(
    "aB3é\u0301 .,'|&-\t\u3000\x01\x85\u200b中医生的ガス\u3099㍿หมออ่าน१कि😀ДОخ"
)
LINES = st.lists(st.text(ANY, max_size=20) | st.text(LETTERS, max_size=20), max_size=5)


def member(name):
    """An entry, skipped where its package is not installed."""
    try:
        WORD_TOKENIZERS.build(name)
    except MissingDependencyError as error:
        return pytest.param(name, marks=pytest.mark.skip(reason=str(error)))
    return name


pytestmark = pytest.mark.parametrize("name", [member(name) for name in WORD_TOKENIZERS.names()])


def test_is_named_like_its_module(name):
    word_tokenizer = WORD_TOKENIZERS.build(name)
    assert isinstance(word_tokenizer, WordTokenizer)
    assert word_tokenizer.name == name
    assert WORD_TOKENIZERS.summary(name).endswith(".")


@given(lines=LINES)
def test_spans_are_ordered_disjoint_nonempty_and_trimmed(name, lines):
    words = WORD_TOKENIZERS.build(name).split(lines)
    assert words.values.dtype == "int32"
    assert words.values.shape[1:] == (2,)
    assert len(words) == len(lines)
    for line, spans in zip(lines, words, strict=True):
        before = 0
        for start, end in spans.tolist():
            assert before <= start < end <= len(line)
            assert line[start:end] == line[start:end].strip()
            before = end


@given(lines=LINES)
def test_lines_are_split_independently(name, lines):
    word_tokenizer = WORD_TOKENIZERS.build(name)
    assert word_tokenizer.split(lines).to_lists() == [
        word_tokenizer.split([line])[0].tolist() for line in lines
    ]


@given(lines=LINES)
def test_every_letter_is_part_of_a_word(name, lines):
    for line, spans in zip(lines, WORD_TOKENIZERS.build(name).split(lines), strict=True):
        inside = {place for start, end in spans.tolist() for place in range(start, end)}
        assert {place for place, character in enumerate(line) if character.isalnum()} <= inside


def test_language_rules_keep_the_tokenizer_name_and_package_versions_are_listed(name):
    text = plain([["l'été", "หมออ่าน ABC。", ""]], ["fr"], name)
    assert text.word_tokenizer == name
    assert text.words == WORD_TOKENIZERS.build(name).of("fr").split(text.lines)
    package_versions = WORD_TOKENIZERS.build(name).package_versions
    assert re.fullmatch(r"(\w+ \d[\w.]*(, )?)*", package_versions)


def test_is_thread_safe(name):
    lines = ["the old doctor reads 三封信, l'été 国際連合 หมออ่านจดหมาย"] * 50
    word_tokenizer = WORD_TOKENIZERS.build(name)
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(word_tokenizer.split, [lines, lines])
    assert one == other == word_tokenizer.split(lines)
