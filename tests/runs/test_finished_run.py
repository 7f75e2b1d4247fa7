"""What a finished run leaves behind opens with plain transformers and says the same."""

import json

import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import read_recipe
from interlace.models.build import load
from run_records import about, records

FIELDS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")


@pytest.fixture
def run(small, tmp_path):
    pretrain(read_recipe(str(small), {"train.steps": "3"}), tmp_path / "run")
    return tmp_path / "run"


def test_opens_with_transformers_and_has_the_same_logits(run):
    tokenizer = AutoTokenizer.from_pretrained(run / "model", trust_remote_code=False)
    model = AutoModelForMaskedLM.from_pretrained(run / "model", trust_remote_code=False).eval()
    inputs = tokenizer(["the cat sees two books", "in"], padding=True, return_tensors="pt")
    with torch.inference_mode():
        plain = model(**{key: value for key, value in inputs.items() if key in FIELDS}).logits
    backbone = load(run / "model").eval()
    ids = {"input_ids": inputs["input_ids"], "attention_mask": inputs["attention_mask"]}
    with torch.inference_mode():
        states = backbone.encode(ids)
        ours = backbone.logits(states.reshape(-1, states.shape[-1])).reshape(plain.shape)
    real = ids["attention_mask"].bool()
    torch.testing.assert_close(plain[real], ours[real], rtol=1e-4, atol=1e-5)


def test_records_are_complete(run, tmp_path):
    facts, scores = about(run), records(run, "evaluation")[-1]["scores"]
    assert facts["steps"] == 3
    assert facts["finished"]
    assert sum(facts["shares"].values()) == pytest.approx(1, abs=1e-3)
    assert [row["step"] for row in records(run, "step")] == [1, 2, 3]
    assert scores["perplexity/mean"] == pytest.approx(
        (scores["perplexity/en"] + scores["perplexity/xx"]) / 2, rel=1e-4
    )
    samples = json.loads((run / "samples.json").read_text())
    assert [sample["objective"] for sample in samples] == ["mlm", "mlm", "tlm"]
    card = (run / "model" / "README.md").read_text(encoding="utf-8")
    files = [file for row in facts["data"] for file in row["files"]]
    names = {
        f"{part}.{language}" for part in ("train", "dev", "pairs") for language in ("en", "xx")
    }
    assert {file["name"] for file in files} == names
    assert all(file["digest"] in card for file in files)
    assert str(tmp_path) not in card
