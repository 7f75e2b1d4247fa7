"""Links made elsewhere: whose they are, in which format, and what does not fit the text."""

import logging

import pytest

from interlace.aligners.pharaoh import Pharaoh
from interlace.core.errors import DataError
from little_pairs import word_pairs

PAIRS = word_pairs(["the old house", "", "a cat"], ["das alte haus", "leer", "katze"])


@pytest.fixture
def write(tmp_path):
    def write(text, name="made.links"):
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


def linked(**settings):
    return Pharaoh(**settings).fit(PAIRS).align(PAIRS).links.to_lists()


def test_one_file_is_taken_as_it_is(write):
    found = Pharaoh(links=write("2-2 0-0 1p1\n\n1-0\n")).fit(PAIRS).align(PAIRS)
    assert found.links.to_lists() == [[[0, 0], [1, 1], [2, 2]], [], [[1, 0]]]
    assert found.confidence.tolist() == [1.0] * 4


@pytest.mark.parametrize(
    ("heuristic", "expected"),
    [
        ("intersection", [[[0, 0]], [], [[1, 0]]]),
        ("union", [[[0, 0], [1, 1], [2, 2]], [], [[0, 0], [1, 0]]]),
        ("grow-diag", [[[0, 0], [1, 1], [2, 2]], [], [[0, 0], [1, 0]]]),
        ("target-to-source", [[[0, 0], [1, 1]], [], [[1, 0]]]),
    ],
)
def test_two_directions_are_symmetrised(write, heuristic, expected):
    forward, backward = (
        write("0-0 1-1\n\n1-0\n", "forward"),
        write("0-0 2-2\n\n0-0 1-0\n", "backward"),
    )
    assert linked(links=forward, backward=backward, symmetrization=heuristic) == expected


GIZA_FORWARD = """# Sentence pair (1) source length 3 target length 3 alignment score : 0.1
das alte haus
NULL ({ }) the ({ 1 }) old ({ }) house ({ 2 3 })
# Sentence pair (2) source length 0 target length 1 alignment score : 1
leer
NULL ({ 1 })
# Sentence pair (3) source length 2 target length 1 alignment score : 0.1
katze
NULL ({ }) a ({ }) cat ({ 1 })
"""
GIZA_BACKWARD = """# Sentence pair (1) source length 3 target length 3 alignment score : 0.1
the old house
NULL ({ 1 }) das ({ }) alte ({ 2 }) haus ({ 3 })
# Sentence pair (2) source length 1 target length 0 alignment score : 1

NULL ({ }) leer ({ })
# Sentence pair (3) source length 1 target length 2 alignment score : 0.1
a cat
NULL ({ 1 }) katze ({ 2 })
"""


def test_both_directions_of_giza_are_joined(write):
    """The backward file has the target in the line with NULL; the lengths of the text tell, and it is turned."""
    files = {
        "links": write(GIZA_FORWARD, "f.A3.final"),
        "backward": write(GIZA_BACKWARD, "b.A3.final"),
    }
    assert linked(links=files["links"]) == [[[0, 0], [2, 1], [2, 2]], [], [[1, 0]]]
    assert linked(**files, symmetrization="intersection") == [[[2, 2]], [], [[1, 0]]]
    assert linked(**files, symmetrization="union") == [
        [[0, 0], [1, 1], [2, 1], [2, 2]],
        [],
        [[1, 0]],
    ]


def test_a_backward_file_of_giza_is_turned_where_lengths_do_not_tell(write):
    pairs = word_pairs(["a b"], ["x y"])
    head = "# Sentence pair (1) source length 2 target length 2 alignment score : 1\n"
    forward = write(f"{head}x y\nNULL ({{ }}) a ({{ 2 }}) b ({{ }})\n", "forward")
    backward = write(f"{head}a b\nNULL ({{ 2 }}) x ({{ }}) y ({{ 1 }})\n", "backward")
    aligner = Pharaoh(links=forward, backward=backward, symmetrization="intersection")
    assert aligner.fit(pairs).align(pairs).links.to_lists() == [[[0, 1]]]


def test_drops_and_logs_links_beyond_the_text(write, caplog):
    with caplog.at_level(logging.WARNING):
        assert linked(links=write("0-0 3-1\n0-0\n1-0\n")) == [[[0, 0]], [], [[1, 0]]]
    assert "2 links beyond the end of a sentence dropped, first in line 1" in caplog.text
    assert "1 of 3 pairs lack words on a side" in caplog.text


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ("0-0\n1-0\n", {}, "alignments of 2 pairs, but the text has 3"),
        ("0-0\n0-0\n0-0\n0-0\n", {}, "alignments of 4 pairs, but the text has 3"),
        ("0-0\n\n1-zero\n", {}, "line 3, column 1: '1-zero' is not a link"),
        ("0-0\n\n1-0\n", {"format": "giza"}, "line 1: .*expected '# Sentence pair"),
        ("the old house\n", {}, "no known alignment format"),
        (
            GIZA_FORWARD.replace("das alte haus", "das haus").replace("2 3", "2"),
            {},
            "3 and 2 words, but the text has 3 and 3",
        ),
    ],
)
def test_rejects_files_that_do_not_match_the_text(write, text, settings, message):
    with pytest.raises(DataError, match=message):
        Pharaoh(links=write(text), **settings).fit(PAIRS)
