"""What derived files are made of: the rows that a run is trained on, normalised before they are changed."""

import tomllib

import pytest

from interlace.core.ragged import Ragged
from interlace.derived.common.normalizing import normalized
from interlace.experiments.data_root import data_root
from interlace.experiments.recipe import Recipe
from interlace.experiments.workspace import Workspace
from interlace.readers import READERS
from interlace.text import Text
from interlace.text.lines import read_lines, write_lines
from interlace.text.normalization import Normalization

NUMBERS = ["one", "two", "three", "four again", "five", "six"]
LINES = [f"the {word} here" for word in NUMBERS]
LOWER = {"lower_case": True}

RECIPE = """
name = "r"
word_tokenizer = "unicode"
vocab.size = 300
align = { name = "pharaoh", links = "{pair}.alignments" }
evaluate.dictionary = "dict.{source}-{target}"
[derived.en_x]
of = "en"
translations.train = "{pair}.{language}"
alignments = "{pair}.alignments"
dictionary = "dict.{source}-{target}"
[corpora.text]
languages = ["en", "en_x"]
train = "train.{language}.txt"
[corpora.pairs]
pairs = ["en-en_x"]
train = ["{pair}.{source}", "{pair}.{target}"]
"""


@pytest.fixture
def root(tmp_path):
    write_lines(tmp_path / "train.en.txt", LINES)
    return tmp_path


def recipe(root, changes="transliterate", group=None, derived=None, **more):
    asked = tomllib.loads(RECIPE)
    text = asked["corpora"]["text"]
    text.update(group or {})
    files = [{"original": text["train"], "reader": text.get("reader", "")}]
    asked["derived"]["en_x"].update(transformations=changes, files=files, **(derived or {}))
    return Recipe.read({**asked, "data_root": str(root), **more})


def made(*args, **more):
    """The lines of a made file, by its name."""
    found = data_root(recipe(*args, **more))
    return lambda name: list(read_lines(found / name))


def words(dictionary):
    return {line.split("\t")[0] for line in dictionary}


def conllu(*sentences):
    """Sentences as CoNLL-U; each word depends on the first."""
    rows = []
    for sentence in sentences:
        words = [f"{word}\t_\tNOUN\tN\t_" for word in sentence.split()]
        heads = ["0\troot", *["1\tdep"] * (len(words) - 1)]
        rows += [
            f"{i}\t{word}\t{head}\t_\t_"
            for i, (word, head) in enumerate(zip(words, heads, strict=True), 1)
        ]
        rows.append("")
    return rows


TREEBANK = {"reader": {"name": "conllu", "trees": True}, "train": "bank.{language}.conllu"}


@pytest.mark.parametrize(
    ("group", "more", "kept"),
    [
        ({"rows": "1:3"}, {}, ["two", "three"]),
        ({}, {"filters": {"length": {"max_words": 3}}}, ["one", "two", "three", "five", "six"]),
    ],
)
def test_translations_and_dictionary_use_training_rows(root, group, more, kept):
    found = made(root, group=group, **more)
    assert found("en-en_x.en") == [f"the {word} here" for word in kept]
    assert words(found("dict.en-en_x")) == {"the", "here", *kept}
    assert len(Workspace(recipe(root, group=group, **more)).open().train["en"]) == len(kept)
    assert len(found("train.en_x.txt")) == 6  # a corpus takes its own part of it


def test_filters_count_the_words_of_the_corpus(root):
    # the word tokenizer finds 5 words, and 2
    write_lines(root / "bank.en.conllu", conllu("do n't go now", "we go"))
    found = made(root, group=TREEBANK, filters={"length": {"max_words": 4}})
    assert [words(found("dict.en-en_x")), len(found("en-en_x.alignments"))] == [{"we", "go"}, 1]


def test_normalization_keeps_words_and_trees(root):
    write_lines(root / "bank.en.conllu", conllu("can n't cafe\u0301", "Do n't"))
    found = made(root, "invert", group=TREEBANK, normalization=LOWER)
    assert words(found("dict.en-en_x")) == {"can", "n't", "café", "do"}
    [text] = READERS.build(TREEBANK["reader"]).read_chunks([root / "bank.en.conllu"], ["en"])
    after = normalized(text, Normalization(lower_case=True))
    assert [after.tokens(row) for row in range(2)] == [["can", "n't", "café"], ["do", "n't"]]
    assert (after.tags, after.heads) == (text.tags, text.heads)
    bank = list(read_lines(root / "bank.en.conllu"))
    write_lines(root / "like.conllu", [*bank, *(line.replace("NOUN", "VERB") for line in bank)])
    syntax = {"settings": {"syntax": {"like": ["like.conllu"]}}}
    assert (
        made(root, "syntax", group=TREEBANK, derived=syntax, normalization=LOWER)("en-en_x.en")[
            1
        ]
        == "do n't"
    )


def test_normalization_keeps_the_number_of_words():
    line = "a \u0301 b\u00b4 c"  # a lone accent; NFKC makes a blank and an accent of the other
    text = Text(
        "en",
        [line],
        Ragged.of([[(0, 1), (2, 3), (4, 6), (7, 8)]], width=2),
        tags={"pos": [["X"] * 4]},
    )
    for how in (Normalization(form="NFKC"), Normalization(remove_accents=True)):
        assert len(normalized(text, how).tokens(0)) == 4
        assert all(word.split() == [word] for word in normalized(text, how).tokens(0))
