"""Exported models, and what translation needs to know of them."""

import json
import shutil

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import interlace as il
from command_line import command
from interlace.core.errors import DataError, SettingsError
from interlace.data.vocab import Vocab
from interlace.experiments.evaluate import target_of
from interlace.experiments.export import export_model, export_trimmed
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import read_recipe
from interlace.models.checkpoint_files import iter_weights
from little_checkpoints import save
from little_files import named_pipe
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
    "a pipe": named_pipe,
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


def test_a_trimmed_run_is_a_smaller_checkpoint_with_the_same_vectors(small, tmp_path):
    run = tmp_path / "run"
    pretrain(read_recipe(str(small), {"train.steps": "2"}), run)
    lines = (tmp_path / "dev.en").read_text().split("\n")
    trimmed = export_trimmed(str(run), lines, tmp_path / "trimmed")
    vocab = Vocab.load(trimmed)
    assert vocab.size < Vocab.load(run / "model").size
    for path in ("README.md", "modules.json", "1_Pooling/config.json"):
        assert (trimmed / path).read_bytes() == (run / "model" / path).read_bytes()
    weights = json.loads((trimmed / "1_WordWeights/config.json").read_text())
    blank = [vocab.begin, vocab.end, vocab.pad]
    assert [number for number, name in enumerate(weights["vocab"]) if name] == sorted(blank)
    assert len(weights["vocab"]) == vocab.size
    before, after = (il.encode(path, lines, language="en") for path in (run / "model", trimmed))
    np.testing.assert_allclose(after, before, atol=1e-6)


def test_a_trimmed_encoder_keeps_its_type_and_gets_no_head(tmp_path):
    """Nor does it lose what its configuration says of a head that is not read here."""
    folder = save("mbert", tmp_path / "start")
    model = AutoModelForSequenceClassification.from_pretrained(
        folder, num_labels=3, trust_remote_code=False
    )
    model.config.id2label = {0: "a", 1: "b", 2: "c"}
    model.half().save_pretrained(folder)
    trimmed = export_trimmed(str(folder), ["der alte Arzt"], tmp_path / "trimmed")
    names = {name: weight.dtype for name, weight in iter_weights(trimmed)}
    assert {*names} == {name for name, _ in iter_weights(folder)}
    assert {*names.values()} == {torch.float16}
    again = AutoModelForSequenceClassification.from_pretrained(trimmed, trust_remote_code=False)
    assert again.config.id2label == {0: "a", 1: "b", 2: "c"}
    inputs = AutoTokenizer.from_pretrained(trimmed, trust_remote_code=False)(
        "der alte Arzt", return_tensors="pt"
    )
    old_inputs = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)(
        "der alte Arzt", return_tensors="pt"
    )
    with torch.no_grad():
        torch.testing.assert_close(again(**inputs).logits, model(**old_inputs).logits)


@pytest.mark.parametrize("arguments", [["--trim"], ["text"]])
def test_text_and_trim_belong_together(tmp_path, arguments):
    with pytest.raises(SettingsError, match="export MODEL --trim TEXT"):
        command("export", "start", *arguments, "-o", tmp_path / "out")
