"""From a checkpoint to a checkpoint: every shipped recipe on a tiny checkpoint of its family, and what comes out."""

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForMaskedLM, AutoTokenizer

from interlace.core.errors import SettingsError
from interlace.data.vocab import Vocab
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import Recipe, change_recipe, read_recipe
from interlace.experiments.workspace import Workspace
from interlace.models.build import load
from little_checkpoints import ENGLISH, KINDS, LONGEST, save
from toy_settings import under

OTHER = [word[::-1] + "o" for word in ENGLISH]  # letters that all of their tokenizers can spell
FAMILY_OF = {
    f"adapt/mbert:{name}": "mbert" for name in ("alm", "weam", "align-mlm", "word-aligned")
}
FAMILY_OF |= {"adapt/xlm-r-alm": "xlm-r", "adapt/mmbert-alm": "mmbert", "adapt/xlm-tlm": "xlm"}
POOLER = {"mbert": "bert.pooler.dense.weight", "xlm-r": "roberta.pooler.dense.weight"}
SHORT = under(
    "train",
    steps="2",
    tokens_per_update="256",
    tokens_per_micro_batch="256",
    threads="1",
    precision='"no"',
)
SHORT |= under("train", evaluate_tokens="256", evaluate_every="0")
SHORT |= {
    "train.optimizer.warmup": "0",
    "train.optimizer.learning_rate": "1e-3",
    "filters": "{}",
}


@pytest.fixture(scope="module")
def starts(tmp_path_factory):
    return {kind: save(kind, tmp_path_factory.mktemp("start") / kind) for kind in KINDS}


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Translations word by word, as the recipes want their files."""
    folder = tmp_path_factory.mktemp("text")
    for split, count in (("train", 60), ("dev", 40)):
        rows = np.random.default_rng(count).integers(len(ENGLISH), size=(count, 5))
        for language, words in (("en", ENGLISH), ("de", OTHER)):
            lines = [" ".join(words[number] for number in row) for row in rows]
            (folder / f"{split}.{language}").write_text(
                "\n".join(lines) + "\n", encoding="utf-8"
            )
    return folder


def adapted(name, start, text, changes=None):
    """The recipe, short, on the tiny checkpoint."""
    rows = {
        f"objectives.{objective}.max_length": str(LONGEST)
        for objective in read_recipe(name).objectives
    }
    return read_recipe(
        name,
        SHORT | rows | {"model.start": str(start), "data_root": str(text)} | (changes or {}),
    )


@pytest.mark.parametrize(("name", "kind"), FAMILY_OF.items())
def test_output_is_a_transformers_checkpoint(name, kind, starts, text, tmp_path):
    start = starts[kind]
    model = pretrain(adapted(name, start, text), tmp_path / "run")
    before, after = (
        AutoTokenizer.from_pretrained(each, trust_remote_code=False) for each in (start, model)
    )
    line = f"{' '.join(ENGLISH[:5])} {' '.join(OTHER[:3])}"
    assert after(line)["input_ids"] == before(line)["input_ids"]
    assert len(after) == len(before)
    plain, info = AutoModelForMaskedLM.from_pretrained(
        model, output_loading_info=True, trust_remote_code=False
    )
    assert not info["missing_keys"]
    assert not info["mismatched_keys"]
    inputs = after(line, return_tensors="pt", return_token_type_ids=False)
    assert plain(**inputs).logits.isfinite().all()
    old, new = (load_file(folder / "model.safetensors") for folder in (start, model))
    assert sorted(old) == sorted(new)
    tables = [name for name in old if "embeddings" in name and old[name].shape[0] > LONGEST]
    assert any(not torch.equal(old[name], new[name]) for name in tables)
    if pooler := POOLER.get(kind):  # is carried over
        assert torch.equal(old[pooler], new[pooler])


def test_default_length_is_limited_by_the_checkpoint_and_a_larger_one_rejected_before_alignment(
    starts, text, tmp_path, monkeypatch, caplog
):
    caplog.set_level("INFO", "interlace")
    changes = SHORT | {"model.start": str(starts["xlm-r"]), "data_root": str(text)}
    recipe = read_recipe("adapt/xlm-r-alm", changes)
    pretrain(Recipe.read({**recipe.dump(), "objectives": {"mlm": {}}}), tmp_path / "run")
    assert f"objectives.mlm.max_length: {LONGEST}, the model's maximum, not 256" in caplog.text
    monkeypatch.setattr(Workspace, "open", lambda _: pytest.fail("text was prepared"))
    with pytest.raises(
        SettingsError, match=f"max_length = 128, but the model's maximum is {LONGEST}"
    ):
        pretrain(recipe, tmp_path / "other")


@pytest.mark.parametrize("kind", KINDS)
def test_extends_the_vocabulary(kind, starts, text, tmp_path):
    changes = {"vocab.extend": "30"}
    model = pretrain(adapted("adapt/mbert:alm", starts[kind], text, changes), tmp_path / "run")
    old, new = Vocab.load(starts[kind]), Vocab.load(model)
    assert new.size == old.size + 30
    line = " ".join(OTHER[:6])
    assert new.encode([line]).ids[0].max() >= old.size
    assert load(model).vocab_size >= new.size
    # and goes on like any other
    again = pretrain(adapted("adapt/mbert:alm", model, text), tmp_path / "again")
    assert Vocab.load(again).fingerprint == new.fingerprint


def test_trims_then_extends_the_vocabulary(starts, text, tmp_path):
    """Tokens of held-out text stay too; the cached vocabulary knows its original ids."""
    recipe = adapted(
        "adapt/mbert:alm",
        starts["mbert"],
        text,
        {"vocab.trim": "text", "vocab.extend": "20"},
    )
    old, vocab = Vocab.load(starts["mbert"]), Workspace(recipe).vocab
    assert vocab.size == vocab.origin.base + 20 < old.size
    again = Workspace(recipe).vocab
    assert again.origin.kept.tolist() == vocab.origin.kept.tolist()
    model = load(pretrain(recipe, tmp_path / "run"))
    assert model.vocab_size == vocab.size
    trimmed = Workspace(change_recipe(recipe, {"vocab.extend": "0"})).vocab
    lines = [*(text / "dev.de").read_text(encoding="utf-8").split("\n"), " ".join(ENGLISH)]
    assert trimmed.tokens(trimmed.encode(lines).ids.flat) == old.tokens(
        old.encode(lines).ids.flat
    )


def test_maps_and_adds_languages_of_an_xlm_checkpoint(starts, text, tmp_path):
    folder = tmp_path / "text"
    folder.mkdir()
    for split in ("train", "dev"):
        for old, new in (("en", "english"), ("de", "gsw")):
            (folder / f"{split}.{new}").write_bytes((text / f"{split}.{old}").read_bytes())
    changes = {
        "corpora.text.languages": '["english", "gsw"]',
        "corpora.pairs.pairs": '["english-gsw"]',
        "model.languages": "embeddings",
        "model.language_names.english": "en",
    }
    model = pretrain(adapted("adapt/xlm-tlm", starts["xlm"], folder, changes), tmp_path / "run")
    assert load(model).traits.languages == {"de": 0, "en": 1, "english": 1, "zh": 2, "gsw": 3}
    old, new = (load_file(path / "model.safetensors") for path in (starts["xlm"], model))
    name = next(name for name in old if "lang_embeddings" in name)
    assert (new[name][1] != old[name][1]).any()  # `english` trained the row of `en`
    expected = "Pass the language id as `langs`: de 0, en 1, english 1, zh 2, gsw 3."
    assert expected in (model / "README.md").read_text()


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("tiny/mlm", {"vocab.extend": "10"}, r"vocab\.extend needs a tokenizer to extend"),
        ("tiny/mlm", {"vocab.trim": "text"}, r"vocab\.trim needs a tokenizer to trim"),
        ("tiny/mlm-tlm", {"model.language_names.zh_cn": "zh"}, "needs a 'start'"),
    ],
)
def test_rejects_settings_that_need_a_checkpoint(name, changes, message):
    with pytest.raises(SettingsError, match=message):
        read_recipe(name, {"model.shape.family": '"bert"'} | changes)
