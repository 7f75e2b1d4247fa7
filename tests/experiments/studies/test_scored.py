"""A finished cell is scored again once its model or its test files hold something else, and only then."""

import json

import pytest

from interlace.experiments.studies import read_study
from interlace.experiments.studies.running import run_study

pytestmark = pytest.mark.usefixtures("stand_in")

RECIPE = """
name = "plain"
data_root = "ROOT"
[evaluate]
targets = ["de"]
[evaluate.tasks.retrieval]
files = "{split}.{language}"
"""
STUDY = """
name = "checkpoints"
[evaluate]
tasks = ["retrieval"]
[systems.a]
recipe = "plain.toml"
model = "MODEL"
"""


@pytest.fixture
def evaluations(tmp_path):
    """Runs a study of one checkpoint; returns how often it was scored in all."""
    (tmp_path / "plain.toml").write_text(RECIPE.replace("ROOT", str(tmp_path / "data")))
    (tmp_path / "study.toml").write_text(STUDY.replace("MODEL", str(tmp_path / "model")))
    for path in ("model/model.safetensors", "model/config.json", "data/test.en", "data/test.de"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("as it was\n")

    def call():
        outcome = run_study(*read_study(str(tmp_path / "study.toml")), tmp_path / "out")
        assert outcome.failed == {}
        found = (tmp_path / "out" / "cells" / "a" / "calls.jsonl").read_text().splitlines()
        return [json.loads(line)["arguments"][0] for line in found].count("evaluate")

    return call


@pytest.mark.parametrize(
    "path", ["model/model.safetensors", "model/config.json", "data/test.en", "data/test.de"]
)
def test_changed_files_are_scored_again(evaluations, tmp_path, path):
    evaluations()
    (tmp_path / path).write_text("another\n")
    assert [evaluations(), evaluations()] == [2, 2]


def test_retrained_shared_model_is_scored_again(grid, tmp_path):
    """Two systems with one pre-training: the second scores the first one's model."""
    second = {"systems.b.recipe": "tiny/mlm", "systems.b.set.evaluate.tasks.retrieval.layer": "1"}
    changes = {"seeds": "[0]", **second}

    def call():
        assert run_study(*read_study(str(grid), changes), tmp_path / "out").failed == {}
        found = (tmp_path / "out" / "cells" / "b,seed=0" / "calls.jsonl").read_text().splitlines()
        return [json.loads(line)["arguments"][0] for line in found]

    assert call() == ["evaluate"]
    model = tmp_path / "out" / "cells" / "a,seed=0" / "model"
    model.mkdir()
    (model / "model.safetensors").write_text("other weights")
    assert call() == ["evaluate"] * 2
    (model / "model.safetensors").write_text("weights of another training")
    assert call() == ["evaluate"] * 3
