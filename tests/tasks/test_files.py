from __future__ import annotations

import re

import pytest

from interlace.core.errors import DataError, SettingsError
from interlace.core.settings import Settings
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


class Holder(Settings):
    files: Files = "a/{language}"


@pytest.fixture
def root(tmp_path):
    for name in ("pos/test.de.txt", "pos/test.tr.txt", "pos/dev.hi.txt", "ud/zh.conllu", "par/test.en-de.de"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x\n")
    (tmp_path / "par/test.en-fr.de").write_text("x\n")  # the sides do not agree: no language
    return tmp_path


def query(root, language, split="test", source=""):
    return FileQuery("pos", split, language, root, source)


def test_the_sides_of_a_pair(root):
    (root / "par/test.en-de.en").write_text("x\n")
    pattern = "par/{split}.{source}-{target}.{language}"
    assert find_file(pattern, query(root, "de", source="en"), "en") == root / "par/test.en-de.en"
    assert find_file(pattern, query(root, "de", source="en"), "de") == root / "par/test.en-de.de"


def test_a_language_goes_before_its_split(root):
    files = {"test": "pos/test.{language}.txt", "test.zh": "ud/zh.conllu"}
    assert find_file(files, query(root, "zh")) == root / "ud/zh.conllu"
    assert find_file(files, query(root, "tr")) == root / "pos/test.tr.txt"


def test_a_direction_goes_before_its_target(root):
    files = {"test": "pos/test.{language}.txt", "test.en-de": "ud/zh.conllu"}
    assert find_file(files, query(root, "de", source="en")) == root / "ud/zh.conllu"
    assert find_file(files, query(root, "de", source="fr")) == root / "pos/test.de.txt"


def test_a_missing_file_is_named_with_the_languages_there_are(root):
    with pytest.raises(DataError) as caught:
        find_file("pos/{split}.{language}.txt", query(root, "fr"))
    expected = f"no test data in 'fr': there is no file {root}/pos/test.fr.txt; there is test data in: de, tr"
    assert str(caught.value) == f"pos: {expected}"


def test_a_table_that_names_no_file(root):
    with pytest.raises(DataError, match="no test data in 'fr': 'files' names none; there is test data in: de, zh"):
        find_file({"test.zh": "ud/zh.conllu", "test.de": "b", "train.en": "a"}, query(root, "fr"))


def test_languages_of_pairs_agree_in_all_places(root):
    pattern = "par/{split}.{source}-{target}.{target}"
    assert languages_with(pattern, query(root, "fr", source="en")) == {"de"}


def test_passages_and_questions_of_two_languages(root):
    for name in ("en-de", "en-en", "de-de", "zh-en"):
        (root / f"par/{name}.json").write_text("x\n")
    pattern = "par/{context}-{question}.json"
    assert find_file(pattern, query(root, "en-de")) == root / "par/en-de.json"
    assert find_file(pattern, query(root, "de")) == root / "par/de-de.json"
    assert languages_with(pattern, query(root, "fr")) == {"en-de", "en", "de", "zh-en"}
    assert languages_with("par/{context}-en.json", query(root, "fr")) == {"en", "zh"}


def test_characters_that_mean_something_to_a_search_are_plain(tmp_path):
    (tmp_path / "a+b").mkdir()
    (tmp_path / "a+b/test.de").write_text("x\n")
    assert languages_with("a+b/{split}.{language}", query(tmp_path, "fr")) == {"de"}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ("pos/{lang}.txt", "unknown placeholder {lang}; did you mean 'language'"),
        ("pos/{language.txt", "not a pattern of a path"),
        ({"tset.en": "a"}, "'tset.en': expected a split, .*did you mean 'test'"),
        ({"test.en": "{splt}"}, "unknown placeholder {splt}; did you mean 'split'"),
    ],
)
def test_patterns_that_never_fit_are_refused(files, message):
    with pytest.raises(SettingsError, match=message):
        Holder(files=files)


def test_several_files_and_rows_of_them(root):
    files = {"train.de": ["pos/test.{language}.txt", "pos/test.tr.txt[:20]"], "dev.de": "pos/test.de.txt[-5:]"}
    assert find_parts(files, query(root, "de", "train")) == [
        FilePart(root / "pos/test.de.txt"),
        FilePart(root / "pos/test.tr.txt", slice(None, 20)),
    ]
    assert find_parts(files, query(root, "de", "dev")) == [FilePart(root / "pos/test.de.txt", slice(-5, None))]
    for split in ("train", "dev"):
        with pytest.raises(DataError, match="expected one whole file"):
            find_file(files, query(root, "de", split))


def test_a_list_without_files_is_refused():
    for files in ([], {"test": []}):
        with pytest.raises(SettingsError, match=r"names no file|is empty"):
            Holder(files=files)


def test_a_translation_takes_the_place_of_the_source_languages_test_text(root):
    assert translated_files({"test": "a", "translated": "b/{language}.txt"}, "de", "en") == {"test.en": ["b/de.txt"]}
    assert translated_files({"translated.de": "b.txt[:3]"}, "de", "en") == {"test.en": ["b.txt[:3]"]}
    assert translated_files("{split}.{language}", "de", "en") == {"test.en": ["translated.de"]}
    with pytest.raises(DataError, match="no translated data in 'de': 'files' names none"):
        translated_files({"test": "a"}, "de", "en")


@pytest.fixture
def tatoeba(tmp_path):
    for name in ("deu-eng.deu", "deu-eng.eng", "cmn-eng.cmn", "swa-eng.swa", "ceb-eng.ceb"):
        (tmp_path / f"tatoeba.{name}").write_text("x\n")
    return tmp_path


def test_codes_of_three_letters(tatoeba):
    pattern = "tatoeba.{target3}-{source3}.{language3}"
    for language, code in (("de", "deu"), ("zh", "cmn"), ("sw", "swa"), ("ceb", "ceb")):
        assert find_file(pattern, query(tatoeba, language, source="en")) == tatoeba / f"tatoeba.{code}-eng.{code}"
    assert find_file(pattern, query(tatoeba, "de", source="en"), "en") == tatoeba / "tatoeba.deu-eng.eng"


def test_languages_of_files_with_three_letters_are_named_as_recipes_name_them(tatoeba):
    with pytest.raises(DataError) as caught:
        find_file("tatoeba.{target3}-{source3}.{language3}", query(tatoeba, "fr", source="en"))
    assert str(caught.value).endswith("tatoeba.fra-eng.fra; there is test data in: ceb, de, sw, zh")
    assert languages_with("tatoeba.{language3}-eng.eng", query(tatoeba, "fr")) == {"de"}


# ---- rows of one file in two splits ----


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"dev": "a-{language}[:10]", "test.hi": "a-hi"}, "'dev' and 'test.hi' both hold rows of a-hi"),
        ({"train": "a[:5]", "test": ["b", "a[4:]"]}, "'train' and 'test' both hold rows of a;"),
        ({"train.en": "a[5:]", "dev.en": "a[:-5]"}, "'train.en' and 'dev.en' both hold rows of a;"),
        ({"train": "{language}.x", "test": "{language}.x"}, "'train' and 'test' both hold rows"),
    ],
)
def test_rows_of_two_splits_may_not_be_the_same(files, told):
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
def test_rows_of_their_own_may_stand_in_one_file(files):
    assert Holder.read({"files": files}).files == files


@pytest.mark.parametrize("files", ["pos/test.{language}.conllu", ["{split}.conllu", "all.{language}.conllu[:20]"]])
def test_what_is_learnt_from_is_not_scored_on(files):
    """Of a probe, which learns nothing, one file is right."""
    with pytest.raises(SettingsError, match=r"is the same file for train, dev and test; put \{split\}"):
        TASKS.build({"name": "pos", "files": files})
    assert TASKS.build({"name": "retrieval", "files": files}).files == files


def test_a_language_may_stand_behind_its_split_without_quotes():
    """TOML makes a table in a table of `train.en = "a"`."""
    assert Holder(files={"train": {"en": "a", "de": "b"}, "test": "c"}).files == {
        "train.en": "a",
        "train.de": "b",
        "test": "c",
    }
    with pytest.raises(SettingsError, match=r"files: 'train\.en' is given twice"):
        Holder(files={"train.en": "a", "train": {"en": "b"}})
    with pytest.raises(SettingsError, match=r"files: 'trian\.en': expected a split.*did you mean 'train'"):
        Holder(files={"trian": {"en": "b"}})
