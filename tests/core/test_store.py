"""Config store: shipped names, variants, inheritance, and changes by key."""

import pytest

from interlace.core.errors import DataError, SettingsError
from interlace.core.store import ConfigStore, change, put


@pytest.fixture
def store(tmp_path):
    folder = tmp_path / "shipped"
    (folder / "tiny").mkdir(parents=True)
    (folder / "tiny" / "one.toml").write_text(
        'name = "one"\n[a]\nx = 1\ny = 2\n[list]\nk = 1\n'
    )
    (folder / "tiny" / "rows.toml").write_text(
        'extends = "_base"\n[a]\nx = 1\n[list]\nk = 1\n[variants._half]\na.y = 2\n'
        '[variants.first]\nextends = ":_half"\n[variants.first.list]\nm = 2\n[variants.second]\nname = "own"\na.x = 7\n'
    )
    (folder / "_base.toml").write_text("[a]\nz = 3\n")
    return ConfigStore("thing", folder, whole=("list",))


def write(tmp_path, text):
    own = tmp_path / "own.toml"
    own.write_text(text)
    return str(own)


def test_names_list_files_and_variants_but_no_bases(store):
    assert store.names() == ["tiny/one", "tiny/rows:first", "tiny/rows:second"]


def test_find_takes_a_path_a_shipped_name_and_a_file_of_a_folder(store, tmp_path):
    own = write(tmp_path, 'name = "own"\n')
    assert str(store.find(own)) == own
    assert str(store.find("own.toml", tmp_path)) == own
    with pytest.raises(DataError, match=r"no thing 'tiny/won'.*did you mean 'tiny/one'"):
        store.find("tiny/won", tmp_path)
    with pytest.raises(DataError, match=r"did you mean 'own\.toml'"):
        store.find("own.tml", tmp_path)


def test_a_variant_merges_into_its_file_and_into_the_variant_that_it_extends(store):
    assert store.read("tiny/rows:first") == {
        "name": "tiny-rows-first",
        "a": {"z": 3, "x": 1, "y": 2},
        "list": {"m": 2},
    }


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tiny/rows", "expected the name of a variant.*first, second"),
        ("tiny/rows:frist", "expected the name of a variant.*did you mean 'first'"),
    ],
)
def test_a_missing_variant_is_reported_with_those_there_are(store, name, message):
    with pytest.raises(DataError, match=message):
        store.read(name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[variants]\nv = 3\n", "expected tables"),
        ('[variants.v]\nextends = "tiny/one"\n', "':NAME' of a variant of this file"),
        ('extends = "own.toml"\n', "circular"),
        ("extends = 3\n", "expected the name of a thing, .*found 3"),
        ("name = \n", "own.toml: not a valid thing: .*line 1"),
    ],
)
def test_a_faulty_file_is_reported_by_name(store, tmp_path, text, message):
    own = write(tmp_path, text)
    with pytest.raises(SettingsError, match=message):
        store.read(f"{own}:v" if "variants" in text else own)


def test_a_file_that_extends_another_or_what_variants_share_replaces_whole_keys(
    store, tmp_path
):
    own = write(tmp_path, 'extends = "tiny/one"\nname = "own"\n[a]\ny = 5\n[list]\nm = 2\n')
    assert store.read(own) == {"name": "own", "a": {"x": 1, "y": 5}, "list": {"m": 2}}


def test_a_key_is_put_at_its_path():
    data = {"a": 1}
    put(data, "b.c", [1])
    change(data, "b.d", "1e-4")
    change(data, "b.e", "no toml")
    assert data == {"a": 1, "b": {"c": [1], "d": 1e-4, "e": "no toml"}}
    with pytest.raises(SettingsError, match="'a' is not a section"):
        put(data, "a.b", 2)


@pytest.mark.parametrize("key", ["", ".", "..", '"'])
def test_an_empty_key_is_refused(key):
    with pytest.raises(SettingsError, match="expected a key"):
        change({}, key, "1")


def test_a_key_that_contains_a_dot():
    data = {"files": {"train.en": "a", "test": "b"}}
    change(data, 'files."train.en"', "c")
    assert data == {"files": {"train.en": "c", "test": "b"}}
    with pytest.raises(
        SettingsError,
        match=r"'test' is not a section; quote a part of the key that contains a dot",
    ):
        change(data, "files.test.fr", "f")
