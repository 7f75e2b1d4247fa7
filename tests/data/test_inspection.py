"""Findings about the rows of a corpus and the bytes of its files."""

import gzip
import re

import numpy as np
import pytest

from interlace.data.filters.ratio import Ratio
from interlace.data.filters.script import Script
from interlace.data.inspection import Inspector
from interlace.data.shifts import find_shift
from interlace.readers import READERS
from interlace.text.lines import write_lines


@pytest.fixture
def look(tmp_path):
    def run(sides, reader="lines", word_tokenizer="whitespace", rules=None, **kwargs):
        paths = []
        for name, lines in sides.items():
            write_lines(tmp_path / name, lines)
            paths.append(tmp_path / name)
        inspector = Inspector(word_tokenizer, rules or {})
        languages = kwargs.pop("languages", [path.suffix[1:] for path in paths])
        report = inspector.inspect("it", READERS.build(reader), paths, languages, **kwargs)
        return report, {finding.what: finding for finding in report.findings}

    return run


def where(finding):
    return [example.where for example in finding.examples]


def test_counts_and_lengths_of_both_sides(look):
    report, found = look({"a.en": ["the cat sat", "a b"], "a.de": ["die Katze", "a"]})
    assert report.facts["rows"] == 2
    en, de = report.facts["sides"]["en"], report.facts["sides"]["de"]
    assert (en, de) == ({"words": 5, "characters": 14}, {"words": 3, "characters": 10})
    assert not found
    _, found = look({"a.en": ["x y"] * 10})
    assert found["duplicates"].count == 9
    assert where(found["duplicates"]) == ["a.en:2", "a.en:3", "a.en:4"]


@pytest.mark.parametrize("chunk", [2, 1000])
def test_every_measure_names_its_places(look, chunk, monkeypatch):
    monkeypatch.setattr("interlace.readers.CHUNK", chunk)
    files = {
        "a.en": ["the cat", "", "the cat", "a\x07", "кот", "a"],
        "a.de": ["die Katze", "leer", "die Katze", "b ||| c", "die Katze", "die Katze " * 20],
    }
    _, found = look(files, rules={"ratio": Ratio(typical=1)})
    assert {what: where(finding) for what, finding in found.items()} == {
        "duplicates": ["line 3"],
        "control": ["line 4"],
        "script": ["line 5"],
        "ratio": ["line 6"],
    }
    assert found["control"].examples[0].text == "a\\x07 | b ||| c"
    assert (found["duplicates"].count, found["duplicates"].total) == (1, 6)


@pytest.mark.parametrize(
    ("sides", "options", "what", "about", "failed"),
    [
        ({"a.en": ["кошка"]}, {"rules": {"script": Script(min_share=0)}}, None, "", False),
        ({"a.en": ["кошка"]}, {"rules": {"script": Script(min_share=0.9)}}, "script", "min_share = 0.9", False),
        ({"a.en": ["1", "2", "3"], "a.de": ["1"]}, {}, "unreadable",
         "the sides must correspond", True),
        ({"a.tsv": ["en\tde", "a\tb", "c"]}, {"reader": "tsv", "languages": ["en", "de"]}, "unreadable",
         "line 3", True),
        ({"a.tlh": ["кошка", "the cat"]}, {}, None, "", False),
        ({"a.en": ["", " "]}, {}, "no words", "", True),
    ],
)  # fmt: skip
def test_findings_about_a_whole_file(look, sides, options, what, about, failed):
    report, found = look(sides, **options)
    assert report.failed == failed
    if what is None:
        assert not found
    else:
        assert about in found[what].about


def test_characters_are_escaped_as_python_writes_them(look):
    _, found = look({"a.en": ["one\u2028two \ufffd", "\x1b\u200b\U000e0001"]})
    texts = [excerpt.text for excerpt in found["control"].examples]
    assert texts == ["one\\u2028two \ufffd", r"\x1b\u200b\U000e0001"]


@pytest.mark.parametrize(
    ("data", "name", "about"),
    [
        (b"good\ncaf\xe9\n", "a.en", r"a\.en, line 2: not valid UTF-8 at byte 4"),
        (gzip.compress(b"text\n" * 1000, mtime=0)[:30], "a.gz", "a.gz: damaged gzip file"),
        (b"x", "b.en", r"no such file; did you mean 'b\.en'"),
    ],
)
def test_files_that_are_not_text_are_unreadable(tmp_path, data, name, about):
    (tmp_path / name).write_bytes(data)
    path = tmp_path / name.replace("b.en", "b.em")
    inspector = Inspector("whitespace")
    report = inspector.inspect("it", READERS.build("lines"), [path], ["en"])
    (finding,) = report.findings
    assert (report.failed, finding.what) == (True, "unreadable")
    assert re.search(about, finding.about)


@pytest.mark.parametrize(("lost", "side"), [(1, "de"), (3, "de"), (2, "en")])
@pytest.mark.parametrize("place", [0, 250, 440])
def test_a_shift_between_the_sides_is_found_where_it_begins(look, lost, side, place):
    lengths = np.random.default_rng(0).integers(10, 200, 500)
    noise = np.random.default_rng(1).integers(-5, 6, 500)
    files = {}
    for name, widths in (("a.en", lengths), ("a.de", lengths + noise)):
        files[name] = [f"{row} ".ljust(width, "x") for row, width in enumerate(widths)]
    assert "shifted sides" not in look(files)[1]
    del files[f"a.{side}"][place : place + lost]
    _, of_files = look(files)  # the numbers of lines differ
    _, of_rows = look({name: lines[: 500 - lost] for name, lines in files.items()})
    direction = "above" if side == "de" else "below"
    for findings, name in ((of_files, r"a\.en:(\d+)"), (of_rows, r"line (\d+)")):
        finding = findings["shifted sides"]
        first, last = map(int, re.findall(name, finding.about))
        assert abs(first - 1 - place) <= 10
        assert last > 490 - lost
        assert finding.count == last - first + 1
        assert re.search(rf"{lost} lines? {direction}", finding.about)


def test_a_shift_that_ends_is_found_with_its_end():
    lengths = np.random.default_rng(0).integers(10, 200, 1000)
    noisy = lengths + np.random.default_rng(1).integers(-5, 6, 1000)
    shift = find_shift(np.delete(lengths, 700), np.delete(noisy, 300))
    assert (shift.first, shift.end, shift.offset) == (
        pytest.approx(300, abs=3),
        pytest.approx(700, abs=3),
        -1,
    )
    assert find_shift(lengths, noisy) is None
    assert find_shift(lengths, np.random.default_rng(2).permutation(noisy)) is None


@pytest.mark.parametrize("count", [0, 1, 5, 400])
def test_equal_or_few_lengths_are_not_shifted(count):
    assert find_shift(np.full(count, 7), np.full(count, 9)) is None
