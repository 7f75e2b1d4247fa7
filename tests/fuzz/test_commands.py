"""Corrupted inputs of all commands: a result or a message, in bounded time and memory, and no file changed or left.

`make fuzz` draws thousands of other cases; `INTERLACE_FUZZ_CASES` is their number and `INTERLACE_FUZZ_SEED` the first.
"""

import os
import random
import re
import shutil
import subprocess

import pytest

from fuzzing import (
    COMMANDS,
    ESCAPES,
    Case,
    Command,
    Done,
    arguments_of,
    draw,
    faults_of,
    invoke,
    write_material,
)
from fuzzing_files import draw_file
from interlace.cli import COMMANDS as REGISTRY
from interlace.cli import command_name

resource = pytest.importorskip("resource")  # limits memory
CASES, FIRST = (
    int(os.environ.get(f"INTERLACE_FUZZ_{name}", value))
    for name, value in (("CASES", 200), ("SEED", 0))
)
NAMED = re.compile(r"[Nn]o space left|MB are free|[Rr]ead-only file system")
MEMORY = 16 << 30  # bytes of address space


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTERLACE_CACHE", str(folder / "cache"))
        write_material(folder / "material")
        before = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, before[1]))
        yield folder / "material"
        resource.setrlimit(resource.RLIMIT_AS, before)


def test_all_commands_are_tried():
    assert {command.name for command in COMMANDS} == {
        command_name(module) for module in REGISTRY.names()
    } - {"demo"}


def test_commands_succeed_with_valid_inputs(material, tmp_path):
    failed = {}
    for command in COMMANDS:
        folder = tmp_path / "work"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(material, folder / "in")
        done = invoke(arguments_of(command, folder))
        failed |= {} if done.code == 0 else {command.line: done.text}
    assert failed == {}


IN_MAKE_FUZZ = pytest.mark.skipif("INTERLACE_FUZZ_CASES" not in os.environ, reason="make fuzz")


@pytest.mark.parametrize("corrupted", [draw, pytest.param(draw_file, marks=IN_MAKE_FUZZ)])
def test_no_corrupted_input_breaks_a_command(material, tmp_path, corrupted):
    faults = []
    for number in range(FIRST, FIRST + CASES):
        case = corrupted(random.Random(number), material, tmp_path / "work")
        if case.faults:
            line = " ".join(case.arguments)[:200]
            faults.append(
                f"INTERLACE_FUZZ_SEED={number}: {line}\n  {case.what}: {case.faults}\n{case.done.trace[-800:]}"
            )
    assert not faults, f"{len(faults)} of {CASES} cases\n" + "\n".join(faults)


@pytest.fixture
def disk(material, tmp_path):
    """A function that makes `tmp_path/out` an empty disk of some kB; 0: one that is read-only."""
    shutil.copytree(material, tmp_path / "in")
    place = tmp_path / "out"
    place.mkdir()

    def mount(size):
        subprocess.run(["umount", "-l", place], check=False, capture_output=True)
        command = [
            "mount",
            "-t",
            "tmpfs",
            "-o",
            f"size={size}k" if size else "ro",
            "tmpfs",
            place,
        ]
        if subprocess.run(command, check=False, capture_output=True).returncode:
            pytest.skip("a disk cannot be mounted here")

    yield mount
    subprocess.run(["umount", "-l", place], check=False, capture_output=True)


@pytest.mark.parametrize("size", [0, 8, 40, 200])
@pytest.mark.parametrize("what", ["output", "cache", "temporary"])
def test_a_full_or_read_only_disk_is_named(disk, tmp_path, monkeypatch, what, size):
    faults, elsewhere = {}, tmp_path / "elsewhere"
    for command in (each for each in COMMANDS if "{out}" in each.line):
        disk(size)
        shutil.rmtree(elsewhere, ignore_errors=True)
        elsewhere.mkdir()
        if what != "output":
            monkeypatch.setenv(
                "INTERLACE_CACHE",
                str(tmp_path / "out" if what == "cache" else elsewhere / "cache"),
            )
            monkeypatch.setattr(
                "tempfile.tempdir", str(tmp_path / "out" if what == "temporary" else elsewhere)
            )
        line = (
            command.line if what == "output" else command.line.replace("{out}", str(elsewhere))
        )
        done = invoke(arguments_of(Command(line), tmp_path), 60)
        left = [
            path
            for place in ("out", "elsewhere")
            for path in (tmp_path / place).rglob("*.partial*")
        ]
        if left or done.code not in {0, 2} or (done.code and not NAMED.search(done.text)):
            faults[line] = [done.code, done.text[-300:], done.trace[-1500:], left]
    assert faults == {}


def test_raw_control_characters_in_what_is_printed_are_a_fault(tmp_path):
    (tmp_path / "in").mkdir()
    for text, count in ((f"error: {ESCAPES}", 1), ("error: \\x1b[2J\n", 0)):
        assert len(faults_of(Case([], "", Done(2, text)), tmp_path, {})) == count
