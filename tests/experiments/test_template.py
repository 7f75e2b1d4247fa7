"""Templates of recipes read back as the recipe, and show every key."""

import tomllib

import pytest
from typer.testing import CliRunner

from interlace.cli import application
from interlace.core.errors import DataError
from interlace.experiments.recipe import RECIPES, Recipe, read_recipe
from interlace.experiments.template import recipe_template


@pytest.mark.parametrize(
    "name", {name.partition(":")[0]: name for name in RECIPES.names()}.values()
)  # one of a file
def test_reads_back_as_the_recipe(name):
    assert Recipe.read(tomllib.loads(recipe_template(name))) == read_recipe(name)


def test_defaults_have_the_values_that_they_show():
    shown, is_live = [], True
    for line in recipe_template("tiny/mlm").splitlines():
        is_live = is_live if "[" not in line[:2] else line.startswith("[")
        if is_live and not line.startswith("# ") and not line.endswith("="):
            shown.append(line.removeprefix("#"))
    read, original = Recipe.read(tomllib.loads("\n".join(shown))), read_recipe("tiny/mlm")
    for section in ("train", "model", "vocab", "corpora"):
        assert getattr(read, section) == getattr(original, section)
    assert read.objective("mlm") == original.objective("mlm")
    assert read.evaluate.task("pos") == original.evaluate.task("pos")
    assert len(shown) > 150


def test_init_prints_or_writes_a_recipe(tmp_path):
    printed = CliRunner().invoke(application(), ["init", "tiny/alm"], catch_exceptions=False)
    assert Recipe.read(tomllib.loads(printed.stdout)) == read_recipe("tiny/alm")
    mine = tmp_path / "mine.toml"
    CliRunner().invoke(application(), ["init", "tiny/alm", "-o", str(mine)], catch_exceptions=False)
    assert read_recipe(str(mine)) == read_recipe("tiny/alm")
    with pytest.raises(DataError, match="mine"):
        CliRunner().invoke(application(), ["init", "-o", str(mine)], catch_exceptions=False)
    with pytest.raises(DataError, match="did you mean 'tiny/mlm'"):
        CliRunner().invoke(application(), ["init", "tiny/mlmm"], catch_exceptions=False)


@pytest.mark.parametrize("name", ["tiny/mlm", "tiny/mlm-tlm", "tiny/weam"])
def test_a_template_for_own_text_names_its_languages_and_no_toy_data(name, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(recipe_template(name, ["hi", "en", "de"]), encoding="utf-8")
    recipe = read_recipe(str(path))
    assert recipe.toy is None
    assert recipe.data_root == str(tmp_path / "data")
    assert recipe.languages == ["hi", "en", "de"]
    assert recipe.word_tokenizer == "auto"
    assert (recipe.evaluate.source, recipe.evaluate.targets, recipe.evaluate.tasks) == (
        "hi",
        ["en", "de"],
        {},
    )
    assert all(pair.startswith("hi-") for group in recipe.corpora.values() for pair in group.pairs)
