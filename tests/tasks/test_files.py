"""Patterns of files, and the rows that are read."""

from __future__ import annotations

import logging

import pytest

from interlace.core.errors import DataError, SettingsError
from interlace.core.settings import Settings
from interlace.data.vocab import Vocab
from interlace.tasks import TASKS
from interlace.tasks.common.files import (
    FilePart,
    FileQuery,
    Files,
    find_file,
    find_parts,
    translated_files,
)
from little_files import write


class Holder(Settings):
    files: Files = "a/{language}"


@pytest.fixture
def root(tmp_path):
    for name in (
        "pos/test.de.txt",
        "pos/test.tr.txt",
        "pos/dev.hi.txt",
        "ud/zh.conllu",
        "par/test.en-de.de",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x\n")
    (tmp_path / "par/test.en-fr.de").write_text("x\n")  # the sides do not agree: no language
    return tmp_path


def query(root, language, split="test", source=""):
    return FileQuery("pos", split, language, root, source)


@pytest.mark.parametrize(
    ("pattern", "side", "name"),
    [
        ("par/{split}.{source}-{target}.{language}", "en", "par/test.en-zh.en"),
        ("par/{split}.{source}-{target}.{language}", None, "par/test.en-zh.zh"),
        ("{target3}-{source3}.{language3}", None, "cmn-eng.cmn"),  # not zho
        ("{context}-{question}.json", None, "zh-zh.json"),
    ],
)
def test_placeholders(tmp_path, pattern, side, name):
    write(tmp_path, name, "x")
    assert find_file(pattern, query(tmp_path, "zh", source="en"), side) == tmp_path / name


def test_missing_files_are_named(root):
    with pytest.raises(
        DataError, match=r"pos: no test data in 'fr': there is no file .*/test.fr"
    ):
        find_file("pos/{split}.{language}.txt", query(root, "fr"))
    with pytest.raises(DataError, match=r"'files' names none, only those of test.zh, train.en"):
        find_file({"test.zh": "ud/zh.conllu", "train.en": "a"}, query(root, "fr"))


def test_several_files_and_rows(root):
    part = FilePart(root / "pos/test.de.txt")
    rows = FilePart(root / "pos/test.tr.txt", slice(-20, None))
    files = {"train.de": ["pos/test.{language}.txt", "pos/test.tr.txt[-20:]"]}
    asked = query(root, "de", "train")
    assert find_parts(files, asked) == [part, rows]
    twice = {"train": ["pos/test.{language}.txt", "pos/test.de.txt"]}
    with pytest.raises(DataError, match=r"test\.de\.txt is named twice"):
        find_parts(twice, asked)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"test": "a", "translated": "b/{language}.txt"}, "b/de.txt"),
        ({"translated.de": "b.txt[:3]"}, "b.txt[:3]"),
        ("{split}.{language3}", "translated.deu"),
    ],
)
def test_translated_test_text(files, expected):
    assert translated_files(files, "de", "en") == {"test.en": [expected]}
    with pytest.raises(DataError, match="no translated data in 'de': 'files' names none"):
        translated_files({"test": "a"}, "de", "en")


def test_an_entry_for_a_language_or_direction_takes_precedence(root):
    files = {"test": "pos/test.{language}.txt", "test.zh": "ud/zh.conllu"}
    assert find_file(files, query(root, "zh")) == root / "ud/zh.conllu"
    assert find_file(files, query(root, "tr")) == root / "pos/test.tr.txt"
    files = {"test": "pos/test.{language}.txt", "test.en-de": "ud/zh.conllu"}
    assert find_file(files, query(root, "de", source="en")) == root / "ud/zh.conllu"
    assert find_file(files, query(root, "de", source="fr")) == root / "pos/test.de.txt"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ("pos/{language:>1000000000}.txt", "unknown placeholder {language}"),
        ("pos/{language.txt", "not a pattern of a path"),
        ({"tset.en": "a"}, "'tset.en': expected a split, .*did you mean 'test'"),
        ({"test.en": "{splt}"}, "unknown placeholder {splt}; did you mean 'split'"),
        ([], "names no file"),
    ],
)
def test_rejects_invalid_patterns(files, message):
    with pytest.raises(SettingsError, match=message):
        Holder(files=files)


@pytest.mark.parametrize(
    "files", ["pos/test.{language}.conllu", ["{split}.conllu", "all.{language}.conllu[:20]"]]
)
def test_rejects_one_file_for_all_splits_of_a_fine_tuned_task(files):
    """Of a probe, which learns nothing, one file is right."""
    with pytest.raises(
        SettingsError, match=r"is the same file for train, dev and test; put \{split\}"
    ):
        TASKS.build({"name": "pos", "files": files})
    assert TASKS.build({"name": "retrieval", "files": files}).files == files


ROWS = [
    "a b\tc d\t1",
    "e f\tg h\t0",
    "A  B\ti j\t0",
    "k l\tm n\t1",
    "o p\te f\t1",
    "q r\ts t\t0",
]
FILES = {
    "train": "rows.{language}[:3]",
    "dev": "rows.{language}[3:5]",
    "test": "rows.{language}[5:]",
}


@pytest.fixture(scope="module")
def vocab():
    return Vocab.learn({"en": ["a b c d e f g h i j k l m n o p q r s t"] * 20}, size=300)


def counts(task, root, vocab):
    return {
        split: len(task.examples(split, "en", vocab, root))
        for split in ("train", "dev", "test")
    }


def pawsx(*, decontaminate=True):
    return TASKS.build({"name": "pawsx", "files": FILES, "decontaminate": decontaminate})


def test_removes_training_rows_that_share_a_sentence(tmp_path, vocab, caplog):
    caplog.set_level(logging.INFO)
    write(tmp_path, "rows.en", *ROWS)  # the second row shares "e f" with a development row
    assert counts(pawsx(decontaminate=False), tmp_path, vocab) == {
        "train": 3,
        "dev": 2,
        "test": 1,
    }
    assert counts(pawsx(), tmp_path, vocab) == {"train": 2, "dev": 2, "test": 1}
    assert "1 train rows with a held-out text left out" in caplog.text
    write(tmp_path, "rows.en", *ROWS[:5], "K L\ta  b\t0")
    # of training, both rows with "a b" and that with "e f"; of development, that with "k l"
    with pytest.raises(DataError, match="all 3 train rows in 'en' share a held-out text"):
        pawsx().examples("train", "en", vocab, tmp_path)
    assert len(pawsx().examples("dev", "en", vocab, tmp_path)) == 1
