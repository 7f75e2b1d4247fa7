"""`interlace vocab`: files are read by their extension."""

import json

from typer.testing import CliRunner

from interlace.cli import application
from interlace.text.lines import write_lines


def test_json_lines_are_read_as_rows_with_text(tmp_path):
    write_lines(tmp_path / "x.jsonl", [f'{{"text": "the house number {number} is big"}}' for number in range(200)])
    arguments = ["vocab", str(tmp_path / "x.jsonl"), "--size", "300", "-o", str(tmp_path / "v")]
    assert CliRunner().invoke(application(), arguments, catch_exceptions=False).exit_code == 0
    merges = json.loads((tmp_path / "v" / "tokenizer.json").read_text(encoding="utf-8"))["model"]["merges"]
    letters = {*"".join("".join(merge) for merge in merges)}
    assert "h" in letters
    assert not letters & {*'{"}:'}
