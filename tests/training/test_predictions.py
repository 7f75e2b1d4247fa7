"""Files of predictions: what they hold, and what becomes of them when a language, a model or a setting is other."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from interlace.core.ragged import Ragged
from interlace.data import LabeledExamples, Pairs
from interlace.data.vocab import Vocab
from interlace.scores.examples import Examples
from interlace.tasks import TASKS, Scores
from interlace.text import Text
from interlace.training.predictions import outcomes_file, read_outcomes, write_predictions, write_probe_outcomes


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
        Pairs(*sides), labels=np.array([0, 1, 2], np.int32)
    )


def keep(folder, cell, examples, predictions, gold=None, language="de"):
    if gold is not None:
        examples = replace(examples, labels=gold)
    written(folder, cell, examples, predictions, language)
    return outcomes_file(folder, cell.name, cell.seed)


def written(folder, cell, examples, predictions, language="de"):
    gold = examples.labels if examples.tags is None else examples.tags
    scores = cell.task.score(examples, predictions)
    return write_predictions(folder, cell, ("zero-shot", language), examples, predictions, gold, scores)


def shown(path, language="de"):
    return json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["languages"][language]


def test_classes_outcomes_and_confusion(tmp_path, xnli):
    cell, examples = xnli
    path = keep(tmp_path, cell, examples, np.array([0, 2, -1], np.int32))
    arrays = load_file(path)
    assert arrays["de.predicted"].tolist() == [0, 2, -1]
    assert arrays["de.gold"].tolist() == [0, 1, 2]
    found = read_outcomes(path, "de", "model")
    assert (found.score.tolist(), found.weight.tolist()) == ([1, 0, 0], [1, 1, 1])
    assert shown(path)["confusion"] == [[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert shown(path)["wrong"] == 2
    assert shown(path)["samples"][0] == {
        "texts": ["he sleeps", "he sleeps"], "gold": "neutral", "predicted": "contradiction",
    }  # fmt: skip
    assert shown(path)["samples"][1]["predicted"] == "none"


def test_languages_stand_beside_each_other_and_are_replaced_one_by_one(tmp_path, xnli):
    cell, examples = xnli
    keep(tmp_path, cell, examples, np.array([0, 1, 2], np.int32))
    keep(tmp_path, cell, examples, np.array([0, 0, 0], np.int32), language="es")
    path = keep(tmp_path, cell, examples, np.array([1, 1, 1], np.int32))
    arrays = load_file(path)
    assert (arrays["de.predicted"].tolist(), arrays["es.predicted"].tolist()) == ([1, 1, 1], [0, 0, 0])
    assert shown(path, "es")["wrong"] == 2


def test_what_another_model_predicted_is_dropped(tmp_path, xnli):
    cell, examples = xnli
    keep(tmp_path, cell, examples, np.array([0, 1, 2], np.int32), language="es")
    path = keep(
        tmp_path, Cell(cell.name, cell.task, cell.vocab, key="another"), examples, np.array([0, 1, 2], np.int32)
    )
    assert not [name for name in load_file(path) if name.startswith("es")]
    kept = json.loads(path.with_suffix(".json").read_text())
    assert (list(kept["languages"]), kept["setting"], kept["seed"]) == (["de"], "zero-shot", 0)


def test_words_keep_where_their_sentences_begin(tmp_path, vocab):
    cell = Cell("ner", TASKS.build({"name": "ner", "types": ["PER"]}), vocab)
    sentences = vocab.encode_text(Text.of(["the cat sees", "he sleeps"], "en"))
    examples = LabeledExamples(sentences, tags=Ragged.of([[1, 2, 0], [0, -1]]))
    path = keep(tmp_path, cell, examples, Ragged.of([[1, 0, 0], [0, 0]]))
    arrays = load_file(path)
    assert arrays["de.offsets"].tolist() == [0, 3, 5]
    assert shown(path)["confusion"] == [[2, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0]]
    (sample,) = shown(path)["samples"]
    assert [word.strip() for word in sample["words"]] == ["the", "cat", "sees"]
    assert sample["wrong"] == [{"word": 1, "gold": "I-PER", "predicted": "O"}]


def test_few_wrong_examples_are_shown_from_all_over(tmp_path, vocab):
    lines = [f"he sleeps {number}" for number in range(100)]
    side = vocab.encode_text(Text.of(lines, "en"))
    examples = LabeledExamples(Pairs(side, side), labels=np.zeros(100, np.int32))
    path = keep(tmp_path, Cell("xnli", TASKS.build("xnli"), vocab), examples, np.ones(100, np.int32))
    texts = [sample["texts"][0] for sample in shown(path)["samples"]]
    assert (len(texts), texts[0], texts[-1]) == (12, lines[0], lines[-1])


def test_a_task_without_classes_has_outcomes_alone(tmp_path, vocab):
    task = SimpleNamespace(
        classes=(),
        unit="%",
        samples=lambda *_: [],
        exports=lambda *_: {"answers": {"a": "a dog"}},
    )
    path = outcomes_file(tmp_path, "mine", 0)
    scores = Scores({}, Examples(np.array([0.5, 1.0]), np.ones(2)))
    job = Cell("mine", task, vocab)
    found = write_predictions(tmp_path, job, ("zero-shot", "de"), None, None, None, scores)
    assert found == {"low": 50.0, "high": 100.0}  # of two examples, one or the other may be drawn twice
    assert set(load_file(path)) == {"de.score", "de.weight"}
    assert json.loads(path.with_suffix(".de.answers.json").read_text()) == {"a": "a dog"}
    assert shown(path) == {"n": 2, "wrong": 1, "samples": []}


def test_the_same_test_set_is_known_again_and_another_is_not(tmp_path, xnli):
    cell, examples = xnli
    guess = np.array([0, 1, 2], np.int32)

    def identity(gold, language="de"):
        return read_outcomes(
            keep(tmp_path, cell, examples, guess, np.array(gold, np.int32), language), language
        ).identity

    assert identity([0, 1, 2]) == identity([0, 1, 2], "es")
    assert identity([0, 1, 2]) != identity([2, 1, 0])


def test_other_sentences_with_the_same_labels_are_other_examples(tmp_path, xnli):
    cell, examples = xnli
    turned = replace(examples, examples=Pairs(examples.examples.source, examples.examples.source))
    found = [written(tmp_path, cell, some, some.labels)["examples"] for some in (examples, examples, turned)]
    assert found[0] == found[1] != found[2]


def test_hypotheses_of_one_premise_are_drawn_together(tmp_path, xnli, vocab):
    cell, _ = xnli
    sides = [
        vocab.encode_text(Text.of(lines, "en"))
        for lines in (["he sleeps", "a dog", "he sleeps"], ["a dog", "the cat", "the dog"])
    ]
    examples = LabeledExamples(Pairs(*sides), labels=np.array([0, 1, 2], np.int32))
    path = keep(tmp_path, cell, examples, examples.labels)
    assert read_outcomes(path, "de").groups.tolist() == [0, 1, 0]


def test_tags_tell_where_sentences_end(tmp_path, vocab):
    cell = Cell("ner", TASKS.build({"name": "ner", "types": ["PER"]}), vocab)
    sentences = vocab.encode_text(Text.of(["the cat sees", "he sleeps"], "en"))
    found = set()
    for gold in (Ragged.of([[1, 2, 0], [0, -1]]), Ragged.of([[1, 2], [0, 0, -1]])):
        path = keep(tmp_path, cell, LabeledExamples(sentences, tags=gold), gold)
        found.add(read_outcomes(path, "de").identity)
    assert len(found) == 2


def test_a_probe_that_tells_outcomes_keeps_them_and_gets_an_interval(tmp_path, vocab):
    cell = Cell("retrieval", TASKS.build("retrieval"), vocab)
    got = Examples(np.array([1.0, 0.5, 0.0]), np.ones(3), "three lines")
    found = write_probe_outcomes(tmp_path, cell, ("zero-shot", "de"), Scores({"p@1": 50.0}, got))
    assert 0 <= found["low"] < 50 < found["high"] <= 100
    assert found["examples"] == "three lines"
    read = read_outcomes(outcomes_file(tmp_path, "retrieval", 0), "de", "model")
    assert (read.total, read.identity) == (0.5, "three lines")
    assert write_probe_outcomes(tmp_path, cell, ("zero-shot", "es"), Scores({"p@1": 1.0})) == {}
