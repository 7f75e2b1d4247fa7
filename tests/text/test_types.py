"""Word types: numbering must agree with slicing the lines by hand."""

from hypothesis import given
from hypothesis import strategies as st

from interlace.text import Text
from interlace.text.types import WordTypes
from interlace.text.word_tokenizers import WORD_TOKENIZERS

LINES = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=12),
    max_size=6,
)


def text(lines):
    return Text("en", lines, WORD_TOKENIZERS.build("unicode").split(lines), "unicode")


@given(LINES)
def test_numbers_spell_the_words_of_the_lines(lines):
    types = WordTypes()
    numbered = types.number(text(lines))
    spelt = [[types.spellings[number] for number in row] for row in numbered]
    assert spelt == [text(lines).tokens(line) for line in range(len(lines))]


def test_types_grow_over_texts_and_a_slice_is_numbered_alone():
    types = WordTypes()
    assert types.number(text(["the cat", ""])).to_lists() == [[0, 1], []]
    assert types.number(text(["a cat, the Cat"])).to_lists() == [[2, 1, 3, 0, 4]]
    assert types.spellings == ["the", "cat", "a", ",", "Cat"]
    assert types.find(["Cat", "dog"]).tolist() == [4, -1]
    whole = text(["one two", "three", "four five"])
    part = Text("en", whole.lines[1:], whole.words.slice(1, 3), "unicode")
    assert WordTypes().number(part).to_lists() == [[0], [1, 2]]
