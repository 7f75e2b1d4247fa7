"""Small language models of Nepali: they differ in the languages beside it alone, and are measured as is said."""

import json
import os

import pytest

from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import read_recipe
from toy_settings import under

BESIDE = {
    "nepali/clm:ne": [],
    "nepali/clm:ne-hi": ["hi"],
    "nepali/clm:ne-en": ["en"],
    "nepali/clm:ne-en-hi": ["en", "hi"],
}
real = pytest.mark.skipif(not os.environ.get("INTERLACE_DATA"), reason="INTERLACE_DATA is not set")


def languages(recipe):
    """Those of the corpora that the objective reads."""
    groups = [recipe.corpora[name] for name in recipe.objectives["clm"].corpora]
    return list(dict.fromkeys(language for group in groups for language in group.languages))


@pytest.mark.parametrize("name", BESIDE)
def test_recipes_differ_only_in_additional_languages_and_their_steps(name):
    alone, recipe = read_recipe("nepali/clm:ne"), read_recipe(name)
    assert languages(recipe) == ["ne", *BESIDE[name]]
    assert recipe.causal
    for part in ("corpora", "vocab", "model", "evaluate", "seed", "normalization"):
        assert getattr(recipe, part) == getattr(alone, part)
    assert recipe.train.model_copy(update={"steps": alone.train.steps}) == alone.train
    assert recipe.train.language_alpha == "0"  # languages are drawn evenly
    assert recipe.train.steps == len(languages(recipe)) * alone.train.steps


@real
def test_largest_recipe_trains(tmp_path):
    changes = {
        "train.steps": "2",
        "train.tokens_per_update": "512",
        "train.threads": "1",
        "vocab.size": "1000",
    }
    changes |= under("model.shape", layers="1", width="16", heads="2")
    pretrain(read_recipe("nepali/clm:ne-en-hi", changes), tmp_path / "run")
    assert json.loads((tmp_path / "run/run.json").read_text())["steps"] == 2
    assert (tmp_path / "run/model/model.safetensors").is_file()
