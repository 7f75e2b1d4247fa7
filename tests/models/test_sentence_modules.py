"""Folders of sentence-transformers, as it writes them, are read with its vectors and written again for it."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import interlace as il
from interlace.core.errors import CheckpointError, DataError
from interlace.data.vocab import Vocab
from interlace.models.build import load
from interlace.models.sentence_modules import write_sentence_modules
from little_checkpoints import TRAINED_ON, save

library = pytest.importorskip("sentence_transformers")
AS_IN_LABSE = {"activation_function": torch.nn.Tanh()}
LINEAR = {"activation_function": torch.nn.Identity(), "bias": False}


def published(folder, kind="xlm-r", pooling="mean", dense=None):
    """A folder that sentence-transformers has written; its vectors of `TRAINED_ON`."""
    from sentence_transformers.sentence_transformer import modules

    encoder = modules.Transformer(str(save(kind, folder / "encoder")), max_seq_length=64)
    parts = [encoder, modules.Pooling(16, pooling)]
    if dense is not None:
        torch.manual_seed(0)
        parts.append(modules.Dense(16, 5, **dense))
    model = library.SentenceTransformer(modules=[*parts, modules.Normalize()], device="cpu")
    model.save(str(folder / "published"))
    return folder / "published", model.encode(TRAINED_ON)


@pytest.mark.parametrize(
    ("kind", "pooling", "dense"),
    [("xlm-r", "mean", None), ("mbert", "cls", AS_IN_LABSE), ("mmbert", "max", LINEAR)],
)
def test_a_published_folder_is_read_and_written_with_the_same_vectors(
    tmp_path, kind, pooling, dense
):
    folder, expected = published(tmp_path, kind, pooling, dense)
    np.testing.assert_allclose(il.encode(folder, TRAINED_ON), expected, atol=1e-5)
    lower_layer = il.encode(folder, TRAINED_ON, layer=1)
    assert lower_layer.shape == (5, 16)
    vocab = Vocab.load(folder)
    backbone = load(folder, vocab)
    backbone.save_pretrained(tmp_path / "again", vocab)
    write_sentence_modules(tmp_path / "again", backbone, vocab, None, 64)
    opened = library.SentenceTransformer(str(tmp_path / "again"), device="cpu")
    np.testing.assert_allclose(opened.encode(TRAINED_ON), expected, atol=1e-5)
    np.testing.assert_allclose(il.encode(tmp_path / "again", TRAINED_ON), expected, atol=1e-5)


@pytest.mark.parametrize(
    "config", [{"pooling_mode": "lasttoken"}, {"pooling_mode": ["mean", "cls"]}]
)
def test_modules_that_are_not_read_are_a_warning(tmp_path, caplog, config):
    folder, _ = published(tmp_path)
    plain = il.encode(tmp_path / "encoder", TRAINED_ON)
    (folder / "1_Pooling/config.json").write_text(json.dumps(config))
    np.testing.assert_array_equal(il.encode(folder, TRAINED_ON), plain)
    assert "modules.json: sentence vectors by Transformer, Pooling, Normalize" in caplog.text


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"linear.weight": torch.ones(5, 4)}, "expected linear.weight of 16 columns"),
        ({"linear.weight": torch.ones(5, 16), "linear.bias": torch.ones(4)}, "linear.bias"),
        ({"linear.weight": torch.full((5, 16), torch.nan)}, "not finite"),
        ({"other": torch.ones(1)}, "expected linear.weight"),
    ],
)
def test_damaged_dense_layers_are_rejected(tmp_path, weights, message):
    folder, _ = published(tmp_path, dense=AS_IN_LABSE)
    [path] = folder.glob("*_Dense/model.safetensors")
    save_file(weights, path)
    with pytest.raises(CheckpointError, match=message):
        il.encode(folder, TRAINED_ON)


def test_paths_of_modules_outside_of_the_folder_are_rejected(tmp_path):
    folder, _ = published(tmp_path)
    modules = json.loads((folder / "modules.json").read_text())
    modules[1]["path"] = "../encoder"
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(DataError, match=r"'\.\./encoder'"):
        il.encode(folder, TRAINED_ON)
