"""What the README shows runs."""

import re
import subprocess
import tomllib
from pathlib import Path

from interlace.experiments.recipe import Recipe
from toy_settings import TOY, VOCAB

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = ROOT / "docs"
(SCREEN,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)

# The same code over a smaller world, so that the test is quick.
SMALLER = f"SMALL = {TOY | VOCAB | {'train.threads': '1'}}"
SMALLER += """
import interlace.experiments.recipe
_read = interlace.experiments.recipe.read_recipe
interlace.experiments.recipe.read_recipe = lambda name, changes=None: _read(name, {**(changes or {}), **SMALL})
"""


def test_python_example_runs(python, tmp_path):
    english = "the house is old\nthe garden is big\na house in the garden\n"
    german = "das Haus ist alt\nder Garten ist groß\nein Haus in dem Garten\n"
    (tmp_path / "train.en").write_text(english * 8)
    (tmp_path / "train.de").write_text(german * 8)
    done = subprocess.run(
        [python, "-c", SMALLER + SCREEN],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "house\tHaus" in (tmp_path / "en-de.tsv").read_text()
    assert "retrieval" in done.stdout


def test_figures_are_those_of_the_results():
    def rows(page):
        lines = re.findall(r"^\| ([A-Z+-]+.*?) \|(.*)\|$", page.replace("**", ""), re.MULTILINE)
        return {name: [cell.strip() for cell in rest.split("|")] for name, rest in lines}

    measured = rows((DOCS / "results/toy.md").read_text(encoding="utf-8"))
    columns = (2, 8, 9)  # tags and retrieval zero-shot, word translation
    expected = {
        name: [measured[name][column] for column in columns]
        for name in ("MLM", "MLM+TLM", "DICT-MLM", "WEAM", "ALM", "ALM+WEAM+ALIGN-MLM")
    }
    assert (
        expected["ALM+WEAM+ALIGN-MLM"].pop() == "100.0 ± 0.0"
    )  # of words that it is trained on
    expected["ALM+WEAM+ALIGN-MLM"].append("fitted")
    held_out = measured["ALIGN-MLM, a quarter of the dictionary"]
    expected["ALIGN-MLM"] = [held_out[column] for column in columns]
    shown = {
        name: cells[1:] for name, cells in rows(README).items() if "±" in "".join(cells[1:])
    }
    assert shown == expected


def test_figures_of_make_real_are_those_of_the_results():
    def rows(page):
        lines = re.findall(r"^\| ([a-z][^|]+) \| (\d[^|]*) \| (\d[^|]*) \|", page, re.MULTILINE)
        return {
            name: (before.split(" (")[0], after.split(" (")[0]) for name, before, after in lines
        }

    shown = rows(README)
    measured = rows((DOCS / "results/adapting.md").read_text(encoding="utf-8"))
    assert len(shown) == 4
    assert shown.items() <= measured.items()


def test_recipe_is_valid():
    page = (DOCS / "training.md").read_text(encoding="utf-8")
    block, more = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    recipe = Recipe.read(tomllib.loads(block) | tomllib.loads(more))
    assert list(recipe.filters) == ["length", "ratio", "duplicates"]
    assert recipe.train.optimizer.learning_rate == 5e-5
    assert list(recipe.objectives) == ["mlm", "tlm"]


def test_the_architecture_names_every_package():
    page = (DOCS / "architecture.md").read_text(encoding="utf-8").split("## Packages")[1]
    packages = {path.parent.name for path in (ROOT / "src/interlace").glob("*/__init__.py")}
    assert packages == set(
        re.findall(r"^    (\w+) +\S", page.split("## A training step")[0], re.MULTILINE)
    )
