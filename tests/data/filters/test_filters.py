"""Each filter, and chains of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.errors import DataError, SettingsError
from interlace.core.ragged import Ragged
from interlace.data.filters import FILTERS, FilterChain, build_filters
from interlace.data.filters.control import Control
from interlace.data.filters.duplicates import Duplicates, HashSet, line_hashes
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


EVERY = pytest.mark.parametrize("name", FILTERS.names())
ROWS = [("the cat", "die Katze"), ("", "x"), ("the cat", "die Katze"), ("a", "a b c d e f g h i j"), ("|||", "\x07")]


@EVERY
def test_members_say_what_they_drop(name):
    assert FILTERS.build(name).name == name
    assert FILTERS.summary(name).startswith("Drops ")
    for field in FILTERS.get(name).model_fields.values():
        assert field.description


@EVERY
def test_lines_and_pairs_get_a_verdict_each(name, of, both):
    rule = FILTERS.build(name)
    for chunk in (of([source for source, _ in ROWS]), both(ROWS), of([]), both([])):
        verdicts = rule.keep(chunk)
        assert verdicts.dtype == np.bool_
        assert verdicts.shape == (len(chunk),)


@EVERY
def test_chunks_make_no_difference(name, both):
    rule = FILTERS.build(name)
    whole, keep = rule.keep(both(ROWS)), rule.start()
    parts = [keep(both(part)) for part in (ROWS[:2], ROWS[2:4], ROWS[4:])]
    assert whole.tolist() == np.concatenate(parts).tolist()


def test_a_line_is_counted_by_the_first_rule_that_it_breaks(both):
    sieve = FilterChain(build_filters({"identical": {}, "length": {"max_words": 2}, "duplicates": {}}))
    rows = [("a b c", "a b c"), ("a b c", "d"), ("x", "y"), ("x", "y"), ("left", "out")]
    among = np.array([True, True, True, True, False])
    assert sieve.keep(both(rows), among).tolist() == [False, False, True, False, False]
    assert sieve.dropped == {"identical": 1, "length": 1, "duplicates": 1}


def test_what_was_dropped_before_does_not_make_a_duplicate(both):
    rows = [("x", "y y y y y y y y y y"), ("x", "y")]
    sieve = FilterChain(build_filters({"ratio": {}, "duplicates": {"by": "source"}}))
    assert sieve.keep(both(rows), np.ones(2, np.bool_)).tolist() == [False, True]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"lenght": {}}, "no filter 'lenght'; did you mean 'length'"),
        ({"length": {"max_word": 3}}, "filters.length: unknown key 'max_word'; did you mean 'max_words'"),
        ({"length": {"min_words": 9, "max_words": 3}}, "min_words = 9 is more than max_words = 3"),
        ({"ratio": {"max_ratio": 0.5}}, "filters.ratio: max_ratio: .*greater than or equal to 1"),
    ],
)
def test_wrong_rules_are_explained(rules, message):
    with pytest.raises(SettingsError, match=message):
        build_filters(rules)


@given(st.lists(st.lists(st.integers(0, 40), max_size=15), max_size=10))
def test_it_is_a_set(chunks):
    seen, known = HashSet(), set()
    for chunk in chunks:
        keys = np.array(chunk, np.uint64)
        assert seen.has(keys).tolist() == [key in known for key in chunk]
        expected = []
        for key in chunk:
            expected.append(key not in known)
            known.add(key)
        assert seen.add(keys).tolist() == expected
        assert len(seen) == len(known)


def test_hashes_are_the_same_everywhere():
    assert line_hashes(["a", "", "中"]).tolist() == [3405396810240292928, 13020603013274838756, 14628826945721186137]
    assert len(set(line_hashes(map(str, range(10_000))).tolist())) == 10_000
