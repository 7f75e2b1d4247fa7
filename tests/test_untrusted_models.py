"""A model folder or tokenizer folder never runs its own Python, whatever stands on standard input."""

import json
import shutil

import pytest
from transformers import BertConfig, BertModel
from typer.testing import CliRunner

from interlace.cli import application
from interlace.core.errors import CheckpointError, DataError
from interlace.data.tokenizer_files import no_prompts
from interlace.data.vocab import Vocab
from interlace.models.build import from_shape, load
from interlace.models.settings import Shape
from little_translators import little_model, little_run, little_vocab

YES = "y\n" * 20
CODE = """
from pathlib import Path
from transformers import PreTrainedTokenizerFast, PreTrainedConfig

Path({marker!r}).write_text("ran")

class Evil(PreTrainedTokenizerFast): pass
class EvilConfig(PreTrainedConfig): model_type = "evil"
"""
AUTO_MAP = {
    "AutoTokenizer": ["evil.Evil", "evil.Evil"],
    "AutoConfig": "evil.EvilConfig",
    "AutoModel": "evil.Evil",
}


@pytest.fixture
def marker(tmp_path, monkeypatch):
    """The file that a folder's code writes."""
    monkeypatch.setattr(
        "transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules")
    )
    return tmp_path / "marker"


def plant(folder, marker, **more):
    """A tokenizer of the folder's own code; `more` stands in its configurations."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "evil.py").write_text(CODE.format(marker=str(marker)))
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        (folder / name).unlink(missing_ok=True)
    (folder / "tokenizer_config.json").write_text(json.dumps({"auto_map": AUTO_MAP, **more}))
    config = folder / "config.json"
    kept = json.loads(config.read_text()) if config.is_file() else {"model_type": "evil"}
    config.write_text(json.dumps({**kept, "auto_map": AUTO_MAP}))
    return folder


def interlace(*arguments):
    return CliRunner().invoke(application(), list(arguments), input=YES).exit_code


def saved(family, folder):
    """A model folder: of a BERT, or of a translation model of two encoders of a family."""
    vocab = little_vocab()
    if family == "encoder":
        model = from_shape(Shape(layers=1, width=16, heads=2), vocab)
    else:
        model = little_model(family, vocab)
    return model.save_pretrained(folder, vocab)


def edit_configurations(folder, changes):
    """Change all configurations of a model, those of its parts included."""
    for path in folder.rglob("config.json"):
        config = json.loads(path.read_text())
        for side in ("encoder", "decoder"):
            if side in config:
                config[side].update(changes)
        path.write_text(json.dumps({**config, **changes}))


# Classes of transformers that a tokenizer's configuration may name: models, and what opens the folder once more.
@pytest.mark.parametrize(
    "named", [{}, {"tokenizer_class": "AutoModel"}, {"tokenizer_class": "AutoTokenizer"}]
)
def test_the_code_of_a_tokenizer_does_not_run(tmp_path, marker, named):
    folder = plant(tmp_path / "t", marker, **named)
    assert interlace("preview", "mlm", "--vocab", str(folder))
    assert not marker.exists()
    with pytest.raises(DataError, match=str(folder)):
        Vocab.load(str(folder))


@pytest.mark.parametrize("inner", ["", "encoder"])
def test_the_code_of_a_translation_model_does_not_run(tmp_path, marker, inner):
    run = little_run(tmp_path / "run", little_vocab())
    plant(run / "model" / inner, marker)
    plant(run / "model", marker)
    assert interlace("translate", str(run), "--from", "en", "--to", "de")
    assert interlace("translate", str(run / "model"), "--from", "en", "--to", "de")
    assert not marker.exists()


def test_the_code_of_a_model_does_not_run(tmp_path, marker):
    folder = saved("encoder", tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    auto_map = {"AutoModelForMaskedLM": "evil.Evil"}
    edit_configurations(
        folder, {"auto_map": auto_map, "_attn_implementation": "somebody/kernel"}
    )
    (folder / "evil.py").write_text(CODE.format(marker=str(marker)))
    written = load(folder).save_pretrained(tmp_path / "again", little_vocab())
    assert not marker.exists()
    assert json.loads((written / "config.json").read_text()) == config


def test_a_model_written_by_others_opens_without_its_code(tmp_path, marker):
    """One that names a known kind and code of its own is opened as the known kind."""
    sizes = {
        "vocab_size": 120,
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    BertModel(BertConfig(intermediate_size=16, **sizes)).save_pretrained(tmp_path / "bert")
    shutil.copytree(tmp_path / "bert", tmp_path / "own")
    plant(tmp_path / "own", marker)
    assert load(tmp_path / "own").vocab_size == load(tmp_path / "bert").vocab_size
    (tmp_path / "own" / "config.json").write_text(
        json.dumps({"model_type": "evil", "auto_map": AUTO_MAP})
    )
    with pytest.raises(CheckpointError, match="evil"):
        load(tmp_path / "own")
    assert not marker.exists()


@pytest.mark.parametrize("family", ["encoder", "bert"])
def test_a_configuration_takes_no_more_memory_than_its_files(tmp_path, family):
    folder = saved(family, tmp_path / "model")
    sizes = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 16}
    edit_configurations(folder, sizes)
    message = rf"{folder}: its configuration says [\d,]{{11,}} weights, its files have"
    with pytest.raises(CheckpointError, match=message):
        load(folder, little_vocab())


@pytest.mark.parametrize("family", ["bert", "modernbert"])
@pytest.mark.parametrize(
    "planted",
    [
        {"num_labels": 10**9},
        {"id2label": {"a": 1}},
        {"chunk_size_feed_forward": "x"},
        {"_attn_implementation": "somebody/kernel", "auto_map": AUTO_MAP},
    ],
)
def test_keys_of_a_configuration_that_are_not_used_do_not_reach_transformers(
    tmp_path, family, planted
):
    folder = saved(family, tmp_path / "model")
    edit_configurations(folder, planted)
    load(folder).save_pretrained(tmp_path / "again", little_vocab())
    for path in (tmp_path / "again").rglob("*.json"):
        assert not {"auto_map", "somebody/kernel"} & set(path.read_text().split('"'))


@pytest.mark.parametrize(
    "name", ["config.json", "generation_config.json", "model.safetensors.index.json"]
)
def test_a_file_of_a_model_that_is_too_long_is_not_read(tmp_path, name):
    folder = saved("encoder", tmp_path / "model")
    with (folder / name).open("ab") as file:
        file.truncate((256 << 20) + 1)
    with pytest.raises(DataError, match=rf"/{name}: 268,435,457 bytes; expected at most 268"):
        load(folder)


def test_a_prompt_fails():
    with no_prompts(), pytest.raises(EOFError):
        input("Run it?")
