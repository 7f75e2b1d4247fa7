"""Relative paths count from the file that names them, those of `--set` from the current folder; runs hold no others."""

import pytest

from interlace.experiments.recipe import change_recipe, read_recipe

RECIPE = """
name = "own"
data_root = "text"
[model]
start = "{start}"
[variants.one]
data_root = "../other"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with recipes; the current folder is another, with folders of the same names."""
    for name in ("recipes/text", "recipes/checkpoint", "here/text", "here/checkpoint"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "other").mkdir()
    (tmp_path / "recipes/own.toml").write_text(
        RECIPE.format(start="checkpoint").split("[variants")[0]
    )
    (tmp_path / "recipes/several.toml").write_text(RECIPE.format(start="owner/model"))
    return tmp_path / "recipes"


def test_paths_of_a_recipe_count_from_its_file(folder):
    recipe = read_recipe("../recipes/own.toml")
    assert recipe.data_root == str(folder / "text")
    assert recipe.model.start == str(folder / "checkpoint")
    variant = read_recipe(f"{folder}/several.toml:one")
    assert variant.data_root == str(folder.parent / "other")
    assert variant.model.start == "owner/model"


def test_an_extended_recipe_keeps_the_paths_of_its_own_file(folder, tmp_path):
    (tmp_path / "further.toml").write_text('name = "further"\nextends = "recipes/own.toml"\n')
    assert read_recipe(str(tmp_path / "further.toml")).data_root == str(folder / "text")


def test_paths_of_the_command_line_count_from_the_current_folder(folder, tmp_path):
    recipe = read_recipe(
        str(folder / "own.toml"),
        {"data_root": "text", "model.start": "checkpoint", "train.resume_from": "checkpoint"},
    )
    assert recipe.data_root == str(tmp_path / "here/text")
    assert recipe.model.start == str(tmp_path / "here/checkpoint")
    assert recipe.train.resume_from == str(tmp_path / "here/checkpoint")
    changed = change_recipe(recipe, {"data_root": "checkpoint"})
    assert changed.data_root == str(tmp_path / "here/checkpoint")
