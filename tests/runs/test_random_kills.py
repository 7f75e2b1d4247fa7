"""Commands killed at random moments: the same command again gives the same files as an undisturbed one, bit for bit.

`make chaos` runs it: INTERLACE_KILLS is the number of trials of each command, INTERLACE_SEED (0) that of the moments.
"""

import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest

from interlace.text.lines import write_lines
from little_translators import LINES, little_run, little_vocab

KILLS = int(os.environ.get("INTERLACE_KILLS", "0"))
SEED = int(os.environ.get("INTERLACE_SEED", "0"))
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not KILLS, reason="`make chaos` runs it")]

COMMANDS = {  # {out} is the folder that is written
    "align": "-m interlace align {text}/en {text}/de --output {out}",
    "translate": "-m interlace translate {text}/run --from en --to de --input {text}/lines --window 2 --output {out}",
    "pretrain": "-m interlace pretrain {text}/small.toml --output {out}",
}  # fmt: skip
DATES = re.compile(rb"\d{4}-\d\d-\d\dT[\d:+.]+")
# keys of times; the digest of a checkpoint is also that of its times
TIMES = re.compile(rb'"(seconds|waited|memory|speed|run|digest)": ("[^"]*"|\{[^}]*\}|[\d.e-]+)')


@pytest.fixture
def run(small, tmp_path):
    """A function that starts a command, which writes everything into a folder."""
    rng = random.Random(0)
    english = [" ".join(f"w{rng.randrange(300)}" for _ in range(8)) for _ in range(3000)]
    write_lines(tmp_path / "en", english)
    write_lines(tmp_path / "de", [line.replace("w", "v") for line in english])
    write_lines(tmp_path / "lines", LINES * 20)
    little_run(tmp_path / "run", little_vocab())

    def start(name, folder):
        arguments = COMMANDS[name].format(text=small.parent, out=folder / "out").split()
        folder.mkdir(exist_ok=True)
        return subprocess.Popen([sys.executable, *arguments], start_new_session=True)

    return start


def contents(folder):
    """Return the content of each file by its path, without times and the folder's name."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".lock" and path.name != ".lock":
            data = path.read_bytes().replace(str(folder).encode(), b"FOLDER")
            if path.suffix in {".json", ".jsonl", ".md"}:
                data = DATES.sub(b"", TIMES.sub(b"", data))
            files[str(path.relative_to(folder))] = data
    return files


@pytest.mark.parametrize("name", COMMANDS)
def test_the_same_command_again_ends_as_if_undisturbed(name, run, tmp_path):
    rng = random.Random(f"{SEED} {name}")
    # the first compiles and reads from disk
    for folder in (tmp_path / "first", tmp_path / "whole"):
        begun = time.monotonic()
        assert run(name, folder).wait() == 0
        seconds = time.monotonic() - begun
    expected = contents(tmp_path / "whole")
    assert contents(tmp_path / "first") == expected
    for number in range(KILLS):
        folder = tmp_path / f"killed-{number}"
        process = run(name, folder)
        time.sleep(rng.uniform(0, seconds))
        os.killpg(process.pid, rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
        process.wait(timeout=60)
        assert run(name, folder).wait(timeout=300) == 0
        assert contents(folder) == expected
