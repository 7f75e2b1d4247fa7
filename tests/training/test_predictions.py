"""Outcomes of test examples in a run's folder."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.data import LabeledExamples, Pairs
from interlace.data.vocab import Vocab
from interlace.scores.examples import Examples
from interlace.tasks import TASKS, Scores
from interlace.text import Text
from interlace.training.predictions import (
    confidence_interval,
    outcomes_file,
    read_outcomes,
    record_outcomes,
    write_outcomes,
)
from interlace.training.selection import Item
from study_rows import write_outcomes as write_rows


@dataclass(frozen=True)
class Job:
    name: str
    task: Any
    output: Any
    key: str = "model"
    seed: int = 0

    accelerator = SimpleNamespace(is_main_process=True)


GERMAN = Item("zero-shot", "de")


@pytest.fixture(scope="module")
def vocab():
    return Vocab.learn({"en": ["the cat sees a dog", "he sleeps"] * 20}, size=300)


def write_scored(job, examples, predictions):
    record_outcomes(job, GERMAN, job.task.score(examples, predictions))
    return read_outcomes(outcomes_file(job.output, job.name, 0, "de"), job.key)


def test_outcomes_of_a_classification_whose_pairs_share_a_premise(tmp_path, vocab):
    premises = ["he sleeps", "a dog", "he sleeps"]
    hypotheses = ["a dog", "the cat", "the dog"]
    sides = [vocab.encode_text(Text.of(side, "en")) for side in (premises, hypotheses)]
    examples = LabeledExamples(Pairs(*sides), labels=np.array([0, 1, 2], np.int32))
    job = Job("xnli", TASKS.build("xnli"), tmp_path)
    outcomes = write_scored(job, examples, np.array([0, 2, -1], np.int32))
    assert (outcomes.score.tolist(), outcomes.weight.tolist()) == ([1, 0, 0], [1, 1, 1])
    assert outcomes.groups.tolist() == [0, 1, 0]


def test_answers_of_a_task_are_exported(tmp_path):
    job = Job("qa", SimpleNamespace(unit="%"), tmp_path)
    scores = Scores({}, Examples(np.array([0.5, 1.0]), np.ones(2)))
    columns = record_outcomes(job, GERMAN, scores, {"answers": {"a": "a dog"}})
    assert columns == {"low": 50.0, "high": 100.0}  # an example may be drawn twice
    path = outcomes_file(tmp_path, "qa", 0, "de")
    assert set(load_file(path)) == {"score", "weight"}
    assert json.loads(path.with_suffix(".answers.json").read_text()) == {"a": "a dog"}


def test_the_identity_depends_on_sentence_ends(tmp_path, vocab):
    job = Job("ner", TASKS.build({"name": "ner", "types": ["PER"]}), tmp_path)
    sentences = vocab.encode_text(Text.of(["the cat sees", "he sleeps"], "en"))
    identities = set()
    for gold in (Ragged.of([[1, 2, 0], [0, -1]]), Ragged.of([[1, 2], [0, 0, -1]])):
        examples = LabeledExamples(sentences, tags=gold)
        identities.add(write_scored(job, examples, gold).identity)
    assert len(identities) == 2


def test_outcomes_of_probes_with_an_interval(tmp_path):
    job = Job("retrieval", TASKS.build("retrieval"), tmp_path)
    outcomes = Examples(np.array([1.0, 0.5, 0.0]), np.ones(3), "three lines")
    columns = record_outcomes(job, GERMAN, Scores({"p@1": 50.0}, outcomes))
    assert 0 <= columns["low"] < 50 < columns["high"] <= 100
    assert columns["examples"] == "three lines"
    stored = read_outcomes(outcomes_file(tmp_path, "retrieval", 0, "de"), "model")
    assert (stored.total, stored.identity) == (0.5, "three lines")
    assert record_outcomes(job, GERMAN, Scores({"p@1": 1.0})) == {}


def examples_of(*score):
    return Examples(np.array(score, float), np.ones(len(score)), "these")


def test_the_interval_is_in_the_unit_of_the_score():
    half = examples_of(*[1, 0] * 200)
    interval = confidence_interval(half)
    # 1.96 standard errors of a share of one half of 400
    assert interval == pytest.approx({"low": 50 - 4.9, "high": 50 + 4.9}, abs=0.6)
    assert confidence_interval(half, "")["low"] == pytest.approx(
        interval["low"] / 100, abs=1e-4
    )
    assert confidence_interval(examples_of(1)) == {}


def test_rejects_unreadable_outcomes(tmp_path):
    path = outcomes_file(tmp_path, "pos", 0, "de")
    with pytest.raises(DataError, match=r"pos.zero-shot.0.de.safetensors: no such file"):
        read_outcomes(path)
    write_outcomes(path, examples_of(1), "model")
    with pytest.raises(DataError, match="outcomes of another model"):
        read_outcomes(path, "other")
    path.write_bytes(b"nonsense")
    with pytest.raises(DataError, match=r"de.safetensors: damaged"):
        read_outcomes(path)
    save_file({"score": np.ones(1)}, path, {"about": '{"key": 1}'})
    with pytest.raises(DataError, match=r"de.safetensors: damaged: key 'key'"):
        read_outcomes(path)


@pytest.mark.parametrize(
    ("score", "weight"), [([1.0], [1.0, 1.0]), ([], []), ([0.0], [0.0]), ([[1.0]], [[1.0]])]
)
def test_rejects_inconsistent_rows(tmp_path, score, weight):
    write_rows(tmp_path, "pos", {"de": (score, weight)})
    with pytest.raises(DataError, match="expected rows of one length with some weight"):
        read_outcomes(outcomes_file(tmp_path, "pos", 0, "de"))


def test_stores_counts_and_measures_of_corpus_metrics(tmp_path):
    path = tmp_path / "mt.safetensors"
    counts = np.array([[3, 3, 3, 2, 1, 0, 3, 2, 1, 0], [4, 5, 2, 1, 0, 0, 4, 3, 2, 1]], float)
    bleu = replace(examples_of(0.9, 0.3), counts=counts, measure="bleu")
    write_outcomes(path, bleu, "model")
    stored = read_outcomes(path)
    assert (stored.measure, stored.total) == ("bleu", bleu.total)
    np.testing.assert_array_equal(stored.counts, counts)
    nats = Examples(np.array([4.0, 9.0]), np.array([2.0, 3.0]), "two", measure="perplexity")
    write_outcomes(path, nats, "model")
    stored = read_outcomes(path)
    assert (stored.measure, stored.counts) == ("perplexity", None)
    assert stored.total == pytest.approx(np.exp(13 / 5))
    interval = confidence_interval(stored, "per word")
    assert interval == pytest.approx({"low": np.exp(2), "high": np.exp(3)}, abs=1e-3)
