"""A run that was killed, or stops early, ends by the same command with the weights of one that was not interrupted."""

import json
import os
import shutil
import signal
import subprocess
import sys

import pytest
import torch

from interlace.core.errors import RunError, SettingsError
from interlace.experiments import monitoring
from interlace.experiments import pretrain as experiment
from interlace.experiments.evaluate import target_of
from interlace.experiments.export import export_model
from interlace.experiments.recipe import read_recipe
from run_records import StoppedError, about, records, stop_at, weights

# Each driver runs the recipe and kills its own process at one point; the first deletes the cache before.
KILLERS = {
    "between two checkpoints": """
def watch(step):
    if step.index == 2:
        shutil.rmtree(os.environ["INTERLACE_CACHE"])
    if step.index == 7:
        os.kill(os.getpid(), signal.SIGKILL)
""",
    "while a checkpoint is written": """
from interlace.training import checkpoint
write, calls = checkpoint.save_file, []
def save_file(tensors, path):
    write(tensors, path)
    calls.append(path)
    if len(calls) == 3:  # the weights of the second checkpoint are there, its moments are not
        os.kill(os.getpid(), signal.SIGKILL)
checkpoint.save_file = save_file
watch = lambda step: None
""",
    "while the model is exported": """
from interlace.models.backbone import Backbone
export = Backbone.save_pretrained
def save_pretrained(self, folder, *args, **options):
    export(self, folder, *args, **options)
    (folder / "model.safetensors").write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
Backbone.save_pretrained = save_pretrained
watch = lambda step: None
""",
}
DRIVER = """
import os, pathlib, shutil, signal, sys
{killer}
from interlace.experiments.recipe import read_recipe
from interlace.experiments.pretrain import pretrain
pretrain(read_recipe(sys.argv[1]), pathlib.Path(sys.argv[2]), watch)
"""


SET_BACK = """
import time
now = time.time
time.time = lambda: now() - 10**8
from interlace.__main__ import main
main()
"""


def command(recipe, into, *more, start=("-m", "interlace")):
    return [*start, "pretrain", str(recipe), "--output", str(into), *more]


@pytest.fixture
def pretrain(python, small):
    """`interlace pretrain` of the small recipe."""

    def run(into, *more, check=True, **options):
        arguments = command(small, into, *more, **options)
        return subprocess.run([python, *arguments], check=check, capture_output=True, text=True)

    return run


def losses(run):
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [(row["kind"], row["step"], row.get("losses"), row.get("scores")) for row in rows]


@pytest.mark.slow
def test_killed_runs_end_like_whole_ones(python, pretrain, small, tmp_path):
    whole = tmp_path / "whole"  # by another interpreter, which orders its sets in another way
    subprocess.run([sys.executable, *command(small, whole)], check=True, capture_output=True)
    for number, (where, killer) in enumerate(KILLERS.items()):
        run = tmp_path / f"killed-{number}"
        driver = [python, "-c", DRIVER.format(killer=killer), str(small), str(run)]
        killed = subprocess.run(driver, check=False, capture_output=True, text=True)
        assert killed.returncode == -signal.SIGKILL, (where, killed.stderr)
        assert not (run / "run.json").exists()
        for place, path in enumerate(sorted(tmp_path.rglob("*"))):
            # the clock was set back meanwhile, and is for the next run
            os.utime(path, (2**32 - place, 2**32 - place))
        again = pretrain(run, start=("-c", SET_BACK))
        assert "resuming from step" in again.stderr, where
        one, other = (
            (each / "model" / "model.safetensors").read_bytes() for each in (run, whole)
        )
        assert one == other, where
        assert losses(run) == losses(whole), where


def test_rejects_the_run_of_another_recipe(pretrain, tmp_path):
    run = tmp_path / "run"
    pretrain(run, "--set", "train.steps=2")
    other = pretrain(run, "--set", "train.steps=3", check=False)
    assert other.returncode == 2
    assert "train.steps was 2, is 3" in " ".join(other.stderr.split())
    # training does not read how it is evaluated
    pretrain(run, "--set", "train.steps=2", "--set", "evaluate.seeds=7")


def test_a_resumed_run_notices_changed_text(small, tmp_path):
    experiment.pretrain(read_recipe(str(small), {"train.steps": "4"}), tmp_path / "first")
    small.write_text(
        small.read_text().replace("size = 400", f'start = "{tmp_path}/first/model"')
    )
    with pytest.raises(StoppedError):
        experiment.pretrain(read_recipe(str(small)), tmp_path / "run", stop_at(5))
    (tmp_path / "train.en").write_text("a new line\n" + (tmp_path / "train.en").read_text())
    with pytest.raises(RunError, match=r"the text of en \(train\) changed since the run began"):
        experiment.pretrain(read_recipe(str(small)), tmp_path / "run")


@pytest.mark.parametrize("damage", ["changed", "missing"])
def test_a_finished_run_whose_model_is_not_what_was_exported(small, tmp_path, damage):
    run, recipe = tmp_path / "run", read_recipe(str(small), {"train.steps": "2"})
    experiment.pretrain(recipe, run)
    path = run / "model" / "model.safetensors"
    exported = path.read_bytes()
    if damage == "changed":
        path.write_bytes(exported[:-1] + bytes([exported[-1] ^ 1]))
    else:
        shutil.rmtree(path.parent)
    for use in (
        lambda: experiment.pretrain(recipe, run),
        lambda: target_of(str(run)),
        lambda: export_model(run, tmp_path / "exported"),
    ):
        with pytest.raises(
            RunError,
            match=rf"{run}/model: {damage}.* remove {run}/run.json .* the last checkpoint",
        ):
            use()
    (run / "run.json").unlink()
    experiment.pretrain(recipe, run)
    assert path.read_bytes() == exported


EARLY = {
    "train.evaluate_every": "2",
    "train.patience": "2",
    "train.checkpoint_every": "4",
    "train.keep": "1",
}


def table(weights):
    return next(value for name, value in weights.items() if "word_embeddings" in name)


def test_early_stopping_exports_the_best_weights_after_an_interruption_too(
    small, tmp_path, monkeypatch
):
    recipe, whole, cut = read_recipe(str(small), EARLY), tmp_path / "whole", tmp_path / "cut"

    def run(into, perplexities, watch=lambda _: None):
        given = iter(perplexities)
        monkeypatch.setattr(
            monitoring, "perplexities", lambda *_: {"perplexity/mean": next(given)}
        )
        experiment.pretrain(recipe, into, watch)

    run(whole, [10.0, 5.0, 6.0, 7.0])
    assert about(whole)["steps"] == 8
    assert "perplexity has not improved for 2 evaluations" in about(whole)["stopped"]
    assert torch.equal(table(weights(whole)), table(weights(whole, 4)))
    assert not torch.equal(table(weights(whole)), table(weights(whole, 8)))
    with pytest.raises(StoppedError):
        run(cut, [10.0, 5.0, 6.0], stop_at(7))
    run(cut, [6.0, 7.0])  # from step 4 on, where the newest checkpoint stands
    assert about(cut)["steps"] == 8
    assert torch.equal(table(weights(cut)), table(weights(whole)))
    # Without the best checkpoint nothing is exported: the last weights are others.
    (cut / "run.json").unlink()
    shutil.rmtree(cut / "checkpoints/step-00000004")
    with pytest.raises(
        RunError, match=r"step-00000004: the weights that early stopping selected are missing"
    ):
        run(cut, [])


TERMINATED = """
def watch(step):
    if step.index == 7:
        os.kill(os.getpid(), signal.SIGTERM)
"""


@pytest.mark.slow
def test_a_terminated_run_saves_and_resumes_with_wrapped_layers_and_half_precision(
    python, pretrain, small, tmp_path
):
    text = small.read_text().replace(
        'precision = "no"', 'precision = "fp16"\ngradient_checkpointing = true'
    )
    small.write_text(text.replace("checkpoint_every = 4", "checkpoint_every = 0"))
    run, whole = tmp_path / "run", tmp_path / "whole"
    driver = [python, "-c", DRIVER.format(killer=TERMINATED), str(small), str(run)]
    stopped = subprocess.run(driver, check=False, capture_output=True, text=True)
    assert stopped.returncode == 128 + signal.SIGTERM, stopped.stderr
    assert [path.name for path in (run / "checkpoints").iterdir()] == ["step-00000008"]
    assert "resuming from step 8" in pretrain(run).stderr
    pretrain(whole)
    assert [path.name for path in (run / "checkpoints").iterdir()] == ["step-00000012"]
    one, other = ((each / "model/model.safetensors").read_bytes() for each in (run, whole))
    assert one == other
    assert not [name for name in weights(run, 12) if "_orig_mod" in name]


STABLE = {
    "train.optimizer.schedule": "wsd",
    "train.optimizer.warmup": "0",
    "train.optimizer.decay_share": "0.01",  # of 6 steps: none
    "train.steps": "6",
}
DECAY = STABLE | {"train.optimizer.decay_share": "0.5", "train.steps": "8"}  # from step 5


@pytest.mark.slow
def test_a_decay_from_a_stable_run_equals_a_run_with_the_same_schedule(small, tmp_path):
    stable, decayed, whole = (tmp_path / name for name in ("stable", "decayed", "whole"))
    experiment.pretrain(read_recipe(str(small), STABLE), stable)
    start = {"train.resume_from": f"{stable}/checkpoints/step-00000004"}
    with pytest.raises(StoppedError):
        experiment.pretrain(read_recipe(str(small), DECAY | start), decayed, stop_at(6))
    shutil.rmtree(stable)  # it is not needed again
    experiment.pretrain(read_recipe(str(small), DECAY | start), decayed)
    experiment.pretrain(read_recipe(str(small), DECAY), whole)
    torch.testing.assert_close(weights(decayed), weights(whole), rtol=0, atol=0)
    steps = [row["step"] for row in records(decayed, "step")]
    assert steps == [1, 2, 3, 4, 5, 6, 7, 8]
    assert losses(decayed) == losses(whole)


@pytest.mark.slow
def test_a_run_that_stopped_early_can_be_gone_on_from(small, tmp_path, monkeypatch):
    scores = iter([5.0, 6.0, 7.0, 8.0])
    monkeypatch.setattr(
        monitoring, "perplexities", lambda *_: {"perplexity/mean": next(scores)}
    )
    experiment.pretrain(read_recipe(str(small), EARLY), tmp_path / "stopped")
    assert about(tmp_path / "stopped")["steps"] == 6
    start = {
        "train.resume_from": f"{tmp_path}/stopped/checkpoints/step-00000006",
        "train.steps": "8",
    }
    experiment.pretrain(read_recipe(str(small), start), tmp_path / "further")
    assert about(tmp_path / "further")["stopped"] == ""
    updates = records(tmp_path / "further", "step")
    assert [row["step"] for row in updates] == [1, 2, 3, 4, 5, 6, 7, 8]
    # of all updates, as the tokens, so that a report's tokens per second are right
    assert about(tmp_path / "further")["tokens"] == sum(row["tokens"] for row in updates)
    seconds = sum(row["seconds"] for row in updates)
    assert about(tmp_path / "further")["seconds"]["training"] == pytest.approx(
        seconds, abs=1e-3
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train.resume_from": "runs/nothing"}, r"resume_from: runs/nothing is not a check"),
        ({"seed": "4"}, r"seed was 3, is 4"),
        ({"train.optimizer.algorithm": "muon"}, r"algorithm was 'adamw', is 'muon'"),
        ({"train.tokens_per_update": "1024"}, r"tokens_per_update was 512, is 1024"),
        ({"train.tokens_per_micro_batch": "128"}, r"tokens_per_micro_batch was 256, is 128"),
        ({"train.steps": "2"}, r"train.steps is 2; expected more than the 2 steps"),
    ],
)
def test_rejects_a_start_that_does_not_fit(small, tmp_path, changes, message):
    experiment.pretrain(read_recipe(str(small), {"train.steps": "2"}), tmp_path / "first")
    start = {"train.resume_from": f"{tmp_path}/first/checkpoints/step-00000002"}
    with pytest.raises(SettingsError, match=message):
        experiment.pretrain(read_recipe(str(small), start | changes), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_rejects_a_start_on_other_text(small, tmp_path):
    experiment.pretrain(read_recipe(str(small), {"train.steps": "2"}), tmp_path / "first")
    start = {"train.resume_from": f"{tmp_path}/first/checkpoints/step-00000002"}
    (tmp_path / "train.en").write_text("a new line\n" + (tmp_path / "train.en").read_text())
    with pytest.raises(SettingsError, match=r"was trained on other text"):
        experiment.pretrain(read_recipe(str(small), start), tmp_path / "run")
