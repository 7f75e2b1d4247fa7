"""The section on translation: scores side by side, signatures, and what is told where nothing was translated."""

from __future__ import annotations

import json
import re

import pytest

from interlace.report import read_runs
from interlace.report.translation import translation

SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"


def row(language, bleu, seed=0, **more):
    scores = {"bleu": bleu, "chrf": 50.0, "tokenized bleu": bleu + 2, "copied words": 9.0, "length ratio": 0.985}
    about = {"task": "mt", "metric": "bleu", "unit": "BLEU", "language": language, "source": "en", "seed": seed}
    signatures = {"bleu": SIGNATURE, "tokenized bleu": "tok:moses"}
    return {**about, "score": bleu, "scores": scores, "signatures": signatures} | more


@pytest.fixture
def runs(tmp_path):
    def make(**rows):
        for name, scores in rows.items():
            (tmp_path / name).mkdir()
            (tmp_path / name / "recipe.json").write_text(json.dumps({"name": name}))
            (tmp_path / name / "run.json").write_text(json.dumps({"finished": True}))
            (tmp_path / name / "scores.json").write_text(json.dumps(scores))
        return read_runs([tmp_path / name for name in rows])

    return make


def cells(section):
    return re.findall(r"<t[hd]\b[^>]*>(.*?)</t[hd]>", str(section.body))


def test_every_system_stands_in_every_direction(runs):
    section = translation(
        runs(
            random=[row("en-de", 30.0, low=28.0, high=32.5), row("de-en", 33.0)],
            started=[row("en-de", 35.0), row("en-de", 37.0, seed=1)],
        )
    )
    found = cells(section)
    assert found[:3] == ["Direction", "System", "BLEU"]
    body = [found[at : at + 8] for at in range(8, len(found), 8)]
    assert [line[:3] for line in body] == [
        ["English – German", "random", "30.0"],
        ["English – German", "started", "36.0"],
        ["German – English", "random", "33.0"],
    ]
    assert [line[-1] for line in body] == ["28.0 to 32.5", "two seeds, 35.0 to 37.0", ""]
    assert body[0][3:7] == ["50.0", "32.0", "9.0", "0.98"]
    assert SIGNATURE in str(section.body)


def test_other_signatures_are_told_apart(runs):
    other = {"bleu": SIGNATURE.replace("13a", "zh")}
    text = str(translation(runs(one=[row("en-de", 1.0), row("en-zh", 2.0, signatures=other)])).body)
    assert "BLEU (English – Chinese)" in text
    assert "BLEU (English – German)" in text


def test_without_translations_a_sentence_says_so(runs):
    section = translation(runs(one=[{**row("de", 50.0), "task": "pos", "metric": "accuracy", "unit": "%"}]))
    assert section.lead == "No translation has been scored."
    assert cells(section) == []


def test_round_trips_stand_in_a_table_of_their_own(runs):
    trip = {"round-trip bleu": 61.0, "round-trip chrf": 70.0, "copied words": 12.0}
    about = {"task": "round_trip", "metric": "round-trip bleu", "scores": trip, "score": 61.0}
    found = cells(translation(runs(one=[row("en-de", 30.0), row("en-de", 61.0, **about)])))
    second = found[16:]
    assert second[2:5] == ["round trip", "round trip, chrF", "copied words, %"]
    assert second[6:] == ["English – German", "one", "61.0", "70.0", "12.0", ""]
