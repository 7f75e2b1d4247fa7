"""Prepared corpora: rows and shares, filters, and the keys of caches."""

import os
import signal
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

from interlace.cli import application
from interlace.core.errors import DataError, RunError
from interlace.data import corpus_text
from interlace.experiments.alignments import CorpusAlignments
from interlace.experiments.contamination import training_text
from interlace.experiments.prepare import prepare
from interlace.experiments.recipe import Recipe
from interlace.experiments.workspace import Workspace
from interlace.text.lines import write_lines


@pytest.fixture
def rows(tmp_path):
    for language in ("en", "de"):
        lines = "".join(f"{language} line {row}\n" for row in range(2000))
        (tmp_path / f"train.{language}").write_text(lines, encoding="utf-8")

    def recipe(**parts):
        paths = ["train.{source}", "train.{target}"]
        corpora = {
            "pairs": {"pairs": ["en-de"], "train": paths, "dev": paths, **parts},
            "text": {"languages": ["de"], "train": "train.{language}", **parts},
        }
        return Recipe.read({"name": "parts", "data_root": str(tmp_path), "corpora": corpora})

    return recipe


def test_rows_and_shares_select_training_text_only(rows):
    sizes = {}
    for name, parts in {"half": {}, "some": {"share": 0.1}}.items():
        built = Workspace(rows(rows="1000:", **parts)).open()
        sizes[name] = len(built.train["en-de"])
        assert len(built.train["de"]) == sizes[name]  # the same rows of files that correspond
        assert len(built.dev["en-de"]) == 2000
    assert sizes["half"] == 1000
    assert 60 < sizes["some"] < 140
    read = [line for text, _ in training_text(rows(rows="5:7")) for line in text.lines]
    assert read == [
        "en line 5",
        "en line 6",
        "de line 5",
        "de line 6",
        "de line 5",
        "de line 6",
    ]


RECIPE = """
name = "clean"
[corpora.text]
languages = ["en"]
train = "train.{language}"
dev = "dev.{language}"
[corpora.pairs]
pairs = ["en-de"]
train = ["train.{source}", "train.{target}"]
[vocab]
size = 300
[objectives.mlm]
"""
LINES = [f"the {word} reads a letter" for word in ("doctor", "teacher", "child", "doctor")]


@pytest.fixture
def recipe(tmp_path, own_cache):
    for name in ("train.en", "train.de", "dev.en"):
        write_lines(tmp_path / name, LINES)
    return Recipe.read(tomllib.loads(RECIPE) | {"data_root": str(tmp_path)})


@pytest.mark.parametrize("workers", [0, 2])
def test_text_that_changes_while_it_is_read_is_not_kept(recipe, tmp_path, monkeypatch, workers):
    written, build = tmp_path / "train.en", corpus_text.build_corpus

    def interrupted(*arguments, **options):
        built = build(*arguments, **options)
        write_lines(written, [*LINES[:3], ""])
        return built

    monkeypatch.setattr(corpus_text, "build_corpus", interrupted)
    with pytest.raises(DataError, match=r"train\.en: changed while the command read it"):
        prepare(recipe, lambda: ThreadPoolExecutor(2)) if workers else whole(recipe)
    monkeypatch.undo()
    monkeypatch.setenv("INTERLACE_CACHE", str(tmp_path / "cache"))
    assert len(Workspace(recipe).open().train["en"]) == 3


PLAIN = ["The doctor comes home, and the cat sleeps."] * 20
TOKENIZED = ["The doctor comes home , and the cat sleeps ."] * 20
CHINESE = ["\u8fd9\u4e2a\u533b\u751f\u4eca\u5929\u5728\u533b\u9662\u5de5\u4f5c"] * 20


@pytest.mark.parametrize(
    ("lines", "changes", "name", "words"),
    [
        (PLAIN, {}, "unicode", 10),
        (CHINESE, {}, "unicode", 11),
        (TOKENIZED, {}, "whitespace", 10),
        (PLAIN, {"word_tokenizer": "whitespace"}, "whitespace", 8),
    ],
)
def test_words_are_found_as_the_text_shows(tmp_path, caplog, lines, changes, name, words):
    caplog.set_level("INFO")
    write_lines(tmp_path / "train.en", TOKENIZED)
    write_lines(tmp_path / "train.xx", lines)
    corpora = {"text": {"languages": ["en", "xx"], "train": "train.{language}"}}
    recipe = {
        "name": "own",
        "data_root": str(tmp_path),
        "corpora": corpora,
        "vocab": {"size": 300},
    }
    built = Workspace(Recipe.read(recipe | changes)).open()
    # one for all text
    assert {corpus.word_tokenizer for corpus in built.train.values()} == {name}
    assert int(built.train["xx"].take([0]).words.flat.max()) + 1 == words
    assert f"word_tokenizer: {name}" in caplog.messages


WORKERS = """
name = "workers"
seed = 3
[corpora.text]
languages = ["de"]
train = ["train.{language}", "more.{language}"]
[corpora.pairs]
pairs = ["en-de"]
train = ["train.{source}", "train.{target}"]
dev = ["more.{source}", "more.{target}"]
[corpora.unique]
pairs = ["de-en"]
train = ["train.{source}", "train.{target}"]
[filters.length]
max_words = 7
[vocab]
size = 300
[objectives.alm]
corpora = ["en-de"]
[objectives.mlm]
"""


@pytest.fixture
def spread(tmp_path, monkeypatch):
    """A function that builds a recipe's data in a cache of its own, and returns the files of the cache."""
    rng = Random(5)
    words = {
        "en": "the cat dog sleeps eats red".split(),
        "de": "das Tier Hund schläft isst rot".split(),
    }
    drawn = [[rng.randrange(6) for _ in range(rng.randrange(10))] for _ in range(620)]
    for language, spelled in words.items():
        lines = [" ".join(spelled[number] for number in line) for line in drawn]
        write_lines(tmp_path / f"train.{language}", lines[:530])
        write_lines(tmp_path / f"more.{language}", lines[530:])

    def run(name, build, *more):
        recipe = Recipe.read({**tomllib.loads(WORKERS), "data_root": str(tmp_path)})
        monkeypatch.setenv("INTERLACE_CACHE", str(tmp_path / name))
        build(recipe, *more)
        files = {
            path.relative_to(tmp_path / name): path
            for path in sorted((tmp_path / name).rglob("*"))
        }
        return {
            str(short): path.read_bytes().replace(str(tmp_path / name).encode(), b"cache")
            for short, path in files.items()
            if path.is_file()
            and ".lock" not in path.name
            and not {"digests", "latest"} & {*short.parts}
        }

    return run


def whole(recipe):
    """Build all data of a recipe in this process."""
    Workspace(recipe).open()


def _differing(one, other):
    return [name for name in sorted({*one, *other}) if one.get(name) != other.get(name)]


def test_workers_prepare_the_same_bytes(spread):
    alone, seen = spread("alone", whole), []
    together = spread(
        "together", prepare, lambda: ThreadPoolExecutor(2), lambda *step: seen.append(step)
    )
    kinds = {name.partition("/")[0] for name in alone}
    assert kinds == {"vocab", "corpus", "alignments", "phrases", "text"}
    assert _differing(together, alone) == []
    # two files of de; de, en-de, de-en, held-out en-de; alignments, phrases, text
    assert ("preparing", 9, 9) in seen


def test_the_same_call_resumes_after_a_killed_worker(spread):
    pools = []

    def workers():
        pools.append(ProcessPoolExecutor(2, get_context("spawn")))
        return pools[-1]

    def kill(_what, done, _total):
        if done == 5:
            os.kill(next(iter(pools[-1]._processes)), signal.SIGKILL)

    def killed_once(*arguments):
        with pytest.raises(RunError, match="a worker was killed"):
            prepare(*arguments, kill)
        return prepare(*arguments)

    files = spread("killed", killed_once, workers)
    assert _differing(files, spread("alone", whole)) == []


WORKER = """
import os, sys, time
from multiprocessing import get_context
from pathlib import Path
from interlace.cli.prepare import start_worker

def work(path):
    start_worker([])
    path.write_text(str(os.getpid()))
    time.sleep(60)

if __name__ == "__main__":
    path = Path(sys.argv[1])
    get_context("spawn").Process(target=work, args=(path,)).start()
    while not (path.is_file() and path.read_text()):
        time.sleep(0.01)
    os.kill(os.getpid(), 9)
"""


def test_workers_end_with_a_killed_command(tmp_path):
    (tmp_path / "worker.py").write_text(WORKER)
    killed = subprocess.run(
        [sys.executable, tmp_path / "worker.py", tmp_path / "pid"], check=False
    )
    assert killed.returncode == -signal.SIGKILL
    worker = Path("/proc", (tmp_path / "pid").read_text())
    deadline = time.monotonic() + 20
    while (
        worker.exists() and "Z" not in (worker / "stat").read_text().rpartition(")")[2].split()
    ):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_command_prepares_on_a_dask_cluster(spread, tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    (tmp_path / "recipe.toml").write_text(f'data_root = "{tmp_path}"\n{WORKERS}')
    command = ["prepare", str(tmp_path / "recipe.toml"), "--scheduler"]

    def fail(*_):
        raise DataError("no links")

    def run(_recipe):
        with distributed.LocalCluster(
            1, processes=False, dashboard_address=None, protocol="tcp://"
        ) as cluster:
            result = CliRunner().invoke(
                application(), [*command, cluster.scheduler_address], catch_exceptions=False
            )
        assert result.exit_code == 0
        assert "train en-de: " in result.output

    assert _differing(spread("cluster", run), spread("alone", whole)) == []
    monkeypatch.setattr(CorpusAlignments, "build", fail)
    with pytest.raises(DataError, match="no links"):
        spread("failing", run)
    with pytest.raises(RunError, match="no Dask scheduler answers there"):
        CliRunner().invoke(
            application(), [*command, "tcp://127.0.0.1:9"], catch_exceptions=False
        )
