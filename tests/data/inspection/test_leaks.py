"""Held-out text in training text, as findings."""

from __future__ import annotations

from interlace.data.inspection.leaks import Leaks
from interlace.data.overlap import TestSet
from interlace.text import Text

TEN = "one two three four five six seven eight nine ten"


def text(*lines, language="en"):
    return Text.of(lines, language)


def numbered(row):
    return f"train:{row + 1}"


def test_held_out_lines_are_found_with_their_places():
    leaks = Leaks()
    leaks.hold_out("dev", text("the old doctor reads", "he works in Berlin", "he works in Berlin"))
    leaks.hold_out("dev", text("nobody reads this line"))
    leaks.hold_out("dev", text("der alte Arzt liest", language="de"))
    leaks.close()
    assert leaks.sets == 2
    leaks.meet(text("a new line here", " he works in Berlin "), numbered)
    leaks.meet(text("he works in Berlin"), numbered)
    (finding,) = leaks.findings()
    assert (finding.level, finding.what, finding.count, finding.total) == ("warning", "leak", 2, 4)
    assert "dev (en)" in finding.about
    assert [example.where for example in finding.examples] == ["train:2"]


def test_words_in_a_row_are_looked_for_in_test_sets_alone():
    leaks = Leaks()
    leaks.hold_out("dev", text(f"{TEN} eleven"))
    leaks.hold_out_test(TestSet("xnli (test)", "en", {"text": [f"{TEN} eleven", "something else it is"]}))
    leaks.close()
    leaks.meet(text(TEN), numbered)
    (finding,) = leaks.findings()
    assert (finding.level, finding.what, finding.count, finding.total) == ("note", "overlap", 1, 2)
    assert "8 words" in finding.about
    assert finding.examples


def test_what_is_met_whole_is_not_told_twice():
    leaks = Leaks()
    leaks.hold_out_test(TestSet("xnli (test)", "en", {"text": [TEN]}))
    leaks.close()
    leaks.meet(text(TEN), numbered)
    assert [finding.what for finding in leaks.findings()] == ["leak"]


def test_a_test_set_leaks_from_whatever_corpus_holds_it():
    leaks = Leaks()
    leaks.hold_out_test(TestSet("xnli (test)", "en", {"text": ["she works in Paris"]}))
    leaks.close()
    leaks.meet(text("she works in Paris", language="fr"), numbered)
    assert [finding.count for finding in leaks.findings()] == [1]


def test_short_lines_are_the_same_everywhere():
    leaks = Leaks()
    leaks.hold_out("dev", text("Yes .", ""))
    leaks.close()
    leaks.meet(text("Yes .", ""), numbered)
    assert not leaks.findings()
