"""Spoiled inputs of all commands: a result or a message, in bounded time and memory, and no file changed or left.

`make fuzz` draws thousands of other cases; `INTERLACE_FUZZ_CASES` is their number and `INTERLACE_FUZZ_SEED` the first.
"""

import os
import random
import resource
import shutil

import pytest

from fuzzing import COMMANDS, arguments_of, draw, invoke, write_material

CASES, FIRST = (int(os.environ.get(f"INTERLACE_FUZZ_{name}", value)) for name, value in (("CASES", 200), ("SEED", 0)))
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


def test_commands_succeed_with_valid_inputs(material, tmp_path):
    failed = {}
    for command in COMMANDS:
        folder = tmp_path / "work"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(material, folder / "in")
        done = invoke(arguments_of(command, folder))
        failed |= {} if done.code == 0 else {command.line: done.text}
    assert failed == {}


def test_no_spoiled_input_breaks_a_command(material, tmp_path):
    faults = []
    for number in range(FIRST, FIRST + CASES):
        case = draw(random.Random(number), material, tmp_path / "work")
        if case.faults:
            line = " ".join(case.arguments)[:200]
            faults.append(
                f"INTERLACE_FUZZ_SEED={number}: {line}\n  {case.what}: {case.faults}\n{case.done.trace[-800:]}"
            )
    assert not faults, f"{len(faults)} of {CASES} cases\n" + "\n".join(faults)
