"""Several filters in turn, and what each member of the room keeps to."""

from __future__ import annotations

import numpy as np
import pytest

from interlace.core.errors import SettingsError
from interlace.data.filters import FILTERS, FilterChain, build_filters

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
