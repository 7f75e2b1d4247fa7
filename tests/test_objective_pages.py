"""The pages of objectives show what the code prints, every setting, and recipes that exist."""

import re

import pytest

import objective_pages
from interlace.experiments.recipe import RECIPES
from interlace.objectives import OBJECTIVES

PAGES = sorted(objective_pages.FOLDER.glob("*.md"))
HINT = "run: python tests/support/objective_pages.py"


def test_every_objective_has_a_page_and_the_index_names_it():
    index = (objective_pages.FOLDER / "README.md").read_text(encoding="utf-8")
    assert {path.stem for path in PAGES} == {*OBJECTIVES.own_names(), "README"}
    assert all(f"({name}.md)" in index for name in OBJECTIVES.own_names())


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_pages_are_up_to_date(path):
    page = path.read_text(encoding="utf-8")
    assert page == objective_pages.up_to_date(page), HINT
    assert "```console\n$ interlace preview " in page


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_recipes_that_a_page_names_exist(path):
    named = re.findall(
        r"`(?:interlace pretrain )?((?:tiny|adapt|real|xlm|alm|weam|align-mlm)/[\w-]+(?::[\w-]+)?)",
        path.read_text("utf-8"),
    )
    assert named
    assert set(named) <= set(RECIPES.names())


@pytest.mark.parametrize("name", sorted(OBJECTIVES.own_names()))
def test_settings_on_a_page_exist(name):
    page = (objective_pages.FOLDER / f"{name}.md").read_text(encoding="utf-8")
    keys = set(re.findall(r"^\| `([\w.]+)` \|", page, re.MULTILINE))
    fields = OBJECTIVES.get(name).model_fields
    assert {key.partition(".")[0] for key in keys} == set(fields)
