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


@pytest.mark.parametrize("sections", OTHERS)
def test_recipe_settings_exist(sections):
    recipe = Recipe.read({"name": "page", **sections})
    assert recipe.train.stop_by == "bleu"
    assert resolve_task(recipe, "mt").files == sections["evaluate"]["tasks"]["mt"]["files"]


def test_shows_all_initializations():
    ways = set()
    for settings in MODELS:
        model = ModelSettings.read(settings, "model")
        assert (model.start is None) == (model.vectors is not None)
        if model.vectors is None:
            ways.add((model.take, model.decoder.take if model.decoder else None))
    assert ways == {
        ("whole", None), ("whole", "whole"), ("whole", "none"), ("none", "whole"), ("embeddings", "embeddings")
    }  # fmt: skip
