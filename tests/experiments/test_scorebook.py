"""A folder's scores are of one model: another's are refused, or make way where it is the same one trained further."""

from __future__ import annotations

import json

import pytest

from interlace.core.errors import RunError
from interlace.experiments._scorebook import Scorebook

ROW = {"task": "pos", "seed": 0, "setting": "zero-shot", "language": "de", "score": 1.0}
PLACE = ("pos", 0, "zero-shot", "de")


def put(folder, model, model_key):
    book = Scorebook(folder, model=model, model_key=model_key)
    book.put([PLACE], "key", [ROW])
    return json.loads((folder / "scores.json").read_text())


def test_rows_say_whose_they_are(tmp_path):
    [row] = put(tmp_path, "bert", "1")
    assert (row["model"], row["model_key"]) == ("bert", "1")
    [row] = put(tmp_path / "run", None, "1")
    assert "model" not in row  # a run's folder says so itself


def test_scores_of_another_checkpoint_are_refused_and_stay(tmp_path):
    before = put(tmp_path, "bert", "1")
    message = r"holds scores of 'bert', not of 'other'; choose another folder with --into, or remove .*scores\.json"
    with pytest.raises(RunError, match=message):
        Scorebook(tmp_path, model="other", model_key="2")
    assert json.loads((tmp_path / "scores.json").read_text()) == before
    Scorebook(tmp_path, model="./bert", model_key="1")  # the same under another name


def test_scores_of_a_model_before_it_was_trained_further_make_way(tmp_path, caplog):
    put(tmp_path, "bert", "1")
    book = Scorebook(tmp_path, model="bert", model_key="2")
    assert not book.holds([PLACE], "key")
    assert "scores (1) of the model as it was before make way" in caplog.text


def test_rows_that_do_not_say_stay(tmp_path):
    (tmp_path / "scores.json").write_text(json.dumps([{**ROW, "key": "key"}]))
    assert Scorebook(tmp_path, model="bert", model_key="1").holds([PLACE], "key")
