"""Model cards: metadata, loading code that runs, tables, and no paths of the machine."""

import json
import re

import pytest
import yaml
from huggingface_hub import ModelCardData

from interlace.core.errors import DataError
from interlace.experiments.card import write_card
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import read_recipe
from interlace.report.runs import read_runs
from run_records import run_of
from toy_settings import SHORT, TOY, VOCAB

SCORES = [
    {
        "task": "pos",
        "metric": "accuracy",
        "unit": "%",
        "source": "en",
        "language": one,
        "seed": seed,
        "score": score,
    }
    for seed, one, score in ((0, "de", 80.0), (1, "de", 82.0), (0, "en", 95.0), (1, "en", 95.0))
]


def card_of(folder):
    write_card(folder)
    return (folder / "model" / "README.md").read_text(encoding="utf-8")


def front_of(card):
    return yaml.safe_load(card.split("---")[1])


def test_the_front_matter_is_what_the_hub_reads_and_tables_have_data_and_objectives(tmp_path):
    card = card_of(run_of(tmp_path))
    front = front_of(card)
    assert front == {
        "language": ["en", "de"], "base_model": "google-bert/bert-base-multilingual-cased",
        "library_name": "transformers", "pipeline_tag": "fill-mask",
        "tags": ["interlace", "cross-lingual", "mlm", "alm"],
    }  # fmt: skip
    # without a license, which the publisher chooses
    assert ModelCardData(**front).to_dict() == front
    for text in (
        "| en-de (training) | 1,200 | 34,567 | empty: 2, dropped by ratio: 30 | train.en (999 bytes, abc) |",
        "| objectives | mlm (weight 1), alm (weight 1) |",
        "The vocabulary of bert-base-multilingual-cased, unchanged.",
    ):
        assert text in card
    extended = card_of(run_of(tmp_path / "extended", vocab__extend="5000"))
    assert "up to 5,000 tokens learned from the training text" in extended
    trimmed = card_of(run_of(tmp_path / "trimmed", vocab__trim="text", vocab__extend="5000"))
    assert "with new ids, and up to 5,000 tokens learned from the training text." in trimmed


@pytest.mark.parametrize("key", ["split", "files", "steps"])
def test_a_record_of_a_run_without_a_key_is_named(tmp_path, key):
    about = json.loads((run_of(tmp_path) / "run.json").read_text())
    (about if key in about else about["data"][0]).pop(key)
    (tmp_path / "run.json").write_text(json.dumps(about))
    with pytest.raises(DataError, match=rf"run\.json: damaged: .*key '{key}': field required"):
        write_card(tmp_path)


def test_language_codes_are_quoted_and_without_regions(tmp_path):
    text, pairs = '["no", "zh_cn", "zh_tw", "made_up_x"]', '["no-zh_cn"]'
    front = front_of(
        card_of(run_of(tmp_path, corpora__text__languages=text, corpora__pairs__pairs=pairs))
    )
    assert front["language"] == ["no", "zh"]


def test_folders_are_not_base_models_and_paths_are_removed(tmp_path):
    (tmp_path / "secret" / "tiny-bert").mkdir(parents=True)
    changes = {
        "model__start": str(tmp_path / "secret" / "tiny-bert"),
        "data_root": str(tmp_path / "secret"),
        "align__name": "pharaoh",
        "align__links": f"{tmp_path}/secret/links.{{pair}}",
    }
    card = card_of(run_of(tmp_path / "run", **changes))
    assert "base_model" not in front_of(card)
    assert "Initialization: tiny-bert. Trained with interlace" in card
    assert "secret" not in card
    assert str(tmp_path) not in card
    assert not re.search(r"(?<![\w:/.])/(?:home|root|tmp|work|Users)/", card)


def test_an_evaluation_adds_scores_by_task_and_setting(tmp_path):
    folder = run_of(tmp_path)
    assert "## Scores" not in card_of(folder)
    (folder / "scores.json").write_text(json.dumps(SCORES))
    card = card_of(folder)
    assert "| pos | accuracy (%) | de | 2 | 81 ± 1.4 |" in card
    changes = {"setting": "translate-test", "translations": "human", "score": 50.0}
    (folder / "scores.json").write_text(json.dumps([row | changes for row in SCORES]))
    assert "| pos, translate-test, oracle | accuracy (%) | en | 2 | 50 ± 0 |" in card_of(folder)


def test_scores_of_previous_weights_are_left_out(tmp_path, caplog):
    folder = run_of(tmp_path)
    (folder / "metrics.jsonl").write_text("")  # its rows are of the card's test alone
    about = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(about | {"model_key": "a"}))
    rows = [row | {"model_key": "a"} for row in SCORES]
    (folder / "scores.json").write_text(json.dumps(rows))
    assert "| pos | accuracy (%) | de | 2 |" in card_of(folder)
    assert len(read_runs([folder])[0].scores) == len(SCORES)
    (folder / "run.json").write_text(json.dumps(about | {"model_key": "b"}))
    assert "## Scores" not in card_of(folder)
    assert not read_runs([folder])[0].scores
    assert "leaving out scores of previous weights" in caplog.text


@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_a_card_says_how_the_model_is_opened_and_its_code_runs(family, tmp_path, own_cache):
    kind = {"model.shape.family": family}
    kind["model.languages"] = "none" if family == "modernbert" else "embeddings"
    model = pretrain(read_recipe("tiny/mt", TOY | VOCAB | SHORT | kind), tmp_path / "run")
    card = (model / "README.md").read_text(encoding="utf-8")
    front = yaml.safe_load(card.split("---")[1])
    assert front["pipeline_tag"] == "translation"
    assert front["library_name"] == ("transformers" if family == "bert" else "interlace")
    assert "Translation directions: en-de, de-en." in card
    (code,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    found = {}
    exec(code.replace("FOLDER-OR-HUB-NAME", str(model)), found)  # noqa: S102 - what the card tells people to run
    asked = found["tokenizer"].convert_tokens_to_ids("<2de>")
    assert len(found["tokenizer"]) == asked + 1
    if family == "bert":
        assert found["output"][0, 0] == asked
        assert "`decoder_token_type_ids` (one per sequence): en 2, de 3." in card
    else:
        assert found["model"].vocab_size == asked + 1
