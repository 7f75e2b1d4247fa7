"""`interlace project`: tags and names of the source on the words of the target."""

from functools import partial

import pytest

from command_line import command
from interlace.core.errors import DataError, SettingsError
from interlace.text.lines import write_lines

run = partial(command, "project")


@pytest.fixture(autouse=True)
def _text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_lines("a.en", ["Anna sees Berlin", "big"])
    write_lines("a.de", ["Berlin sieht Anna jetzt", "groß"])
    write_lines("links", ["0-2 1-1 2-0", "0-0"])
    write_lines("tags", ["PROPN VERB PROPN", "ADJ"])
    write_lines("names", ["B-PER O B-LOC", "O"])


def test_projects_tags_and_names_along_given_or_computed_alignments():
    assert run("tags", "a.en", "a.de", "links").stdout.splitlines() == [
        "PROPN VERB PROPN _",
        "ADJ",
    ]
    assert (
        run("tags", "a.en", "a.de", "links", "--missing", "X").stdout.splitlines()[0]
        == "PROPN VERB PROPN X"
    )
    assert run("names", "a.en", "a.de", "links").stdout.splitlines() == ["B-LOC O B-PER O", "O"]


def test_links_below_the_minimum_confidence_project_nothing():
    write_lines("sure", ["0.9 0.2 0.5", "0.4"])
    options = ["--confidence", "sure", "--min-confidence", "0.5"]
    assert run("tags", "a.en", "a.de", "links", *options).stdout.splitlines() == [
        "PROPN _ PROPN _",
        "_",
    ]
    with pytest.raises(SettingsError, match="must be given together"):
        run("tags", "a.en", "a.de", "links", "--min-confidence", "0.5")


def test_rejects_labels_of_another_text():
    write_lines("tags", ["PROPN VERB PROPN"])
    with pytest.raises(DataError, match="1 lines of labels, but 2 pairs"):
        run("tags", "a.en", "a.de", "links")
    write_lines("tags", ["PROPN VERB", "ADJ"])
    with pytest.raises(
        DataError, match=r"tags: line 1: 2 labels, .* 3 words \(--word-tokenizer whitespace\)$"
    ):
        run("tags", "a.en", "a.de", "links")
