"""The recipes of evaluation: their files exist, are readable, and each task is scored on them."""

import gzip
import json
import math
import os
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from interlace.cli import application
from interlace.data.vocab import Vocab
from interlace.experiments.recipe import read_recipe, resolve_task
from interlace.tasks import TASKS, FineTuneTask
from little_checkpoints import save_plain_bert

PUBLIC = read_recipe("evaluation/public")
DATA = os.environ.get("INTERLACE_DATA", "")


@pytest.fixture(scope="module")
def vocab():
    return Vocab.learn({"en": ["the quick brown fox jumps over the lazy dog"] * 20}, size=300)


def targets(name):
    task = resolve_task(PUBLIC, name)
    return task.targets or PUBLIC.evaluate.targets


def test_small_and_public_recipes_use_the_same_files():
    assert list(SMALL.evaluate.tasks) == list(PUBLIC.evaluate.tasks)
    for name in SMALL.evaluate.tasks:
        public = resolve_task(PUBLIC, name)
        small = resolve_task(SMALL, name)
        for key in ("files", "targets", "settings"):
            assert getattr(public, key, None) == getattr(small, key, None)


@pytest.mark.skipif(not DATA, reason="INTERLACE_DATA is not set")
@pytest.mark.parametrize("name", PUBLIC.evaluate.tasks)
def test_reads_the_files_of_every_task(name, vocab):
    task = resolve_task(PUBLIC, name)
    for language in targets(name)[:2]:
        examples = task.examples("test", language, vocab, Path(DATA))
        assert len(examples) >= 90
        if name in {"xnli", "ner"}:  # large
            break
    if isinstance(task, FineTuneTask):
        assert len(task.examples("dev", "en", vocab, Path(DATA))) >= 100


SMALL = read_recipe("evaluation/small")
ROWS = re.compile(r"\[(\d*):(\d*)\]$")
LEARNT, SCORED = 24, 12  # rows of a training file, and of any other one
WHOLE = {
    "retrieval",
    "embedding_alignment",
    "word_translation",
    "word_similarity",
    "word_alignment",
}  # take no rows
QUICK = {"tuning.epochs": 1}


def cut(pattern, rows):
    """The same file from the same row on, and no more than so many rows of it."""
    match = ROWS.search(pattern)
    first = int(match[1] or 0) if match else 0
    return f"{pattern[: match.start()] if match else pattern}[{first}:{first + rows}]"


def few(files):
    """The files of a task, each cut; one pattern of all splits stays one."""
    if isinstance(files, str):
        return cut(files, SCORED)
    rows = {key: LEARNT if key.startswith("train") else SCORED for key in files}
    return {
        key: [cut(each, rows[key]) for each in found]
        if isinstance(found, list)
        else cut(found, rows[key])
        for key, found in files.items()
    }


@pytest.fixture(scope="module")
def checkpoint(real_data, tmp_path_factory):
    """A tiny BERT whose subwords are learnt on captions."""
    files = [real_data / f"parallel/multi30k/val.{language}.gz" for language in ("en", "de")]
    lines = [
        line for file in files for line in gzip.decompress(file.read_bytes()).decode().splitlines()
    ]
    return save_plain_bert(tmp_path_factory.mktemp("small") / "bert", lines, size=2000)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL.evaluate.tasks)
def test_scores_every_task_on_its_files(name, checkpoint, tmp_path):
    task = resolve_task(SMALL, name)
    kind = SMALL.evaluate.tasks[name].get("task", name)
    language = (task.targets or SMALL.evaluate.targets)[0]
    changes = {"targets": [language]} | ({} if kind in WHOLE else {"files": few(task.files)})
    changes |= QUICK if isinstance(task, FineTuneTask) else {}
    changes |= {"reading.multi_subword": "mean"} if TASKS.get(kind).static_vectors else {}
    arguments = [
        "evaluate",
        str(checkpoint),
        "--recipe",
        "evaluation/small",
        "--output",
        str(tmp_path),
    ]
    arguments += ["--tasks", name, "--seeds", "1", "--json", "--set", "train.threads=1"]
    for key, value in changes.items():
        leaves = (
            {f"{key}.{of}": each for of, each in value.items()}
            if isinstance(value, dict)
            else {key: value}
        )
        arguments += [part for of, each in leaves.items()
                      for part in ("--set", f"evaluate.tasks.{name}.{of}={json.dumps(each)}")]  # fmt: skip
    done = CliRunner().invoke(application(), arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)
    settings = getattr(task, "settings", ["zero-shot"])
    assert {(row["setting"], row["language"]) for row in rows} >= {
        (setting, language) for setting in settings
    }
    for row in rows:
        assert all(math.isfinite(value) for value in row["scores"].values()), row
        assert row["n"] > 0
        if kind not in WHOLE:
            assert row["n"] <= SCORED
        if name not in {
            "word_similarity",
            "xquad",
        }:  # it tells nothing of examples; first questions of one passage
            assert row["low"] <= row["score"] <= row["high"], row
