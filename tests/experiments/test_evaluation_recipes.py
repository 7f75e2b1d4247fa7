"""The recipes of evaluation: their files exist, are readable, and each task is scored on them."""

import gzip
import math
import re

import pytest

from interlace.experiments.evaluate import Target, evaluate
from interlace.experiments.recipe import Recipe, read_recipe, resolve_task
from interlace.tasks import TASKS, FineTuneTask
from little_checkpoints import save_plain_bert

PUBLIC = read_recipe("evaluation/public")


def test_small_and_public_recipes_use_the_same_files():
    assert list(SMALL.evaluate.tasks) == list(PUBLIC.evaluate.tasks)
    for name in SMALL.evaluate.tasks:
        public = resolve_task(PUBLIC, name)
        small = resolve_task(SMALL, name)
        for key in ("files", "targets", "settings"):
            assert getattr(public, key, None) == getattr(small, key, None)


SMALL = read_recipe("evaluation/small")
ROWS = re.compile(r"\[(\d*):(\d*)\]$")
LEARNT, SCORED = 24, 12  # rows of a training file, and of any other one
# take no rows
WHOLE = {
    "retrieval",
    "embedding_alignment",
    "word_translation",
    "word_similarity",
    "word_alignment",
}


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
        line
        for file in files
        for line in gzip.decompress(file.read_bytes()).decode().splitlines()
    ]
    return save_plain_bert(tmp_path_factory.mktemp("small") / "bert", lines, size=2000)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL.evaluate.tasks)
def test_scores_every_task_on_its_files(name, checkpoint, tmp_path):
    task = resolve_task(SMALL, name)
    data = SMALL.dump()
    section = data["evaluate"]["tasks"][name]
    kind = section.get("task", name)
    section["targets"] = [(task.targets or SMALL.evaluate.targets)[0]]
    if kind not in WHOLE:
        section["files"] = few(task.files)
    if isinstance(task, FineTuneTask):
        section["tuning"] = {**section.get("tuning", {}), "epochs": 1}
    if TASKS.get(kind).static_vectors:
        section["reading"] = {"multi_subword": "mean"}
    data["train"]["threads"] = 1
    rows = evaluate(Target(str(checkpoint), Recipe.read(data), tmp_path), [name], seeds=1)
    settings = {
        (setting, section["targets"][0]) for setting in getattr(task, "settings", ["zero-shot"])
    }
    assert {(row["setting"], row["language"]) for row in rows} >= settings
    for row in rows:
        assert all(math.isfinite(value) for value in row["scores"].values()), row
        assert 0 < row["n"] <= (math.inf if kind in WHOLE else SCORED)
        # the one tells nothing of examples; the other's are first questions of one passage
        if name not in {"word_similarity", "xquad"}:
            assert row["low"] <= row["score"] <= row["high"], row
