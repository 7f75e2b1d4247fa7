"""What works without the functions and modules that only POSIX systems have."""

import subprocess
import sys
from pathlib import Path

import pytest

from command_line import run_code
from interlace.text.lines import read_lines, write_lines

CONSOLE = """
import io, os, sys

class Console(io.RawIOBase):  # takes characters, as that of Windows, so its file is not to be written to
    def fileno(self):
        return 1

    def writable(self):
        return True

    def write(self, data):
        os.write(1, bytes(data).upper())
        return len(data)

sys.stdout = io.TextIOWrapper(io.BufferedWriter(Console()), "utf-8")
sys.argv[1:] = ["list", "aligners"]
from interlace.__main__ import main
main()
"""
RECIPE = """
name = "small"
data_root = "."
[corpora.pairs]
pairs = ["en-de"]
train = ["a.en", "a.de"]
[vocab]
size = 300
[model.shape]
layers = 1
width = 16
heads = 2
max_length = 32
[objectives.mlm]
[objectives.alm]
[train]
steps = 2
checkpoint_every = 1
tokens_per_update = 128
[evaluate]
source = "en"
targets = ["de"]
tasks.retrieval.files = "a.{language}"
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for open files in /proc")
def test_commands_run_on_a_system_without_posix(tmp_path, own_cache):
    write_lines(tmp_path / "a.en", ["the old house", "the red house", "an old man"] * 9)
    write_lines(tmp_path / "a.de", ["das alte Haus", "das rote Haus", "ein alter Mann"] * 9)
    (tmp_path / "small.toml").write_text(RECIPE)
    script = Path(__file__).parent / "support" / "little_system.py"
    lines = [
        "align a.en a.de -o a.links",
        "lexicon a.en a.de a.links --mutual -o a.lexicon",
        "check a.en a.de",
        "derive a.en --transformations permute -o derived",
        "pretrain small.toml -o run",
        "evaluate run --tasks retrieval",
        "report run -o page.html",
    ]
    command = [sys.executable, script, tmp_path, *lines]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "house\tHaus\t18" in [*read_lines(tmp_path / "a.lexicon")]
    assert (tmp_path / "page.html").is_file()


def test_a_console_is_not_replaced_by_its_file():
    assert "GIBBS" in run_code(CONSOLE).stdout
