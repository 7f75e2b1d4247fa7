"""`interlace vocab`: files are read by their extension."""

import json

import pytest

from command_line import command
from interlace.core.errors import DataError
from interlace.text.lines import write_lines


def test_json_lines_are_read_as_rows_with_text(tmp_path):
    write_lines(
        tmp_path / "x.jsonl",
        [f'{{"text": "the house number {number} is big"}}' for number in range(200)],
    )
    command("vocab", tmp_path / "x.jsonl", "--size", 300, "-o", tmp_path / "v")
    merges = json.loads((tmp_path / "v" / "tokenizer.json").read_text(encoding="utf-8"))[
        "model"
    ]["merges"]
    letters = {*"".join("".join(merge) for merge in merges)}
    assert "h" in letters
    assert not letters & {*'{"}:'}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "a.tmx",
            '<tmx><tu><tuv lang="en"><seg>{}</seg></tuv><tuv lang="de"><seg>{}</seg></tuv></tu></tmx>',
        ),
        ("a.jsonl", '{{"translation": {{"en": "{}", "de": "{}"}}}}'),
    ],
)
def test_a_file_in_several_languages_needs_the_name_of_one(tmp_path, name, text):
    path = tmp_path / name
    write_lines(path, [text.format("the house is big", "das haus ist groß")])
    arguments = ("--size", 300, "-o", tmp_path / "v")
    with pytest.raises(DataError, match=f"{path}.* en:{path}"):
        command("vocab", path, *arguments)
    assert command("vocab", f"en:{path}", *arguments).exit_code == 0
