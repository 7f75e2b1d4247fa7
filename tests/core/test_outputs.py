"""Regular files of a folder: what may be copied or published."""

import os

import pytest

from interlace.core.errors import DataError
from interlace.core.outputs import copy_files, regular_files
from little_files import named_pipe


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "model" / "decoder").mkdir(parents=True)
    (tmp_path / "model" / "config.json").write_text("{}")
    (tmp_path / "model" / "decoder" / "config.json").symlink_to("../config.json")
    (tmp_path / "secret").write_text("x")
    return tmp_path / "model"


def test_files_and_links_inside_of_the_folder_are_copied(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    assert [str(path.relative_to(folder)) for path in regular_files(folder)] == [
        "config.json",
        "decoder/config.json",
    ]
    copy_files(tmp_path / "link", tmp_path / "copy")
    assert (tmp_path / "copy" / "decoder" / "config.json").read_text() == "{}"
    assert not (tmp_path / "copy" / "decoder" / "config.json").is_symlink()
    assert regular_files(tmp_path / "missing") == []


SPECIAL = {
    "a link to a file outside": lambda path: path.symlink_to("../../secret"),
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to a folder outside": lambda path: path.symlink_to("../.."),
    "a link to a folder inside": lambda path: path.symlink_to("../decoder"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a pipe": named_pipe,
}


@pytest.mark.parametrize("kind", SPECIAL)
def test_what_is_no_file_of_the_folder_is_named(folder, kind):
    SPECIAL[kind](folder / "decoder" / "strange")
    with pytest.raises(DataError, match=f"{folder}/decoder/strange: "):
        regular_files(folder)


def test_a_folder_that_cannot_be_read_is_named(folder, monkeypatch):
    scan = os.scandir

    def scan_but_one(path):
        if str(path).endswith("decoder"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", scan_but_one)
    with pytest.raises(DataError, match=f"{folder}/decoder: cannot be read: Permission denied"):
        regular_files(folder)
