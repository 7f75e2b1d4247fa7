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
    vocab = little_vocab()
    shape = Shape(family="bert", layers=1, width=16, heads=2)
    folder = from_shape(shape, vocab).save_pretrained(tmp_path / "model", vocab)
    config = json.loads((folder / "config.json").read_text())
    planted = {
        "auto_map": {"AutoModelForMaskedLM": "evil.Evil"},
        "_attn_implementation": "somebody/kernel",
    }
    (folder / "config.json").write_text(json.dumps({**config, **planted}))
    (folder / "evil.py").write_text(CODE.format(marker=str(marker)))
    backbone = load(folder, vocab)
    assert not marker.exists()
    written = backbone.save_pretrained(tmp_path / "again", vocab)
    assert json.loads((written / "config.json").read_text()) == config


@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_a_kernel_that_a_translation_model_names_is_not_fetched(tmp_path, family):
    vocab = little_vocab()
    folder = little_model(family, vocab).save_pretrained(tmp_path / "model", vocab)
    for path in folder.rglob("config.json"):
        config = json.loads(path.read_text())
        for side in (config, config.get("encoder"), config.get("decoder")):
            if side is not None:
                side.update({"_attn_implementation": "somebody/kernel", "auto_map": AUTO_MAP})
        path.write_text(json.dumps(config))
    load(folder, vocab).save_pretrained(tmp_path / "again", vocab)
    for path in (tmp_path / "again").rglob("*.json"):
        assert not {"auto_map", "somebody/kernel"} & set(path.read_text().split('"'))


def test_a_model_written_by_others_opens_without_its_code(tmp_path, marker):
    """One that names a known kind and code of its own is opened as the known kind."""
    sizes = {"vocab_size": 120, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
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


@pytest.mark.parametrize("family", ["bert", "seq2seq"])
def test_a_configuration_takes_no_more_memory_than_its_files(tmp_path, family):
    vocab = little_vocab()
    model = (
        little_model("bert", vocab)
        if family == "seq2seq"
        else from_shape(Shape(layers=1, width=16, heads=2), vocab)
    )
    folder = model.save_pretrained(tmp_path / "model", vocab)
    config = json.loads((folder / "config.json").read_text())
    for side in (config, config.get("encoder"), config.get("decoder")):
        (side or {}).update(
            {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 16}
        )
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(
        CheckpointError,
        match=rf"{folder}: its configuration says [\d,]{{11,}} weights, its files have",
    ):
        load(folder, vocab)


@pytest.mark.parametrize("kind", ["bert", "modernbert"])
@pytest.mark.parametrize(
    "planted", [{"num_labels": 10**9}, {"id2label": {"a": 1}}, {"chunk_size_feed_forward": "x"}]
)
def test_keys_of_a_configuration_that_are_not_used_do_not_reach_transformers(
    tmp_path, kind, planted
):
    vocab = little_vocab()
    folder = little_model(kind, vocab).save_pretrained(tmp_path / "model", vocab)
    for path in folder.rglob("config.json"):
        config = json.loads(path.read_text())
        for side in (config, config.get("encoder"), config.get("decoder")):
            (side or {}).update(planted)
        path.write_text(json.dumps(config))
    assert load(folder, vocab).vocab_size == vocab.size


@pytest.mark.parametrize(
    "name", ["config.json", "generation_config.json", "model.safetensors.index.json"]
)
def test_a_file_of_a_model_that_is_too_long_is_not_read(tmp_path, name):
    vocab = little_vocab()
    model = from_shape(Shape(family="bert", layers=1, width=16, heads=2), vocab)
    folder = model.save_pretrained(tmp_path / "model", vocab)
    with (folder / name).open("ab") as file:
        file.truncate((256 << 20) + 1)
    with pytest.raises(
        DataError, match=rf"/{name}: 268,435,457 bytes; expected at most 268,435,456"
    ):
        load(folder, vocab)


def test_a_prompt_fails():
    with no_prompts(), pytest.raises(EOFError):
        input("Run it?")
