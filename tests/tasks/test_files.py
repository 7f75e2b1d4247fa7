"""Patterns of files, and the rows that are read."""

from __future__ import annotations

import json
import logging
import re

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
    languages_with,
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


def test_placeholders_of_pairs_and_special_characters(root, tmp_path):
    (root / "par/test.en-de.en").write_text("x\n")
    pattern = "par/{split}.{source}-{target}.{language}"
    assert find_file(pattern, query(root, "de", source="en"), "en") == root / "par/test.en-de.en"
    assert find_file(pattern, query(root, "de", source="en"), "de") == root / "par/test.en-de.de"
    pattern = "par/{split}.{source}-{target}.{target}"
    assert languages_with(pattern, query(root, "fr", source="en")) == {"de"}
    (tmp_path / "a+b").mkdir()
    (tmp_path / "a+b/test.de").write_text("x\n")
    assert languages_with("a+b/{split}.{language}", query(tmp_path, "fr")) == {"de"}
    assert languages_with(f"{tmp_path}/a+b/{{split}}.{{language}}", query(root / "par", "fr")) == {
        "de"
    }


def test_an_entry_for_a_language_or_direction_takes_precedence(root):
    files = {"test": "pos/test.{language}.txt", "test.zh": "ud/zh.conllu"}
    assert find_file(files, query(root, "zh")) == root / "ud/zh.conllu"
    assert find_file(files, query(root, "tr")) == root / "pos/test.tr.txt"
    files = {"test": "pos/test.{language}.txt", "test.en-de": "ud/zh.conllu"}
    assert find_file(files, query(root, "de", source="en")) == root / "ud/zh.conllu"
    assert find_file(files, query(root, "de", source="fr")) == root / "pos/test.de.txt"


def test_a_missing_file_lists_available_languages(root):
    with pytest.raises(DataError) as caught:
        find_file("pos/{split}.{language}.txt", query(root, "fr"))
    expected = f"no test data in 'fr': there is no file {root}/pos/test.fr.txt; there is test data in: de, tr"
    assert str(caught.value) == f"pos: {expected}"
    with pytest.raises(
        DataError, match="no test data in 'fr': 'files' names none; there is test data in: de, zh"
    ):
        find_file({"test.zh": "ud/zh.conllu", "test.de": "b", "train.en": "a"}, query(root, "fr"))


def test_finds_passages_and_questions_of_two_languages(root):
    for name in ("en-de", "en-en", "de-de", "zh-en"):
        (root / f"par/{name}.json").write_text("x\n")
    pattern = "par/{context}-{question}.json"
    assert find_file(pattern, query(root, "en-de")) == root / "par/en-de.json"
    assert find_file(pattern, query(root, "de")) == root / "par/de-de.json"
    assert languages_with(pattern, query(root, "fr")) == {"en-de", "en", "de", "zh-en"}
    assert languages_with("par/{context}-en.json", query(root, "fr")) == {"en", "zh"}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ("pos/{language:>1000000000}.txt", "unknown placeholder {language:>1000000000}"),
        ("pos/{lang}.txt", "unknown placeholder {lang}; did you mean 'language'"),
        ("pos/{language.txt", "not a pattern of a path"),
        ({"tset.en": "a"}, "'tset.en': expected a split, .*did you mean 'test'"),
        ({"test.en": "{splt}"}, "unknown placeholder {splt}; did you mean 'split'"),
        ([], "the list of files is empty"),
        ({"test": []}, "'test' names no file"),
    ],
)
def test_rejects_invalid_patterns(files, message):
    with pytest.raises(SettingsError, match=message):
        Holder(files=files)


def test_finds_several_files_and_rows(root):
    files = {
        "train.de": ["pos/test.{language}.txt", "pos/test.tr.txt[:20]"],
        "dev.de": "pos/test.de.txt[-5:]",
    }
    train = [
        FilePart(root / "pos/test.de.txt"),
        FilePart(root / "pos/test.tr.txt", slice(None, 20)),
    ]
    assert find_parts(files, query(root, "de", "train")) == train
    assert find_parts(files, query(root, "de", "dev")) == [
        FilePart(root / "pos/test.de.txt", slice(-5, None))
    ]
    for split in ("train", "dev"):
        with pytest.raises(DataError, match="expected one whole file"):
            find_file(files, query(root, "de", split))
    assert translated_files({"test": "a", "translated": "b/{language}.txt"}, "de", "en") == {
        "test.en": ["b/de.txt"]
    }
    assert translated_files({"translated.de": "b.txt[:3]"}, "de", "en") == {
        "test.en": ["b.txt[:3]"]
    }
    assert translated_files("{split}.{language}", "de", "en") == {"test.en": ["translated.de"]}
    with pytest.raises(DataError, match="no translated data in 'de': 'files' names none"):
        translated_files({"test": "a"}, "de", "en")


@pytest.fixture
def tatoeba(tmp_path):
    for name in ("deu-eng.deu", "deu-eng.eng", "cmn-eng.cmn", "swa-eng.swa", "ceb-eng.ceb"):
        (tmp_path / f"tatoeba.{name}").write_text("x\n")
    return tmp_path


def test_finds_and_lists_files_by_three_letter_codes(tatoeba):
    pattern = "tatoeba.{target3}-{source3}.{language3}"
    for language, code in (("de", "deu"), ("zh", "cmn"), ("sw", "swa"), ("ceb", "ceb")):
        assert (
            find_file(pattern, query(tatoeba, language, source="en"))
            == tatoeba / f"tatoeba.{code}-eng.{code}"
        )
    assert (
        find_file(pattern, query(tatoeba, "de", source="en"), "en")
        == tatoeba / "tatoeba.deu-eng.eng"
    )
    with pytest.raises(DataError) as caught:
        find_file(pattern, query(tatoeba, "fr", source="en"))
    assert str(caught.value).endswith("tatoeba.fra-eng.fra; there is test data in: ceb, de, sw, zh")
    assert languages_with("tatoeba.{language3}-eng.eng", query(tatoeba, "fr")) == {"de"}


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (
            {"dev": "a-{language}[:10]", "test.hi": "a-hi"},
            "'dev' and 'test.hi' both hold rows of a-hi",
        ),
        ({"train": "a[:5]", "test": ["b", "a[4:]"]}, "'train' and 'test' both hold rows of a;"),
        ({"train.en": "a[5:]", "dev.en": "a[:-5]"}, "'train.en' and 'dev.en' both hold rows of a;"),
        ({"train": "{language}.x", "test": "{language}.x"}, "'train' and 'test' both hold rows"),
    ],
)
def test_rejects_rows_shared_by_splits(files, told):
    with pytest.raises(SettingsError, match=re.escape(told)):
        Holder.read({"files": files})


@pytest.mark.parametrize(
    "files",
    [
        {"train": "a[:5]", "dev": "a[5:10]", "test": "a[10:]"},
        {"train": "a[:-5]", "test": "a[-5:]"},
        {"train": "{language}-{split}", "test": "{language}-{split}"},
        {"train.en": "a", "test.de": "a"},  # a file of several languages
        {"test": "a", "translated": "a"},
        {"dev": "a-{language}[:10]", "dev.hi": "b", "test.hi": "a-hi", "test": "a-{language}[10:]"},
    ],
)
def test_accepts_disjoint_rows_of_one_file(files):
    assert Holder.read({"files": files}).files == files


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


def test_accepts_nested_tables_of_unquoted_keys():
    """TOML makes a table in a table of `train.en = "a"`."""
    flat = {"train.en": "a", "train.de": "b", "test": "c"}
    assert Holder(files={"train": {"en": "a", "de": "b"}, "test": "c"}).files == flat
    with pytest.raises(SettingsError, match=r"files: 'train\.en' is given twice"):
        Holder(files={"train.en": "a", "train": {"en": "b"}})
    with pytest.raises(
        SettingsError, match=r"files: 'trian\.en': expected a split.*did you mean 'train'"
    ):
        Holder(files={"trian": {"en": "b"}})


ROWS = ["a b\tc d\t1", "e f\tg h\t0", "A  B\ti j\t0", "k l\tm n\t1", "o p\te f\t1", "q r\ts t\t0"]
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
        split: len(task.examples(split, "en", vocab, root)) for split in ("train", "dev", "test")
    }


def pawsx(*, decontaminate=True):
    return TASKS.build({"name": "pawsx", "files": FILES, "decontaminate": decontaminate})


def test_removes_training_rows_that_share_a_sentence(tmp_path, vocab, caplog):
    caplog.set_level(logging.INFO)
    write(tmp_path, "rows.en", *ROWS)  # the second row shares "e f" with a development row
    assert counts(pawsx(decontaminate=False), tmp_path, vocab) == {"train": 3, "dev": 2, "test": 1}
    assert counts(pawsx(), tmp_path, vocab) == {"train": 2, "dev": 2, "test": 1}
    assert "removed 1 of 3 train rows" in caplog.text
    write(tmp_path, "rows.en", *ROWS[:3])
    task = TASKS.build(
        {"name": "pawsx", "files": {"train": "rows.{language}"}, "decontaminate": True}
    )
    assert len(task.examples("train", "en", vocab, tmp_path)) == 3
    write(tmp_path, "rows.en", *ROWS[:5], "K L\ta  b\t0")
    # of training, both rows with "a b" and that with "e f"; of development, that with "k l"
    with pytest.raises(DataError, match="all 3 train rows in 'en' share a held-out text"):
        pawsx().examples("train", "en", vocab, tmp_path)
    assert len(pawsx().examples("dev", "en", vocab, tmp_path)) == 1


def test_removes_questions_on_held_out_passages_and_held_out_tagged_sentences(tmp_path, vocab):
    passages = ["a b c", "d e f", "a b c", "g h i"]
    paragraphs = []
    for at, text in enumerate(passages):
        answer = {"text": text[:1], "answer_start": 0}
        paragraphs.append(
            {"context": text, "qas": [{"id": str(at), "question": f"{at}?", "answers": [answer]}]}
        )
    write(tmp_path, "qa.json", json.dumps({"data": [{"paragraphs": paragraphs}]}))
    files = {"train": "qa.json[:2]", "test": "qa.json[2:]"}
    task = TASKS.build({"name": "mlqa", "files": files, "decontaminate": True})
    questions = task.examples("train", "en", vocab, tmp_path)
    assert questions.ids == ["1"]
    lines = ["a B-PER", "b O", "", "c B-LOC", "", "A B-LOC", "b O", ""]
    write(tmp_path, "ner.en", *(line.replace(" ", "\t") for line in lines))
    files = {"train": "ner.en[:2]", "test": "ner.en[2:]"}
    task = TASKS.build({"name": "ner", "files": files, "decontaminate": True})
    assert len(task.examples("train", "en", vocab, tmp_path)) == 1


@pytest.mark.parametrize(
    "patterns",
    [
        ["nli/train.{language}.tsv", "nli/{split}.de.tsv"],
        ["nli/train.de.tsv", "nli/train.de.tsv[:10]"],
        ["nli/train.de.tsv[:5]", "nli/train.de.tsv[:5]"],
    ],
)
def test_rejects_a_file_that_two_patterns_lead_to(tmp_path, patterns):
    (tmp_path / "nli").mkdir()
    (tmp_path / "nli/train.de.tsv").touch()
    with pytest.raises(DataError, match=r"train\.de\.tsv is named twice"):
        find_parts({"train": patterns}, query(tmp_path, "de", "train"))
    parts = find_parts(
        {"train": ["nli/train.de.tsv[:5]", "nli/train.de.tsv[5:]"]}, query(tmp_path, "de", "train")
    )
    assert len(parts) == 2
