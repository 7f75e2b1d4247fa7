"""The entries on the page about extending work as plugins, by the commands that the page shows."""

import json
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
from interlace.experiments.recipe import read_recipe
from interlace.models.build import from_shape
from interlace.models.settings import Shape
from interlace.objectives import OBJECTIVES, Objective, Resources
from interlace.readers import READERS
from interlace.tasks import TASKS, FineTuneTask, ProbeTask
from little_checkpoints import save

PAGE = (Path(__file__).parents[1] / "docs" / "extending.md").read_text(encoding="utf-8")
OBJECTIVE, VARIANT, TASK, PROBE, ALIGNER, TRANSFORMATION, READER, ARTIFACT = re.findall(
    r"```python\n(.*?)```", PAGE, re.DOTALL
)
COMMANDS = re.findall(r"\$ interlace (.*)", PAGE)
EXAMPLE = PreviewPair()
VOCAB = EXAMPLE.vocab()


@pytest.fixture
def guest(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_PLUGINS", {})
    path = tmp_path / "one_sided.py"
    path.write_text(OBJECTIVE, encoding="utf-8")
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
    terms = objective.loss(backbone, objective.modules(backbone), batch.to(torch.device("cpu")))
    terms["one_sided"].total.backward()
    assert backbone.input_embeddings.grad.abs().sum() > 0


def test_the_page_shows_what_the_command_prints(guest):
    command, shown = re.search(
        r"```console\n\$ interlace (.*?)\n(.*?)```", PAGE, re.DOTALL
    ).groups()
    arguments = [str(guest) if part == "one_sided.py" else part for part in command.split()]
    done = CliRunner().invoke(application(), arguments)
    assert done.exit_code == 0, done.output
    assert done.stdout == shown
    listed = CliRunner().invoke(
        application(), ["list", "objectives", "one_sided", "--code", str(guest)]
    )
    assert "The side whose tokens are predicted." in " ".join(listed.stdout.split())


@pytest.mark.usefixtures("guest")
def test_the_recipe_on_the_page_trains_the_objective(tmp_path):
    (tmp_path / "mine.toml").write_text(re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)[1])
    recipe = read_recipe(str(tmp_path / "mine.toml"))
    assert list(recipe.objectives) == ["mlm", "one_sided"]
    assert recipe.corpora["pairs"].pairs == ["en-de", "en-es", "en-hi"]


def test_the_page_names_existing_attributes_and_building_blocks():
    contract, blocks = (
        PAGE[PAGE.index("| `reads`") :]
        .split("# A task of your own")[0]
        .split("## Building blocks")
    )
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
    path = tmp_path / "asks.py"
    path.write_text(TASK, encoding="utf-8")
    load_plugins([path])
    task = TASKS.build("asks")
    assert task.head().classes == 2
    (tmp_path / "text").mkdir()
    (tmp_path / "text/train.en.txt").write_text("reads .\nthe doctor reads ?\n")
    examples = task.examples("train", "en", VOCAB, tmp_path)
    assert examples.labels.tolist() == [0, 1]
    assert VOCAB.decode(examples.examples.ids[1]).strip() == "the doctor reads"
    table = PAGE[PAGE.index("| `metric`") : PAGE.index("## An aligner of your own")]
    for name in set(re.findall(r"^\| `(\w+)", table, re.MULTILINE)) - {"metric"}:
        assert hasattr(FineTuneTask, name) or hasattr(ProbeTask, name), name


def run(name, code, folder, monkeypatch, **replaced):
    """Run the page's command that reads a file with this code, in a folder."""
    monkeypatch.setattr(registry, "_PLUGINS", {})
    monkeypatch.chdir(folder)
    (folder / f"{name}.py").write_text(code, encoding="utf-8")
    (command,) = (command for command in COMMANDS if f"--code {name}.py" in command)
    done = CliRunner().invoke(
        application(), [replaced.get(part, part) for part in command.split()]
    )
    assert done.exit_code == 0, done.output
    return CliRunner()


def test_the_aligner_on_the_page_aligns_text(tmp_path, monkeypatch):
    (tmp_path / "text.en").write_text("Berlin has 3 rivers\n2 2\n")
    (tmp_path / "text.de").write_text("3 Flüsse hat berlin\n2\n")
    run("identical", ALIGNER, tmp_path, monkeypatch)
    assert (tmp_path / "made.links").read_text() == "0-3 2-0\n0-0 1-0\n"


def test_the_transformation_on_the_page_derives_text(tmp_path, monkeypatch):
    (tmp_path / "text.en").write_text("the old doctor reads\n")
    run("backwards", TRANSFORMATION, tmp_path, monkeypatch)
    derived = (tmp_path / "made/text.en").read_text()
    assert derived == "the old rotcod sdaer\n"
    assert f"`{derived.strip()}` from `the old doctor reads`" in PAGE


def test_the_probe_on_the_page_scores_a_checkpoint(tmp_path, monkeypatch):
    save("mbert", tmp_path / "model")
    (tmp_path / "text").mkdir()
    (tmp_path / "text/test.fr.txt").write_text("the old doctor\nthe young cat")
    (tmp_path / "text/test.de.txt").write_text("her big house\nher big house")
    recipe = 'name = "mine"\ndata_root = "."\n[evaluate]\ntargets = ["fr", "de"]\n[evaluate.tasks.anisotropy]\n'
    (tmp_path / "recipe.toml").write_text(recipe)
    run("anisotropy", PROBE, tmp_path, monkeypatch, MODEL="model")
    rows = json.loads((tmp_path / "scores/scores.json").read_text())
    scores = {row["language"]: row["score"] for row in rows}
    assert scores["de"] == pytest.approx(100)
    assert scores["fr"] < 99.9


def test_the_reader_on_the_page_reads_a_corpus(tmp_path, monkeypatch):
    (tmp_path / "text.csv").write_text('1,"the old, old doctor"\n2,a cat\n' * 9)
    group = '[corpora.text]\nlanguages = ["en"]\nreader = "quoted"\ntrain = "text.csv"\n'
    (tmp_path / "recipe.toml").write_text(
        f'name = "mine"\ndata_root = "."\n{group}[objectives.mlm]\nmax_length = 8\n'
    )
    run("quoted", READER, tmp_path, monkeypatch)
    (text,) = READERS.build("quoted").read_chunks([tmp_path / "text.csv"], ["en"])
    assert list(text.lines) == ["the old, old doctor", "a cat"] * 9


def test_the_artifact_on_the_page_is_built_once_for_each_content(tmp_path):
    names = {}
    exec(ARTIFACT, names)  # noqa: S102 - our own page
    path = tmp_path / "text.en"
    path.write_text("a cat\na dog\n")
    counts = names["WordCounts"](path)
    assert not counts.is_built
    assert counts.get() == {"a": 2, "cat": 1, "dog": 1}
    assert names["WordCounts"](path).is_built
    path.write_text("a dog\n")
    assert not names["WordCounts"](path).is_built


def test_the_page_names_existing_helpers_of_tests():
    table = PAGE[PAGE.index("## Test it") :]
    names = re.findall(r"`([\w.]+)`(?=[^|]*\| )", table)
    for name in [name for name in names if "." in name and "tests" not in name]:
        assert pkgutil.resolve_name(name), name
