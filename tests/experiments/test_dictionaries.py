"""Where a recipe's dictionaries come from, and that a run keeps what it drew."""

import tomllib
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from interlace.core.errors import DataError, SettingsError
from interlace.embeddings import WordVectors
from interlace.experiments.mixing import build_mixture, dictionary_texts, write_dictionaries
from interlace.experiments.recipe import Recipe
from interlace.experiments.workspace import Workspace
from interlace.models.families import Traits
from interlace.text.lines import read_lines, write_lines

RECIPE = """
name = "small"
vocab.size = 500
align = { name = "pharaoh", links = "links" }
[corpora.text]
languages = ["en", "de", "es"]
train = "train.{language}"
[corpora.pairs]
pairs = ["en-de", "es-en"]
train = ["train.{source}", "train.{target}"]
"""
EN = "old house small garden green river long street".split()
DE = "alt Haus klein Garten grün Fluss lang Straße".split()
ES = "viejo casa pequeño jardín verde río largo calle".split()


@pytest.fixture
def root(tmp_path, own_cache):
    """Two pairs whose words are linked one by one, and dictionaries of one of them."""
    for language, words in {"en": EN, "de": DE, "es": ES}.items():
        write_lines(
            tmp_path / f"train.{language}",
            (f"{words[i % 8]} {words[(i + 1) % 8]} {i % 3}" for i in range(24)),
        )
    write_lines(tmp_path / "links", ["0-0 1-1 2-2"] * 24)
    write_lines(tmp_path / "en-de.txt", map("\t".join, zip(EN, DE, strict=True)))
    write_lines(tmp_path / "es-en.txt", map(" ".join, zip(ES, EN, strict=True)))
    return tmp_path


def recipe(root, dictionary=None, objective="align_mlm", **more):
    objectives = {objective: {"max_length": 16, "dictionary": dictionary or {}}}
    asked = {**tomllib.loads(RECIPE), "data_root": str(root), "objectives": objectives}
    return Recipe.read({**asked, **more})


def drawn(recipe):
    mixture = build_mixture(Workspace(recipe).open(), Traits("bert", 64))
    return {one.name: one for one in mixture.sources[0].prepared.dictionaries.splits}


def entries(drawn):
    return {drawn.lexicon[entry][:2] for entry in range(len(drawn.lexicon))}


def test_files_are_read_in_either_direction_for_the_languages_asked(root):
    found = drawn(recipe(root, "{source}-{target}.txt"))
    assert list(found) == ["en-de", "es-en"]
    assert entries(found["en-de"]) == set(zip(EN, DE, strict=True))
    assert entries(found["es-en"]) == set(zip(ES, EN, strict=True))
    workspace = Workspace(recipe(root, "{source}-{target}.txt", align=None)).open()
    assert workspace.train["en-de"].alignments is None


@pytest.fixture
def vectors(root):
    """Word vectors of German and English, of no Spanish."""
    for language, words in (("en", EN), ("de", DE)):
        WordVectors(language, words, np.eye(8, dtype=np.float32)).save(root / "run" / "vectors")
    return root / "run"


def test_rejects_vectors_without_the_languages_or_beside_files(root, vectors):
    message = r"dictionary.vectors: .* has word vectors of no language"
    with pytest.raises(DataError, match=message):
        drawn(recipe(root, {"vectors": str(root)}))
    with pytest.raises(SettingsError, match="files and vectors are both set"):
        recipe(root, {"vectors": str(vectors), "files": "{source}-{target}.txt"})


@pytest.mark.parametrize(
    ("dictionary", "error", "message"),
    [
        (
            "dict/{source}.{target}",
            DataError,
            r"files: no such file; looked for .*dict/en\.de, .*dict/de\.en",
        ),
        (
            "en-de.txt",
            SettingsError,
            r"one file for 3 language pairs; use {source}",
        ),
        (
            {"min_count": 1000},
            DataError,
            r"no entry could be counted .*, lower objectives\.align_mlm\.dictionary\.min_count",
        ),
    ],
)
def test_missing_data_errors_suggest_a_fix(root, dictionary, error, message):
    with pytest.raises(error, match=message):
        drawn(recipe(root, dictionary))


@pytest.mark.parametrize("objective", ["align_mlm", "dict_mlm"])
def test_counts_entries_from_alignments_without_numbers(root, objective):
    found = drawn(recipe(root, objective=objective))
    assert entries(found["en-de"]) == set(zip(EN, DE, strict=True))
    # turned round, as the recipe names languages
    assert entries(found["en-es"]) == set(zip(EN, ES, strict=True))


def test_counts_corpora_of_one_language_pair_together(root):
    corpora = {
        "text": {"languages": ["en", "de"], "train": "train.{language}"},
        "one": {"pairs": ["en-de"], "train": ["train.{source}", "train.{target}"]},
        "two": {"pairs": ["de-en"], "train": ["new.{source}", "new.{target}"]},
    }
    write_lines(root / "new.en", ["cat dog cat"] * 24)
    write_lines(root / "new.de", ["Katze Hund Katze"] * 24)
    found = drawn(recipe(root, corpora=corpora))
    assert entries(found["en-de"]) == {
        *zip(EN, DE, strict=True),
        ("cat", "Katze"),
        ("dog", "Hund"),
    }


def mixture(root, **dictionary):
    settings = recipe(root, {"files": "{source}-{target}.txt", **dictionary})
    return build_mixture(Workspace(settings).open(), Traits("bert", 64))


def store(mixture, recipe, into):
    write_dictionaries(dictionary_texts(mixture), recipe, into)


def test_stores_entries_with_their_split_and_status(root, tmp_path):
    into = tmp_path / "run"
    into.mkdir()
    store(mixture(root, share=0.5), recipe(root), into)
    rows = [
        line.split("\t") for line in read_lines(into / "dictionaries" / "align_mlm.en-de.tsv")
    ]
    assert rows[0] == ["en", "de", "part", "status"]
    assert {(source, target) for source, target, *_ in rows[1:]} == set(
        zip(EN, DE, strict=True)
    )
    parts = Counter(part for _, _, part, _ in rows[1:])
    assert (parts["train"], parts["held-out"] + parts["overlap"]) == (4, 4)
    assert {fate for *_, fate in rows[1:]} == {"used"}


def test_a_continued_run_keeps_the_dictionaries_of_its_start(root, tmp_path):
    first = tmp_path / "first"
    first.mkdir()
    store(mixture(root), recipe(root), first)
    without = SimpleNamespace(sources=[])
    second = tmp_path / "second"
    second.mkdir()
    store(without, recipe(root, model={"start": str(first / "model")}), second)
    names = [path.name for path in sorted((second / "dictionaries").iterdir())]
    assert names == ["start0.align_mlm.en-de.tsv", "start0.align_mlm.es-en.tsv"]
    stored = first / "dictionaries/align_mlm.en-de.tsv"
    assert (second / "dictionaries" / names[0]).read_bytes() == stored.read_bytes()
