"""Each filter, and chains of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.errors import DataError, SettingsError
from interlace.data.filters import FILTERS, FilterChain, build_filters
from interlace.data.filters.control import Control
from interlace.data.filters.duplicates import Duplicates, HashSet
from interlace.data.filters.identical import IdenticalSides
from interlace.data.filters.length import Length
from interlace.data.filters.ratio import Ratio
from interlace.data.filters.script import Script
from interlace.text import Text, TextPairs


def of(lines, language="en"):
    """Return lines of one language."""
    return Text.of(list(lines), language)


def both(rows):
    """Return rows of (source, target) as pairs."""
    sources, targets = zip(*rows, strict=True) if rows else ((), ())
    return TextPairs(of(sources), of(targets, "de"))


COPIES = [("a", "x"), ("a", "y"), ("b", "x"), ("y", "z"), (" a ", "x"), ("A", "X")]
LENGTHS = [
    ("a", "b b b b b"),
    ("a", "b b b b b b"),
    ("b b b b b b", "a"),
    ("a a a", "b b b b b b b b b"),
]
EQUAL = [("Berlin", "berlin "), ("New York", "New York"), ("a", "b")]


@pytest.mark.parametrize(
    ("rule", "rows", "kept"),
    [
        (
            Length(min_words=2, max_words=3),
            [("a b", "c d e"), ("a", "c d"), ("a b", "c d e f")],
            [1, 0, 0],
        ),
        (Ratio(max_ratio=3, slack=2), LENGTHS, [1, 0, 0, 1]),
        (
            Ratio(max_ratio=2, slack=0, unit="characters"),
            [("中文", "abcd"), ("中文", "abcde")],
            [1, 0],
        ),
        (Duplicates(), ["a", " a ", "A"], [1, 0, 1]),
        (Duplicates(), COPIES, [1, 1, 1, 1, 0, 1]),
        (IdenticalSides(), EQUAL, [0, 0, 1]),
        (IdenticalSides(min_words=2), EQUAL, [1, 0, 1]),
    ],
)
def test_keeps_rows(rule, rows, kept):
    chunk = of(rows) if isinstance(rows[0], str) else both(rows)
    assert rule.keep(chunk).tolist() == [bool(keep) for keep in kept]


@pytest.mark.parametrize(
    ("language", "line", "kept"),
    [
        ("en", "the cat", True),
        ("en", "кот the", True),  # three letters of six
        ("en", "коты the", False),
        ("zh", "GPT中文", False),
        ("ja", "カタカナとkanji漢字", True),
        ("sr", "мачка", True),
        ("sr_Latn", "мачка", False),
        ("en", "", True),
    ],
)
def test_scripts(language, line, kept):
    assert Script().keep(of([line, "", line], language)).tolist() == [kept, True, kept]


def test_a_language_without_known_scripts_is_named():
    with pytest.raises(DataError, match="the scripts of 'en-x-inv' are not known"):
        Script().keep(of(["Qapla'"], "en-x-inv"))


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("a\tb é 中 😀 \u200d\u00a0\u3000", True),
        ("", True),
        *((f"a{bad}", False) for bad in "\x07\ufffd\ufeff\x85\ue000"),
    ],
)
def test_control_characters(line, kept):
    assert Control().keep(both([("fine", line), (line, "fine")])).tolist() == [kept, kept]


EVERY = pytest.mark.parametrize("name", FILTERS.names())
ROWS = [
    ("the cat", "die Katze"),
    ("", "x"),
    ("the cat", "die Katze"),
    ("a", "a b c d e f g h i j"),
    ("|||", "\x07"),
]


@EVERY
def test_every_filter_is_described_and_returns_a_mask(name):
    rule = FILTERS.build(name)
    assert FILTERS.summary(name).startswith("Drops ")
    assert all(field.description for field in type(rule).model_fields.values())
    for chunk in (of([source for source, _ in ROWS]), both(ROWS), of([]), both([])):
        verdicts = rule.keep(chunk)
        assert verdicts.dtype == np.bool_
        assert verdicts.shape == (len(chunk),)
    keep = rule.start()
    parts = [keep(both(part)) for part in (ROWS[:2], ROWS[2:4], ROWS[4:])]
    assert rule.keep(both(ROWS)).tolist() == np.concatenate(parts).tolist()
    assert rule.compares_rows == (name == "duplicates")


def test_a_row_is_counted_by_the_first_filter_that_drops_it():
    rules = {"identical": {}, "length": {"max_words": 2}, "duplicates": {}}
    chain = FilterChain(build_filters(rules))
    rows = [("a b c", "a b c"), ("a b c", "d"), ("x", "y"), ("x", "y"), ("left", "out")]
    among = np.array([True, True, True, True, False])
    assert chain.keep(both(rows), among).tolist() == [False, False, True, False, False]
    assert chain.dropped == {"identical": 1, "length": 1, "duplicates": 1}


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"lenght": {}}, "no filter 'lenght'; did you mean 'length'"),
        (
            {"length": {"max_word": 3}},
            "filters.length: unknown key 'max_word'; did you mean 'max_words'",
        ),
        (
            {"length": {"min_words": 9, "max_words": 3}},
            "min_words = 9 is more than max_words = 3",
        ),
    ],
)
def test_rejects_wrong_settings(rules, message):
    with pytest.raises(SettingsError, match=message):
        build_filters(rules)


@given(st.lists(st.lists(st.integers(0, 40), max_size=15), max_size=10))
def test_hash_set_agrees_with_a_set(chunks):
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
