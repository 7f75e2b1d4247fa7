"""Objectives together in one run: in turn, by temperature, measured as they read, and told of in the end."""

import json

import pytest
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

from interlace.core.errors import DataError, SettingsError
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import Recipe, read_recipe
from toy_settings import TOY

SMALL = TOY | {
    "vocab.size": "400",
    "model.shape.layers": "1",
    "model.shape.width": "16",
    "model.shape.heads": "2",
    "train.tokens_per_batch": "256",
    "train.threads": "1",
    "train.evaluate_tokens": "256",
    "train.precision": '"no"',
}


@pytest.fixture
def run(tmp_path):
    def train(name, changes, folder="run"):
        into = tmp_path / folder
        pretrain(read_recipe(name, SMALL | changes), into)
        rows = [json.loads(line) for line in (into / "metrics.jsonl").read_text().splitlines()]
        return into, [row for row in rows if row["kind"] == "step"], rows[-1]["scores"]

    return train


def test_reading_both_ways_and_left_to_right_in_turn(run):
    changes = {
        "objectives.clm": '{ max_length = 32, corpora = ["text"] }',
        "objectives.tlm.weight": '"0:0,6:0,7:1"',
        "train.alternate": "true",
        "train.language_alpha": '"0:1,6:0"',
        "train.steps": "12",
    }
    into, steps, scores = run("tiny/mlm-tlm", changes)
    assert [step["objective"] for step in steps[:6]] == ["mlm", "clm"] * 3
    assert {step["objective"] for step in steps[6:]} == {"mlm", "clm", "tlm"}
    assert {name.partition("/")[0] for name in scores} == {
        "perplexity", "causal_perplexity", "perplexity_per_word", "bits_per_character"
    }  # fmt: skip
    facts = json.loads((into / "run.json").read_text())
    mixture = facts["mixture"]
    assert sum(mixture["steps"].values()) == 12
    assert sum(mixture["languages"].values()) == sum(mixture["tokens"].values()) == facts["tokens"]
    assert sum(mixture["rows"].values()) == sum(step["rows"] for step in steps) > 12
    assert all(sum(step["languages"].values()) == step["tokens"] for step in steps)
    assert facts["perplexity_unit"] == "per masked subword"
    assert AutoModelForMaskedLM.from_pretrained(into / "model", trust_remote_code=False)


def test_a_causal_run_ends_with_a_model_that_writes(run):
    into, _, scores = run("tiny/clm", {"train.steps": "3"})
    facts = json.loads((into / "run.json").read_text())
    assert facts["perplexity_unit"] == "per subword"
    assert {"perplexity/en", "perplexity_per_word/en", "bits_per_character/en", "perplexity/mean"} < set(scores)
    sample = json.loads((into / "samples.json").read_text())[0]["rows"][0]
    assert sample["changed"] == []
    assert sample["targets"][:3] == sample["tokens"][1:4]
    model = AutoModelForCausalLM.from_pretrained(into / "model", trust_remote_code=False)
    ids = AutoTokenizer.from_pretrained(into / "model", trust_remote_code=False)("the", return_tensors="pt").input_ids[
        :, :-1
    ]
    written = model.generate(ids, max_new_tokens=5, do_sample=False)
    assert written.shape[1] > ids.shape[1]


def test_rows_are_filled_with_whole_sentences_and_pairs(run):
    changes = {"train.steps": "8", "train.tokens_per_batch": "512"}
    changes |= {"model.shape.max_length": "128", "objectives.tlm.max_length": "128"}
    _, single, _ = run("tiny/mlm-tlm", changes)
    _, filled, _ = run(
        "tiny/mlm-tlm", changes | {f"objectives.{name}.packed": "true" for name in ("mlm", "tlm")}, "filled"
    )
    a_row = [
        {
            name: sum(step["tokens"] for step in steps if step["objective"] == name)
            / sum(step["rows"] for step in steps if step["objective"] == name)
            for name in ("mlm", "tlm")
        }
        for steps in (single, filled)
    ]
    assert a_row[0]["mlm"] == 64 > a_row[1]["mlm"] > 52  # none is cut, so some room is left
    assert a_row[0]["tlm"] < 64 < a_row[1]["tlm"] < 128


def test_sentences_that_fill_no_row_whole_are_told_of(run):
    with pytest.raises(DataError, match=r"rows of 'en' are longer than 6 tokens; raise mlm\.max_length"):
        run("tiny/mlm", {"train.steps": "3", "objectives.mlm.max_length": "8", "objectives.mlm.packed": "true"})


def test_too_many_passes_are_refused_before_the_first_update(run):
    with pytest.raises(SettingsError, match=r"max_passes = 0\.1: objective 'mlm' takes 3 batches"):
        run("tiny/mlm", {"train.steps": "3", "train.max_passes": "0.1", "train.tokens_per_batch": "8192"})


@pytest.mark.parametrize("weight", ["3", "0:0,10:0.5"])
def test_weights_say_nothing_beside_alternation(weight):
    corpora = {"text": {"languages": ["en"], "train": "a"}}
    with pytest.raises(SettingsError, match=r"objectives\.mlm\.weight = .* has no effect with train\.alternate"):
        Recipe(name="x", corpora=corpora, objectives={"mlm": {"weight": weight}}, train={"alternate": True})
