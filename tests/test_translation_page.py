"""The page on translation models: its settings are settings, and its table says what the families can."""

import re
import tomllib
from pathlib import Path

import pytest

from interlace.experiments.recipe import Recipe, resolve_task
from interlace.models.settings import ModelSettings

PAGE = Path(__file__).parents[1] / "docs" / "translation-models.md"
BLOCKS = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


MODELS = [found["model"] for found in map(tomllib.loads, BLOCKS) if "model" in found]
OTHERS = [found for found in map(tomllib.loads, BLOCKS) if "model" not in found]


@pytest.mark.parametrize("settings", MODELS)
def test_settings_exist(settings):
    found = ModelSettings.read(settings, "model")
    assert (found.start is None) == (found.vectors is not None)


@pytest.mark.parametrize("sections", OTHERS)
def test_recipe_settings_exist(sections):
    recipe = Recipe.read({"name": "page", **sections})
    assert (recipe.train.stop_by, resolve_task(recipe, "mt").files) == (
        "bleu",
        sections["evaluate"]["tasks"]["mt"]["files"],
    )


def test_shows_all_initializations():
    found = [ModelSettings.read(settings, "model") for settings in MODELS]
    ways = {
        (one.take, one.decoder.take if one.decoder else None)
        for one in found
        if one.vectors is None
    }
    assert ways == {
        ("whole", None), ("whole", "whole"), ("whole", "none"), ("none", "whole"), ("embeddings", "embeddings")
    }  # fmt: skip
