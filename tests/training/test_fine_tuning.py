"""Fine-tuning and scoring of one cell, on a tagging task that the word alone decides."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from safetensors.torch import load_file

from interlace.core.errors import DataError, RunError, SettingsError
from interlace.data.vocab import Vocab
from interlace.models.build import from_shape
from interlace.models.settings import Shape
from interlace.tasks import TASKS
from interlace.training import fine_tuning
from interlace.training.device import accelerator_for
from interlace.training.evaluation_job import EvaluationJob
from interlace.training.fine_tuning import FineTuner
from interlace.training.loop import Training
from interlace.training.selection import runs_of_task
from little_jobs import score_job

TAGS = {"cat": "NOUN", "sees": "VERB", "big": "ADJ", "the": "DET"}
TEXT = "the big cat sees always maybe never immer wohl nie"
SIGNS = {"entailment": "always", "neutral": "maybe", "contradiction": "never"}
GERMAN_SIGNS = {"entailment": "immer", "neutral": "wohl", "contradiction": "nie"}


def conllu_line(number, word, tag):
    return f"{number}\t{word}\t_\t{tag}" + "\t_" * 6 + "\n"


@pytest.fixture
def root(tmp_path):
    rng = np.random.default_rng(0)
    for name, words, count in (
        ("train.en", list(TAGS), 80),
        ("dev.en", list(TAGS), 10),
        ("test.en", list(TAGS), 20),
        ("test.de", ["sees", "big"], 20),
    ):
        text = ""
        for row in rng.integers(len(words), size=(count, 4)):
            for number, column in enumerate(row, 1):
                text += conllu_line(number, words[column], TAGS[words[column]])
            text += "\n"
        (tmp_path / f"{name}.conllu").write_text(text)
    return tmp_path


@pytest.fixture
def job_of(root):
    def job_of(
        name="pos", targets=("de",), seen=None, files="{split}.{language}.conllu", **tuning
    ):
        vocab = Vocab.learn({"en": [TEXT] * 20}, size=340)
        shape = Shape(
            layers=1, width=32, heads=2, max_length=32, dropout=0.0, attention_dropout=0.0
        )
        settings = tuning.pop("settings", ["zero-shot"])
        tuning = {"learning_rate": 1e-2, "tokens_per_batch": 128, **tuning}
        options = {"name": name, "files": files, "tuning": tuning, "settings": settings}
        return EvaluationJob(
            name=name,
            task=TASKS.build(options),
            load=lambda: from_shape(shape, vocab),
            vocab=vocab,
            root=root,
            source="en",
            targets=list(targets),
            seed=0,
            accelerator=accelerator_for("no", threads=1),
            on_step=[].append if seen is None else seen.append,
        )

    return job_of


def test_learns_and_scores_every_language_with_confidence_intervals(job_of, tmp_path):
    rows = score_job(replace(job_of(epochs=4), output=tmp_path / "run", key="k"))
    assert [(row["language"], row["n"], row["source"]) for row in rows] == [
        ("en", 20, "en"),
        ("de", 20, "en"),
    ]
    assert len(list((tmp_path / "run/predictions").iterdir())) == 2
    for row in rows:
        assert row["low"] <= row["score"] <= row["high"]
        assert row["score"] > 95
        assert not row["tuning"]["collapsed"]


def test_checks_score_the_weights_of_their_step_however_often_steps_are_read(
    job_of, monkeypatch
):
    scores = []
    for every in (1, 100):
        monkeypatch.setattr(fine_tuning, "Training", partial(Training, read_every=every))
        rows = score_job(job_of(epochs=2, checks=3, learning_rate=3e-3))
        scores.append(
            [(row["scores"], row["tuning"]["step"], row["tuning"]["dev"]) for row in rows]
        )
    assert scores[0] == scores[1]


def test_causal_models_are_fine_tuned_bidirectionally(job_of):
    job = job_of(epochs=1)
    backbone = job.load()
    backbone.causal = True
    rows = score_job(replace(job, load=lambda: backbone))
    assert not backbone.causal
    assert [row["scores"] for row in rows] == [row["scores"] for row in score_job(job)]


@pytest.fixture
def checks(monkeypatch):
    """Give checks of dev sets the wanted scores; return the weights of each check, and those that are scored."""

    def script(*wanted):
        remaining = iter(wanted)
        checked_weights = []
        scored = []
        check = FineTuner._check
        score = FineTuner.score

        def checked(self, loss):
            checked_weights.append(head_of(self))
            dev = next(remaining)
            if isinstance(dev, float):
                dev = dict.fromkeys(self.data.devs, dev)
            return check(self, loss) | {"dev": dev}

        def scoring(self, group, predictions_by_id):
            scored.append((head_of(self), [language for _, language in group.items]))
            return score(self, group, predictions_by_id)

        monkeypatch.setattr(FineTuner, "_check", checked)
        monkeypatch.setattr(FineTuner, "score", scoring)
        return checked_weights, scored

    return script


def head_of(tuner):
    return tuner.training.model.heads["pos"]["linear"].weight.detach().clone()


@pytest.mark.parametrize(
    ("scores", "tuning", "best", "rate"),
    [
        ([50.0, 90.0, 70.0], {"epochs": 3}, 1, 1e-2),
        ([{}], {"epochs": 3, "select": "last"}, 0, 1e-2),
        ([50.0, 95.0, 60.0, 70.0], {"epochs": 2, "learning_rate": [1e-2, 3e-3]}, 1, 1e-2),
        ([50.0, 55.0, 60.0, 70.0], {"epochs": 2, "learning_rate": [1e-2, 3e-3]}, 3, 3e-3),
    ],
)
def test_the_best_check_is_kept(job_of, checks, scores, tuning, best, rate):
    weights, scored = checks(*scores)
    rows = score_job(job_of(**tuning))
    assert len(weights) == len(scores)
    assert [np.array_equal(head, weights[best]) for head, _ in scored] == [True]
    assert {row["tuning"]["learning_rate"] for row in rows} == {rate}


@pytest.mark.parametrize(
    ("dev", "best"),
    [
        (
            [{"en": 50.0, "de": 80.0}, {"en": 90.0, "de": 70.0}, {"en": 80.0, "de": 10.0}],
            {"en": 1, "de": 0},
        ),
        # nan: the last weights
        ([{"en": 50.0, "de": math.nan}, {"en": 40.0, "de": math.nan}], {"en": 0, "de": 1}),
    ],
)
def test_each_language_can_select_and_save_its_weights(
    job_of, checks, root, tmp_path, dev, best
):
    (root / "dev.de.conllu").write_bytes((root / "test.de.conllu").read_bytes())
    weights, scored = checks(*dev)
    job = job_of(epochs=len(dev), select="per-language-dev")
    rows = score_job(replace(job, models=tmp_path / "fine-tuned", identity={"key": "k"}))
    last_scored = {languages[0]: head for head, languages in scored}
    for row in rows:
        expected = weights[best[row["language"]]]
        assert np.array_equal(last_scored[row["language"]], expected)
        saved = load_file(tmp_path / row["fine_tuned"] / "head.safetensors")
        assert np.array_equal(saved["linear.weight"], expected)


@pytest.mark.parametrize(("positions", "tokens"), [(8, [128] * 5), (32, [130] * 16)])
def test_batches_are_sized_by_truncated_rows(job_of, root, positions, tokens):
    """Of 80 sentences of 24 words, with two specials, 5 come to 130 padded subwords; cut at 8 positions, 16 do."""
    sentence = "".join(conllu_line(number, "the", "DET") for number in range(1, 25))
    (root / "train.en.conllu").write_text(f"{sentence}\n" * 80)
    seen = []
    job = job_of(epochs=1, seen=seen, tokens_per_batch=130)
    backbone = job.load()
    backbone.traits = replace(backbone.traits, max_length=positions)
    score_job(replace(job, load=lambda: backbone))
    assert [step.tokens for step in seen] == tokens


def test_collapsed_models_are_stopped_and_logged(job_of, root, caplog):
    """The tag cannot be told from the word."""
    rng = np.random.default_rng(1)
    sentences = []
    for word in TAGS:
        for tag in ("NOUN", "NOUN", "VERB"):
            sentences += [conllu_line(1, word, tag) + "\n"] * 5
    for split in ("train", "dev"):
        (root / f"{split}.en.conllu").write_text("".join(rng.permutation(sentences)))
    seen = []
    rows = score_job(job_of(epochs=20, learning_rate=3e-3, seen=seen))
    assert all(row["tuning"]["collapsed"] for row in rows)
    assert len(seen) < rows[0]["tuning"]["steps"]
    assert f"learning rate 0.003: at update {len(seen)} of 40 " in caplog.text


def test_the_most_frequent_class_is_counted_over_all_languages(job_of, root):
    """Labels are equal within each language, as in language identification."""
    for name, label in (("train.en", 0), ("dev.en", 0), ("test.en", 0), ("test.de", 1)):
        (root / f"{name}.tsv").write_text(f"big\tcat\t{label}\n" * 20)
    rows = score_job(job_of("pawsx", files="{split}.{language}.tsv", epochs=1))
    assert {row["tuning"]["chance"] for row in rows} == {50.0}
    assert [row["scores"]["majority class"] for row in rows] == [100, 100]


def test_probes_count_measured_examples(job_of, root):
    (root / "test.en-de.txt").write_text("the sees\ncat sees\nquixotic sees\n")
    task = TASKS.build({"name": "embedding_alignment", "files": "test.en-de.txt"})
    (row,) = score_job(replace(job_of(), name="embedding_alignment", task=task))
    assert row["n"] == 2  # words of the file that have a row of their own


@pytest.mark.parametrize(
    ("task", "languages"),
    [
        ({"name": "perplexity"}, ["en", "de"]),
        ({"name": "retrieval"}, ["de"]),  # translations of the source into itself are nothing
        ({"name": "perplexity", "targets": ["de"]}, ["de"]),
    ],
)
def test_monolingual_probes_measure_the_source_too(task, languages):
    runs = runs_of_task(TASKS.build(task), "en", ["de"])
    assert [run.items for run in runs] == [[("zero-shot", language)] for language in languages]


def test_a_diverging_learning_rate_does_not_stop_the_others(job_of, monkeypatch, caplog):
    run = FineTuner.run

    def diverging(self, *arguments):
        if self.training.settings.learning_rate == 3e-3:
            raise RunError("step 2: the loss is nan: training has diverged")
        run(self, *arguments)

    monkeypatch.setattr(FineTuner, "run", diverging)
    rows = score_job(job_of(epochs=2, learning_rate=[1e-2, 3e-3]))
    assert all(row["tuning"]["diverged"] == [3e-3] for row in rows)
    assert min(row["score"] for row in rows) > 50
    assert "learning rate 0.003: step 2: the loss is nan" in caplog.text
    with pytest.raises(RunError, match="pos, seed 0: step 2: the loss is nan"):
        score_job(job_of(epochs=2, learning_rate=3e-3))


def test_names_all_languages_without_data_before_training(job_of):
    seen = []
    with pytest.raises(DataError, match=r"(?s)in 'fr'.*in 'es'"):
        score_job(job_of(targets=("de", "fr", "es"), seen=seen))
    assert not seen


@pytest.fixture
def inference(job_of, root):
    """The label depends on one word; German is in words of its own, and translated in `translated.de`."""
    for name, language, count, signs in (
        ("train.en", "en", 30, SIGNS),
        ("dev.en", "en", 4, SIGNS),
        ("test.en", "en", 5, SIGNS),
        ("train.de", "de", 30, GERMAN_SIGNS),
        ("dev.de", "de", 4, GERMAN_SIGNS),
        ("test.de", "de", 5, GERMAN_SIGNS),
        ("translated.de", "en", 5, SIGNS),
    ):
        rows = ["language\tgold_label\tsentence1\tsentence2"]
        for label, word in signs.items():
            rows += [f"{language}\t{label}\tthe cat\t{word} sees"] * count
        (root / f"{name}.tsv").write_text("\n".join(rows) + "\n")

    def make(*settings, **tuning):
        tuning = {"tokens_per_batch": 256, "epochs": 10, **tuning}
        files = "{split}.{language}.tsv"
        return job_of("xnli", files=files, settings=list(settings), **tuning)

    return make


def test_scores_machine_translated_test_text(inference):
    rows = {}
    for row in score_job(inference("zero-shot", "translate-test")):
        rows[row["setting"], row["language"]] = row
    assert set(rows) == {("zero-shot", "en"), ("zero-shot", "de"), ("translate-test", "de")}
    assert rows["zero-shot", "en"]["score"] == rows["translate-test", "de"]["score"] == 100
    assert rows["zero-shot", "de"]["score"] < 70
    assert rows["translate-test", "de"]["translations"] == "machine"
    assert "translations" not in rows["zero-shot", "de"]


def test_a_model_is_trained_for_each_language(inference):
    [row] = score_job(inference("translate-train", select="mean-dev"))
    assert (row["setting"], row["language"], row["score"]) == ("translate-train", "de", 100)


def test_rejects_two_settings_with_the_same_training_files(inference):
    with pytest.raises(SettingsError, match="read the same training files"):
        inference("supervised", "translate-train")


def test_a_missing_translation_is_found_before_training(inference, root):
    (root / "translated.de.tsv").unlink()
    with pytest.raises(DataError, match=r"no file .*translated\.de\.tsv"):
        score_job(inference("zero-shot", "translate-test"))


def test_rejects_translated_text_for_tagging(job_of):
    job = job_of()
    task = job.task.model_copy(update={"settings": ["translate-test"]})
    with pytest.raises(
        SettingsError, match="translate-test is for tasks with one label a text"
    ):
        score_job(replace(job, task=task))
