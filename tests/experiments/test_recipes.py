"""Recipes: reading, errors, inheritance, and published results."""

import json

import pytest
from safetensors import safe_open

from interlace.core.errors import DataError, SettingsError
from interlace.experiments.data_root import data_root
from interlace.experiments.estimate import estimate
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import RECIPES, Recipe, read_recipe
from toy_settings import SHORT, TOY, VOCAB

SMALL = TOY | VOCAB
TINY = [
    name
    for name in RECIPES.names()
    if name.startswith("tiny/") and not read_recipe(name).embeddings
]


@pytest.mark.parametrize("name", RECIPES.names())
def test_has_a_description_and_survives_a_round_trip(name):
    recipe = read_recipe(name)
    assert recipe.about
    assert Recipe.read(json.loads(json.dumps(recipe.dump()))) == recipe


@pytest.mark.parametrize(
    "name", [name for name in TINY if read_recipe(name).model.start is not None]
)
def test_tiny_recipes_continue_from_another_model(name, tmp_path):
    """The others train in tests/golden."""
    changes = SMALL | SHORT
    start = pretrain(read_recipe("tiny/unmt-mlm", changes), tmp_path / "start")
    changes = changes | {"model.start": json.dumps(str(start))}
    model = pretrain(read_recipe(name, changes), tmp_path / "run")
    assert list(model.rglob("*.safetensors"))
    with safe_open(tmp_path / "run" / "words.safetensors", "np") as words:
        assert set(json.loads(words.metadata()["concepts"])[0]) == set(
            read_recipe(name).languages
        )


def test_missing_data_root_error_says_how_to_set_it(monkeypatch):
    monkeypatch.setenv("INTERLACE_DATA", "")  # is no way to say: the current folder
    with pytest.raises(
        DataError, match=r"data_root '\$INTERLACE_DATA': '' is not a folder; set .*variable"
    ):
        data_root(read_recipe("evaluation/public"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"evaluate.tasks.pos.dropuot": "0.2"},
            r"evaluate\.tasks\.pos.*did you mean 'dropout'",
        ),
        ({"vocab.corpora": '["txt"]'}, "did you mean 'text'"),
        ({"toy.languages": '["en", "dee"]'}, "did you mean 'de'"),
        ({"objectives.mlm.masking.rate": "2"}, r"masking\.rate.*\[0, 1\]"),
        ({"data_root": "elsewhere"}, r"data_root: a recipe with a \[toy\] section .* --recipe"),
        ({"corpora.text.train": "train.{lang}"}, r"corpora\.text\.train.*{lang}.*'language'"),
        (
            {"corpora.text.languages": '["pt-BR"]'},
            r"corpora\.text\.languages.*such as 'en' or 'zh_tw'",
        ),
        ({"align.settings": "0.5"}, r"align\.settings: .*0\.5"),
        ({"objectives.mlm.weight": "-1"}, r"weight.*must lie in \[0, "),
        ({"train.patience": "3", "train.evaluate_every": "0"}, "evaluate_every"),
        (
            {"train.lr": "1"},
            r"unknown key 'train\.lr'; did you mean 'train\.optimizer\.learning_rate'\?",
        ),
        (
            {"train.max_tokens": "1"},
            r"unknown key 'train\.max_tokens'; did you mean 'train\.tokens_per_update'\?",
        ),
        ({"train.seed": "1"}, r"unknown key 'train\.seed'; did you mean 'seed'\?"),
        (
            {"train.stop_by": '"perplexty"'},
            r"'perplexity' .*\(found 'perplexty'\); did you mean 'perplexity'\?$",
        ),
        ({"objectives.mlm.weight": '"0:1,abc"'}, r"^(?!.*found '0:1,abc'.*found '0:1,abc')"),
    ],
)
def test_errors_name_the_key_and_the_nearest_match(changes, message):
    with pytest.raises(SettingsError, match=message):
        read_recipe("tiny/mlm", changes)


def test_evaluation_recipe_cannot_be_trained(tmp_path):
    recipe = Recipe(name="judge", evaluate={"targets": ["de"]})
    for work in (lambda: pretrain(recipe, tmp_path / "run"), lambda: estimate(recipe)):
        with pytest.raises(
            SettingsError,
            match=r"'judge' has no \[corpora\].*interlace evaluate MODEL --recipe",
        ):
            work()
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"corpora.text.dev": "[]", "train.patience": "2"},
            "early stopping needs held-out text",
        ),
        (
            {"objectives.mlm.max_length": "500"},
            r"max_length = 500, but the model's maximum is 128",
        ),
    ],
)
def test_checks_settings_before_training(changes, message, tmp_path):
    with pytest.raises((DataError, SettingsError), match=message):
        pretrain(read_recipe("tiny/mlm", SMALL | SHORT | changes), tmp_path / "run")
    assert not (tmp_path / "run" / "metrics.jsonl").exists()


def test_stored_recipe_accepts_the_same_changes(tmp_path):
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps(read_recipe("tiny/mlm").dump()))
    changed = {"objectives.mlm.masking.rate": "0.2", "objectives.mlm.weight": "2"}
    assert read_recipe(str(path), changed) == read_recipe("tiny/mlm", changed)
