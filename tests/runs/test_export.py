"""Exported models, and what translation needs to know of them."""

import json
import os
import shutil

import pytest

from interlace.core.errors import DataError, SettingsError
from interlace.experiments.evaluate import target_of
from interlace.experiments.export import export_model
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import read_recipe
from run_records import run_of


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


SPECIAL = {
    "a link to a file outside": lambda path: path.symlink_to("/etc/passwd"),
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to nothing": lambda path: path.symlink_to("missing"),
    "a pipe": os.mkfifo,
}


@pytest.mark.parametrize("name", ["notes.txt", "config.json"])
@pytest.mark.parametrize("kind", SPECIAL)
def test_only_regular_files_of_the_folder_are_exported(tmp_path, kind, name):
    run = run_of(tmp_path / "run")
    about = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**about, "finished": "2026-01-01"}))
    path = run / "model" / name
    path.unlink(missing_ok=True)
    SPECIAL[kind](path)
    with pytest.raises(DataError, match=f"model/{name}: "):
        export_model(run, tmp_path / "out")
    assert not (tmp_path / "out").exists()


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
