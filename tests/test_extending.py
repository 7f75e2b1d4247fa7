"""The objective on the page about extending is a member like any other."""

import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from interlace import data, objectives
from interlace.cli import application, load_plugins
from interlace.core import registry
from interlace.data import Pairs
from interlace.experiments.preview import PreviewPair
from interlace.models.build import from_shape
from interlace.models.settings import Shape
from interlace.objectives import OBJECTIVES, Objective, Resources
from interlace.tasks import TASKS, FineTuneTask, ProbeTask

PAGE = (Path(__file__).parents[1] / "docs" / "extending.md").read_text(encoding="utf-8")
EXAMPLE = PreviewPair()
VOCAB = EXAMPLE.vocab()


@pytest.fixture
def guest(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_PLUGINS", {})
    path = tmp_path / "one_sided.py"
    path.write_text(re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1], encoding="utf-8")
    load_plugins([path])
    return path


@pytest.mark.parametrize(("masked", "language"), [("source", 0), ("target", 1)])
@pytest.mark.usefixtures("guest")
def test_only_one_side_is_predicted_and_a_model_learns_from_it(masked, language):
    objective = OBJECTIVES.build({"name": "one_sided", "masked": masked, "max_length": 32})
    assert objective.reads is Pairs
    backbone = from_shape(Shape(layers=1, width=16, heads=2, max_length=32), VOCAB, seed=0)
    prepared = objective.prepare(Resources(VOCAB, backbone.traits))
    batch = objective.batch(EXAMPLE.pairs(VOCAB, rows=8), prepared, 1, np.random.default_rng(0))
    assert len(batch.labels) == batch.counts["one_sided"] > 0
    assert set(batch.sides[batch.at]) == {language}
    objective.loss(backbone, objective.modules(backbone), batch.to(torch.device("cpu")))["one_sided"].total.backward()
    assert torch.isfinite(backbone.input_embeddings.grad).all()
    assert backbone.input_embeddings.grad.abs().sum() > 0


def test_the_page_shows_what_the_command_prints(guest):
    command, shown = re.search(r"```console\n\$ interlace (.*?)\n(.*?)```", PAGE, re.DOTALL).groups()
    arguments = [str(guest) if part == "one_sided.py" else part for part in command.split()]
    done = CliRunner().invoke(application(), arguments)
    assert done.exit_code == 0, done.output
    assert done.stdout == shown
    listed = CliRunner().invoke(application(), ["list", "objectives", "one_sided", "--code", str(guest)])
    assert "The side whose tokens are predicted." in " ".join(listed.stdout.split())


def test_the_page_names_existing_attributes_and_building_blocks():
    contract, blocks = PAGE[PAGE.index("| `reads`") :].split("# A task of your own")[0].split("## Building blocks")
    for name in re.findall(r"^\| `(\w+)", contract, re.MULTILINE):
        assert hasattr(Objective, name), name
    for name in re.findall(r"`([A-Z]\w+)`", contract):
        assert hasattr(objectives, name) or hasattr(data, name) or name == "Dictionary", name
    rows = re.findall(r"^\| (`.*?) \|", blocks, re.MULTILINE)
    for name in re.findall(r"`([\w.]+)`", " ".join(rows)):
        path = name if name.startswith("interlace") else f"interlace.objectives.{name}"
        assert pkgutil.resolve_name(path), name


def test_the_task_on_the_page_can_be_registered(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_PLUGINS", {})
    path = tmp_path / "language_id.py"
    path.write_text(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[1], encoding="utf-8")
    load_plugins([path])
    task = TASKS.build("language_id").bind(["en", "de"])
    assert task.head().classes == 2
    for language in ("en", "de"):
        (tmp_path / "text").mkdir(exist_ok=True)
        (tmp_path / f"text/train.{language}.txt").write_text("a b\nc\n")
    labels = [task.examples("train", language, VOCAB, tmp_path).labels.tolist() for language in task.languages]
    assert labels == [[0, 0], [1, 1]]
    table = PAGE[PAGE.index("| `metric`") :]
    for name in re.findall(r"^\| `(\w+)", table, re.MULTILINE):
        assert hasattr(FineTuneTask, name) or hasattr(ProbeTask, name) or name == "metric", name
