"""The application: every command starts, and checks that hold for all commands."""

import pytest
from typer.testing import CliRunner

from command_line import command
from interlace.__main__ import explanation
from interlace.cli import COMMANDS, application, command_name, run_command
from interlace.core.errors import SettingsError

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


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("align a b --threshold 2", "--set threshold=VALUE"),
        ("pretrain x --train.steps=2", "--set train.steps=VALUE"),
        ("report x --title y", ""),  # it has no settings
    ],
)
def test_an_unknown_option_may_be_a_setting(line, hint):
    with pytest.raises(Exception, match="No such option") as wrong:
        run_command(line.split())
    message = explanation(wrong.value)
    assert hint in message
    assert ("--set" in message) == bool(hint)


@pytest.mark.parametrize("value", [str(2**31), "9" * 30])
def test_numbers_of_options_are_bounded(value):
    with pytest.raises(SettingsError, match="--window: expected at most 2147483647"):
        command("translate", "run", "--from", "en", "--to", "de", "--window", value)


COMPLETED = {
    "interlace al": ["align"],
    "interlace evaluate --ta": ["--tasks"],
    "interlace pretrain tiny/mlm": ["tiny/mlm", "tiny/mlm-tlm"],
    "interlace study align-mlm/sm": ["align-mlm/small"],
    "interlace preview dict": ["dict_mlm"],
    "interlace list obj": ["objectives"],
    "interlace align --aligner gi": ["gibbs"],
}


@pytest.mark.parametrize("line", COMPLETED)
def test_a_shell_completes_commands_options_and_names(line):
    words = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    environment = {**words, "_INTERLACE_COMPLETE": "complete_bash"}
    done = CliRunner().invoke(application(), [], env=environment, prog_name="interlace")
    assert sorted(done.stdout.split()) == COMPLETED[line]
