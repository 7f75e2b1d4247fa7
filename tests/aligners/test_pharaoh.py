"""Links made elsewhere: whose they are, in which format, and what does not fit the text."""

import logging

import pytest

from interlace.aligners.pharaoh import Pharaoh
from interlace.core.errors import DataError, SettingsError
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
    aligned = Pharaoh(links=write("2-2 0-0 1p1\n\n1-0\n")).fit(PAIRS).align(PAIRS)
    assert aligned.links.to_lists() == [[[0, 0], [1, 1], [2, 2]], [], [[1, 0]]]
    assert aligned.confidence.tolist() == [1.0] * 4


def test_two_directions_are_symmetrized(write):
    files = {
        "links": write("0-0 1-1\n\n1-0\n", "a"),
        "backward": write("0-0 2-2\n\n0-0\n", "b"),
    }
    assert linked(**files, symmetrization="intersection") == [[[0, 0]], [], []]
    both = [[[0, 0], [1, 1], [2, 2]], [], [[0, 0], [1, 0]]]
    assert linked(**files, symmetrization="union") == both


def test_drops_and_logs_links_beyond_the_text(write, caplog):
    with caplog.at_level(logging.WARNING):
        assert linked(links=write("0-0 3-1\n0-0\n1-0\n")) == [[[0, 0]], [], [[1, 0]]]
    assert "2 links beyond the end of a sentence dropped, first in pair 1" in caplog.text
    assert "1 of 3 pairs lack words on a side" in caplog.text


def test_rejects_files_that_do_not_match_the_text(write):
    with pytest.raises(DataError, match="alignments of 2 pairs, but the text has 3"):
        Pharaoh(links=write("0-0\n1-0\n")).fit(PAIRS)
    with pytest.raises(DataError, match="no known alignment format"):
        Pharaoh(links=write("the old house\n")).fit(PAIRS)
    with pytest.raises(SettingsError, match="set `links`"):
        Pharaoh().fit(PAIRS)
