"""Our batches inside transformers: the losses of `collator` are those of our own loop."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers
from torch.utils.data import DataLoader

import interlace as il
from interlace.core.errors import DataError, SettingsError
from interlace.core.ragged import Ragged
from interlace.integrations.collator import vocab_of
from interlace.models.build import load
from interlace.training.loop import TrainingModel
from little_checkpoints import KINDS, LONGEST, save

datasets = pytest.importorskip("datasets")
Hasher = datasets.fingerprint.Hasher
SETTINGS = {"max_length": LONGEST, "languages": ("en", "de")}
OBJECTIVES = ("mlm", "tlm", "clm", "alm", "dict_mlm")


@pytest.fixture(scope="module")
def resources(aligned):
    """By objective, what it needs besides text."""
    return {
        "alm": {"aligned": aligned},
        "dict_mlm": {"lexicon": il.lexicon(aligned, mutual=True)},
    }


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {kind: save(kind, tmp_path_factory.mktemp("start") / kind) for kind in KINDS}


def mapped(make, dataset):
    return list(dataset.map(make.map, batched=True, remove_columns=dataset.column_names))


def gradients(model, loss):
    model.zero_grad()
    loss.backward()
    return {
        name: weight.grad
        for name, weight in model.named_parameters()
        if weight.grad is not None
    }


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("kind", ["mbert", "xlm-r", "mmbert"])
def test_transformers_computes_the_loss_and_gradient_of_our_loop(
    kind, name, folders, resources, dataset
):
    if (kind, name) == ("mmbert", "clm") or (name == "dict_mlm" and kind != "mbert"):
        pytest.skip(
            "transformers' causal class has other weights, or the vocabulary has no words"
        )
    tokenizer = transformers.AutoTokenizer.from_pretrained(
        folders[kind], trust_remote_code=False
    )
    make = il.collator(name, tokenizer, **SETTINGS, **resources.get(name, {}))
    rows = mapped(make, dataset)[:16]
    batches = make.batches(rows, step=3)
    opener = (
        transformers.AutoModelForCausalLM if make.causal else transformers.AutoModelForMaskedLM
    )
    more = {"is_decoder": True} if make.causal else {}
    theirs = opener.from_pretrained(folders[kind], trust_remote_code=False, **more).eval()
    inputs = make(rows, step=3)
    found = theirs(**inputs)
    ours = TrainingModel(
        load(folders[kind], causal=make.causal), {name: make.objective}, seed=0
    ).eval()
    counts = {term: sum(batch.counts[term] for batch in batches) for term in batches[0].counts}
    loss = torch.stack([ours(name, batch.to("cpu"), counts)[0] for batch in batches]).sum()
    assert counts[make.objective.term] == (inputs["labels"] >= 0).sum() > 0
    torch.testing.assert_close(found.loss, loss, atol=1e-5, rtol=1e-5)
    expected, actual = gradients(ours.backbone.model, loss), gradients(theirs, found.loss)
    assert len(expected) > 16
    for weight, gradient in expected.items():
        torch.testing.assert_close(actual[weight], gradient, atol=1e-5, rtol=1e-4)


def test_masks_depend_on_seed_rows_and_step_only(folders, dataset):
    make = il.collator("mlm", folders["mbert"], **SETTINGS)
    rows = mapped(make, dataset)

    def same(one, other):
        return all(torch.equal(one[name], other[name]) for name in one)

    alone, workers = (
        list(DataLoader(rows, batch_size=20, collate_fn=make, num_workers=number))
        for number in (0, 2)
    )
    assert len(alone) == 6
    assert all(same(one, other) for one, other in zip(alone, workers, strict=True))
    assert not same(make(rows, step=1), make(rows, step=2))
    assert not same(make(rows), replace(make, seed=1)(rows))
    falling = il.collator("mlm", folders["mbert"], **SETTINGS, masking={"rate": "0:0.9,10:0.0"})
    assert (falling(rows, step=0)["labels"] >= 0).any()
    assert (falling(rows, step=10)["labels"] < 0).all()
    with pytest.raises(SettingsError, match="depends on the step"):
        falling(rows)


def test_gradient_accumulation_in_transformers_trainer_is_one_large_batch(
    folders, dataset, tmp_path
):
    weights = []
    for batch, accumulated in ((12, 1), (3, 4)):
        make = il.collator("clm", folders["mbert"], **SETTINGS)  # nothing is drawn
        model = transformers.AutoModelForCausalLM.from_pretrained(
            folders["mbert"],
            trust_remote_code=False,
            is_decoder=True,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
        args = transformers.TrainingArguments(
            tmp_path, max_steps=2, per_device_train_batch_size=batch, gradient_accumulation_steps=accumulated,
            learning_rate=0.1, optim="sgd", remove_unused_columns=False, report_to="none", save_strategy="no",
        )  # fmt: skip
        rows = dataset.map(make.map, batched=True, remove_columns=dataset.column_names)
        transformers.Trainer(
            model, args, data_collator=make, train_dataset=rows, compute_loss_func=make.loss
        ).train()
        weights.append(model.state_dict())
    for name, weight in weights[0].items():
        torch.testing.assert_close(weight, weights[1][name], atol=1e-5, rtol=1e-4)


def test_mapped_rows_are_aligned_by_the_same_aligner(folders, aligned):
    make = il.collator("alm", folders["mbert"], **SETTINGS, aligned=aligned)
    columns = make.map({"translation": [{"en": "the unseen doctor", "de": "der Arzt"}]})
    assert [2, 3, 1, 2] in np.asarray(columns["phrases"][0]).reshape(-1, 4).tolist()


def test_text_becomes_lines_packed_lines_or_running_text(folders, pairs):
    lines = pairs.lines()[0][:20]
    alone, packed, running = (
        il.collator("mlm", folders["mbert"], max_length=16, **more)
        for more in ({}, {"packed": True}, {"running_text": True})
    )
    expected = vocab_of(folders["mbert"]).encode(lines).ids
    assert Ragged.of(alone.map({"text": lines})["input_ids"]) == expected
    lengths = [len(row) for row in packed.map({"text": lines})["input_ids"]]
    assert max(lengths) <= 14 < sum(lengths) == expected.lengths.sum() + 20 - len(lengths)
    rows = running.map({"text": [f"{lines[0]}\n{lines[1]}", *lines[2:]]})["input_ids"]
    assert {len(row) for row in rows} == {14}


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("mln", {}, "did you mean 'mlm'"),
        ("mlm", {"max_length": 4000}, "maximum of 512"),
        ("alm", {}, "interlace.align"),
        ("dict_mlm", {}, "interlace.lexicon"),
        ("mass", {}, "decoder"),
        ("tlm", {"languages": ("en",)}, "two languages"),
    ],
)
def test_what_cannot_be_collated_is_an_error(name, settings, message, folders):
    tokenizer = transformers.AutoTokenizer.from_pretrained(
        folders["mbert"], model_max_length=512, trust_remote_code=False
    )
    with pytest.raises(SettingsError, match=message):
        il.collator(name, tokenizer, **settings)


def test_rows_that_do_not_fit_are_an_error(folders, aligned):
    make = il.collator("tlm", folders["mbert"], **SETTINGS)
    with pytest.raises(DataError, match=r"columns src; expected .*languages="):
        make.map({"src": ["a"]})
    for row in ({"en": "a"}, {"en": "a", "de": None}, None):
        with pytest.raises(DataError, match="row 1 of a mapped batch: expected text"):
            make.map({"translation": [row]})
    with pytest.raises(DataError, match=r"lack source_ids.*remove_unused_columns"):
        make([{"translation": {}}])
    with pytest.raises(
        SettingsError, match=r"weam has a loss of its own; .*interlace\.pretrain"
    ):
        il.collator("weam", folders["mbert"], **SETTINGS, aligned=aligned)([])


def test_equal_collators_have_one_fingerprint(folders, resources):
    first, second = (
        il.collator("dict_mlm", folders["mbert"], **SETTINGS, **resources["dict_mlm"])
        for _ in range(2)
    )
    assert Hasher.hash(first.map) == Hasher.hash(second.map)
    assert Hasher.hash(replace(first, seed=1).map) != Hasher.hash(first.map)
