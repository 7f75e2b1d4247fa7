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


@pytest.mark.parametrize("path", ["model/model.safetensors", "model/config.json"])
def test_changed_files_are_scored_again(evaluations, tmp_path, path):
    evaluations()
    (tmp_path / path).write_text("another\n")
    assert [evaluations(), evaluations()] == [2, 2]
