"""What the `interlace` command makes of errors."""

import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

import pytest

import interlace.cli
from interlace.__main__ import main


def fails_with(error):
    def run_command(_arguments):
        raise error

    return run_command


def test_system_errors_print_one_line_and_bugs_keep_their_traceback(monkeypatch, capsys):
    error = OSError(errno.ENOSPC, "No space left on device", "runs/x/metrics.jsonl")
    monkeypatch.setattr(interlace.cli, "run_command", fails_with(error))
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert (
        capsys.readouterr().err.strip()
        == "error: runs/x/metrics.jsonl: No space left on device"
    )
    monkeypatch.setattr(interlace.cli, "run_command", fails_with(OSError("no number")))
    with pytest.raises(OSError, match="no number"):
        main()


@pytest.mark.parametrize(
    ("fail", "message"),
    [
        (lambda: json.loads("{"), "error: unexpected JSONDecodeError: Expecting property name"),
        ("\ud800".encode, "error: unexpected UnicodeEncodeError: 'utf-8' codec can't encode"),
        (lambda: bytearray(1 << 60), "error: out of memory; lower the size of the model"),
        (lambda: (1 << 70).to_bytes(1), "error: unexpected OverflowError: int too big"),
    ],
    ids=["json", "unicode", "memory", "overflow"],
)
def test_errors_of_libraries_about_input_are_one_line(monkeypatch, capsys, fail, message):
    monkeypatch.setattr(interlace.cli, "run_command", lambda _: fail())
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith(message)
    monkeypatch.setenv("INTERLACE_TRACEBACK", "1")
    with pytest.raises((ValueError, MemoryError, OverflowError)):
        main()


def test_an_incomplete_environment_of_processes_is_named(monkeypatch, capsys):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(SystemExit):
        main()
    message = "WORLD_SIZE=2 in the environment without RANK, MASTER_ADDR"
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "| head -1 >/dev/null"])
def test_closed_streams_are_no_error(closed):
    command = f"{sys.executable} -m interlace list aligners {closed}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def ended_pipe():
    """The writing end of a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


def run(arguments, folder, **streams):
    command = [sys.executable, "-m", "interlace", *arguments.split()]
    return subprocess.run(command, check=False, cwd=folder, text=True, **streams)


@pytest.mark.parametrize(
    "arguments",
    [
        "list aligners",
        "list tasks --json",
        "--version",
        "align --help",
        "init",
        "align a b -o links --confidence -",
    ],
)
def test_an_ended_reader_of_standard_output_ends_every_command_alike(
    tmp_path, ended_pipe, arguments
):
    for name in ("a", "b"):
        (tmp_path / name).write_text("a cat\n")
    done = run(arguments, tmp_path, stdout=ended_pipe, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (141, "")


INTERRUPTS = {
    "while the command line is imported": """
        import sys
        class Interrupting:
            def find_spec(self, name, *_):
                if name == "interlace.cli.common.options":
                    raise KeyboardInterrupt
        sys.meta_path.insert(0, Interrupting())
    """,
    "while a command is imported": """
        import sys
        class Interrupting:
            def find_spec(self, name, *_):
                if name == "interlace.alignment.lexicon":
                    raise KeyboardInterrupt
        sys.meta_path.insert(0, Interrupting())
    """,
    "while a command works": """
        import os, signal
        import interlace.alignment.lexicon
        interlace.alignment.lexicon.Lexicon.count = lambda *_: os.kill(os.getpid(), signal.SIGINT)
    """,
    "while a child process starts": """
        import os, signal, subprocess, time
        import interlace.alignment.lexicon, interlace.core.guarded as guarded
        def start(*arguments, **options):
            child = popen(*arguments, **options)
            time.sleep(0.1)
            os.killpg(0, signal.SIGINT)
            return child
        popen, subprocess.Popen = subprocess.Popen, start
        interlace.alignment.lexicon.Lexicon.count = lambda *_: guarded.guarded_results(guarded.serve, [], 1)
    """,
    "while workers work or wait": """
        import os, signal, time
        import interlace.alignment.lexicon
        from interlace.cli.prepare import _local
        def prepare(*_):
            with _local(2, [])() as executor:
                tasks = [executor.submit(time.sleep, seconds) for seconds in (1, 60)]
                running = tasks[1]
                tasks[0].result()
                time.sleep(0.5)
                os.killpg(0, signal.SIGINT)
                running.result()
        interlace.alignment.lexicon.Lexicon.count = prepare
    """,
}


@pytest.mark.parametrize("moment", INTERRUPTS)
def test_an_interrupted_command_says_so_at_any_moment(tmp_path, moment):
    for name in ("a", "b", "links"):
        (tmp_path / name).write_text("0-0\n")
    handler = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # else ignored in background
    code = (
        f"{handler}\n{dedent(INTERRUPTS[moment])}\nfrom interlace.__main__ import main\nmain()"
    )
    command = [sys.executable, "-c", code, "lexicon", "a", "b", "links"]
    done = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        start_new_session=True,
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr == "interrupted; rerun the same command to resume what it saved\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("list --nope", 2),
        ("list aligners", 0),
        ("lexicon missing.en missing.de -o lexicon", 2),
    ],
)
def test_an_ended_reader_of_standard_error_changes_no_exit_code(
    tmp_path, ended_pipe, arguments, code
):
    done = run(arguments, tmp_path, stdout=subprocess.DEVNULL, stderr=ended_pipe)
    assert done.returncode == code


@pytest.mark.parametrize("leads_group", [True, False])
@pytest.mark.parametrize(
    ("saves", "interrupts"),
    # of a shell's background job
    [
        (True, ""),
        (False, "signal.default_int_handler"),
        (False, "signal.SIG_IGN"),
    ],
)
def test_a_command_of_a_killed_study_ends_and_no_other(
    tmp_path, leads_group, saves, interrupts
):
    child = f"""
        import os, signal, sys, time, interlace.cli as cli
        from interlace.__main__ import main
        def run(arguments):
            open({str(tmp_path / "started")!r}, "w").close()
            time.sleep(60)
        def save(*signal):
            open({str(tmp_path / "saved")!r}, "w").close()
            sys.exit(143)
        if {saves}:
            signal.signal(signal.SIGTERM, save)
        else:
            signal.signal(signal.SIGINT, {interrupts or None})
        cli.run_command = run
        main()
    """
    study = f"""
        import os, subprocess, sys
        environment = os.environ | {{"INTERLACE_END_WITH_STDIN": "1"}}
        options = {{"stdin": subprocess.PIPE, "start_new_session": {leads_group}, "env": environment}}
        child = subprocess.Popen([sys.executable, "-c", {dedent(child)!r}], **options)
        print(child.pid, flush=True)
        input()
    """
    command = [sys.executable, "-c", dedent(study)]
    deadline = time.monotonic() + 60
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        number = int(parent.stdout.readline())
        while not (tmp_path / "started").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        parent.kill()
    while (
        Path(f"/proc/{number}").exists()
        and "Z" not in Path(f"/proc/{number}/stat").read_text().split()[2]
    ):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert (tmp_path / "saved").exists() == saves


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux only")
def test_a_full_standard_output_is_named(tmp_path):
    with Path("/dev/full").open("w") as full:
        done = run("list", tmp_path, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert "No space left on device; is standard output's disk or" in done.stderr
