import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.text.normalization import Normalization

LINES = st.lists(
    st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=12),
    max_size=6,
)


@pytest.mark.parametrize(
    "line", ["ţară şi Ţară Şi", unicodedata.normalize("NFD", "ţară şi Ţară Şi")]
)
def test_romanian_letters(line):
    assert Normalization(romanian="comma").lines([line], "ro") == ["țară și Țară Și"]
    assert Normalization(romanian="strip").lines([line], "ro") == ["tara si Tara Si"]


@given(LINES, st.sampled_from(["NFC", "NFKC", "none"]), st.booleans(), st.booleans())
def test_lines_do_not_touch_each_other(lines, form, lower_case, remove_accents):
    settings = Normalization(
        form=form, lower_case=lower_case, remove_accents=remove_accents, romanian="comma"
    )
    assert settings.lines(lines, "ro") == [settings.text(line, "ro") for line in lines]


@pytest.mark.parametrize(
    ("settings", "lines", "expected"),
    [
        ({}, ["cafe\u0301", "ﬁn"], ["café", "ﬁn"]),
        ({"form": "NFKC"}, ["ﬁn ①"], ["fin 1"]),
        (  # as in XLM's code
            {"lower_case": True, "remove_accents": True},
            ["Ärger ÇA Ñandú", "Việt Nam", "Ёж"],
            ["arger ca nandu", "viet nam", "еж"],
        ),
        ({"remove_accents": True}, ["한국"], ["한국"]),
        ({"romanian": "strip"}, ["şişe în"], ["şişe în"]),
    ],
)
def test_lines_are_normalized(settings, lines, expected):
    assert Normalization(**settings).lines(lines, "tr") == expected
