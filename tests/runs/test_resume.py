"""A run killed at any moment ends, by the same command, with the weights of one that was not."""

import hashlib
import json
import signal
import subprocess
import sys

import pytest

# Each driver runs the recipe and kills its own process at one point.
KILLERS = {
    "between two checkpoints": """
def watch(step):
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
import os, pathlib, signal, sys
{killer}
from interlace.experiments.recipe import read_recipe
from interlace.experiments.pretrain import pretrain
pretrain(read_recipe(sys.argv[1]), pathlib.Path(sys.argv[2]), watch)
"""


def command(recipe, into, *more):
    return ["-m", "interlace", "pretrain", str(recipe), "--output", str(into), *more]


@pytest.fixture
def pretrain(python, small):
    """`interlace pretrain` of the small recipe."""

    def run(into, *more, check=True):
        return subprocess.run([python, *command(small, into, *more)], check=check, capture_output=True, text=True)

    return run


def weights(run):
    return hashlib.sha256((run / "model" / "model.safetensors").read_bytes()).hexdigest()


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
        again = pretrain(run)
        assert "resuming from step" in again.stderr, where
        assert weights(run) == weights(whole), where
        assert losses(run) == losses(whole), where


def test_a_finished_run_is_left_as_it_is(pretrain, tmp_path):
    run = tmp_path / "run"
    pretrain(run, "--set", "train.steps=2")
    before = (run / "run.json").read_text()
    again = pretrain(run, "--set", "train.steps=2")
    assert f"{run} is finished; nothing to do\n" in again.stderr  # one line, whatever the length of the path
    assert (run / "run.json").read_text() == before


def test_another_recipe_is_refused_with_what_differs(pretrain, tmp_path):
    run = tmp_path / "run"
    pretrain(run, "--set", "train.steps=2")
    other = pretrain(run, "--set", "train.steps=3", check=False)
    assert other.returncode == 2
    assert "train.steps was 2, is 3" in " ".join(other.stderr.split())
    pretrain(run, "--set", "train.steps=2", "--set", "evaluate.seeds=7")  # training does not read how it is evaluated
    assert json.loads((run / "recipe.json").read_text())["evaluate"]["seeds"] == 7
