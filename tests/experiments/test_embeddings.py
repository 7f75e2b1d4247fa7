"""Recipes of word vectors: what they learn from, the folder they leave, and how it is scored."""

import tomllib

import numpy as np
import pytest

from interlace.core.errors import DataError, RunError, SettingsError
from interlace.embeddings import WordVectors
from interlace.experiments.embeddings import learn_vectors
from interlace.experiments.evaluate import evaluate, target_of
from interlace.experiments.recipe import RECIPES, Recipe, change_recipe, read_recipe
from run_records import about
from toy_settings import under
from vector_files import write_vec

pytest.importorskip("gensim")

STATIC = [name for name in RECIPES.names() if read_recipe(name).embeddings]
TINY = [name for name in STATIC if name.startswith("tiny/")]
# of subwords: test_embedding_tables
WORDS = [name for name in TINY if read_recipe(name).embeddings.units == "words"]
SMALL = {
    "toy.languages": '["en", "de"]',
    "corpora.text.languages": '["en", "de"]',
    "toy.sentences": "400",
    **under("toy", pairs="20", labelled="20", nli="20", dev="20", test="20", questions="5"),
    **under("embeddings.skipgram", width="8", min_count="2", epochs="1", buckets="100"),
}
QUICK = {
    "tiny/muse": {f"embeddings.adversary.{key}": "2" for key in ("hidden", "epochs", "updates")}
}


@pytest.mark.parametrize("name", WORDS)
def test_tiny_recipes_run_and_are_scored(name, tmp_path):
    folder = learn_vectors(read_recipe(name, SMALL | QUICK.get(name, {})), tmp_path / "run")
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["de.safetensors", "de.words", "en.safetensors", "en.words"]
    facts = about(tmp_path / "run")
    assert facts["finished"]
    assert len(WordVectors.load(folder, "de")) > 20
    rows = evaluate(target_of(str(tmp_path / "run")))
    asked = read_recipe(name).evaluate.tasks
    languages = {"word_translation": ["de"], "word_similarity": ["en", "de"]}
    expected = [(task, one) for task in asked for one in languages[task]]
    assert [(row["task"], row["language"]) for row in rows] == expected
    assert all(row["scores"]["coverage"] > 10 for row in rows)


def test_finished_run_is_kept_and_is_scored_by_tasks_of_words_only(tmp_path):
    recipe = read_recipe("tiny/concat", SMALL)
    folder = learn_vectors(recipe, tmp_path / "run")
    assert learn_vectors(recipe, tmp_path / "run") == folder
    with pytest.raises(RunError, match="a run of another recipe: seed was 0, is 1"):
        learn_vectors(change_recipe(recipe, {"seed": "1"}), tmp_path / "run")
    with pytest.raises(DataError, match=r"retrieval: needs a model, but .* holds word vectors"):
        evaluate(target_of(str(tmp_path / "run")), ["word_translation", "retrieval"])


MAPPED = """
name = "half"
[embeddings]
name = "procrustes"
vectors = "x.{language}.vec"
dictionary = "{source}-{target}.txt"
dictionary_share = 0.5
mapping.refinements = 0
[evaluate]
targets = ["de"]
tasks.word_translation.files = "{source}-{target}.txt"
"""


def test_dictionary_is_split_into_training_and_test_entries(tmp_path):
    data = tmp_path
    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(20)]
    vectors = WordVectors("en", words, rng.normal(size=(20, 4)).astype(np.float32))
    write_vec(data / "x.en.vec", vectors)
    german = WordVectors("de", [word.upper() for word in words], vectors.vectors[:, ::-1])
    write_vec(data / "x.de.vec", german)
    (data / "de-en.txt").write_text("".join(f"{word.upper()}\t{word}\n" for word in words))
    (data / "en-de.txt").write_text("".join(f"{word}\t{word.upper()}\n" for word in words))
    recipe = Recipe.read(tomllib.loads(MAPPED) | {"data_root": str(data)})
    learn_vectors(recipe, data / "run")
    assert [path.name for path in (data / "run/dictionaries").iterdir()] == [
        "embeddings.en-de.tsv"
    ]
    assert about(data / "run")["embeddings"]["mappings"]["de"]["entries"] == 10
    [row] = evaluate(target_of(str(data / "run")))
    assert row["scores"]["held out"] == 50
    assert row["scores"]["p@1 csls, seen"] == 100


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"name": "procrustes"}, "embeddings: procrustes needs a dictionary"),
        (
            {"name": "concat", "vectors": "{language}.vec"},
            "embeddings: concat learns from text",
        ),
        ({"name": "concat", "skipgram": {"widht": 3}}, "did you mean 'skipgram.width'"),
        (
            {"name": "muse", "units": "subwords"},
            "muse learns each language separately.*joint method such as .concat.",
        ),
    ],
)
def test_rejects_invalid_sections(section, message):
    with pytest.raises(SettingsError, match=message):
        Recipe.read({"name": "own", "embeddings": section})
