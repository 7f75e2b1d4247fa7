"""The scores of a folder are of one model and identified by four columns."""

import json
from dataclasses import replace

import pytest

from interlace.core.errors import RunError
from interlace.experiments.score_store import ScoreIdentity, ScoreStore

ROW = {
    "task": "pos",
    "seed": 0,
    "setting": "zero-shot",
    "language": "de",
    "metric": "f1",
    "score": 1.0,
}
PLACE = ("pos", 0, "zero-shot", "de")
IDENTITY = ScoreIdentity("1", "settings", 1, "files")


def put(folder, model, model_key):
    store = ScoreStore(folder, model=model, model_key=model_key)
    store.put([PLACE], replace(IDENTITY, model_key=model_key), [ROW])
    return json.loads((folder / "scores.json").read_text())


@pytest.mark.parametrize(
    ("column", "value"),
    [("model_key", "2"), ("settings_key", "x"), ("scoring_version", 2), ("files_key", "x")],
)
def test_each_column_identifies_a_score(column, value):
    changed = replace(IDENTITY, **{column: value})
    assert not changed.matches(IDENTITY.columns)
    assert changed.columns["key"] != IDENTITY.columns["key"]
    assert (changed.outcomes_key == IDENTITY.outcomes_key) == (column == "files_key")


def test_unknown_files_match_any():
    assert replace(IDENTITY, files_key="").matches(IDENTITY.columns)


def test_scores_with_other_settings_are_dropped(tmp_path, caplog):
    put(tmp_path, "bert", "1")
    store = ScoreStore(tmp_path, model="bert", model_key="1")
    store.drop("pos", [replace(IDENTITY, settings_key="others")])
    assert not store.rows_of(IDENTITY)
    assert "discarding 1 scores of pos with other settings" in caplog.text


def test_scores_of_another_checkpoint_are_refused_and_kept(tmp_path):
    before = put(tmp_path, "bert", "1")
    with pytest.raises(RunError, match=r"holds scores of 'bert', not of 'other'.*scores\.json"):
        ScoreStore(tmp_path, model="other", model_key="2")
    assert json.loads((tmp_path / "scores.json").read_text()) == before
    ScoreStore(tmp_path, model="./bert", model_key="1")  # the same model under another name
