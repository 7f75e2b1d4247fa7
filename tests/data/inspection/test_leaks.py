"""Held-out lines in training text."""

from __future__ import annotations

from interlace.data.inspection.leaks import Leaks
from interlace.text import Text
from interlace.text.words.blanks import Blanks


def text(lines, language="en"):
    return Text(language, lines, Blanks().split(lines))


def numbered(row):
    return f"train:{row + 1}"


def test_held_out_lines_are_found_with_their_places():
    leaks = Leaks()
    leaks.hold_out("dev", "en").add(text(["the old doctor reads", "he works in Berlin", "he works in Berlin"]))
    leaks.hold_out("dev", "en").add(text(["nobody reads this line"]))
    leaks.hold_out("test", "de").add(text(["der alte Arzt liest"], "de"))
    leaks.close()
    leaks.meet(text(["a new line here", " he works in Berlin "]), numbered)
    leaks.meet(text(["he works in Berlin"]), numbered)
    (finding,) = leaks.findings()
    assert (finding.level, finding.count, finding.total) == ("warning", 2, 4)
    assert "dev (en)" in finding.about
    assert "2 times" in finding.about
    assert [example.where for example in finding.examples] == ["train:2"]


def test_the_same_letters_in_another_language_are_no_leak():
    leaks = Leaks()
    leaks.hold_out("dev", "en").add(text(["Berlin New York Paris"]))
    leaks.close()
    leaks.meet(text(["Berlin New York Paris"], "de"), numbered)
    assert not leaks.findings()


def test_short_lines_are_the_same_everywhere():
    leaks = Leaks()
    leaks.hold_out("dev", "en").add(text(["Yes .", ""]))
    leaks.close()
    leaks.meet(text(["Yes .", ""]), numbered)
    assert not leaks.findings()
