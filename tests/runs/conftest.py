"""A run small enough for seconds: two made-up languages, a one-layer model."""

import sys

import numpy as np
import pytest

RECIPE = """
name = "small"
seed = 3
data_root = "{root}"
[corpora.text]
languages = ["en", "xx"]
train = "train.{{language}}"
dev = "dev.{{language}}"
[corpora.pairs]
pairs = ["en-xx"]
train = ["pairs.{{source}}", "pairs.{{target}}"]
[vocab]
size = 400
[model]
languages = "embeddings"
[model.shape]
layers = 1
width = 16
heads = 2
max_length = 32
[objectives.mlm]
max_length = 32
[objectives.tlm]
max_length = 32
[train]
steps = 12
tokens_per_update = 512
tokens_per_micro_batch = 256
precision = "no"
evaluate_every = 6
checkpoint_every = 4
threads = 1
[train.optimizer]
warmup = 2
"""


@pytest.fixture
def torchrun(python, tmp_path):
    """A function that returns the command by which processes train together; they need not import torch again.

    With `unlike_sets`, the second one is an interpreter of its own, which orders its sets differently.
    """
    unlike = tmp_path / "unlike"
    unlike.write_text(
        f'#!/bin/sh\n[ "$RANK" = 1 ] && exec {sys.executable} "$@"\nexec {python} "$@"\n'
    )
    unlike.chmod(0o755)

    def command(processes, *arguments, unlike_sets=False):
        together = ["--standalone", "--nproc-per-node", str(processes), "--no-python"]
        program = str(unlike) if unlike_sets else python
        return [python, "-m", "torch.distributed.run", *together, program, *arguments]

    return command


def _sentences(rng, words, count):
    picks = rng.integers(len(words), size=(count, 7))
    return [" ".join(words[i] for i in row) for row in picks]


@pytest.fixture
def small(tmp_path, monkeypatch, own_cache):
    """A recipe file over data in the same folder; the cache is the test's own."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    rng = np.random.default_rng(0)
    english = ["the", "cat", "dog", "sees", "house", "big", "reads", "two", "books", "in"]
    other = [word[::-1] + "o" for word in english]
    for split, count in (("train", 200), ("dev", 30)):
        (tmp_path / f"{split}.en").write_text("\n".join(_sentences(rng, english, count)) + "\n")
        (tmp_path / f"{split}.xx").write_text("\n".join(_sentences(rng, other, count)) + "\n")
    lines = _sentences(rng, english, 120)
    translated = [
        " ".join(other[english.index(word)] for word in line.split()) for line in lines
    ]
    (tmp_path / "pairs.en").write_text("\n".join(lines) + "\n")
    (tmp_path / "pairs.xx").write_text("\n".join(translated) + "\n")
    path = tmp_path / "small.toml"
    path.write_text(RECIPE.format(root=tmp_path))
    return path
