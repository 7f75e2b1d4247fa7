"""Recipes that start from a published encoder-decoder: from a checkpoint to a checkpoint, and what they reject."""

import json
import shutil

import pytest
from transformers import GPT2Config, GPT2LMHeadModel, NllbTokenizer

from interlace.api.runs import FinishedRun
from interlace.core.errors import CheckpointError, DataError, SettingsError
from interlace.data.vocab import Vocab
from interlace.experiments.export import export_trimmed
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import Recipe
from interlace.experiments.translation import LineTranslator
from interlace.text.lines import write_lines
from little_encoder_decoders import LONGEST, save

ENGLISH = ["the old doctor reads three letters", "a cat", "she sees it", "two red books"] * 8
GERMAN = ["der alte Arzt liest drei Briefe", "Öl ist da", "liest", "drei Briefe"] * 8
OBJECTIVES = {
    "translation": {"max_length": LONGEST, "corpora": ["pairs"]},
    "denoise": {"max_length": LONGEST, "corpora": ["text"]},
    "mass": {"max_length": LONGEST, "corpora": ["text"]},
}


@pytest.fixture(scope="module")
def starts(tmp_path_factory):
    return {
        kind: save(kind, tmp_path_factory.mktemp("start") / kind) for kind in ("nllb", "t5")
    }


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    for language, lines in (("en", ENGLISH), ("de", GERMAN)):
        write_lines(folder / f"train.{language}", lines)
    return folder


@pytest.fixture
def recipe(text, starts):
    def made(start, objectives=None, target="de", steps=3, **vocab):
        data = {
            "name": "whole",
            "data_root": str(text),
            "corpora": {
                "pairs": {"pairs": [f"en-{target}"], "train": ["train.en", "train.de"]},
                "text": {"languages": ["en"], "train": ["train.{language}"]},
            },
            "vocab": vocab,
            "model": {"start": str(starts.get(start, start))},
            "objectives": objectives or OBJECTIVES,
            "train": {
                "steps": steps,
                "tokens_per_update": 256,
                "precision": "no",
                "threads": 1,
                "optimizer": {"learning_rate": 1e-2, "warmup": 0},
            },
        }
        return Recipe.read(data, "test")

    return made


def translated(folder, lines):
    windows = LineTranslator(str(folder), "en", "de").windows(lines)
    return [line.text for window in windows for line in window.translations]


def test_a_run_is_a_checkpoint_of_transformers_that_generates_the_same(recipe, tmp_path):
    forward = {"translation": {**OBJECTIVES["translation"], "directions": "forward"}}
    model = pretrain(recipe("nllb", forward, steps=60), tmp_path / "run")
    ours = translated(tmp_path / "run", ENGLISH[:4])
    assert len(set(ours)) > 2
    card = (model / "README.md").read_text(encoding="utf-8")
    assert "AutoModelForSeq2SeqLM" in card
    assert "<2" not in card
    tokenizer = NllbTokenizer.from_pretrained(model, src_lang="eng_Latn")
    ids = FinishedRun(tmp_path / "run").model.generate(
        **tokenizer(ENGLISH[:4], return_tensors="pt", padding=True),
        forced_bos_token_id=tokenizer.convert_tokens_to_ids("deu_Latn"),
        num_beams=5,
        max_new_tokens=60,
    )
    texts = tokenizer.batch_decode(ids, skip_special_tokens=True)
    assert [text.strip() for text in texts] == ours


def test_a_checkpoint_translates_as_it_is_also_trimmed(starts, tmp_path):
    assert len(translated(starts["nllb"], ENGLISH[:4])) == 4
    folder = export_trimmed(str(starts["nllb"]), [*ENGLISH, *GERMAN], tmp_path / "trimmed")
    assert Vocab.load(folder).size < Vocab.load(starts["nllb"]).size
    assert len(translated(folder, ENGLISH[:4])) == 4


def test_translations_are_stored_by_what_the_model_reads_around_them(starts, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(starts["nllb"], folder)
    before = LineTranslator(str(folder), "en", "de")._key
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**config, "translation_layout": "mbart"}), encoding="utf-8")
    assert LineTranslator(str(folder), "en", "de")._key != before


def test_a_vocabulary_is_trimmed_and_extended(recipe, tmp_path):
    model = pretrain(recipe("nllb", trim="text", extend=5), tmp_path / "run")
    vocab = Vocab.load(model)
    assert vocab.target("de") == (vocab.end, vocab.targets["deu_Latn"])
    assert len(translated(tmp_path / "run", ENGLISH[:2])) == 2


def test_rejects_several_targets_without_tokens_for_languages(recipe, tmp_path):
    with pytest.raises(SettingsError, match=r"de, en.*directions = 'forward'"):
        pretrain(recipe("t5"), tmp_path / "run")
    one_way = {"translation": {**OBJECTIVES["translation"], "directions": "forward"}}
    assert pretrain(recipe("t5", one_way), tmp_path / "run").is_dir()


def test_rejects_objectives_of_encoders(recipe, tmp_path):
    for objectives in ({"mlm": {}}, {**OBJECTIVES, "tlm": {}}):
        with pytest.raises(SettingsError, match=r"lm trains an encoder.*m2m_100"):
            pretrain(recipe("nllb", objectives), tmp_path / "run")


def test_rejects_a_language_without_a_token(recipe, tmp_path):
    with pytest.raises(DataError, match=r"'dex'.*did you mean 'deu'"):
        pretrain(recipe("nllb", target="dex"), tmp_path / "run")


def test_rejects_a_decoder_alone(recipe, starts, tmp_path):
    config = GPT2Config(n_layer=1, n_embd=8, n_head=1, vocab_size=60)
    GPT2LMHeadModel(config).save_pretrained(tmp_path / "gpt")
    Vocab.load(starts["nllb"]).save_files(tmp_path / "gpt")
    with pytest.raises(CheckpointError, match="'gpt2' model cannot be"):
        pretrain(recipe(tmp_path / "gpt"), tmp_path / "run")
