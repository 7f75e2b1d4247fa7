"""Each rule on lines worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.data.filters.control import Control
from interlace.data.filters.duplicates import Duplicates
from interlace.data.filters.empty import Empty
from interlace.data.filters.identical import IdenticalSides
from interlace.data.filters.length import Length
from interlace.data.filters.ratio import Ratio
from interlace.data.filters.script import Script
from interlace.data.filters.separator import Separator
from interlace.text import Text, TextPairs


def test_empty_sides(both, of):
    assert Empty().keep(both([("a", "b"), ("", "b"), ("a", " \u3000")])).tolist() == [True, False, False]
    assert Empty().keep(of(["a", "\t"])).tolist() == [True, False]


def test_lengths_of_every_side_count(both, of):
    rule = Length(min_words=2, max_words=3, max_characters=8)
    rows = [("a b", "c d e"), ("a", "c d"), ("a b", "c d e f"), ("a b", "cccccc dd")]
    assert rule.keep(both(rows)).tolist() == [True, False, False, False]
    assert Length(min_words=0, min_characters=2).keep(of(["", "a", "ab"])).tolist() == [False, False, True]


def test_ratios_beyond_the_slack(both):
    rows = [("a", "b b b b b"), ("a", "b b b b b b"), ("b b b b b b", "a"), ("a a a", "b b b b b b b b b")]
    assert Ratio(max_ratio=3, slack=2).keep(both(rows)).tolist() == [True, False, False, True]
    by_character = Ratio(max_ratio=2, slack=0, unit="characters")
    assert by_character.keep(both([("中文", "abcd"), ("中文", "abcde")])).tolist() == [True, False]


def test_a_single_language_has_no_ratio_and_no_copy(of):
    assert Ratio().keep(of(["a", "b"])).all()
    assert IdenticalSides().keep(of(["a", "a"])).all()


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({}, [1, 1, 1, 1, 0, 1]),
        ({"ignore_case": True}, [1, 1, 1, 1, 0, 0]),
        ({"by": "source"}, [1, 0, 1, 1, 0, 1]),
        ({"by": "target"}, [1, 1, 0, 1, 0, 1]),
        ({"by": "either"}, [1, 0, 0, 1, 0, 1]),
    ],
)
def test_duplicates(both, settings, kept):
    rows = [("a", "x"), ("a", "y"), ("b", "x"), ("y", "z"), (" a ", "x"), ("A", "X")]
    rule = Duplicates(**settings)
    assert rule.keep(both(rows)).tolist() == [bool(keep) for keep in kept]


@given(rows=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), max_size=12), cut=st.integers(0, 12))
def test_duplicates_of_either_side_are_those_of_two_sets(rows, cut):
    def pairs(part):
        sides = [[row[side] for row in part] for side in (0, 1)]
        return TextPairs(*(Text("en", lines, Ragged.of([[(0, 1)]] * len(lines), width=2)) for lines in sides))

    expected, sources, targets = [], set(), set()
    for source, target in rows:
        expected.append(source not in sources and target not in targets)
        if expected[-1]:
            sources.add(source)
            targets.add(target)
    rule = Duplicates(by="either")
    keep = rule.start()
    found = [kept for part in (rows[:cut], rows[cut:]) for kept in keep(pairs(part)).tolist()]
    assert found == expected


def test_copies(both):
    rows = [("Berlin", "berlin "), ("New York", "New York"), ("a", "b")]
    assert IdenticalSides().keep(both(rows)).tolist() == [False, False, True]
    assert IdenticalSides(ignore_case=False).keep(both(rows)).tolist() == [True, False, True]
    assert IdenticalSides(min_words=2).keep(both(rows)).tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("language", "line", "kept"),
    [
        ("en", "the cat", True),
        ("en", "кот the", True),  # three letters of six
        ("en", "коты the", False),
        ("en", "12:30 — !", True),
        ("zh", "GPT中文", False),
        ("ja", "カタカナとkanji漢字", True),
        ("hi", "नमस्ते", True),
        ("sr", "мачка", True),
        ("sr_Latn", "мачка", False),
        ("en", "", True),
    ],
)
def test_scripts(of, language, line, kept):
    assert Script().keep(of([line, "", line], language)).tolist() == [kept, True, kept]


def test_scripts_of_other_languages_can_be_given(of):
    with pytest.raises(DataError, match=r"scripts of 'tlh' are not known.*expected\.tlh"):
        Script().keep(of(["Qapla'"], "tlh"))
    assert Script(expected={"tlh": ["Latin"]}).keep(of(["Qapla'", "мачка"], "tlh")).tolist() == [True, False]


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        *(("a\tb é 中 😀 \u200d\u00a0\u3000", True), ("a\x07", False), ("caf\ufffd", False), ("a\ufeffb", False)),
        *(("\x85", False), ("\ue000", False), ("", True)),
    ],
)
def test_control_characters(both, line, kept):
    assert Control().keep(both([("fine", line), (line, "fine")])).tolist() == [kept, kept]
    assert Control(max_count=1).keep(both([("fine", line)])).all()


def test_separators(both):
    rows = [("a ||| b", "c"), ("a", "b |||"), ("a || b", "<sep>")]
    assert Separator().keep(both(rows)).tolist() == [False, False, True]
    assert Separator(marks=["<sep>", "|||"]).keep(both(rows)).tolist() == [False, False, False]


def test_nobody_knows_the_script_of_a_language_of_ones_own_making():
    assert Script().scripts("en") == {"Latin"}
    assert Script().scripts("en_x") == Script().scripts("en-x-inv") == frozenset()
    assert Script(expected={"en_x": ["Armenian"]}).scripts("en_x") == {"Armenian"}
