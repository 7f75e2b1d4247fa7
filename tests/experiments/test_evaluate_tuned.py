"""Fine-tunings of `evaluate` from end to end: a small model that learns which of three words follows from which."""

import tomllib

import pytest
import torch

from interlace.core.errors import DataError
from interlace.data.vocab import Vocab
from interlace.experiments import evaluate
from interlace.experiments.evaluate import IncompleteError, Target
from interlace.experiments.evaluate import evaluate as run
from interlace.experiments.recipe import Recipe, change_recipe
from interlace.models.build import from_shape
from interlace.models.settings import Shape
from interlace.tasks.xnli import Xnli
from interlace.training.fine_tuning import FineTuner

RECIPE = """
name = "r"
train = { precision = "no", threads = 1 }
[evaluate]
source = "en"
targets = ["de", "fr"]
seeds = 1
"""
for name in ("nli", "more"):
    RECIPE += f"""
[evaluate.tasks.{name}]
task = "xnli"
tuning = {{ learning_rate = 1e-2, tokens_per_batch = 128, epochs = 3 }}
[evaluate.tasks.{name}.files]
train = "train.{{language}}.tsv"
dev = "dev.{{language}}.tsv"
test = "test.{{language}}.tsv"
translated = "test.en.tsv"
"""
SIGNS = {"entailment": "always", "neutral": "maybe", "contradiction": "never"}


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """A checkpoint, its tasks `nli` and `more` in English, German and French, and what is changed of them."""
    vocab = Vocab.learn({"en": ["the cat sees always maybe never"] * 20}, size=320)
    shape = Shape(
        layers=1, width=32, heads=2, max_length=32, dropout=0.1, attention_dropout=0.1
    )
    monkeypatch.setattr(evaluate.Vocab, "load", lambda _: vocab)
    monkeypatch.setattr(evaluate, "load", lambda _model, _vocab: from_shape(shape, vocab))
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.safetensors").write_bytes(b"one")
    for split, count in (("train", 24), ("dev", 2), ("test", 3)):
        for language in ("en", "de", "fr"):
            rows = ["language\tgold_label\tsentence1\tsentence2"]
            rows += [
                f"{language}\t{label}\tthe cat\t{sign} sees" for label, sign in SIGNS.items()
            ] * count
            (tmp_path / f"{split}.{language}.tsv").write_text("\n".join(rows) + "\n")
    recipe = Recipe.read({**tomllib.loads(RECIPE), "data_root": str(tmp_path)})

    def make(**changes):
        given = {
            f"evaluate.tasks.nli.{key.replace('__', '.')}": value
            for key, value in changes.items()
        }
        return Target(str(tmp_path / "model"), change_recipe(recipe, given), tmp_path / "run")

    return make


def told(rows):
    return [(row["language"], row["score"], row["n"]) for row in rows]


@pytest.fixture
def counted(monkeypatch):
    """What is read, and how often the model predicts."""
    read, predicted = [], []
    examples, predict = Xnli.examples, FineTuner.predict

    def reading(self, split, language, vocab, root):
        read.append((split, language))
        return examples(self, split, language, vocab, root)

    def predicting(self, examples):
        predicted.append(len(examples))
        return predict(self, examples)

    monkeypatch.setattr(Xnli, "examples", reading)
    monkeypatch.setattr(FineTuner, "predict", predicting)
    return read, predicted


@pytest.mark.parametrize(
    ("rule", "most"),
    [
        ("last", 3 + 1),  # once more to see whether it has collapsed
        ("source-dev", 3),
        ("per-language-dev", 3 * 3),  # at each check that is the best so far
    ],
)
def test_reads_each_set_and_predicts_each_text_once(asked, counted, rule, most):
    """Two seeds of a fine-tuning in three epochs; the English test set is all languages' human translation too."""
    read, predicted = counted
    rows = run(
        asked(settings='["zero-shot", "translate-test"]', tuning__select=rule), ["nli"], seeds=2
    )
    assert len(rows) == 2 * 5
    assert sorted(read) == sorted(set(read))
    assert predicted.count(9) <= 2 * most
    scores = {(row["seed"], row["setting"], row["language"]): row["scores"] for row in rows}
    assert all(
        scores[key] == scores[key[0], "zero-shot", "en"]
        for key in scores
        if key[1] == "translate-test"
    )


@pytest.mark.parametrize(
    ("rule", "gone"), [("mean-dev", "dev.de"), ("last", "train.en"), ("last", "test.de")]
)
def test_rejects_missing_files_before_fine_tuning(asked, counted, tmp_path, rule, gone):
    (tmp_path / f"{gone}.tsv").unlink()
    with pytest.raises(DataError, match=f"{gone}.tsv"):
        run(asked(tuning__select=rule), ["nli"])
    assert not counted[1]


def test_out_of_memory_task_does_not_stop_the_others(asked, monkeypatch):
    predict = FineTuner.predict

    def predicting(self, examples):
        if self.job.name == "nli":
            raise torch.OutOfMemoryError("CUDA out of memory")
        return predict(self, examples)

    monkeypatch.setattr(FineTuner, "predict", predicting)
    message = "nli: the GPU's memory is too small for this task; reduce tokens_per_batch"
    with pytest.raises(IncompleteError, match=message) as caught:
        run(asked(), ["nli", "more"], seeds=2)
    assert {row["task"] for row in caught.value.rows} == {"more"}
    assert str(caught.value).count("memory") == 1  # of both seeds
