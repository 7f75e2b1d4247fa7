"""From vectors of subwords to a model whose tables begin with them: both runs, what they keep, what they refuse."""

import tomllib

import numpy as np
import pytest

from interlace.core.errors import DataError, RunError, SettingsError
from interlace.data.vocab import Vocab
from interlace.embeddings import SUBWORDS, WordVectors
from interlace.experiments.embeddings import learn_vectors
from interlace.experiments.evaluate import evaluate, target_of
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import Recipe, change_recipe
from interlace.models.build import build_model, load
from run_records import about

pytest.importorskip("gensim")

RECIPE = """
name = "emb"
[corpora.text]
languages = ["en"]
train = "mono.en"
dev = "none.en"
[corpora.pairs]
pairs = ["en-de"]
train = ["pairs.en", "pairs.de"]
[normalization]
lower_case = true
[filters.length]
max_words = 4
[vocab]
size = 300
kind = "bpe"
[embeddings]
name = "concat"
units = "subwords"
skipgram = { width = 8, min_count = 1, buckets = 10 }
"""
MODEL = """
name = "initialization"
word_tokenizer = "whitespace"
[corpora.text]
languages = ["en"]
train = "mono.en"
[objectives.mlm]
max_length = 16
[train]
steps = 2
tokens_per_update = 64
threads = 1
precision = "no"
optimizer.learning_rate = 1e-9
"""
FILES = {
    "mono.en": ["The cat.", "far too long a line of words", "A cat and dog", "The dog."],
    "pairs.en": ["A dog!", "Cats"],
    "pairs.de": ["Ein Hund!", "Katzen"],
}


@pytest.fixture
def data(tmp_path):
    for name, lines in FILES.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    return tmp_path


def recipe_of(data):
    return Recipe.read(tomllib.loads(RECIPE) | {"data_root": str(data)})


def model_of(data, vectors, width=8):
    shape = {"layers": 1, "width": width, "heads": 1, "max_length": 16, "init_std": 0.1}
    model = {"vectors": str(vectors), "shape": shape}
    return Recipe.read(tomllib.loads(MODEL) | {"data_root": str(data), "model": model})


def test_every_token_has_one_vector_and_the_tokenizer_is_saved(data):
    folder = learn_vectors(recipe_of(data), data / "run")
    names = {
        "subwords.safetensors",
        "subwords.words",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert {path.name for path in folder.iterdir()} == names
    vocab, vectors = Vocab.load(folder), WordVectors.load(folder, SUBWORDS)
    met = {
        vocab.tokenizer.id_to_token(number)
        for number in vocab.encode(["a cat and dog", "ein hund!"]).ids.flat
    }
    assert met < set(vectors.words) <= set(vocab.tokenizer.get_vocab())
    # it lower-cases by itself
    assert vocab.encode(["The CAT"]).ids == vocab.encode(["the cat"]).ids
    assert about(data / "run")["parameters"] == vectors.vectors.size
    told = {"evaluate.tasks.word_translation.files": "d.txt", "evaluate.targets": '["de"]'}
    (data / "d.txt").write_text("cat hund\n")
    with pytest.raises(DataError, match=r"no word vectors of '[a-z]+'; there are: subwords"):
        evaluate(target_of(str(data / "run"), change_recipe(recipe_of(data), told)))


def test_run_is_initialized_with_vectors_that_are_part_of_its_identity(data):
    vectors = learn_vectors(recipe_of(data), data / "emb")
    recipe = model_of(data, vectors)
    folder = pretrain(recipe, data / "run")
    model, vocab, learnt = load(folder), Vocab.load(folder), WordVectors.load(vectors, SUBWORDS)
    rows = [vocab.tokenizer.token_to_id(word) for word in learnt.words]
    settings = recipe.model.model_copy(update={"vectors": None})
    drawn = build_model(settings, vocab, ("en",), recipe.seed).input_embeddings.detach()
    scale = float(drawn.square().mean().sqrt()) / np.sqrt((learnt.vectors**2).mean())
    np.testing.assert_allclose(
        model.input_embeddings.detach().numpy()[rows], scale * learnt.vectors, atol=1e-6
    )
    assert str(data) not in (folder / "README.md").read_text()
    with pytest.raises(RunError, match=r"holds a run of another recipe: model\.vectors"):
        pretrain(change_recipe(recipe, {"model.vectors": "other"}), data / "run")


def test_rejects_invalid_vectors_before_training(data):
    vectors = learn_vectors(recipe_of(data), data / "emb")
    for given, width, message in (
        (
            data / "none/vectors",
            8,
            r"none/vectors/subwords\.safetensors: no such file of vectors",
        ),
        (vectors, 16, "width 8, the model 16"),
    ):
        with pytest.raises((DataError, SettingsError), match=message):
            pretrain(model_of(data, given, width), data / "run")
    assert not (data / "run/metrics.jsonl").exists()
