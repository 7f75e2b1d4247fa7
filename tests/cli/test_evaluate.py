"""The options of `interlace evaluate`."""

import pytest

from interlace.cli.evaluate import evaluate
from interlace.core.errors import DataError, SettingsError
from interlace.training.selection import runs_of_task


@pytest.mark.parametrize("on", ["", ",", " , "])
def test_rejects_an_empty_list_of_tasks(tmp_path, on):
    with pytest.raises(SettingsError, match=r"--tasks is empty; the recipe has .*pos"):
        evaluate(str(tmp_path), on=[on], recipe="evaluation/public", into=tmp_path / "scores")
    assert not (tmp_path / "scores").exists()


def test_rejects_the_folder_of_a_study(tmp_path):
    (tmp_path / "study.json").write_text("{}")
    with pytest.raises(
        DataError, match=r"a study, not a model; its runs are the folders in .*cells, and"
    ):
        evaluate(str(tmp_path), into=tmp_path / "scores")


@pytest.mark.parametrize("folder", [None, "scores"])
def test_rejects_a_recipe_as_the_model(tmp_path, folder):
    (tmp_path / "mine.toml").write_text('name = "mine"')
    with pytest.raises(DataError, match=r"mine\.toml: a recipe, not a model; .* --recipe"):
        evaluate(str(tmp_path / "mine.toml"), into=folder and tmp_path / folder)


def test_languages_are_those_to_score(tmp_path, monkeypatch):
    found = []
    monkeypatch.setattr(
        "interlace.experiments.evaluate.evaluate",
        lambda target, *_, **__: found.append(target.recipe) or [],
    )
    for recipe in (None, "evaluation/public", "evaluation/hub"):
        evaluate(
            str(tmp_path),
            on=["retrieval"],
            languages="de, sw",
            recipe=recipe,
            into=tmp_path / "scores",
        )
    assert [one.evaluate.targets for one in found] == [["de", "sw"]] * 3
    for recipe in found:  # tasks of the last two have targets of their own
        for name in recipe.evaluate.tasks:
            runs = runs_of_task(recipe.task(name), "en", recipe.targets)
            assert {language for run in runs for _, language in run.items} <= {"en", "de", "sw"}, (
                name
            )
