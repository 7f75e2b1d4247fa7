"""Settings files: shipped names, what others extend, and changes by key."""

from __future__ import annotations

import pytest

from interlace.core.errors import DataError, SettingsError
from interlace.core.store import ConfigStore, change, merged, put


@pytest.fixture
def shelf(tmp_path):
    folder = tmp_path / "shipped"
    (folder / "tiny").mkdir(parents=True)
    (folder / "tiny" / "one.toml").write_text('name = "one"\n[a]\nx = 1\ny = 2\n[list]\nk = 1\n')
    (folder / "_base.toml").write_text("[a]\nz = 3\n")
    return ConfigStore("thing", folder, whole=("list",))


def test_files_that_are_only_extended_have_no_name(shelf):
    assert shelf.names() == ["tiny/one"]


def test_a_file_is_found_by_path_by_name_and_beside_another(shelf, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text('name = "own"\n')
    assert shelf.find(str(own)) == own
    assert shelf.find("tiny/one") == shelf.find("tiny/one.toml")
    assert shelf.beside("own.toml", tmp_path) == own
    with pytest.raises(DataError, match=r"no thing 'tiny/won'.*did you mean 'tiny/one'"):
        shelf.beside("tiny/won", tmp_path)


def test_what_extends_says_some_keys_as_a_whole(shelf, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text('extends = "tiny/one"\nname = "own"\n[a]\ny = 5\n[list]\nm = 2\n')
    assert shelf.read(own) == {"name": "own", "a": {"x": 1, "y": 5}, "list": {"m": 2}}


def test_a_file_that_is_no_settings_says_where(shelf, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text("name = \n")
    with pytest.raises(SettingsError, match=r"own.toml: cannot be read as a thing: .*line 1"):
        shelf.read(own)


def test_tables_merge_and_all_else_is_replaced():
    assert merged({"a": {"x": 1}, "b": [1], "c": {"k": 1}}, {"a": {"y": 2}, "b": [2], "c": 3}) == {
        "a": {"x": 1, "y": 2},
        "b": [2],
        "c": 3,
    }


def test_a_key_is_put_where_its_path_says():
    data: dict = {"a": 1}
    put(data, "b.c", [1])
    change(data, "b.d", "1e-4")
    change(data, "b.e", "no toml")
    assert data == {"a": 1, "b": {"c": [1], "d": 1e-4, "e": "no toml"}}
    with pytest.raises(SettingsError, match="'a' is no section"):
        put(data, "a.b", 2)


def test_a_key_with_a_dot_in_it_is_one_key():
    data = {"files": {"train.en": "a", "test": "b"}}
    change(data, "files.train.en", "c")  # found as it is
    change(data, 'files."test.de"', "d")  # or in quotes, where it is new
    change(data, "files.dev.en", "e")
    assert data == {"files": {"train.en": "c", "test": "b", "test.de": "d", "dev": {"en": "e"}}}
    with pytest.raises(
        SettingsError, match=r"'test' is no section; a key with a dot in it goes in quotes, '\"test\.fr\"'"
    ):
        change(data, "files.test.fr", "f")
