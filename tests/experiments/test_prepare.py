"""Prepared corpora: rows and shares, filters, and the keys of caches."""

import json
import tomllib

import pytest

from interlace.core.errors import MissingDependencyError, SettingsError
from interlace.experiments.checking import training_text
from interlace.experiments.prepare import prepare
from interlace.experiments.recipe import Recipe, read_recipe
from interlace.text.lines import write_lines


@pytest.fixture
def rows(tmp_path):
    for language in ("en", "de"):
        lines = "".join(f"{language} line {row}\n" for row in range(2000))
        (tmp_path / f"train.{language}").write_text(lines, encoding="utf-8")

    def recipe(**parts):
        paths = ["train.{source}", "train.{target}"]
        corpora = {
            "pairs": {"pairs": ["en-de"], "train": paths, "dev": paths, **parts},
            "text": {"languages": ["de"], "train": "train.{language}", **parts},
        }
        return Recipe.read({"name": "parts", "data_root": str(tmp_path), "corpora": corpora, "vocab": {"size": 300}})

    return recipe


def test_rows_and_shares_select_training_text_only(rows):
    sizes = {}
    for name, parts in {"all": {}, "half": {"rows": "1000:"}, "some": {"rows": "1000:", "share": 0.1}}.items():
        built = prepare(rows(**parts))
        sizes[name] = len(built.train["en-de"])
        assert len(built.train["de"]) == sizes[name]  # the same rows of files that correspond
        assert len(built.dev["en-de"]) == 2000
    assert (sizes["all"], sizes["half"]) == (2000, 1000)
    assert 60 < sizes["some"] < 140
    read = [line for text, _ in training_text(rows(rows="5:7")) for line in text.lines]
    assert read == ["en line 5", "en line 6", "de line 5", "de line 6", "de line 5", "de line 6"]


@pytest.mark.parametrize("wrong", [{"rows": "5-7"}, {"rows": "-5:"}, {"share": 0}, {"share": 1.5}])
def test_rejects_invalid_rows_and_shares(rows, wrong):
    with pytest.raises(SettingsError, match=r"corpora.*(rows|share)"):
        rows(**wrong)


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


def test_filters_apply_to_training_text_only(recipe):
    materials = prepare(recipe("[filters.control]\n[filters.duplicates]\n[filters.ratio]"))
    assert len(materials.train["en"]) == 4
    assert materials.train["en"].meta["notes"] == {"dropped by control": 1, "dropped by duplicates": 1}
    assert len(materials.train["en-de"]) == 3
    notes = {f"dropped by {name}": 1 for name in ("control", "duplicates", "ratio")}
    assert materials.train["en-de"].meta["notes"] == notes
    assert len(materials.dev["en"]) == 2


def test_cache_and_vocabulary_depend_on_the_filters_and_their_order(recipe):
    folders = [
        prepare(recipe(rules)).train["en"].folder
        for rules in ("", "[filters.control]", "[filters.control]\nmax_count = 1", "[filters.control]\nmax_count = 1")
    ]
    assert len(set(folders)) == 3
    assert folders[2] == folders[3]
    made = recipe("[filters.ratio]\n[filters.control]")
    assert list(Recipe.read(json.loads(json.dumps(made.dump()))).filters) == ["ratio", "control"]
    turned = recipe("[filters.control]\n[filters.ratio]")
    assert prepare(made).train["en"].folder != prepare(turned).train["en"].folder
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
def test_rejects_invalid_filters(changes, message):
    with pytest.raises(SettingsError, match=message):
        read_recipe("tiny/mlm", changes)


def test_rejects_word_tokenizer_without_its_package(monkeypatch):
    monkeypatch.setattr("interlace.text.word_tokenizers.find_spec", lambda name: None if name == "sacremoses" else True)
    with pytest.raises(MissingDependencyError, match="pip install sacremoses"):
        read_recipe("tiny/mlm", {"word_tokenizer": "by_language"})
