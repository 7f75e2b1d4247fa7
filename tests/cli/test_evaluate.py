"""The options of `interlace evaluate`."""

import pytest

from interlace.cli.evaluate import evaluate
from interlace.core.errors import DataError, SettingsError
from interlace.experiments.recipe import resolve_task
from interlace.training.selection import runs_of_task


@pytest.mark.parametrize("on", ["", ",", " , "])
def test_rejects_an_empty_list_of_tasks(tmp_path, on):
    with pytest.raises(SettingsError, match=r"--tasks is empty; the recipe has .*pos"):
        evaluate(str(tmp_path), on=[on], recipe="evaluation/public", into=tmp_path / "scores")
    assert not (tmp_path / "scores").exists()


def test_rejects_a_recipe_or_a_study_as_the_model(tmp_path):
    (tmp_path / "study.json").write_text("{}")
    (tmp_path / "mine.toml").write_text('name = "mine"')
    for path in (tmp_path, tmp_path / "mine.toml"):
        with pytest.raises(DataError, match="a recipe or a study, not a model"):
            evaluate(str(path), into=tmp_path / "scores")


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
            runs = runs_of_task(resolve_task(recipe, name), "en", recipe.targets)
            assert {language for run in runs for _, language in run.items} <= {
                "en",
                "de",
                "sw",
            }, name
