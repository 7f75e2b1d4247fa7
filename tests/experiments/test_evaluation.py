"""The recipes that say how any checkpoint is scored: their files are there, and are read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interlace.data.vocab import Vocab
from interlace.experiments.recipe import read_recipe
from interlace.tasks import FineTuneTask

PUBLIC = read_recipe("evaluation/public")
DATA = os.environ.get("INTERLACE_DATA", "")


@pytest.fixture(scope="module")
def vocab():
    return Vocab.learn({"en": ["the quick brown fox jumps over the lazy dog"] * 20}, size=300)


def targets(name):
    task = PUBLIC.evaluate.task(name)
    return task.targets or PUBLIC.evaluate.targets


def test_small_models_are_scored_on_the_same_files():
    small = read_recipe("evaluation/small").evaluate
    assert list(small.tasks) == list(PUBLIC.evaluate.tasks)
    for name in small.tasks:
        one, other = PUBLIC.evaluate.task(name), small.task(name)
        assert all(getattr(one, key, None) == getattr(other, key, None) for key in ("files", "targets", "settings"))


@pytest.mark.skipif(not DATA, reason="INTERLACE_DATA is not set")
@pytest.mark.parametrize("name", PUBLIC.evaluate.tasks)
def test_the_files_can_be_read(name, vocab):
    task = PUBLIC.evaluate.task(name)
    for language in targets(name)[:2]:
        examples = task.examples("test", language, vocab, Path(DATA))
        assert len(examples) >= 90
        if name in {"xnli", "ner"}:  # large
            break
    if isinstance(task, FineTuneTask):
        assert len(task.examples("dev", "en", vocab, Path(DATA))) >= 100


@pytest.mark.skipif(not DATA, reason="INTERLACE_DATA is not set")
def test_paraphrases_that_are_learnt_from_share_no_sentence_with_those_scored(vocab):
    task = PUBLIC.evaluate.task("pawsx")
    whole = {split: {line for chunk in task.texts(split, "en", Path(DATA)) for line in chunk.source.lines}
             for split in ("train", "test")}  # fmt: skip
    assert len(whole["train"] & whole["test"]) > 50  # a cut by rows alone parts no sentences
    assert [len(task.examples(split, "en", vocab, Path(DATA))) for split in ("train", "dev", "test")] == [794, 239, 500]
