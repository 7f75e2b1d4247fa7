"""What works without the packages of any extra, which a subprocess cannot import."""

import pytest

from command_line import run_code
from interlace.core.errors import EXTRAS
from interlace.text.lines import read_lines, write_lines
from report_runs import bare_run, score, write_words

pytestmark = pytest.mark.slow
BLOCKED = """
import sys
from importlib.machinery import PathFinder
class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] not in sys.argv[1].split():
            return super().find_spec(name, path, target)
sys.meta_path = [Finder if finder is PathFinder else finder for finder in sys.meta_path]
"""
COMMANDS = """
import os
from interlace.__main__ import exit_code
from interlace.cli import run_command
os.chdir(sys.argv[2])
for line in sys.argv[3:]:
    try:
        code = run_command(line.split())
    except Exception as error:
        code = exit_code(error)
    if code:
        sys.exit(f"{line}: exit code {code}")
"""
RECIPE = """
name = "small"
data_root = "."
[corpora.pairs]
pairs = ["en-de"]
train = ["a.en", "a.de"]
[objectives]
mlm = {}
mass = {}
[evaluate]
source = "en"
targets = ["de"]
[evaluate.tasks]
ner.files = "{language}.{split}.iob"
retrieval.files = "a.{language}"
"""
TREE = """\
1\tOld\told\tADJ\t_\t_\t2\tamod\t_\t_
2\tdogs\tdog\tNOUN\t_\t_\t3\tnsubj\t_\t_
3\tbark\tbark\tVERB\t_\t_\t0\troot\t_\t_

"""


@pytest.fixture
def folder(tmp_path):
    write_lines(tmp_path / "a.en", ["the old house", "the red house", "an old man"] * 9)
    write_lines(tmp_path / "a.de", ["das alte Haus", "das rote Haus", "ein alter Mann"] * 9)
    write_lines(tmp_path / "tags", ["DET ADJ NOUN"] * 27)
    for name in ("en.train", "en.dev", "en.test", "de.test"):
        write_lines(tmp_path / f"{name}.iob", ["Anna\tB-PER", "reads\tO", ""])
    (tmp_path / "a.conllu").write_text(TREE)
    for name in ("a.parquet", "a.zst"):
        (tmp_path / name).write_bytes(b"PAR1")
    (tmp_path / "small.toml").write_text(RECIPE)
    return tmp_path


def run(folder, *lines):
    """Run command lines in a process without optional packages, up to one that fails; return standard error."""
    return run_code(BLOCKED + COMMANDS, " ".join(EXTRAS), folder, *lines, check=False).stderr


def test_alignment_and_data_need_no_extra(folder):
    errors = run(
        folder,
        "align a.en a.de -o a.links --word-tokenizer whitespace",
        "align a.en a.de -o b.links --aligner diagonal --save-model aligner",
        "align a.en a.de -o c.links --load-model aligner",
        "align a.en a.de -o d.links --aligner pharaoh --set links=a.links",
        "lexicon a.en a.de a.links --mutual -o a.lexicon",
        "phrases a.en a.de a.links -o a.phrases.gz",
        "project tags a.en a.de a.links -o a.tags",
        "code-switch a.en a.de a.links -o a.mixed",
        "derive a.en --transformations permute -o derived",
        "check a.en a.de",
        "check small.toml --json",
        "--version",
        "toy -o toy --languages en,de --pairs 20",
        "list objectives",
        "init tiny/mlm -o mine.toml",
    )
    assert "error" not in errors
    assert "house\tHaus\t18" in [*read_lines(folder / "a.lexicon")]


def test_a_report_needs_no_extra(folder):
    for name, gain in (("one", 0.0), ("two", 5.0)):
        rows = [score("de", 50 + gain + seed, seed) for seed in range(3)]
        write_words(bare_run(folder / name, name, rows))
    assert "error" not in run(folder, "report one two -o page.html")
    assert "±" in (folder / "page.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("line", "extra"),
    [
        ("pretrain small.toml -o runs/x", "train"),
        ("align a.en a.de --aligner similarity --set start=aligner", "train"),
        ("vocab a.en --size 300 -o vocab", "train"),
        ("study align-mlm/small -o study", "train"),
        ("study align-mlm/small --dry-run", "train"),
        ("check --reader dataset hub:owner/name/a/train", "hub"),
        ("prepare tiny/mlm --scheduler tcp://localhost:1", "dask"),
        ("align a.en a.de --word-tokenizer zh", "words-zh"),
        ("align a.parquet --reader dataset --languages en,de", "arrow"),
        ("check a.zst", "arrow"),
        (
            "derive a.conllu --transformations syntax --set syntax.like=['a.conllu'] -o x",
            "syntax",
        ),
    ],
)
def test_a_command_names_the_extra_that_it_needs(folder, line, extra, own_cache):
    assert f"the extra {extra!r}" in run(folder, line)
    assert not (folder / "cache" / "toy").exists()


def test_python_names_the_extra_that_it_needs():
    code = BLOCKED + "import interlace\ninterlace.pretrain"
    done = run_code(code, " ".join(EXTRAS), check=False)
    assert done.stderr.endswith("pip install 'interlace[train]'\n")
