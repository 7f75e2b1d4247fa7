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
from interlace.training.fine_tuning import fine_tune_runs
from interlace.training.loop import Training
from little_jobs import score_job

WORDS = {
    "en": {"cat": "NOUN", "sees": "VERB", "big": "ADJ", "the": "DET"},
    "de": {"sees": "VERB", "big": "ADJ"},
}


@pytest.fixture
def root(tmp_path):
    rng = np.random.default_rng(0)
    for split, language, count in (
        ("train", "en", 80),
        ("dev", "en", 10),
        ("test", "en", 20),
        ("test", "de", 20),
    ):
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
        shape = Shape(
            layers=1, width=32, heads=2, max_length=32, dropout=0.0, attention_dropout=0.0
        )
        settings = {"learning_rate": 1e-2, "tokens_per_batch": 128, **tuning}
        task = TASKS.build(
            {"name": "pos", "files": "{split}.{language}.conllu", "tuning": settings}
        )
        seen = [] if seen is None else seen
        accelerator = accelerator_for("no", threads=1)
        scope = vocab, root, "en", list(targets), 0, accelerator, seen.append
        return EvaluationJob("pos", task, lambda: from_shape(shape, vocab), *scope)

    return make


def test_learns_and_scores_every_language_with_confidence_intervals(cell, tmp_path):
    rows = score_job(replace(cell(epochs=4), output=tmp_path / "run", key="k"))
    assert all(row["low"] <= row["score"] <= row["high"] for row in rows)
    assert list((tmp_path / "run" / "predictions").iterdir())
    assert [(row["language"], row["n"], row["source"]) for row in rows] == [
        ("en", 20, "en"),
        ("de", 20, "en"),
    ]
    assert min(row["score"] for row in rows) > 95


def test_checks_score_the_weights_of_their_step_however_often_steps_are_read(cell, monkeypatch):
    found = []
    for every in (1, 100):
        monkeypatch.setattr(fine_tuning, "Training", partial(Training, read_every=every))
        rows = score_job(cell(epochs=2, checks=3, learning_rate=3e-3))
        found.append([(row["scores"], row["tuning"]["step"], row["tuning"]["dev"]) for row in rows])
    assert found[0] == found[1]


def test_causal_models_are_fine_tuned_bidirectionally(cell):
    job = cell(epochs=1)
    backbone = job.load()
    backbone.causal = True
    rows = score_job(replace(job, load=lambda: backbone))
    assert not backbone.causal
    assert [row["scores"] for row in rows] == [row["scores"] for row in score_job(job)]


@pytest.fixture
def checks(monkeypatch):
    """Give checks of dev sets the scores wanted; what tests are scored with is kept."""

    def script(*given):
        from interlace.training.fine_tuning import FineTuner

        scores, seen, tested = iter(given), [], []
        check, score = FineTuner._check, FineTuner.score

        def checked(self, loss):
            seen.append(head(self))
            dev = next(scores)
            languages = self.data.devs
            return check(self, loss) | {
                "dev": dict.fromkeys(languages, dev) if isinstance(dev, float) else dev
            }

        def scored(self, group, predictions_by_id):
            tested.append((head(self), [language for _, language in group.items]))
            return score(self, group, predictions_by_id)

        monkeypatch.setattr(FineTuner, "_check", checked)
        monkeypatch.setattr(FineTuner, "score", scored)
        return seen, tested

    return script


def head(tuned):
    return tuned.training.model.heads["pos"]["linear"].weight.detach().clone()


def test_the_best_epoch_is_kept(cell, checks):
    weights, tested = checks(50.0, 90.0, 70.0)
    rows = score_job(cell(epochs=3))
    assert len(weights) == 3
    assert not np.array_equal(weights[1], weights[2])
    assert [np.array_equal(head, weights[1]) for head, _ in tested] == [True]
    assert {row["tuning"]["dev"]["en"] for row in rows} == {90.0}
    assert [row["tuning"]["step"] for row in rows] == [
        2 * row["tuning"]["steps"] // 3 for row in rows
    ]


def test_the_last_weights_can_be_kept(cell, checks):
    weights, tested = checks({})
    rows = score_job(cell(epochs=3, select="last"))
    assert [np.array_equal(head, weights[0]) for head, _ in tested] == [True]
    assert {row["tuning"]["rule"] for row in rows} == {"last"}


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
def test_each_language_can_select_and_save_its_weights(cell, checks, root, tmp_path, dev, best):
    (root / "dev.de.conllu").write_bytes((root / "test.de.conllu").read_bytes())
    weights, tested = checks(*dev)
    job = cell(epochs=len(dev), select="per-language-dev")
    identity = {"key": "k", "model_key": "m"}
    rows = score_job(replace(job, models=tmp_path / "fine-tuned", identity=identity))
    scored = {tuple(languages): weight for weight, languages in tested}  # the last time
    for row in rows:
        expected = weights[best[row["language"]]]
        assert np.array_equal(scored[row["language"],], expected)
        saved = load_file(tmp_path / row["fine_tuned"] / "head.safetensors")
        assert np.array_equal(saved["linear.weight"], expected)


def test_selects_one_of_several_learning_rates(cell, checks):
    weights, tested = checks(50.0, 95.0, 60.0, 70.0)
    rows = score_job(cell(epochs=2, learning_rate=[1e-2, 3e-3]))
    assert len(weights) == 4
    assert [np.array_equal(head, weights[1]) for head, _ in tested] == [True]
    assert {row["tuning"]["learning_rate"] for row in rows} == {1e-2}


@pytest.mark.parametrize("positions", [8, 32])
def test_batches_are_sized_by_truncated_rows(cell, root, positions):
    """Of 80 sentences of 24 words, with two specials, 5 come to 130 padded subwords; cut at 8 positions, 16 do."""
    line = "".join(f"{number}\tthe\t_\tDET" + "\t_" * 6 + "\n" for number in range(1, 25))
    (root / "train.en.conllu").write_text(f"{line}\n" * 80)
    seen = []
    made = cell(epochs=1, seen=seen, tokens_per_batch=130)
    backbone = made.load()
    backbone.traits = replace(backbone.traits, max_length=positions)
    score_job(replace(made, load=lambda: backbone))
    assert [step.tokens for step in seen] == {8: [128] * 5, 32: [130] * 16}[positions]


def test_collapsed_models_are_stopped_and_logged(cell, root, caplog):
    assert not any(row["tuning"]["collapsed"] for row in score_job(cell(epochs=4)))
    rng = np.random.default_rng(1)
    lines = [
        f"1\t{word}\t_\t{tag}" + "\t_" * 6 + "\n\n"
        for word in WORDS["en"]
        for tag in ("NOUN", "NOUN", "VERB")
    ]
    for split in ("train", "dev"):  # what the tag is cannot be told from the word
        (root / f"{split}.en.conllu").write_text("".join(rng.permutation(lines * 5)))
    seen = []
    rows = score_job(cell(epochs=20, learning_rate=3e-3, seen=seen))
    assert all(row["tuning"]["collapsed"] for row in rows)
    assert len(seen) < rows[0]["tuning"]["steps"]
    assert f"learning rate 0.003: at update {len(seen)} of 40 " in caplog.text


def test_the_most_frequent_class_is_counted_over_all_languages(cell, root):
    """Labels are equal within each language, as in language identification."""
    for split, language, label in (
        ("train", "en", 0),
        ("dev", "en", 0),
        ("test", "en", 0),
        ("test", "de", 1),
    ):
        (root / f"{split}.{language}.tsv").write_text(f"big\tcat\t{label}\n" * 20)
    tuning = {"learning_rate": 1e-2, "tokens_per_batch": 128, "epochs": 1}
    task = TASKS.build({"name": "pawsx", "files": "{split}.{language}.tsv", "tuning": tuning})
    rows = score_job(replace(cell(), name="pawsx", task=task))
    assert {row["tuning"]["chance"] for row in rows} == {50.0}
    assert [row["scores"]["majority class"] for row in rows] == [100, 100]


def test_probes_count_measured_examples(cell, root):
    (root / "test.en-de.txt").write_text("the sees\ncat sees\nquixotic sees\n")
    task = TASKS.build({"name": "embedding_alignment", "files": "test.en-de.txt"})
    (row,) = score_job(replace(cell(), name="embedding_alignment", task=task))
    assert row["n"] == 2  # words of the file that have a row of their own


def test_monolingual_probes_measure_the_source_too(cell):
    """Translations of the source into itself are nothing; its own perplexity is as good as any."""
    for name, languages in (
        ("perplexity", ["en", "de"]),
        ("word_similarity", ["en", "de"]),
        ("retrieval", ["de"]),
    ):
        task = TASKS.build({"name": name})
        assert [
            item[1] for fit in fine_tune_runs(replace(cell(), task=task)) for item in fit.items
        ] == languages
    told = TASKS.build({"name": "perplexity", "targets": ["de"]})
    assert [fit.items for fit in fine_tune_runs(replace(cell(), task=told))] == [
        [("zero-shot", "de")]
    ]


def test_a_diverging_learning_rate_does_not_stop_the_others(cell, monkeypatch, caplog):
    from interlace.training.fine_tuning import FineTuner

    real = FineTuner.run

    def diverging(self, *arguments):
        if self.training.settings.learning_rate == 3e-3:
            raise RunError("step 2: the loss is nan: training has diverged")
        real(self, *arguments)

    monkeypatch.setattr(FineTuner, "run", diverging)
    rows = score_job(cell(epochs=2, learning_rate=[1e-2, 3e-3]))
    assert all(row["tuning"]["diverged"] == [3e-3] for row in rows)
    assert min(row["score"] for row in rows) > 50
    assert "learning rate 0.003: step 2: the loss is nan" in caplog.text
    with pytest.raises(RunError, match="pos, seed 0: step 2: the loss is nan"):
        score_job(cell(epochs=2, learning_rate=3e-3))


def test_names_all_languages_without_data(cell):
    with pytest.raises(DataError, match=r"(?s)in 'fr'.*in 'es'"):
        score_job(cell(targets=("de", "fr", "es")))
    seen = []
    with pytest.raises(DataError, match="no test data in 'fr'"):
        score_job(cell(targets=("de", "fr"), seen=seen))
    assert not seen


SIGNS = {"entailment": "always", "neutral": "maybe", "contradiction": "never"}
GERMAN = {"always": "immer", "maybe": "wohl", "never": "nie"}


@pytest.fixture
def inference(tmp_path):
    """What follows hangs on one word; German is in its own words, and translated in `translated.de`."""

    def write(name, language, count, words):
        rows = ["language\tgold_label\tsentence1\tsentence2"]
        rows += [
            f"{language}\t{label}\tthe cat\t{words[SIGNS[label]]} sees"
            for label in [*SIGNS] * count
        ]
        (tmp_path / f"{name}.tsv").write_text("\n".join(rows) + "\n")

    same = {word: word for word in GERMAN}
    for split, count in (("train", 30), ("dev", 4), ("test", 5)):
        write(f"{split}.en", "en", count, same)
        write(f"{split}.de", "de", count, GERMAN)
    write("translated.de", "en", 5, same)

    def make(*settings, **tuning):
        vocab = Vocab.learn(
            {"en": ["the cat sees " + " ".join([*GERMAN, *GERMAN.values()])] * 20}, size=340
        )
        shape = Shape(
            layers=1, width=32, heads=2, max_length=32, dropout=0.0, attention_dropout=0.0
        )
        given = {"learning_rate": 1e-2, "tokens_per_batch": 256, "epochs": 10, **tuning}
        more = {"settings": list(settings), "tuning": given}
        task = TASKS.build({"name": "xnli", "files": "{split}.{language}.tsv", **more})
        scope = vocab, tmp_path, "en", ["de"], 0, accelerator_for("no", threads=1)
        return EvaluationJob("xnli", task, lambda: from_shape(shape, vocab), *scope)

    return make


def test_scores_machine_translated_test_text(inference):
    rows = {
        (row["setting"], row["language"]): row
        for row in score_job(inference("zero-shot", "translate-test"))
    }
    assert set(rows) == {("zero-shot", "en"), ("zero-shot", "de"), ("translate-test", "de")}
    assert rows["zero-shot", "en"]["score"] == rows["translate-test", "de"]["score"] == 100
    assert rows["zero-shot", "de"]["score"] < 70
    assert rows["translate-test", "de"]["translations"] == "machine"
    assert "translations" not in rows["zero-shot", "de"]


def test_a_model_is_trained_for_each_language(inference):
    rows = score_job(inference("translate-train", select="mean-dev"))
    assert [(row["setting"], row["language"], row["score"]) for row in rows] == [
        ("translate-train", "de", 100)
    ]


def test_rejects_two_settings_with_the_same_training_files(inference):
    with pytest.raises(
        SettingsError, match="'supervised' and 'translate-train' read the same training files"
    ):
        inference("supervised", "translate-train")


def test_a_missing_translation_is_found_before_training(inference, tmp_path):
    (tmp_path / "translated.de.tsv").unlink()
    with pytest.raises(DataError, match=r"no file .*translated\.de\.tsv"):
        score_job(inference("zero-shot", "translate-test"))


def test_rejects_translated_text_for_tagging(cell):
    made = cell()
    task = made.task.model_copy(update={"settings": ["translate-test"]})
    with pytest.raises(SettingsError, match="translate-test is for tasks with one label a text"):
        score_job(replace(made, task=task))
