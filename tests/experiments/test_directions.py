"""Which directions a recipe trains, and what is said of others."""

import pytest

from interlace.core.errors import SettingsError
from interlace.experiments.model_folder import ModelMetadata
from interlace.experiments.recipe import Recipe, max_source_lengths

CORPORA = {
    "pairs": {"pairs": ["en-de", "en-tr"], "train": ["a.{language}"]},
    "text": {"languages": ["en", "fr"], "train": ["b.{language}"]},
}


FROM_TEXT = "back_translation"


@pytest.mark.parametrize(
    ("objective", "settings", "expected"),
    [
        ("translation", {}, "en-de de-en en-tr tr-en"),
        ("translation", {"directions": "forward"}, "en-de en-tr"),
        ("translation", {"directions": "backward"}, "de-en tr-en"),
        ("translation", {"corpora": ["en-tr"]}, "en-tr tr-en"),
        ("translation", {"corpora": ["pairs"], "directions": "forward"}, "en-de en-tr"),
        # into the languages that have text of their own
        (FROM_TEXT, {}, "de-en tr-en fr-en en-fr de-fr tr-fr"),
        (FROM_TEXT, {"intermediate_languages": ["de"]}, "de-en de-fr"),
        (
            FROM_TEXT,
            {"corpora": ["en-de"], "intermediate_languages": ["en", "de"]},
            "de-en en-de",
        ),
        (FROM_TEXT, {"corpora": ["en-de:de"], "intermediate_languages": ["en"]}, "en-de"),
    ],
)
def test_learns_directions_of_its_pairs_and_into_its_languages(objective, settings, expected):
    recipe = Recipe.read({"name": "r", "corpora": CORPORA, "objectives": {objective: settings}})
    assert list(max_source_lengths(recipe)) == expected.split()


def test_rejects_untrained_directions():
    recipe = Recipe.read(
        {"name": "r", "corpora": CORPORA, "objectives": {"translation": {"corpora": ["en-de"]}}}
    )
    ModelMetadata.of(recipe).check_direction("de", "en")
    message = r"'r' was not trained to translate de-tr: it learned en-de, de-en; --force"
    with pytest.raises(SettingsError, match=message):
        ModelMetadata.of(recipe).check_direction("de", "tr")
    with pytest.raises(SettingsError, match=r"it learned no direction"):
        ModelMetadata.of(Recipe(name="r")).check_direction("de", "tr")
