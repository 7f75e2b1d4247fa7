"""`interlace phrases`: a table in Moses' format from text and links."""

from functools import partial

import pytest

from command_line import command
from interlace.core.errors import DataError, SettingsError
from interlace.text.lines import write_lines

run = partial(command, "phrases")

WORDS = [("the", "das"), ("red", "rote"), ("house", "Haus")]


@pytest.fixture(autouse=True)
def _text(tmp_path, monkeypatch):
    """Files in the working folder: two sentences, of which one stands twice, and an empty one."""
    monkeypatch.chdir(tmp_path)
    write_lines("a.en", ["the red house", "the house", "", "the house"])
    write_lines("a.de", ["das rote Haus", "das Haus", "", "das Haus"])
    write_lines("links", ["0-0 1-1 2-2", "0-0 1-1", "", "0-0 1-1"])


def pairs(done):
    return {
        tuple(line.split(" ||| ")[:2]): line.split(" ||| ")[2:]
        for line in done.stdout.splitlines()
    }


def test_phrase_table_of_a_worked_example():
    found = pairs(run("a.en", "a.de", "links"))
    assert set(found) == {
        *(*WORDS, ("the red", "das rote"), ("red house", "rote Haus")),
        *(("the red house", "das rote Haus"), ("the house", "das Haus")),
    }
    assert found["the house", "das Haus"] == ["1 1 1 1", "0-0 1-1", "2 2 2"]


def test_filter_options():
    assert set(pairs(run("a.en", "a.de", "links", "--max-length", 1))) == {*WORDS}
    often = set(pairs(run("a.en", "a.de", "links", "--min-count", 2)))
    assert often == {("the", "das"), ("house", "Haus"), ("the house", "das Haus")}
    write_lines("links", ["1-1", "1-1", "", "1-1"])
    wide = pairs(run("a.en", "a.de", "links"))
    tight = pairs(run("a.en", "a.de", "links", "--no-border-words"))
    assert ("the red", "das rote") in wide
    assert set(tight) == {("red", "rote"), ("house", "Haus")}


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ("a.en a.de links more", SettingsError, "found 4 files"),
        ("a.en a.de link", DataError, "did you mean 'links'"),
        ("a.en a.de short", DataError, "alignments of 1 pairs, but the text has 4"),
        ("a.en a.de beyond", DataError, "belong to another text"),
    ],
)
def test_rejects_files_that_do_not_match(arguments, error, said):
    write_lines("short", ["0-0"])
    write_lines("beyond", ["0-0 1-7", "0-0", "", "0-0"])
    with pytest.raises(error, match=said):
        run(*arguments.split(" "))
