"""The `[filters]` section of a recipe: from text to corpora, vocabulary and their keys."""

from __future__ import annotations

import json
import tomllib

import pytest

from interlace.core.errors import MissingDependencyError, SettingsError
from interlace.experiments.prepare import prepare
from interlace.experiments.recipe import Recipe, read_recipe
from interlace.text.lines import write_lines

RECIPE = """
name = "clean"

[corpora.text]
languages = ["en"]
train = "train.{language}"
dev = "dev.{language}"

[corpora.pairs]
pairs = ["en-de"]
train = ["train.{source}", "train.{target}"]

[vocab]
size = 300

[objectives.mlm]
"""
LINES = [f"the {word} reads a letter" for word in ("doctor", "teacher", "child", "doctor")]


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    monkeypatch.setenv("INTERLACE_CACHE", str(tmp_path / "cache"))
    for name, lines in {
        "train.en": [*LINES, "\x07 bell", "one two"],
        "train.de": [*LINES, "Glocke", "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf"],
        "dev.en": ["\x07 bell", "the doctor reads a letter"],
    }.items():
        write_lines(tmp_path / name, lines)

    def make(rules="", **changes):
        data = tomllib.loads(RECIPE + rules) | {"data_root": str(tmp_path)} | changes
        return Recipe.read(data)

    return make


def test_training_text_is_filtered_and_dev_text_is_not(recipe):
    materials = prepare(recipe("[filters.control]\n[filters.duplicates]\n[filters.ratio]"))
    assert len(materials.train["en"]) == 4
    assert materials.train["en"].meta["notes"] == {"dropped by control": 1, "dropped by duplicates": 1}
    assert len(materials.train["en-de"]) == 3
    assert materials.train["en-de"].meta["notes"] == {
        "dropped by control": 1,
        "dropped by duplicates": 1,
        "dropped by ratio": 1,
    }
    assert len(materials.dev["en"]) == 2


def test_other_rules_make_other_corpora_and_the_same_ones_are_found_again(recipe):
    folders = [
        prepare(recipe(rules)).train["en"].folder
        for rules in ("", "[filters.control]", "[filters.control]\nmax_count = 1", "[filters.control]\nmax_count = 1")
    ]
    assert len(set(folders)) == 3
    assert folders[2] == folders[3]


def test_rules_stay_in_their_order(recipe):
    made = recipe("[filters.ratio]\n[filters.control]")
    assert list(Recipe.read(json.loads(json.dumps(made.dump()))).filters) == ["ratio", "control"]
    one, other = (
        prepare(recipe(rules)).train["en"].folder
        for rules in (
            "[filters.ratio]\n[filters.control]",
            "[filters.control]\n[filters.ratio]",
        )
    )
    assert one != other


def test_what_is_dropped_is_not_learnt_from(recipe):
    plain, filtered = prepare(recipe()).vocab, prepare(recipe("[filters.length]\nmax_words = 5")).vocab
    assert plain.fingerprint != filtered.fingerprint


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"filters.lenght": "{}"}, "there is no filter 'lenght'; did you mean 'length'"),
        ({"filters.length.max_word": "3"}, r"filters\.length: unknown key 'max_word'; did you mean 'max_words'"),
        ({"filters.ratio.max_ratio": "0"}, r"filters\.ratio: max_ratio"),
    ],
)
def test_wrong_filters_are_explained(changes, message):
    with pytest.raises(SettingsError, match=message):
        read_recipe("tiny/mlm", changes)


def test_a_word_tokenizer_without_its_package_is_told_before_anything_is_built(monkeypatch):
    monkeypatch.setattr(
        "interlace.text.word_tokenizers.common.spans.find_spec", lambda name: None if name == "sacremoses" else True
    )
    with pytest.raises(MissingDependencyError, match="pip install sacremoses"):
        read_recipe("tiny/mlm", {"word_tokenizer": "by_language"})
