"""Small language models of Nepali: they differ in the languages beside it alone, and are measured as is said."""

import json
import os

import pytest

from interlace.data.vocab import Vocab
from interlace.experiments.checking import contamination_of, held_out_text
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import read_recipe
from interlace.experiments.studies import cells_of, read_study

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


def test_study_covers_all_recipes():
    cells = cells_of(*read_study("xlm/low-resource-small"))
    assert {cell.recipe.name for cell in cells} == {
        "Nepali", "Nepali + Hindi", "Nepali + English", "Nepali + English + Hindi"
    }  # fmt: skip
    assert len(cells) == 4 * 5  # recipes and seeds


def test_word_count_ignores_space_before_punctuation(tmp_path):
    text = ["तिमी कहाँ छौ ?", "तिमी कहाँ छौ?"]
    vocab = Vocab.learn({"ne": text * 20}, size=400)
    counts = []
    for line in text:
        (tmp_path / "parallel/flores-v1").mkdir(parents=True, exist_ok=True)
        path = tmp_path / "parallel/flores-v1/test.txt"
        path.write_text(line + "\n", encoding="utf-8")
        task = read_recipe("nepali/clm:ne", {"evaluate.tasks.perplexity.files": '"parallel/flores-v1/test.txt"'})
        found = task.evaluate.task("perplexity").examples("test", "ne", vocab, tmp_path)
        counts.append(len(set(found.words.flat.tolist())))
    assert counts == [4, 4]


@real
def test_test_text_is_not_training_text():
    recipe = read_recipe("nepali/clm:ne-en-hi")
    leak = contamination_of(recipe, held_out_text(recipe).sets)["perplexity", "test", "ne"].dump()
    assert (leak["examples"], leak["exact"]) == (2924, 0.0)


@real
def test_largest_recipe_trains(tmp_path):
    changes = {"train.steps": "2", "train.tokens_per_update": "512", "train.threads": "1", "vocab.size": "1000"}
    pretrain(read_recipe("nepali/clm:ne-en-hi", changes), tmp_path / "run")
    assert json.loads((tmp_path / "run/run.json").read_text())["steps"] == 2
    assert (tmp_path / "run/model/model.safetensors").is_file()
