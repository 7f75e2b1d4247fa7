"""JSON and TOML within limits, and errors that name file and key."""

import json

import pytest
from typing_extensions import TypedDict

from interlace.core.errors import CheckpointError, DataError, SettingsError
from interlace.core.json_files import MAX_DEPTH, json_record, parse_toml, read_json
from interlace.core.store import change


@json_record
class Row(TypedDict):
    step: int
    score: float | None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b'{"step": "1", "score": 1}',
            "key 'step': input should be a valid integer, found '1'",
        ),
        (b'{"step": 1}', "key 'score': field required"),
        (b"[1]", "input should be a valid dictionary, found [1]"),
        (b'{"step" 1}', "Expecting ':' delimiter"),
        (b'{"step": "\xe9"}', "not UTF-8 at byte 10"),
        (b'{"a": "\\ud800"}', "holds '\\ud800', which is not a character"),
        (b'{"step": ' + b"9" * 5000 + b"}", "an integer of 5000 digits"),
        (b"[" * 100_000, f"nested deeper than {MAX_DEPTH}"),
    ],
)
def test_a_damaged_file_is_named_with_its_key(tmp_path, content, message):
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(CheckpointError) as caught:
        read_json(path, Row, remedy="write it again", error=CheckpointError)
    assert str(caught.value).startswith(f"{path}: damaged: {message}")
    assert str(caught.value).endswith("; write it again")


def test_keys_beyond_the_schema_and_numbers_are_kept(tmp_path):
    (tmp_path / "a.json").write_text(
        '\ufeff{"step": 1, "score": 2, "more": {"size": 1000000000000000019884624838656}}'
    )
    found = read_json(tmp_path / "a.json", Row)
    assert (
        json.dumps(found)
        == '{"step": 1, "score": 2.0, "more": {"size": 1000000000000000019884624838656}}'
    )


def test_a_missing_file_has_its_default_and_a_folder_none(tmp_path):
    assert read_json(tmp_path / "a.json", Row, None) is None
    with pytest.raises(DataError, match=r"a\.json: no such file"):
        read_json(tmp_path / "a.json", Row)
    (tmp_path / "a.json").mkdir()
    with pytest.raises(DataError, match="a folder where a file is expected"):
        read_json(tmp_path / "a.json", Row, None)


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 5000])
def test_toml_has_the_same_limits(depth):
    assert parse_toml(b"\xef\xbb\xbfa = [[[1]]]") == {"a": [[[1]]]}
    for text in ("a = " + "[" * depth + "]" * depth, ".".join("a" * depth) + " = 1"):
        with pytest.raises(ValueError, match="nested deeper"):
            parse_toml(text)
    with pytest.raises(SettingsError, match="--set a: nested deeper"):
        change({}, "a", "[" * depth + "]" * depth)
