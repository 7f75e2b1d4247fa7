"""What a dry run says of a run, against what the run then takes."""

import pytest
import torch
from typer.testing import CliRunner

from interlace.cli import application
from interlace.core.errors import SettingsError
from interlace.experiments import estimate as estimating
from interlace.experiments.estimate import estimate
from interlace.experiments.pretrain import prepare_run, pretrain
from interlace.experiments.recipe import read_recipe
from interlace.training.device import accelerator_for
from interlace.training.steps import TrainingStep
from run_records import about, weights
from toy_settings import TOY, under

SMALL = TOY | {"vocab.size": "500", "train.diagnostics.every": "0"}
SMALL |= under("model.shape", layers="1", width="32", heads="2")
SMALL |= under(
    "train", steps="6", tokens_per_update="512", threads="1", precision="no", evaluate_tokens="512"
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


def test_cost_follows_the_shares_of_objectives(monkeypatch):
    """Of 400 updates of eight micro-batches, 300 are of mlm; updates of four micro-batches are measured."""
    train = {
        "train.steps": "400",
        "train.tokens_per_update": "2048",
        "train.tokens_per_micro_batch": "256",
    }
    weights = {"objectives.mlm.weight": "3", "objectives.alm.weight": "1"}
    recipe = read_recipe("tiny/alm", SMALL | train | weights | {"objectives.tlm.weight": "0"})
    run = prepare_run(recipe, accelerator_for("no", 1))
    seconds = {"mlm": (1.0, 2.0, 3.0, 4.0), "alm": (5.0, 7.0), "tlm": (100.0, 100.0)}
    steps = [
        TrainingStep(1, name, "x", {}, {}, tokens, 0.1, 1.0, second, 0.0)
        for name, tokens in (("mlm", 900), ("alm", 600), ("tlm", 1))
        for second in seconds[name]
    ]
    monkeypatch.setattr(estimating, "_measured_steps", lambda training: iter(steps))
    cost = estimating._estimate(run)
    assert cost.seconds == pytest.approx(2 * (300 * 2.5 + 100 * 6))
    assert cost.tokens == pytest.approx(2 * (300 * 900 + 100 * 600))
    assert cost.speed == pytest.approx(cost.tokens / cost.seconds)


def test_rejects_recipes_of_word_vectors():
    with pytest.raises(SettingsError, match=r"learns word vectors .* without --dry-run"):
        estimate(read_recipe("tiny/emb"))


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
