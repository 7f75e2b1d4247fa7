"""The mean of the last checkpoints of a run, as a model that opens."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForMaskedLM
from typer.testing import CliRunner

from interlace.cli import application
from interlace.core.errors import CheckpointError, DataError, RunError, SettingsError
from interlace.experiments import export as averaging
from interlace.experiments import pretrain as recipes_pretrain
from interlace.experiments.evaluate import evaluate, target_of
from interlace.experiments.export import average_checkpoints, export_model
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import read_recipe
from interlace.experiments.run import Run
from interlace.experiments.translation import translation_model
from interlace.models.build import load
from interlace.report import write_report

SHAPE = "layers = 1, width = 16, heads = 2, max_length = 32"
WRITES = {"objectives": "{ translation = { max_length = 32 } }"}
KINDS = {
    "masked": {},
    "own tables": {**WRITES, "model.decoder.embeddings": "own"},  # BERT with language ids
    "shared": {**WRITES, "model": f'{{ shape = {{ family = "modernbert", {SHAPE} }} }}'},
}


@pytest.fixture
def run(small, tmp_path, request):
    changes = {"train.steps": "6", "train.checkpoint_every": "2", "train.keep": "3"}
    pretrain(
        read_recipe(str(small), changes | KINDS[getattr(request, "param", "masked")]),
        tmp_path / "run",
    )
    return tmp_path / "run"


def stored(run, step):
    return load_file(run / f"checkpoints/step-{step:08d}/model.safetensors")


every_kind = pytest.mark.parametrize("run", KINDS, indirect=True)


@every_kind
def test_every_weight_is_the_mean_of_the_checkpoints(run, tmp_path):
    command = ["export", str(run), "--average", "2", "--output", str(tmp_path / "mean"), "--json"]
    found = json.loads(CliRunner().invoke(application(), command, catch_exceptions=False).stdout)
    assert (found["steps"], found["run"]) == ([4, 6], "small")
    one, two = stored(run, 4), stored(run, 6)
    backbone = load(tmp_path / "mean/model")
    masked = not hasattr(backbone, "decoder")
    compared = []
    for name, tensor in backbone.named_parameters():
        before, after = one[f"backbone.{name}"], two[f"backbone.{name}"]
        learnt = not torch.equal(
            before, after
        )  # an encoder's head predicts nothing beside a decoder's, and is left
        if learnt:
            torch.testing.assert_close(tensor.data, (before + after) / 2, msg=name)
            compared.append(name)
    assert len(compared) > 10
    assert masked or sum("decoder" in name for name in compared) > 10
    if masked:
        AutoModelForMaskedLM.from_pretrained(tmp_path / "mean/model", trust_remote_code=False)


def test_interrupted_average_leaves_nothing(run, tmp_path, monkeypatch):
    into = tmp_path / "mean"

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(averaging, "write_json", killed)
    with pytest.raises(KeyboardInterrupt):
        average_checkpoints(run, into, 2)
    monkeypatch.undo()
    assert not into.exists()
    average_checkpoints(run, into, 2)
    assert (into / averaging.AVERAGED).is_file()


@pytest.fixture
def stopped(small, tmp_path, monkeypatch):
    """Makes a run of checkpoints at 2, 4, .., 10 that stops early; its best step is named."""

    def make(best, keep):
        costs = [9.0, 9.0, 9.0, 9.0, 9.0]
        costs[best // 2 - 1] = 5.0
        given = iter(costs)
        monkeypatch.setattr(
            recipes_pretrain, "perplexities", lambda *_: {"perplexity/mean": next(given)}
        )
        changes = {
            "steps": "10",
            "evaluate_every": "2",
            "patience": "5",
            "checkpoint_every": "2",
            "keep": str(keep),
        }
        pretrain(
            read_recipe(str(small), {f"train.{key}": value for key, value in changes.items()}),
            tmp_path / "run",
        )
        return tmp_path / "run"

    return make


def test_best_checkpoint_before_the_last_is_not_averaged(stopped, tmp_path, caplog):
    run = stopped(best=4, keep=2)
    assert sorted(path.name[-2:] for path in (run / "checkpoints").iterdir()) == ["04", "08", "10"]
    with pytest.raises(
        SettingsError, match=r"has 2 checkpoints \(steps 8, 10\) and the best one, step 4"
    ):
        average_checkpoints(run, tmp_path / "mean", 3)
    average_checkpoints(run, tmp_path / "mean", 2)
    assert json.loads((tmp_path / "mean/averaged.json").read_text())["steps"] == [8, 10]
    assert "early stopping chose step 4; all averaged checkpoints are later: 8, 10" in caplog.text
    assert "includes it" not in caplog.text


def test_rejects_runs_and_folders_that_cannot_be_used(run, tmp_path):
    into = tmp_path / "mean"
    for source, target, count, error, message in (
        (
            run,
            into,
            5,
            SettingsError,
            r"--average 5: .*has 3 checkpoints \(steps 2, 4, 6\).*train.keep=5",
        ),
        (tmp_path / "nowhere", into, 2, DataError, "no such folder"),
        (
            tmp_path / "nowhere",
            run / "model",
            2,
            DataError,
            "model: holds something that is no averaged run",
        ),
    ):
        with pytest.raises(error, match=message):
            average_checkpoints(source, target, count)
    weights = run / "checkpoints/step-00000004/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    with pytest.raises(CheckpointError, match="damaged"):
        average_checkpoints(run, into, 2)
    shutil.rmtree(run / "checkpoints")
    with pytest.raises(SettingsError, match="no checkpoints"):
        average_checkpoints(run, into, 1)
    (run / "run.json").unlink()
    with pytest.raises(RunError, match="not finished"):
        average_checkpoints(run, into, 1)
    assert not into.exists()


def test_averaged_run_has_the_metadata_of_its_run(tmp_path, small):
    """Normalization, learned directions, longest sources; and it is evaluated as a run is."""
    changes = {
        "train.steps": "4",
        "train.checkpoint_every": "2",
        "evaluate": '{ source = "en", targets = ["en-xx"], tasks = { mt = { files = "pairs.{language}" } } }',
        "normalization.romanian": "strip",
        "objectives": '{ translation = { max_length = 24, directions = "forward" } }',
    }
    pretrain(read_recipe(str(small), changes), tmp_path / "run")
    folder = average_checkpoints(tmp_path / "run", tmp_path / "mean", 2)
    before, after = (translation_model(str(each))[1] for each in (tmp_path / "run", folder))
    assert after.normalization.romanian == "strip"
    assert after.max_source_lengths == before.max_source_lengths == {"en-xx": 22}
    with pytest.raises(SettingsError, match="it learned en-xx"):
        after.check_direction("xx", "en")
    assert (after.name, Run(folder).is_finished) == ("small-mean-of-2", True)
    shutil.copytree(folder / "model", tmp_path / "copied")
    _, copied = translation_model(str(tmp_path / "copied"))  # even a copy of the model alone
    assert (copied.max_source_lengths, copied.normalization) == ({"en-xx": 22}, after.normalization)
    with pytest.raises(SettingsError, match="it learned en-xx"):
        copied.check_direction("xx", "en")
    assert "Mean of the checkpoints of steps 2, 4." in (folder / "model/README.md").read_text()
    (row,) = evaluate(target_of(str(folder)), ["mt"])
    assert row["language"] == "en-xx"
    page = write_report([tmp_path / "run", folder], tmp_path / "report.html").read_text()
    assert "small-mean-of-2" in page


def test_export_copies_the_model_of_a_finished_run(run, tmp_path):
    made = export_model(run, tmp_path / "model")
    assert (made / "config.json").read_bytes() == (run / "model/config.json").read_bytes()
    export_model(run, tmp_path / "model")  # replaces an earlier export
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("x")
    with pytest.raises(DataError, match="mine: holds"):
        export_model(run, tmp_path / "mine")
    assert (tmp_path / "mine/notes.txt").read_text() == "x"
