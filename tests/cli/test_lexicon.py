"""`interlace lexicon`: a dictionary from text and links, for people and for aligners to start from."""

from functools import partial

import pytest

from command_line import command
from interlace.alignment.lexicon import Lexicon
from interlace.text.lines import write_lines

run = partial(command, "lexicon")


@pytest.fixture(autouse=True)
def _text(tmp_path, monkeypatch):
    """`house` is `Haus` twice and `Heim` once; `Heim` is also `home`, as often as it is anything."""
    monkeypatch.chdir(tmp_path)
    write_lines("a.en", ["the house .", "a house .", "my house", "home , home"])
    write_lines("a.de", ["das Haus .", "ein Haus .", "mein Heim", "Heim , Heim"])
    write_lines("links", ["0-0 1-1 2-2", "0-0 1-1 2-2", "0-0 1-1", "0-0 1-1 2-2"])


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ("--min-count 2", ["house\tHaus\t2", ".\t.\t2", "home\tHeim\t2"]),
        ("--min-count 2 --words --muse", ["house\tHaus", "home\tHeim"]),
        (
            "--top 1 --words --muse",
            ["the\tdas", "house\tHaus", "a\tein", "my\tmein", "home\tHeim"],
        ),
        (
            "--mutual --words --muse",
            ["the\tdas", "house\tHaus", "a\tein", "my\tmein", "home\tHeim"],
        ),
    ],
)
def test_filter_options(options, lines):
    assert run("a.en", "a.de", "links", *options.split(" ")).stdout.splitlines() == lines


def test_lexicon_file_is_a_prior_dictionary():
    run("a.en", "a.de", "links", "--output", "words.txt")
    assert len(Lexicon.read("words.txt")) == 8
    done = command("align", "a.en", "a.de", "--aligner", "diagonal", "--priors", "words.txt")
    assert done.stdout.splitlines()[0] == "0-0 1-1 2-2"


def test_text_that_begins_with_a_score_is_no_alignments():
    write_lines("b.en", ["1-0", "the house", "the garden"] * 5)
    write_lines("b.de", ["1-0", "das Haus", "der Garten"] * 5)
    assert "house\tHaus\t5" in run("b.en", "b.de").stdout
