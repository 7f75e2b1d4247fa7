from __future__ import annotations

import pytest

from interlace.core.errors import DataError
from interlace.readers.joined import Joined
from interlace.text.lines import write_lines


def read(tmp_path, *lines, **settings):
    write_lines(tmp_path / "pairs", lines)
    (pairs,) = Joined(**settings).read_chunks([tmp_path / "pairs"], ["fr", "en"])
    return pairs


def sides(pairs):
    return list(zip(pairs.source.lines, pairs.target.lines, strict=True))


def test_blanks_around_the_separator_do_not_matter(tmp_path):
    pairs = read(tmp_path, "2 .   ||| 2 .  ", "un|||one", "\tdeux |||two")
    assert sides(pairs) == [("2 .", "2 ."), ("un", "one"), ("deux", "two")]
    assert (pairs.source.language, pairs.target.language, pairs.notes) == ("fr", "en", {})
    assert pairs.target.tokens(0) == ["2", "."]


def test_a_separator_inside_a_word_is_no_separator_where_one_stands_apart(tmp_path):
    assert sides(read(tmp_path, "a|||b ||| c", "a ||| b|||c", "||||| ||| |||||")) == [
        ("a|||b", "c"),
        ("a", "b|||c"),
        ("|||||", "|||||"),
    ]


def test_empty_sides_keep_their_place_and_are_counted(tmp_path):
    pairs = read(tmp_path, "a ||| b", "||| c", "d |||", "", "|||", "e ||| f")
    assert sides(pairs) == [("a", "b"), ("", "c"), ("d", ""), ("", ""), ("", ""), ("e", "f")]
    assert pairs.notes == {"pairs with an empty side": 4}


@pytest.mark.parametrize(
    ("line", "count"), [("no separator", 0), ("a || b", 0), ("a ||| b ||| c", 2), ("a|||b|||c", 2), ("x ||| |||", 2)]
)
def test_a_line_that_does_not_fall_into_two_is_named(tmp_path, line, count):
    with pytest.raises(DataError, match=rf"pairs, line 2: {count} separators '\|\|\|', expected one between"):
        read(tmp_path, "a ||| b", line)


def test_real_pairs(real_data):
    (pairs,) = Joined().read_chunks([real_data / "alignment/zhen.src-tgt"], ["zh", "en"])
    assert (len(pairs), pairs.notes) == (450, {})
