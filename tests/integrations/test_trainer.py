"""Objectives with heads and further losses inside transformers' Trainer train as in our own loop."""

from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from accelerate import Accelerator
from safetensors.torch import load_file
from torch.optim.lr_scheduler import LambdaLR

import interlace as il
from interlace.core.errors import CheckpointError, SettingsError
from interlace.models.backbone import Backbone
from interlace.training.loop import Progress, Training, TrainingModel, steps
from interlace.training.mixture import Mixture, MixtureSource
from interlace.training.optimizer import OptimizerSettings
from little_checkpoints import LONGEST, save

datasets = pytest.importorskip("datasets")
ROWS, MICRO = 8, 2
ADAM = OptimizerSettings(learning_rate=0.01, schedule="constant", warmup=0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Without dropout, which transformers and our loop key in different ways."""
    folder = save("mbert", tmp_path_factory.mktemp("start") / "mbert")
    model = transformers.BertForMaskedLM.from_pretrained(
        folder, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    model.save_pretrained(folder)
    return folder


@pytest.fixture
def build(folder, aligned, tmp_path):
    """Return a Trainer of an objective on the aligned pairs."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=False)

    def make(name="weam", rate=None, arguments=None, **settings):
        more = (
            {"lexicon": il.lexicon(aligned, mutual=True)}
            if name in {"align_mlm", "dict_mlm"}
            else {}
        )
        objective = il.collator(
            name, tokenizer, max_length=LONGEST, aligned=aligned, **more, **settings
        )
        args = transformers.TrainingArguments(
            tmp_path / "run", **{
                "max_steps": 2, "per_device_train_batch_size": ROWS, "gradient_accumulation_steps": MICRO, "seed": 5,
                "train_sampling_strategy": "sequential", "logging_steps": 1, "report_to": "none", "save_strategy": "no",
                **(arguments or {}),
            },
        )  # fmt: skip
        model = transformers.BertForMaskedLM.from_pretrained(folder)
        data = {"pairs": aligned, "eval_dataset": aligned, "processing_class": tokenizer}
        trainer = il.Trainer(model, args, objective=objective, **data)
        if rate is None:
            adam = ADAM.build(trainer.model)
            trainer.optimizer, trainer.lr_scheduler = adam, LambdaLR(adam, lambda _: 1.0)
        return trainer

    return make


class Plan:
    """The batches of a Trainer that does not shuffle."""

    def __init__(self, examples):
        self.whole = examples

    def __len__(self):
        return len(self.whole) // ROWS

    def examples(self, index):
        return self.whole.take(np.arange(index * ROWS, (index + 1) * ROWS))


CASES = {
    "mlm": {}, "tlm": {}, "alm": {}, "clm": {}, "dict_mlm": {}, "align_mlm": {}, "word_aligned": {}, "weam": {},
    "weam by states of one": {"normalization": "one_to_one"}, "align_mlm of layers": {"layer": "middle"},
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_trains_as_our_own_loop(case, build, folder, aligned):
    name = case.partition(" ")[0]
    trainer = build(name, **CASES[case])
    collator = trainer.collator
    examples = collator.examples(aligned)[0]
    if name in {"mlm", "clm", "dict_mlm", "align_mlm"}:  # one language a batch in our loop
        trainer.train_dataset = trainer.train_dataset[: len(examples)]
    model = TrainingModel(
        Backbone(transformers.BertForMaskedLM.from_pretrained(folder)),
        {name: collator.objective},
        5,
    )
    for one, other in zip(model.parameters(), trainer.model.parameters(), strict=True):
        assert torch.equal(one, other)  # the heads too
    source = MixtureSource(name, "en-de", collator.objective, collator.prepared, Plan(examples))
    training = Training(
        model, Mixture([source], 5), ADAM.build(model), ADAM, Accelerator(cpu=True), 2, MICRO
    )
    ours = list(steps(training, Progress()))
    trainer.train()
    logs = [row for row in trainer.state.log_history if "loss" in row]
    for row, step in zip(logs, ours, strict=True):
        assert row["grad_norm"] == pytest.approx(step.gradient_norm, rel=1e-4)
        for term, loss in step.losses.items():
            assert row[f"{name}/{term}"] == pytest.approx(loss, rel=1e-5)
    for one, other in zip(model.parameters(), trainer.model.parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=2e-5, rtol=1e-4)


def test_a_checkpoint_has_the_heads_and_a_saved_model_has_not(build, folder, tmp_path):
    arguments = {"save_strategy": "steps", "save_steps": 1}
    whole = build(rate=1, arguments=arguments)
    whole.train()
    whole.save_model(tmp_path / "model")
    kept = tmp_path / "run" / "checkpoint-1"
    assert "exchanged.weight" in load_file(kept / "heads.safetensors")
    assert not (tmp_path / "model" / "heads.safetensors").exists()
    names = set(load_file(folder / "model.safetensors"))
    for saved in (kept, tmp_path / "model"):
        assert set(load_file(saved / "model.safetensors")) == names
        transformers.AutoModelForMaskedLM.from_pretrained(saved, trust_remote_code=False)
        transformers.AutoTokenizer.from_pretrained(saved, trust_remote_code=False)
    resumed = build(rate=1, arguments=arguments)
    resumed.train(resume_from_checkpoint=str(kept))
    for one, other in zip(whole.model.parameters(), resumed.model.parameters(), strict=True):
        assert torch.equal(one, other)
    (kept / "heads.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"heads\.safetensors"):
        build(rate=1, arguments=arguments).train(resume_from_checkpoint=str(kept))


def test_evaluates_with_fixed_masks_and_keeps_the_best(build, aligned, tmp_path):
    arguments = {
        "eval_strategy": "steps", "eval_steps": 1, "save_strategy": "best", "load_best_model_at_end": True,
        "metric_for_best_model": "loss",
    }  # fmt: skip
    trainer = build("word_aligned", rate=1, arguments=arguments)
    first = trainer.evaluate()["eval_loss"]
    assert trainer.evaluate()["eval_loss"] == first
    trainer.train()
    best = load_file(Path(trainer.state.best_model_checkpoint) / "model.safetensors")
    weight = "bert.encoder.layer.0.attention.self.query.weight"
    assert torch.equal(trainer.model.plain.state_dict()[weight], best[weight])


def test_takes_names_pairs_and_datasets(folder, aligned, dataset, tmp_path):
    tokenizer = transformers.AutoTokenizer.from_pretrained(
        folder, model_max_length=LONGEST, trust_remote_code=False
    )
    model = transformers.BertForMaskedLM.from_pretrained(folder)
    args = transformers.TrainingArguments(
        tmp_path, max_steps=1, report_to="none", save_strategy="no"
    )
    by_name = il.Trainer(
        deepcopy(model), args, objective="weam", pairs=aligned, processing_class=tokenizer
    )
    assert by_name.collator.objective.max_length == LONGEST
    objective = il.collator("tlm", tokenizer, languages=("en", "de"))
    both = il.Trainer(
        model, args, objective=objective, train_dataset=dataset, eval_dataset={"a": dataset}
    )
    assert (
        both.train_dataset.column_names
        == list(objective.columns)
        == both.eval_dataset["a"].column_names
    )
    with pytest.raises(SettingsError, match=r"interlace\.align"):
        il.Trainer(model, args, objective="weam", pairs=aligned.pairs, processing_class=tokenizer)


@pytest.mark.parametrize("named", [True, False])
def test_a_stream_trains_as_the_same_rows_in_memory_without_an_incomplete_update(build, named):
    whole, streamed = build("tlm", rate=1), build("tlm", rate=1)
    rows, texts = whole.train_dataset[: 3 * ROWS], whole.eval_dataset[:ROWS]
    whole.train_dataset = rows[: MICRO * ROWS]
    stream = datasets.IterableDataset.from_generator(lambda: iter(rows))
    assert stream.column_names is None
    streamed.train_dataset = streamed._rows(stream if not named else stream._resolve_features())
    streamed.eval_dataset = datasets.IterableDataset.from_generator(lambda: iter(texts))
    for trainer in (whole, streamed):
        trainer.args.max_steps = 3
        trainer.train()
    assert streamed.state.global_step == 3
    for one, other in zip(whole.model.parameters(), streamed.model.parameters(), strict=True):
        assert torch.equal(one, other)
    assert np.isfinite(streamed.evaluate()["eval_loss"])
    assert streamed.get_batch_samples(iter(()), 2, torch.device("cpu")) == ([], None)


def test_what_the_trainer_does_not_do_is_an_error(folder, aligned, tmp_path, monkeypatch):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    model = transformers.BertForMaskedLM.from_pretrained(folder)
    make = il.collator("tlm", tokenizer, languages=("en", "de"), max_length=LONGEST)
    splits = datasets.DatasetDict({"train": datasets.Dataset.from_dict({"en": ["a"], "de": ["b"]})})

    def error(**options):
        args = transformers.TrainingArguments(tmp_path, report_to="none")
        with pytest.raises(SettingsError) as caught:
            il.Trainer(model, args, objective=make, **{"pairs": aligned, **options})
        return str(caught.value)

    assert "splits train; give one" in error(pairs=None, train_dataset=splits)
    assert "pairs or train_dataset" in error(train_dataset=splits["train"])
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    assert "fsdp is not supported" in error()
