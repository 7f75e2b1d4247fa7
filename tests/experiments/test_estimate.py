"""What a dry run says of a run, against what the run then takes."""

import pytest
import torch
from typer.testing import CliRunner

from interlace.cli import application
from interlace.experiments import estimate as estimating
from interlace.experiments.estimate import estimate
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import read_recipe
from run_records import about, weights
from toy_settings import TOY, under

SMALL = TOY | {"vocab.size": "500", "train.diagnostics.every": "0"}
SMALL |= under("model.shape", layers="1", width="32", heads="2")
SMALL |= under(
    "train",
    steps="6",
    tokens_per_update="512",
    threads="1",
    precision="no",
    evaluate_tokens="512",
)


def test_parameters_match_hand_counts():
    size = estimate(read_recipe("tiny/mlm", SMALL))
    # Gated layers of width 32 and inner size 88: 3 x 32^2 + 32^2 and 3 x 32 x 88, two norms but for the first layer,
    # one after the embedding, one at the end; the head: 32^2, a norm, a bias a subword.
    layer = 4 * 32 * 32 + 3 * 32 * 88 + 32
    assert size.parameters == size.trainable == 500 * 32 + 32 + layer + 32 + 32 * 32 + 32 + 500


def test_tokens_are_those_of_the_run(tmp_path, monkeypatch):
    """Counted without padding, as the progress line and `run.json` do."""
    monkeypatch.setattr(estimating, "_ROUNDS", 20)
    recipe = read_recipe("tiny/alm", SMALL | {"train.steps": "60"})
    tokens = estimate(recipe).tokens
    pretrain(recipe, tmp_path / "run")
    assert tokens == pytest.approx(about(tmp_path / "run")["tokens"], rel=0.1)


def test_a_dry_run_changes_nothing_of_the_run(tmp_path, monkeypatch):
    recipe = read_recipe("tiny/alm", SMALL)
    for name in ("plain", "estimated"):
        monkeypatch.setenv("INTERLACE_CACHE", str(tmp_path / f"cache-{name}"))
        if name == "estimated":
            estimate(recipe)
        pretrain(recipe, tmp_path / name)
    first, second = (weights(tmp_path / name) for name in ("plain", "estimated"))
    assert all(torch.equal(first[key], second[key]) for key in first)


def test_dry_run_prints_the_estimate_and_writes_no_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    changes = [part for key, value in SMALL.items() for part in ("--set", f"{key}={value}")]
    done = CliRunner().invoke(
        application(), ["pretrain", "tiny/mlm", "--dry-run", *changes], catch_exceptions=False
    )
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        "recipe", "model", "data", "tokens", "memory", "speed", "time",
    ]  # fmt: skip
    assert list(tmp_path.iterdir()) == []
