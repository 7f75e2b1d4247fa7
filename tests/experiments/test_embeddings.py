"""Recipes of word vectors: what they learn from, the folder they leave, and how it is scored."""

import json

import numpy as np
import pytest

from interlace.core.errors import DataError, RunError, SettingsError
from interlace.embeddings import WordVectors
from interlace.experiments.embeddings import learn_vectors
from interlace.experiments.evaluate import evaluate, target_of
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import RECIPES, Recipe, change_recipe, read_recipe
from run_records import about
from toy_settings import under

STATIC = [name for name in RECIPES.names() if read_recipe(name).embeddings]
TINY = [name for name in STATIC if name.startswith("tiny/")]
WORDS = [name for name in TINY if read_recipe(name).embeddings.units == "words"]  # of subwords: test_embedding_tables
TABLE_5 = {"xlm/word-embeddings:concat": [0.36, 4.89, 0.52], "xlm/word-embeddings:muse": [0.38, 5.13, 0.65]}
SMALL = {
    "toy.languages": '["en", "de"]',
    "corpora.text.languages": '["en", "de"]',
    "toy.sentences": "400",
    **under("toy", pairs="20", labelled="20", nli="20", dev="20", test="20", questions="5"),
    **under("embeddings.skipgram", width="8", min_count="2", epochs="1", buckets="100"),
}
QUICK = {
    "tiny/muse": {f"embeddings.adversary.{key}": "2" for key in ("hidden", "epochs", "updates")}
    | {"embeddings.random_starts": "1"}
}


def test_tiny_recipes_cover_all_methods():
    assert {read_recipe(name).embeddings.name for name in TINY} == {"concat", "identical", "muse", "procrustes"}


@pytest.mark.parametrize("name", WORDS)
def test_tiny_recipes_run_and_are_scored(name, tmp_path):
    folder = pretrain(read_recipe(name, SMALL | QUICK.get(name, {})), tmp_path / "run")
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["de.safetensors", "de.words", "en.safetensors", "en.words"]
    facts = about(tmp_path / "run")
    assert facts["finished"]
    assert facts["words"]["de"] == len(WordVectors.load(folder, "de")) > 20
    rows = evaluate(target_of(str(tmp_path / "run")))
    asked = read_recipe(name).evaluate.tasks
    languages = {"word_translation": ["de"], "word_similarity": ["en", "de"]}
    expected = [(task, one) for task in asked for one in languages[task]]
    assert [(row["task"], row["language"]) for row in rows] == expected
    assert all(row["scores"]["coverage"] > 10 for row in rows)
    assert json.loads((tmp_path / "run/scores.json").read_text()) == rows


def test_finished_run_is_kept_and_is_scored_by_tasks_of_words_only(tmp_path):
    recipe = read_recipe("tiny/concat", SMALL)
    folder = learn_vectors(recipe, tmp_path / "run")
    before = (folder / "en.safetensors").stat().st_mtime_ns
    assert learn_vectors(recipe, tmp_path / "run") == folder
    assert (folder / "en.safetensors").stat().st_mtime_ns == before
    with pytest.raises(RunError, match="a run of another recipe: seed was 0, is 1"):
        learn_vectors(change_recipe(recipe, {"seed": "1"}), tmp_path / "run")
    with pytest.raises(DataError, match=r"retrieval: needs a model.* word_similarity, word_translation"):
        evaluate(target_of(str(tmp_path / "run")), ["word_translation", "retrieval"])


# ---- text as the recipe has it, or vectors that are given ----

RECIPE = {
    "name": "own",
    "corpora": {
        "text": {"languages": ["en"], "train": "mono.en"},
        "pairs": {"pairs": ["en-de"], "train": ["pairs.en", "pairs.de"]},
    },
    "normalization": {"lower_case": True},
    "filters": {"length": {"max_words": 4}},
    "word_tokenizer": "unicode",
    "embeddings": {"name": "concat", "skipgram": {"width": 4, "min_count": 1, "buckets": 10}},
}


@pytest.fixture
def data(tmp_path):
    for name, lines in {
        "mono.en": ["The cat.", "far too long a line of words"],
        "pairs.en": ["A dog!", "Cats"],
        "pairs.de": ["Ein Hund!", "Katzen"],
    }.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    return tmp_path


def test_vocabulary_covers_all_corpora_of_the_recipe(data):
    folder = learn_vectors(Recipe.read(RECIPE | {"data_root": str(data)}), data / "run")
    assert set(WordVectors.load(folder, "en").words) == {"the", "cat", ".", "a", "dog", "!", "cats"}
    assert set(WordVectors.load(folder, "de").words) == {"ein", "hund", "!", "katzen"}


def mapped(name, data, tasks=None, **section):
    """A recipe that maps given vectors by a dictionary."""
    section = {"name": "procrustes", "vectors": "x.{language}.vec", "dictionary": "{source}-{target}.txt", **section}
    evaluated = {"targets": ["de"], "tasks": tasks or {}}
    return Recipe.read({"name": name, "data_root": str(data), "embeddings": section, "evaluate": evaluated})


def test_learns_from_existing_vectors(data):
    rng = np.random.default_rng(0)
    words = ["cat", "dog", "house"]
    english = WordVectors("en", words, rng.normal(size=(3, 2)).astype(np.float32))
    english.write(data / "x.en.vec")
    WordVectors("de", ["Katze", "Hund", "Haus"], english.vectors[:, ::-1]).write(data / "x.de.vec")
    (data / "de-en.txt").write_text("Katze cat\nHund dog\n")
    folder = learn_vectors(mapped("given", data, mapping={"normalization": [], "refinements": 0}), data / "run")
    np.testing.assert_allclose(WordVectors.load(folder, "de").vectors, english.vectors, atol=1e-5)


def test_dictionary_is_split_into_training_and_test_entries(data):
    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(20)]
    vectors = WordVectors("en", words, rng.normal(size=(20, 4)).astype(np.float32))
    vectors.write(data / "x.en.vec")
    WordVectors("de", [word.upper() for word in words], vectors.vectors[:, ::-1]).write(data / "x.de.vec")
    (data / "de-en.txt").write_text("".join(f"{word.upper()}\t{word}\n" for word in words))
    (data / "en-de.txt").write_text("".join(f"{word}\t{word.upper()}\n" for word in words))
    tasks = {"word_translation": {"files": "{source}-{target}.txt"}}
    learn_vectors(mapped("half", data, tasks, dictionary_share=0.5, mapping={"refinements": 0}), data / "run")
    assert [path.name for path in (data / "run/dictionaries").iterdir()] == ["embeddings.en-de.tsv"]
    assert about(data / "run")["embeddings"]["mappings"]["de"]["entries"] == 10
    [row] = evaluate(target_of(str(data / "run")))
    assert row["scores"]["held out"] == 50
    assert row["scores"]["p@1 csls, seen"] == 100


def test_reads_vectors_up_to_max_words(data):
    for language in ("en", "de"):
        (data / f"x.{language}.vec").write_text("3 2\na 1 0\nb 0 1\nbroken\n")
    (data / "en-de.txt").write_text("a a\nb b\n")
    recipe = mapped("top", data, skipgram={"max_words": 2}, mapping={"refinements": 0, "normalization": []})
    assert WordVectors.load(learn_vectors(recipe, data / "run"), "de").words == ["a", "b"]


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"name": "procrustes"}, "embeddings: procrustes needs a dictionary"),
        ({"name": "concat", "vectors": "{language}.vec"}, "embeddings: concat learns from text"),
        ({"name": "concta"}, "no embedding method .*did you mean 'concat'"),
        ({"name": "concat", "skipgram": {"widht": 3}}, "did you mean 'skipgram.width'"),
        ({"name": "muse", "vectors": "{lang}.vec"}, "{lang}"),
        ({"name": "muse", "units": "subwords"}, "muse learns each language separately.* joint methods: concat$"),
        ({"name": "concat", "units": "subword"}, "should be 'words' or 'subwords'"),
    ],
)
def test_rejects_invalid_sections(section, message):
    with pytest.raises(SettingsError, match=message):
        Recipe.read(RECIPE | {"embeddings": section})
    with pytest.raises(SettingsError, match="either"):  # a model or vectors
        Recipe.read(RECIPE | {"objectives": {"mlm": {}}})


def test_rejects_missing_dictionary(data):
    section = {"name": "procrustes", "dictionary": "none.{source}-{target}"}
    with pytest.raises(DataError, match=r"no such file; looked for .*none\.en-de"):
        learn_vectors(Recipe.read(RECIPE | {"data_root": str(data), "embeddings": section}), data / "run")


def test_command_line_trains_and_evaluates_vectors(data, monkeypatch):
    from typer.testing import CliRunner

    from interlace.cli import application

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    path = data / "own.json"
    path.write_text(json.dumps(RECIPE | {"data_root": str(data)}))
    (data / "d.txt").write_text("cat hund\n")
    done = CliRunner().invoke(application(), ["pretrain", str(path), "--output", str(data / "run")])
    assert done.exit_code == 0, done.output
    (data / "s.txt").write_text("ein\thund\t0.9\nein\tkatzen\t0.2\nhund\tkatzen\t0.1\n")
    where = ["--set", "evaluate.tasks.word_translation.files=d.txt", "--json"]
    for change in ("files=s.txt", 'targets=["de"]'):
        where += ["--set", f"evaluate.tasks.word_similarity.{change}"]
    tasks = ["--tasks", "word_translation", "--tasks", "word_similarity"]
    scored = CliRunner().invoke(application(), ["evaluate", str(data / "run"), *tasks, *where, "--recipe", str(path)])
    assert scored.exit_code == 0, scored.output
    words, similarity = json.loads(scored.stdout)
    assert [words["task"], similarity["task"]] == ["word_translation", "word_similarity"]
    assert words["candidates"] == {"vocabulary": 4}
    assert "candidates" not in similarity


# ---- the paper's table ----


@pytest.mark.parametrize("name", TABLE_5)
def test_published_scores_of_table_5(name):
    recipe = read_recipe(name)
    assert [row.scores["mean"] for said in recipe.published for row in said.rows()] == TABLE_5[name]
    assert all("table 5" in row.where for row in recipe.published)
    assert recipe.changes
    assert recipe.embeddings.method().skipgram.width == 300


def test_settings_match_the_papers():
    muse = read_recipe("xlm/word-embeddings:muse").embeddings.method()
    said = {
        "hidden": 2048, "batch": 32, "dropout": 0.1, "smoothing": 0.2, "learning_rate": 0.1, "decay": 0.95,
        "shrink": 0.5, "discriminator_steps": 5, "epochs": 5, "updates": 31_250,
        "smoothing_kind": "spread", "beta": 0.01, "words": 50_000,
    }  # fmt: skip
    assert said.items() <= muse.adversary.model_dump().items()
    assert muse.adversary.wrong_label == 0.1
    mapping = {"criterion_words": 10_000, "neighbors": 10, "normalization": [], "refinements": 5}
    assert mapping.items() <= muse.mapping.model_dump().items()
