"""Predictions and outcomes in a run's folder."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
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
    write_predictions,
    write_probe_outcomes,
)
from interlace.training.predictions import write_outcomes as keep
from interlace.training.selection import Item
from study_rows import write_outcomes


@dataclass(frozen=True)
class Cell:
    name: str
    task: Any
    vocab: Any
    key: str = "model"
    seed: int = 0
    extra: dict[str, Any] = field(default_factory=dict)


@pytest.fixture(scope="module")
def vocab():
    return Vocab.learn({"en": ["the cat sees a dog", "he sleeps"] * 20}, size=300)


@pytest.fixture
def xnli(vocab):
    lines = ["the cat sees a dog", "he sleeps", "a dog"]
    sides = (vocab.encode_text(Text.of(lines, "en")), vocab.encode_text(Text.of(lines[::-1], "en")))
    return Cell("xnli", TASKS.build("xnli"), vocab), LabeledExamples(
        Pairs(*sides), labels=np.arange(3, dtype=np.int32)
    )


def predicted(folder, cell, examples, predictions, gold=None, language="de"):
    if gold is not None:
        examples = replace(examples, labels=gold)
    written(folder, cell, examples, predictions, language)
    return outcomes_file(folder, cell.name, cell.seed)


def written(folder, cell, examples, predictions, language="de"):
    gold = examples.labels if examples.tags is None else examples.tags
    scores = cell.task.score(examples, predictions)
    return write_predictions(
        folder, cell, Item("zero-shot", language), examples, predictions, gold, scores
    )


def test_classes_and_outcomes(tmp_path, xnli):
    cell, examples = xnli
    path = predicted(tmp_path, cell, examples, np.array([0, 2, -1], np.int32))
    arrays = load_file(path)
    assert arrays["de.predicted"].tolist() == [0, 2, -1]
    assert arrays["de.gold"].tolist() == [0, 1, 2]
    found = read_outcomes(path, "de", "model")
    assert (found.score.tolist(), found.weight.tolist()) == ([1, 0, 0], [1, 1, 1])


def test_drops_predictions_of_another_model(tmp_path, xnli):
    cell, examples = xnli
    predicted(tmp_path, cell, examples, np.array([0, 1, 2], np.int32), language="es")
    path = predicted(
        tmp_path, replace(cell, key="another"), examples, np.array([0, 1, 2], np.int32)
    )
    assert not [name for name in load_file(path) if name.startswith("es")]


def test_a_task_without_classes_has_outcomes_alone(tmp_path, vocab):
    task = SimpleNamespace(classes=(), unit="%", exports=lambda *_: {"answers": {"a": "a dog"}})
    path = outcomes_file(tmp_path, "mine", 0)
    scores = Scores({}, Examples(np.array([0.5, 1.0]), np.ones(2)))
    job = Cell("mine", task, vocab)
    found = write_predictions(tmp_path, job, Item("zero-shot", "de"), None, None, None, scores)
    assert found == {
        "low": 50.0,
        "high": 100.0,
    }  # of two examples, one or the other may be drawn twice
    assert set(load_file(path)) == {"de.score", "de.weight"}
    assert json.loads(path.with_suffix(".de.answers.json").read_text()) == {"a": "a dog"}


def test_hypotheses_of_one_premise_share_a_group(tmp_path, xnli, vocab):
    cell, _ = xnli
    lines = (["he sleeps", "a dog", "he sleeps"], ["a dog", "the cat", "the dog"])
    sides = [vocab.encode_text(Text.of(side, "en")) for side in lines]
    examples = LabeledExamples(Pairs(*sides), labels=np.array([0, 1, 2], np.int32))
    path = predicted(tmp_path, cell, examples, examples.labels)
    assert read_outcomes(path, "de").groups.tolist() == [0, 1, 0]


def test_the_identity_depends_on_sentence_ends(tmp_path, vocab):
    cell = Cell("ner", TASKS.build({"name": "ner", "types": ["PER"]}), vocab)
    sentences = vocab.encode_text(Text.of(["the cat sees", "he sleeps"], "en"))
    found = set()
    for gold in (Ragged.of([[1, 2, 0], [0, -1]]), Ragged.of([[1, 2], [0, 0, -1]])):
        path = predicted(tmp_path, cell, LabeledExamples(sentences, tags=gold), gold)
        found.add(read_outcomes(path, "de").identity)
    assert len(found) == 2


def test_stores_outcomes_of_probes_with_an_interval(tmp_path, vocab):
    cell = Cell("retrieval", TASKS.build("retrieval"), vocab)
    got = Examples(np.array([1.0, 0.5, 0.0]), np.ones(3), "three lines")
    found = write_probe_outcomes(
        tmp_path, cell, Item("zero-shot", "de"), Scores({"p@1": 50.0}, got)
    )
    assert 0 <= found["low"] < 50 < found["high"] <= 100
    assert found["examples"] == "three lines"
    read = read_outcomes(outcomes_file(tmp_path, "retrieval", 0), "de", "model")
    assert (read.total, read.identity) == (0.5, "three lines")
    assert write_probe_outcomes(tmp_path, cell, Item("zero-shot", "es"), Scores({"p@1": 1.0})) == {}


def examples(*score, identity="these"):
    return Examples(np.array(score, float), np.ones(len(score)), identity)


def test_languages_keep_their_keys_and_identities_until_the_model_is_another(tmp_path):
    path = outcomes_file(tmp_path, "pos", 0)
    keep(path, "de", examples(1, 0), "model")
    keep(path, "es", examples(1, 1, identity="those"), "model")
    keep(path, "de", examples(0, 0), "model")
    assert read_outcomes(path, "de", "model").score.tolist() == [0, 0]
    assert [read_outcomes(path, language, "model").identity for language in ("de", "es")] == [
        "these",
        "those",
    ]
    keep(path, "es", examples(1), "old")
    keep(path, "de", examples(1), "new")
    with pytest.raises(DataError, match="no language 'es'"):
        read_outcomes(path, "es")
    with pytest.raises(DataError, match=r"de: outcomes of another model"):
        read_outcomes(path, "de", "old")


def test_the_interval_is_in_the_unit_of_the_score():
    half = examples(*[1, 0] * 200)
    found = confidence_interval(half)
    assert found["low"] == pytest.approx(
        50 - 4.9, abs=0.6
    )  # 1.96 standard errors of a share of one half of 400
    assert found["high"] == pytest.approx(50 + 4.9, abs=0.6)
    assert confidence_interval(half, "")["low"] == pytest.approx(found["low"] / 100, abs=1e-4)
    assert confidence_interval(examples(1)) == {}


def test_rejects_unreadable_outcomes(tmp_path):
    path = tmp_path / "a.safetensors"
    with pytest.raises(DataError, match=r"a.safetensors: no such file"):
        read_outcomes(path, "de")
    write_outcomes(path, {"de": ([1.0], [1.0])})
    with pytest.raises(DataError, match=r"no language 'dee'; did you mean 'de'"):
        read_outcomes(path, "dee")
    path.write_bytes(b"nonsense")
    with pytest.raises(DataError, match=r"a.safetensors: damaged"):
        read_outcomes(path, "de")
    with pytest.raises(DataError, match=r"a.safetensors: damaged"):
        keep(path, "es", examples(1), "model")
    save_file({"de.score": np.ones(1)}, path, {"about": '{"de": 1}'})
    with pytest.raises(DataError, match=r"a.safetensors: damaged: key 'de'"):
        keep(path, "es", examples(1), "model")


@pytest.mark.parametrize(
    ("score", "weight"), [([1.0], [1.0, 1.0]), ([], []), ([0.0], [0.0]), ([[1.0]], [[1.0]])]
)
def test_rejects_inconsistent_rows(tmp_path, score, weight):
    path = tmp_path / "a.safetensors"
    write_outcomes(path, {"de": (score, weight)})
    with pytest.raises(DataError, match="de: expected rows of one length with some weight"):
        read_outcomes(path, "de")


def test_stores_counts_of_corpus_metrics(tmp_path):
    path = outcomes_file(tmp_path, "mt", 0)
    counts = np.array([[3, 3, 3, 2, 1, 0, 3, 2, 1, 0], [4, 5, 2, 1, 0, 0, 4, 3, 2, 1]], float)
    scored = Examples(np.array([0.9, 0.3]), np.ones(2), "two", counts, "bleu")
    keep(path, "en-de", scored, "model")
    keep(path, "de-en", examples(1, 0), "model")
    found = read_outcomes(path, "en-de")
    assert found.measure == "bleu"
    np.testing.assert_array_equal(found.counts, counts)
    assert found.total == scored.total
    assert read_outcomes(path, "de-en").counts is None
    path = outcomes_file(tmp_path, "perplexity", 0)
    keep(
        path,
        "de",
        Examples(np.array([4.0, 9.0]), np.array([2.0, 3.0]), "two", measure="perplexity"),
        "model",
    )
    found = read_outcomes(path, "de")
    assert (found.measure, found.counts) == ("perplexity", None)
    assert found.total == pytest.approx(np.exp(13 / 5))
    ends = confidence_interval(found, "per word")
    assert ends == {
        "low": pytest.approx(np.exp(2), abs=1e-3),
        "high": pytest.approx(np.exp(3), abs=1e-3),
    }
