"""`interlace study`: a grid of real runs of a few steps, one of which fails and is mended."""

import json
from functools import partial

import numpy as np
import pytest

from command_line import command
from interlace.experiments.studies import running

called = partial(command, "study")

RECIPE = """
name = "small"
data_root = "{root}"
[corpora.text]
languages = ["en", "xx"]
train = "train.{{language}}"
[vocab]
size = 300
[model]
shape = {{ layers = 1, width = 16, heads = 2, max_length = 32 }}
[objectives.mlm]
max_length = 32
[train]
steps = 3
tokens_per_update = 128
precision = "no"
threads = 1
diagnostics.every = 0
[evaluate.tasks.retrieval]
files = "test.{{language}}"
"""

STUDY = """
name = "two"
about = "Two systems, one of which lacks its text."
[systems.whole]
recipe = "small.toml"
[systems.broken]
recipe = "small.toml"
label = "Broken"
set.corpora.text.train = "more.{language}"
"""
SYSTEMS = ("whole", "broken")


@pytest.fixture
def two(tmp_path, own_cache):
    """A study of two systems in its folder; the text of the second is not there yet."""
    rng = np.random.default_rng(0)
    english = ["the", "cat", "dog", "sees", "house", "big", "reads", "two", "books", "in"]
    for split, count in (("train", 60), ("test", 10)):
        picks = rng.integers(len(english), size=(count, 6))
        for language, turn in (("en", 1), ("xx", -1)):
            lines = (" ".join(english[i][::turn] for i in row) for row in picks)
            (tmp_path / f"{split}.{language}").write_text("\n".join(lines) + "\n")
    (tmp_path / "small.toml").write_text(RECIPE.format(root=tmp_path))
    (tmp_path / "two.toml").write_text(STUDY)
    return tmp_path


@pytest.mark.slow
def test_reports_failed_cells_and_resumes(two, python, monkeypatch):
    monkeypatch.setattr(running.sys, "executable", python)
    for language in ("en", "xx"):
        (two / f"more.{language}").write_bytes(b"\xff\n")
    command = (two / "two.toml", "--output", two / "out")
    done = called(*command)
    assert done.exit_code == 1
    assert "1 of 2 cells failed" in done.stderr
    assert "broken,seed=0: error:" in done.stderr
    assert "more.en, line 1: not valid UTF-8" in done.stderr
    cell = two / "out" / "cells" / "whole,seed=0" / "cell.json"
    finished = cell.read_text()
    for language in ("en", "xx"):
        (two / f"more.{language}").write_text((two / f"train.{language}").read_text())
    again = called(*command)
    assert again.exit_code == 0
    assert cell.read_text() == finished  # not touched again
    assert "Broken" in again.stdout
    made = {path.name for path in (two / "out").iterdir()}
    assert {"results.json", "comparisons.json", "tables", "report.html"} <= made
    rows = json.loads((two / "out" / "results.json").read_text())
    found = {(row["system"], row["task"], row["language"]) for row in rows if row["main"]}
    assert found == {(name, "retrieval", "xx") for name in SYSTEMS}


def test_a_dry_run_lists_cells_and_runs_nothing(two):
    done = called(
        two / "two.toml",
        "--dry-run",
        "--json",
        "--output",
        two / "out",
        "--set",
        "seeds=[0, 1]",
    )
    rows = json.loads(done.stdout)
    assert [(row["cell"], row["state"]) for row in rows][:2] == [
        (f"{name},seed=0", "waiting") for name in SYSTEMS
    ]
    assert len(rows) == 4
    assert not (two / "out").exists()
    with pytest.raises(Exception, match="--output FOLDER is missing"):
        called(two / "two.toml")
