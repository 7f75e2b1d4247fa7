"""Exported models, and what translation needs to know of them."""

import shutil

import pytest

from interlace.core.errors import DataError, SettingsError
from interlace.experiments.evaluate import target_of
from interlace.experiments.export import export_model
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import read_recipe


def test_export_copies_the_model_of_a_finished_run(small, tmp_path):
    run = tmp_path / "run"
    pretrain(read_recipe(str(small), {"train.steps": "2"}), run)
    model = export_model(run, tmp_path / "model")
    assert (model / "config.json").read_bytes() == (run / "model/config.json").read_bytes()
    export_model(run, tmp_path / "model")  # replaces an earlier export
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("x")
    with pytest.raises(DataError, match="mine: holds"):
        export_model(run, tmp_path / "mine")
    assert (tmp_path / "mine/notes.txt").read_text() == "x"


def test_a_copied_translation_model_has_the_metadata_of_its_run(tmp_path, small):
    """Normalization, learned directions, maximum lengths of sources."""
    changes = {
        "train.steps": "2",
        "normalization.romanian": "strip",
        "objectives": '{ translation = { max_length = 24, directions = "forward" } }',
    }
    pretrain(read_recipe(str(small), changes), tmp_path / "run")
    shutil.copytree(tmp_path / "run" / "model", tmp_path / "copied")
    for path in (tmp_path / "run", tmp_path / "copied"):
        metadata = target_of(str(path)).metadata
        assert metadata.normalization.romanian == "strip"
        assert metadata.max_source_lengths == {"en-xx": 22}
        with pytest.raises(SettingsError, match="it learned en-xx"):
            metadata.check_direction("xx", "en")
