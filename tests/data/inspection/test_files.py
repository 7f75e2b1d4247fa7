"""What is said about the bytes of a file."""

from __future__ import annotations

import gzip

import pytest

from interlace.data.inspection.files import look_at_file
from interlace.text import lines


def look(folder, data, name="a.txt"):
    (folder / name).write_bytes(data)
    report = look_at_file(folder / name)
    return report, {finding.what: finding for finding in report.findings}


def test_plain_text_has_nothing_against_it(tmp_path):
    report, found = look(tmp_path, "one\nzwei é\nlast without its feed".encode())
    assert report.facts == {"lines": 3, "bytes": 33}
    assert not found


@pytest.mark.parametrize("block", [4, 1 << 20])
def test_bad_lines_are_named_and_counted(tmp_path, block, monkeypatch):
    monkeypatch.setattr(lines, "_BLOCK", block)
    bad = "good é\n".encode() + b"caf\xe9\n" + b"fine\n" + b"na\xefve\n" * 4 + b"\xe9"
    report, found = look(tmp_path, bad)
    assert report.failed
    assert (found["bad UTF-8"].count, found["bad UTF-8"].total) == (6, 8)
    assert [(one.where, one.text) for one in found["bad UTF-8"].examples] == [
        ("a.txt:2", "café"),
        ("a.txt:4", "naïve"),
        ("a.txt:5", "naïve"),
    ]


@pytest.mark.parametrize("block", [3, 1 << 20])
def test_marks_and_line_ends(tmp_path, block, monkeypatch):
    monkeypatch.setattr(lines, "_BLOCK", block)
    report, found = look(tmp_path, b"\xef\xbb\xbfone\r\ntwo\rthree\r\nfour")
    assert not report.failed
    assert found["byte order mark"].level == "note"
    assert found["CRLF line ends"].count == 2
    assert found["stray carriage returns"].count == 1


@pytest.mark.parametrize(
    ("data", "name", "what"),
    [
        (b"", "a.txt", "empty file"),
        ("text".encode("utf-16"), "a.txt", "UTF-16"),
        (gzip.compress(b"text\n" * 1000, mtime=0)[:30], "a.gz", "unreadable"),
        (b"no gzip", "a.gz", "unreadable"),
    ],
)
def test_what_no_corpus_can_be_built_from(tmp_path, data, name, what):
    report, found = look(tmp_path, data, name)
    assert report.failed
    assert list(found) == [what]


def test_a_missing_file_names_the_nearest(tmp_path):
    (tmp_path / "train.en").write_text("x\n")
    (finding,) = look_at_file(tmp_path / "train.em").findings
    assert finding.level == "error"
    assert "did you mean 'train.en'" in finding.about
