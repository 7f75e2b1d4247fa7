from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data import LabeledExamples, Pairs, Sentences
from interlace.objectives import Resources
from interlace.tasks import Tuning
from interlace.tasks.common.classification import ClassificationTask, Classifier
from interlace.tasks.common.files import Files
from interlace.tasks.common.prediction import MixedBatches, MixedSequences
from interlace.training.device import accelerator_for
from interlace.training.evaluation_job import EvaluationJob
from little_jobs import score_job

RNG = generator(Purpose.BATCH, 0)
CPU = torch.device("cpu")


def sentences(rows, language="en"):
    ids = Ragged.of(rows)
    return Sentences(ids, Ragged(ids.columns().astype(np.int32), ids.offsets), language)


def pairs(labels=(2, 0), languages=("en", "en")):
    sides = (sentences([[100, 101], [102]], languages[0]), sentences([[103], [104, 105, 106]], languages[1]))
    return LabeledExamples(Pairs(*sides), labels=np.array(labels, np.int32))


def batch_of(learner, examples, vocab, backbone):
    return learner.batch(examples, learner.prepare(Resources(vocab, backbone.traits)), 0, RNG)


def test_both_sides_stand_in_one_row(vocab, model):
    batch = batch_of(Classifier(classes=3), pairs(), vocab, model())
    first = [vocab.begin, 100, 101, *vocab.separator_ids, 103, vocab.end]
    assert batch.inputs["input_ids"][0, : len(first)].tolist() == first
    assert batch.at[0].tolist() == [0, 1]
    assert batch.at[1].tolist() == [0, 0]
    assert batch.labels.tolist() == [2, 0]
    assert batch.counts == {"classification": 2}
    assert "position_ids" not in batch.inputs


def test_unlabelled_rows_are_not_asked_for(vocab, model):
    batch = batch_of(Classifier(classes=3), pairs((-1, 1)), vocab, model())
    assert batch.at[0].tolist() == [1]
    assert batch.labels.tolist() == [1]
    assert batch.counts == {"classification": 1}


def test_each_side_has_its_own_language(vocab, model):
    backbone = model("en", "de")
    batch = batch_of(Classifier(classes=3), pairs(languages=("en", "de")), vocab, backbone)
    ids, languages = batch.inputs["input_ids"][0], batch.inputs["token_type_ids"][0]
    assert set(languages[ids == 101]) == {backbone.traits.languages["en"]}
    assert set(languages[ids == 103]) == {backbone.traits.languages["de"]}


def test_single_sentences_can_be_classified_too(vocab, model):
    examples = LabeledExamples(sentences([[100, 101]]), labels=np.array([1], np.int32))
    batch = batch_of(Classifier(classes=2), examples, vocab, model())
    assert batch.inputs["input_ids"].tolist() == [[vocab.begin, 100, 101, vocab.end]]


@pytest.mark.parametrize("pooling", ["first", "mean", "max"])
def test_the_vector_is_what_the_setting_says(vocab, model, pooling):
    """The head reads the vector off unchanged: its weight is the identity."""
    backbone = model().eval()
    learner = Classifier(classes=backbone.width, pooling=pooling, dropout=0.0)
    heads = learner.modules(backbone)
    with torch.no_grad():
        heads["linear"].weight.copy_(torch.eye(backbone.width))
    batch = batch_of(learner, pairs(), vocab, backbone).to(CPU)
    states = backbone.encode(batch.inputs)
    glue = len(vocab.separator_ids)
    content = [[1, 2, 3 + glue], [1, 2 + glue, 3 + glue, 4 + glue]]
    expected = {
        "first": states[:, 0],
        "mean": torch.stack([states[row, places].mean(dim=0) for row, places in enumerate(content)]),
        "max": torch.stack([states[row, places].amax(dim=0) for row, places in enumerate(content)]),
    }[pooling]
    torch.testing.assert_close(learner.logits(backbone, heads, batch), expected)


def test_examples_without_labels_are_refused(vocab, model):
    with pytest.raises(DataError, match="no labels"):
        batch_of(Classifier(classes=3), LabeledExamples(sentences([[100]])), vocab, model())


# ---- tasks over single sentences, and batches that mix languages ----

WORDS = {"en": ["the", "doctor", "reads", "letters"], "de": ["der", "arzt", "liest", "briefe"]}


class LanguageId(ClassificationTask):
    """Which language is a sentence in? The labels are the languages of the evaluation."""

    files: Files = "{split}.{language}"
    reader: str = "lines"
    settings: list[str] = ["supervised-all"]
    language_ids: bool = False
    tuning: Tuning = Tuning(epochs=12, learning_rate=1e-2, mix_languages=True, select="mean-dev")

    @property
    def classes(self):
        return self.languages

    def read_chunks(self, query):
        return [(path, replace(text, labels=[query.language] * len(text))) for path, text in super().read_chunks(query)]


@pytest.fixture
def language_id(tmp_path, vocab, model):
    rng = np.random.default_rng(0)
    for split, count in (("train", 40), ("dev", 8), ("test", 12)):
        for language, words in WORDS.items():
            lines = [" ".join(rng.choice(words, rng.integers(2, 6))) for _ in range(count)]
            (tmp_path / f"{split}.{language}").write_text("\n".join(lines) + "\n")
    task = LanguageId().bind(["en", "de", "en"])
    return EvaluationJob("lid", task, model, vocab, tmp_path, "en", ["de"], 0, accelerator_for("no", threads=1))


def test_a_task_over_single_sentences_knows_its_languages_and_mixes_them_in_batches(language_id):
    assert language_id.task.head().classes == 2
    rows = score_job(language_id)
    assert [(row["setting"], row["language"], row["n"]) for row in rows] == [
        ("supervised-all", "en", 12),
        ("supervised-all", "de", 12),
    ]
    assert all(row["score"] > 90 for row in rows)  # with one language a batch it would learn the last one's label


def test_mixed_batches_are_those_of_each_language_padded(vocab, model):
    head, backbone = Classifier(classes=3, pooling="mean"), model("en", "de")
    prepared = head.prepare(Resources(vocab, backbone.traits))
    english = LabeledExamples(sentences([[100, 101, 102], [103]], "en"), labels=np.array([0, -1], np.int32))
    german = LabeledExamples(sentences([[104]], "de"), labels=np.array([2], np.int32))
    mixed = MixedSequences.of([english, german])
    assert (len(mixed), mixed.lengths.tolist()) == (3, [3, 1, 1])
    batch = MixedBatches(head).batch(mixed.take([2, 0, 1]), prepared, 0, RNG)
    begin, end, pad = vocab.begin, vocab.end, vocab.pad
    assert batch.inputs["input_ids"].tolist() == [
        [begin, 100, 101, 102, end],
        [begin, 103, end, pad, pad],
        [begin, 104, end, pad, pad],
    ]
    assert batch.inputs["attention_mask"].sum(axis=1).tolist() == [5, 3, 3]
    languages = backbone.traits.languages
    assert batch.inputs["token_type_ids"][:, 0].tolist() == [languages["en"], languages["en"], languages["de"]]
    assert batch.extra["content"].sum(axis=1).tolist() == [3, 1, 1]
    assert (batch.at[0].tolist(), batch.labels.tolist()) == ([0, 2], [0, 2])
    assert (batch.counts, batch.tokens) == ({"classification": 2}, 11)
    one = MixedBatches(head).batch(mixed.take([2]), prepared, 0, RNG)
    assert one.inputs["input_ids"].tolist() == [[begin, 104, end]]
