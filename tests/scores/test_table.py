"""The table of scores: files, notes, and the rows of evaluation entries."""

import math
from dataclasses import replace

import pytest

from interlace.core.errors import DataError
from interlace.scores import ScoreTable, table_of_entries
from study_rows import row


def test_entries_become_a_row_for_each_metric():
    about = {"task": "mlqa", "metric": "f1", "language": "de", "score": 50.0, "low": 40.0}
    scales = {"exact": {"unit": "exact", "greater_is_better": False}}
    entry = {**about, "scores": {"f1": 50.0, "exact": 30.0}, "scales": scales}
    main, other = table_of_entries([entry], run="r")
    assert (main.metric, main.main, main.score, main.low, main.run) == ("f1", True, 50, 40, "r")
    assert (other.metric, other.main, other.score, other.low) == ("exact", False, 30.0, None)
    assert (main.unit, other.unit, other.greater_is_better) == ("%", "exact", False)
    [missing] = table_of_entries([{**entry, "score": None, "scores": {}}])
    assert math.isnan(missing.score)
    with pytest.raises(DataError, match=r"here, entry 2: damaged"):
        table_of_entries([entry, {"task": "pos"}], "here")


@pytest.mark.parametrize(
    ("setting", "translations", "expected"),
    [
        ("translate-test", "human", "translate-test, oracle"),
        ("translate-test", "machine", "translate-test"),
        ("translate-train", "human", "translate-train"),
        (None, None, "zero-shot"),
    ],
)
def test_translate_test_on_human_translations_is_an_oracle(setting, translations, expected):
    entry = {"task": "xnli", "metric": "accuracy", "language": "de", "score": 50.0}
    [row] = table_of_entries([{**entry, "setting": setting, "translations": translations}])
    assert row.setting == expected


def test_majority_class_is_named_by_task():
    """The class is the most frequent one over all languages, where that is stored."""
    entry = {"task": "xnli", "metric": "accuracy", "language": "de", "score": 50.0}
    rows = [{**entry, "scores": {"majority class": share}} for share in (40.0, 33.33)]
    prefix = "Accuracy of the most frequent class: xnli "
    assert table_of_entries(rows).majority_note() == f"{prefix}33.3 to 40.0 %."
    assert table_of_entries([entry]).majority_note() == ""
    known = {**rows[0], "tuning": {"chance": 25.0}}
    assert table_of_entries([known]).majority_note() == f"{prefix}25.0 %."


def test_notebooks_and_terminals_show_scores_and_the_control_characters_of_names():
    shown = row("<a\x1b\u202e", 0, "de", 50.04, low=40.0)
    page = ScoreTable([shown])._repr_html_()
    assert r"<td>&lt;A\x1b\u202e</td>" in page
    assert "<td>50.0</td><td>40.0</td><td></td>" in page
    assert page.count("<tr>") == 2
    lines = str(ScoreTable([shown])).splitlines()
    assert lines == [
        "label         task  setting    language  metric    score  low   high",
        r"<A\x1b\u202e  pos   zero-shot  de        accuracy  50.0   40.0",
    ]
    assert str(ScoreTable([shown] * 61)).endswith("\n60 of 61 scores")
    assert str(ScoreTable()) == "label  task  setting  language  metric  score  low  high"
    assert "<caption>60 of 61 scores</caption>" in ScoreTable([shown] * 61)._repr_html_()


def test_json_keeps_every_column():
    first = row("a", 0, "de", 50.0, axes={"train.steps": 5}, tuning={"rule": "last"}, low=40.0)
    data = ScoreTable([first, replace(first, score=math.nan)]).to_json()
    assert (data[0]["train.steps"], data[1]["score"]) == (5, None)
