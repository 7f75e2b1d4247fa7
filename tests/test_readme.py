"""What the README shows runs."""

import ast
import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from interlace.api import runs
from interlace.cli import application
from interlace.experiments.recipe import Recipe
from toy_settings import TOY, VOCAB

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SCREEN, OBJECTIVE = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = re.findall(r"^    interlace (\w+) ([^#\n]*)", README, re.MULTILINE)

# The same code over a smaller world, so that the test is quick.
SMALLER = f"SMALL = {TOY | VOCAB | {'train.threads': '1'}}"
SMALLER += """
import interlace.experiments.recipe
_read = interlace.experiments.recipe.read_recipe
interlace.experiments.recipe.read_recipe = lambda name, changes=None: _read(name, {**(changes or {}), **SMALL})
"""


def test_python_example_runs(python, tmp_path):
    done = subprocess.run([python, "-c", SMALLER + SCREEN], cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    words, *scores = done.stdout.splitlines()
    assert words == "0-0 1-1 2-2 3-3 {'Haus': 16.0}"
    assert [line.split()[1] for line in scores] == ["de", "es", "hi"]
    assert (tmp_path / "runs/readme/report.html").read_text().startswith("<!doctype html>")


def test_notebook_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = {**TOY, **VOCAB, "train.threads": "1", "train.steps": "20"}
    read = runs.read_recipe
    monkeypatch.setattr(runs, "read_recipe", lambda name, changes=None: read(name, {**(changes or {}), **small}))
    cells = json.loads((ROOT / "docs" / "quickstart.ipynb").read_text(encoding="utf-8"))["cells"]
    shown, names = [], {}
    for cell in (cell for cell in cells if cell["cell_type"] == "code"):
        *lines, last = ast.parse("".join(cell["source"]).replace("steps=200", "steps=20")).body
        exec(compile(ast.Module(lines, []), "notebook", "exec"), names)  # noqa: S102 - our own notebook
        shown.append(eval(compile(ast.Expression(last.value), "notebook", "eval"), names))  # noqa: S307 - as above
    drawn, (words, tags), scores, similarity, _ = shown
    assert drawn._repr_svg_().startswith("<svg")
    assert words == {"Haus": 16.0}
    assert tags == [["DET", "NOUN", "AUX", "ADJ"]]
    assert "retrieval" in scores._repr_html_()
    assert similarity.shape == (3, 3)
    assert (tmp_path / "runs/quickstart/report.html").is_file()


def test_own_objective_can_be_registered(python, tmp_path):
    (tmp_path / "mine.py").write_text('"""Mine."""\n' + OBJECTIVE)
    command = [python, "-m", "interlace", "list", "objectives", "mine", "--code", str(tmp_path / "mine.py")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "masking" in done.stdout


def test_recipe_is_valid():
    block, more = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    recipe = Recipe.read(tomllib.loads(block) | tomllib.loads(more))
    assert list(recipe.filters) == ["length", "ratio", "duplicates"]
    assert recipe.train.optimizer.learning_rate == 5e-5
    assert list(recipe.objectives) == ["mlm", "tlm"]


@pytest.mark.parametrize(("command", "rest"), COMMANDS)
def test_commands_have_the_options(command, rest):
    shown = CliRunner().invoke(application(), [command, "--help"], env={"COLUMNS": "200"}).stdout
    for option in re.findall(r"--\w+", rest):
        assert option in shown


def test_tree_names_every_package():
    rooms = {path.parent.name for path in (Path(__file__).parents[1] / "src/interlace").glob("*/__init__.py")}
    assert rooms == set(re.findall(r"^      (\w+)/ ", README, re.MULTILINE))
