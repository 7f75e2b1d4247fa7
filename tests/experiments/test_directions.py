"""Which directions a recipe trains, and what is said of others."""

import pytest

from interlace.core.errors import SettingsError
from interlace.experiments.model_folder import ModelMetadata
from interlace.experiments.recipe import Recipe, max_source_lengths

CORPORA = {
    "pairs": {"pairs": ["en-de", "en-tr"], "train": ["a.{language}"]},
    "text": {"languages": ["en", "fr"], "train": ["b.{language}"]},
}


def learnt(objectives, corpora=CORPORA):
    recipe = Recipe.read({"name": "r", "corpora": corpora, "objectives": objectives})
    return list(max_source_lengths(recipe))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "en-de de-en en-tr tr-en"),
        ({"directions": "forward"}, "en-de en-tr"),
        ({"directions": "backward"}, "de-en tr-en"),
        ({"corpora": ["en-tr"]}, "en-tr tr-en"),
        ({"corpora": ["pairs"], "directions": "forward"}, "en-de en-tr"),
    ],
)
def test_translation_learns_directions_of_its_pairs(settings, expected):
    assert learnt({"translation": settings}) == expected.split()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        # into the languages that have text of their own
        (
            {},
            "de-en tr-en fr-en en-fr de-fr tr-fr",
        ),
        ({"intermediate_languages": ["de"]}, "de-en de-fr"),
        ({"corpora": ["en-de"], "intermediate_languages": ["en", "de"]}, "de-en en-de"),
        ({"corpora": ["en-de:de"], "intermediate_languages": ["en"]}, "en-de"),
    ],
)
def test_back_translation_learns_into_its_languages(settings, expected):
    assert learnt({"back_translation": settings}) == expected.split()


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
