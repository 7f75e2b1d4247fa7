import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from command_line import run_code
from interlace.core.errors import CheckpointError, SettingsError
from interlace.data.vocab import Vocab
from interlace.models.build import from_shape, load
from interlace.models.settings import Shape
from little_checkpoints import save


def tiny(family="bert", **more):
    return Shape(
        **{"family": family, "layers": 1, "width": 8, "heads": 2, "max_length": 16, **more}
    )


def weights(backbone):
    return {name: parameter.detach() for name, parameter in backbone.named_parameters()}


def test_same_weights_in_another_process_with_other_imports(vocab):
    code = (
        "import transformers, torch; torch.rand(10);"
        "from types import SimpleNamespace as S;"
        "from interlace.models.build import from_shape;"
        "from interlace.models.settings import Shape;"
        "b = from_shape(Shape(layers=1, width=8, heads=2, max_length=16), "
        "S(size=40, pad=1, begin=0, end=2), ('en',), 7);"
        "print(sum(p.double().abs().sum().item() for p in b.parameters()).hex())"
    )
    backbone = from_shape(tiny(), vocab, ("en",), 7)
    assert (
        run_code(code).stdout.strip()
        == sum(p.double().abs().sum().item() for p in backbone.parameters()).hex()
    )


def test_languages_leave_the_other_weights_alone(vocab):
    without = weights(from_shape(tiny(), vocab, seed=3))
    with_two = weights(from_shape(tiny(), vocab, ("en", "de"), seed=3))
    changed = [name for name in without if not torch.equal(without[name], with_two[name])]
    assert changed == ["model.bert.embeddings.token_type_embeddings.weight"]
    table = with_two[changed[0]]
    assert torch.equal(table[0], table[1])  # segments mean nothing yet
    assert not torch.equal(table[2], table[3])


def test_roberta_rejects_large_padding_ids(vocab):
    vocab.size, vocab.pad = 60_000, 50_283
    with pytest.raises(SettingsError, match=r"50284 positions for padding.*family = 'bert'"):
        from_shape(tiny("roberta"), vocab)


@pytest.fixture
def folder(vocab, tmp_path):
    return from_shape(tiny(), vocab).save_pretrained(tmp_path / "base", vocab)


def test_a_missing_folder_a_file_and_a_run_folder_are_named(folder, tmp_path):
    with pytest.raises(
        CheckpointError, match=r"bsae/model: no such folder; did you mean 'base'"
    ):
        load(tmp_path / "bsae" / "model")
    with pytest.raises(CheckpointError, match="is a file"):
        load(folder / "config.json")
    (tmp_path / "run").mkdir()
    folder.rename(tmp_path / "run" / "model")
    with pytest.raises(CheckpointError, match=r"no config\.json; did you mean .*run/model"):
        load(tmp_path / "run")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, r"config\.json: damaged") for text in ("{", "[]", '{"hidden_size": 8}')),
        (
            '{"model_type": "bert", "num_hidden_layers": 100000000}',
            r"config\.json: damaged: key 'num_hidden_layers'",
        ),
        (
            '{"model_type": "bert", "quantization_config": {"quant_method": "gptq"}}',
            "its weights are quantised",
        ),
        ('{"model_type": "bert", "hidden_act": "__import__"}', r"cannot be opened"),
        ('{"model_type": "gpt2"}', r"'gpt2' model cannot be a backbone; there are: bert"),
    ],
)
def test_rejects_damaged_or_unknown_configurations(folder, text, message):
    (folder / "config.json").write_text(text)
    with pytest.raises(CheckpointError, match=message):
        load(folder)


def test_pickles_are_refused_with_the_cure(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match=r"pickles.*save_pretrained"):
        load(folder)


def shard(folder):
    tensors = load_file(folder / "model.safetensors")
    files = {}
    for number, name in enumerate(sorted(tensors)):
        files[name] = "ab"[number % 2] + ".safetensors"
    for file in ("a.safetensors", "b.safetensors"):
        held = {name: tensor for name, tensor in tensors.items() if files[name] == file}
        save_file(held, folder / file, {"format": "pt"})
    index = {"metadata": {}, "weight_map": files}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    (folder / "model.safetensors").unlink()


def test_loads_sharded_weights(folder):
    whole = weights(load(folder))
    shard(folder)
    found = weights(load(folder))
    assert found.keys() == whole.keys()
    assert all(torch.equal(found[name], whole[name]) for name in whole)
    (folder / "b.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"b\.safetensors: missing"):
        load(folder)


WEIGHT = "bert.encoder.layer.0.output.dense.weight"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda _: {}, r"lacks 1 weights of a bert encoder.*output\.dense\.weight"),
        (lambda tensor: {WEIGHT: tensor[:, :-1].contiguous()}, r"has shape \(\d+, \d+\)"),
        (
            lambda tensor: {WEIGHT: tensor.to(torch.int64)},
            r"values of \w+, expected one of F16",
        ),
        (lambda tensor: {WEIGHT: tensor.to(torch.float8_e4m3fn)}, r"values of \w+, expected"),
    ],
)
def test_rejects_missing_weights_and_weights_of_another_shape_or_type(folder, change, message):
    tensors = load_file(folder / "model.safetensors")
    tensors |= change(tensors.pop(WEIGHT))
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(CheckpointError, match=message):
        load(folder)


def test_accepts_the_position_numbers_of_old_checkpoints(folder):
    tensors = load_file(folder / "model.safetensors")
    numbers = {"bert.embeddings.position_ids": torch.arange(16)[None]}
    save_file(tensors | numbers, folder / "model.safetensors", {"format": "pt"})
    load(folder)


def test_accepts_tables_larger_than_the_vocabulary(folder, vocab):
    vocab.size = 35
    assert load(folder, vocab).vocab_size == 40
    vocab.size = 41
    with pytest.raises(CheckpointError, match="the model has 40 tokens, the vocabulary 41"):
        load(folder, vocab)


@pytest.mark.parametrize("kind", ["mbert", "mmbert", "xlm"])
def test_the_padding_is_the_tokenizers(kind, tmp_path):
    """Published configurations may have another one, as that of multilingual-e5-small."""
    save(kind, tmp_path)
    vocab = Vocab.load(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["pad_index" if kind == "xlm" else "pad_token_id"] = vocab.pad + 1
    (tmp_path / "config.json").write_text(json.dumps(config))
    backbone = load(tmp_path, vocab)
    assert backbone.model.get_input_embeddings().padding_idx == vocab.pad
    assert backbone.model.config.pad_token_id == vocab.pad


def test_positions_that_depend_on_the_padding_need_the_tokenizers(tmp_path):
    save("xlm-r", tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "pad_token_id": 3}))
    with pytest.raises(CheckpointError, match=r"pads with id 3, the vocabulary with 1"):
        load(tmp_path, Vocab.load(tmp_path))
