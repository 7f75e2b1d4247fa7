"""What every word splitter keeps, whichever is listed in the room."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.text.words import SPLITTERS, Splitter

LINES = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=20), max_size=5)
pytestmark = pytest.mark.parametrize("name", SPLITTERS.names())


def test_a_member_is_named_like_its_file(name):
    splitter = SPLITTERS.build(name)
    assert isinstance(splitter, Splitter)
    assert splitter.name == name
    assert SPLITTERS.summary(name).endswith(".")


@given(lines=LINES)
def test_spans_are_in_order_disjoint_full_and_trimmed(name, lines):
    words = SPLITTERS.build(name).split(lines)
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
def test_lines_are_split_alone(name, lines):
    splitter = SPLITTERS.build(name)
    assert splitter.split(lines).to_lists() == [splitter.split([line])[0].tolist() for line in lines]


def test_no_lines_have_no_words(name):
    assert len(SPLITTERS.build(name).split([])) == 0
    assert SPLITTERS.build(name).split(["", " "]).to_lists() == [[], []]
