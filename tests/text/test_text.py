import numpy as np
import pytest

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.text import Text, TextPairs

MASK = np.array([True, False, True])


def text(lines):
    words = Ragged.of([[(0, len(line))] if line else [] for line in lines], width=2)
    tags = {"pos": [["X"] if line else [] for line in lines]}
    return Text(
        "en", lines, words, "one", tags, list("abc"), [(0, 1), (0, 2), (0, 3)], {"mended": 1}
    )


def test_all_that_belongs_to_a_line_or_pair_goes_with_it():
    kept = text(["one", "", "three"]).where(MASK)
    assert kept.lines == ["one", "three"]
    assert kept.words.to_lists() == [[[0, 3]], [[0, 5]]]
    assert kept.tags == {"pos": [["X"], ["X"]]}
    assert (kept.labels, kept.answers) == (["a", "c"], [(0, 1), (0, 3)])
    assert (kept.language, kept.word_tokenizer, kept.notes) == ("en", "one", {"mended": 1})
    links = Ragged.of([[(0, 0)], [], [(0, 0)]], width=2)
    pairs = TextPairs(text([*"abc"]), text([*"xyz"]), links, [*"123"])
    kept = pairs.where(MASK)
    assert (kept.source.lines, kept.labels) == (["a", "c"], ["1", "3"])
    assert kept.links.lengths.tolist() == [1, 1]


def test_lines_that_cannot_be_text_are_refused():
    with pytest.raises(DataError, match="line 2 contains a line feed: 'two\\\\nthree'"):
        Text.of(["one", "two\nthree"])
    with pytest.raises(DataError, match="1 source lines, but 2 target lines"):
        TextPairs.of(["a"], ["x", "y"])
