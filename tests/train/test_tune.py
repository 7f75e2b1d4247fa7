"""Fine-tuning and scoring of one cell, on a tagging task that the word alone decides."""

from dataclasses import replace

import numpy as np
import pytest

from interlace.data.vocab import Vocab
from interlace.errors import DataError
from interlace.models.build import fresh
from interlace.models.shape import Shape
from interlace.tasks import TASKS
from interlace.train.device import accelerator_for
from interlace.train.tune import Cell, score_cell

WORDS = {"en": {"cat": "NOUN", "sees": "VERB", "big": "ADJ", "the": "DET"}, "de": {"sees": "VERB", "big": "ADJ"}}


@pytest.fixture
def root(tmp_path):
    rng = np.random.default_rng(0)
    for split, language, count in (("train", "en", 80), ("dev", "en", 10), ("test", "en", 20), ("test", "de", 20)):
        words = list(WORDS[language])
        with (tmp_path / f"{split}.{language}.conllu").open("w") as file:
            for row in rng.integers(len(words), size=(count, 4)):
                for number, word in enumerate((words[i] for i in row), 1):
                    file.write(f"{number}\t{word}\t_\t{WORDS[language][word]}" + "\t_" * 6 + "\n")
                file.write("\n")
    return tmp_path


@pytest.fixture
def cell(root):
    def make(targets=("de",), seen=None, **tuning):
        vocab = Vocab.learn({"en": ["the big cat sees"] * 20}, size=320)
        shape = Shape(layers=1, width=32, heads=2, max_length=32, dropout=0.0, attention_dropout=0.0)
        settings = {"learning_rate": 1e-2, "tokens_per_batch": 128, **tuning}
        task = TASKS.build({"name": "pos", "files": "{split}.{language}.conllu", "tuning": settings})
        seen = [] if seen is None else seen
        accelerator = accelerator_for("no", threads=1)
        return Cell(
            "pos", task, lambda: fresh(shape, vocab), vocab, root, "en", list(targets), 0, accelerator, seen.append
        )

    return make


def test_every_language_is_scored_and_what_words_decide_is_learnt(cell):
    rows = score_cell(cell(epochs=4))
    assert [(row["language"], row["n"], row["source"]) for row in rows] == [("en", 20, "en"), ("de", 20, "en")]
    assert min(row["score"] for row in rows) > 95


def test_the_same_seed_gives_the_same_scores(cell):
    one, other = score_cell(cell(epochs=1)), score_cell(cell(epochs=1))
    assert [row["scores"] for row in one] == [row["scores"] for row in other]


def test_what_learnt_left_to_right_is_tuned_with_both_sides_in_view(cell):
    made = cell(epochs=1)
    loaded = []

    def load():
        loaded.append(made.load())
        loaded[0].causal = True
        return loaded[0]

    one, other = score_cell(replace(made, load=load)), score_cell(made)
    assert not loaded[0].causal
    assert [row["scores"] for row in one] == [row["scores"] for row in other]


def test_the_best_epoch_is_kept(cell, monkeypatch):
    from interlace.train import tune

    given = iter([50.0, 90.0, 70.0])
    weights, learnt = [], []
    real = tune._scores

    def scores(cell, learner, prepared, training, examples):
        head = training.model.heads["pos"]["linear"].weight.detach().clone()
        if len(weights) < 3:  # the dev set, once an epoch
            weights.append(head)
            return {cell.task.metric: next(given)}
        learnt.append(head)
        return real(cell, learner, prepared, training, examples)

    monkeypatch.setattr(tune, "_scores", scores)
    score_cell(cell(epochs=3))
    assert len(weights) == 3
    assert not np.array_equal(weights[1], weights[2])
    assert all(np.array_equal(head, weights[1]) for head in learnt)


def test_a_missing_file_is_found_before_training(cell):
    seen = []
    with pytest.raises(DataError, match="no test data in 'fr'"):
        score_cell(cell(targets=("de", "fr"), seen=seen))
    assert not seen
