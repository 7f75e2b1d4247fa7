"""Terminal escapes in names, data, logs and warnings are printed as text."""

import io
import subprocess
import sys

import pytest
from rich.table import Table
from rich.text import Text

from interlace.cli import VisibleConsole, print_json, print_line
from interlace.cli.common.output import file_to, lines_to, print_rows

ESCAPES = "\x1b[2J\x1b]0;title\x07\x9b31m\u202egnp.exe\u2069\r"
RAW = {*ESCAPES} - {*"[2J]0;title31mgnp.exe"}


@pytest.fixture
def run(tmp_path):
    """Run the command line as a user does; returns what it printed."""

    def printed(*arguments):
        command = [sys.executable, "-m", "interlace", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
        return (done.stdout + done.stderr).decode("utf-8")

    return printed


def test_a_table_or_a_line_shows_escapes_as_text(capsys):
    table = Table(ESCAPES, title=ESCAPES)
    table.add_row(ESCAPES, Text(ESCAPES))
    VisibleConsole(width=200).print(table)
    print_rows([{"name": ESCAPES, "count": 1}])
    print_line(ESCAPES)
    print_json({ESCAPES: ESCAPES})
    printed = capsys.readouterr().out
    assert not RAW & {*printed}
    assert printed.count("\\x1b[2J") >= 5
    assert printed.count("\\u202egnp.exe") >= 7


def test_colors_of_a_console_work(capsys):
    console = VisibleConsole(force_terminal=True, color_system="standard")
    console.print(f"[red]a[/]{ESCAPES}", highlight=False)
    printed = capsys.readouterr().out
    assert printed.startswith("\x1b[31ma\x1b[0m\\x1b[2J")


def test_file_names_and_suggestions_show_escapes_as_text(run, tmp_path):
    (tmp_path / f"tr{ESCAPES}ain.en").write_text("a\n")
    printed = run("vocab", "train.en", "-o", "vocab")
    assert "there are: tr\\x1b[2J" in printed or "did you mean" in printed
    assert not RAW & {*printed}


@pytest.mark.parametrize("arguments", [[f"--{ESCAPES}"], ["vocab", f"--{ESCAPES}"], [ESCAPES]])
def test_errors_in_options_show_escapes_as_text(run, arguments):
    printed = run(*arguments)
    assert "error: " in printed
    assert "x1b[2J" in printed
    assert not RAW & {*printed}


LOGS = """
import logging, sys, warnings
from interlace.cli import log_to_stderr
log_to_stderr()
library = logging.getLogger("library")
library.propagate = False  # as transformers
library.addHandler(logging.StreamHandler())
library.warning("cannot load %s", sys.argv[1])
logging.getLogger("interlace.x").info("reading %s", sys.argv[1])
warnings.warn("strange " + sys.argv[1])
"""


def test_log_lines_and_warnings_of_libraries_show_escapes_as_text():
    command = [sys.executable, "-c", LOGS, f"{ESCAPES}\n12:00:00 finished"]
    printed = subprocess.run(command, capture_output=True, check=True).stderr.decode()
    first, second, third = (
        line for line in printed.split("\n") if "finished" not in line and line
    )
    assert first.startswith("cannot load \\x1b[2J")
    assert "reading \\x1b[2J" in second
    assert "strange \\x1b[2J" in third
    assert printed.count("\n    12:00:00 finished\n") == 3  # indented: no line of the log
    assert not RAW & {*printed}


def write_lines_to_standard_output(line):
    with lines_to(None) as write:
        write([line])


def write_file_to_standard_output(line):
    with file_to(None) as path:
        path.write_bytes(line.encode("utf-8") + b"\n")


@pytest.mark.parametrize(
    "write", [write_lines_to_standard_output, write_file_to_standard_output]
)
@pytest.mark.parametrize("is_terminal", [True, False])
def test_text_for_standard_output_is_escaped_on_a_terminal_alone(
    monkeypatch, is_terminal, write
):
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(stdout, "isatty", lambda: is_terminal, raising=False)
    monkeypatch.setattr(sys, "stdout", stdout)
    write(f"a{ESCAPES}")
    escaped = "\\x1b[2J\\x1b]0;title\\x07\\u009b31m\\u202egnp.exe\\u2069\\x0d"
    written = stdout.buffer.getvalue().decode()
    assert written == f"a{escaped if is_terminal else ESCAPES}\n"
