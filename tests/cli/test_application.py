"""The application: every command starts, and checks that hold for all commands."""

import pytest
from typer.testing import CliRunner

from interlace.cli import COMMANDS, application, command_name
from interlace.core.errors import DataError, SettingsError
from interlace.text.lines import write_lines

NEED_NOTHING = {"demo", "init", "list"}


@pytest.mark.parametrize("name", [command_name(module) for module in COMMANDS.names()])
def test_help_and_missing_arguments(name):
    shown = CliRunner().invoke(application(), [name, "-h"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    if name not in NEED_NOTHING:
        missing = CliRunner().invoke(application(), [name])
        assert missing.exit_code == 2
        assert "Missing" in missing.stderr


def test_rejects_an_unknown_command():
    wrong = CliRunner().invoke(application(), ["algin"])
    assert wrong.exit_code == 2
    assert "align" in wrong.stderr


@pytest.mark.parametrize("value", [str(2**31), "9" * 30])
def test_numbers_of_options_are_bounded(value):
    with pytest.raises(SettingsError, match="--window: expected at most 2147483647"):
        CliRunner().invoke(
            application(),
            ["translate", "run", "--from", "en", "--to", "de", "--window", value],
            catch_exceptions=False,
        )


@pytest.mark.parametrize(
    "name", ["align a.en a.de", "vocab a.en", "pretrain tiny/mlm", "study tiny/objectives"]
)
def test_an_output_has_a_name(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.en").touch()
    (tmp_path / "a.de").touch()
    done = CliRunner().invoke(application(), [*name.split(), "--output", ""])
    assert done.exit_code == 2
    assert "--output" in done.stderr
    assert "expected a path, found an empty one" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.de", "a.en"]


@pytest.mark.parametrize(
    "line",
    [
        "align a.en a.de -o ./a.en",
        "align a.en a.de -o b --confidence a.de",
        "phrases a.en a.de links -o links",
    ],
)
def test_outputs_are_no_inputs(tmp_path, monkeypatch, line):
    monkeypatch.chdir(tmp_path)
    for name in ("a.en", "a.de", "links"):
        write_lines(name, ["0-0"])
    with pytest.raises(DataError, match=r"(en|de|links): is also the input; write to another file"):
        CliRunner().invoke(application(), line.split(), catch_exceptions=False)
    assert [path.read_text() for path in sorted(tmp_path.iterdir())] == ["0-0\n"] * 3
