from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import torch

from interlace.core.errors import CheckpointError, DataError
from interlace.models.build import from_shape, load
from interlace.models.settings import Shape

if TYPE_CHECKING:
    from pathlib import Path

TINY = Shape(layers=1, width=8, heads=2, max_length=16)


def test_an_old_folder_is_replaced_whole(vocab: Any, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "leftover").write_text("old")
    (folder / "config.json").write_text("{}")
    from_shape(TINY, vocab).save_pretrained(folder, vocab)
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.safetensors", "tokenizer.json"]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_failed_export_leaves_the_old_folder(vocab: Any, tmp_path: Path) -> None:
    first = from_shape(TINY, vocab, seed=1)
    folder = first.save_pretrained(tmp_path / "model", vocab)

    class Full(type(vocab)):  # type: ignore[misc]
        def save_files(self, folder: Path) -> None:
            raise OSError(28, "No space left on device")

    with pytest.raises(DataError, match="no space left on the disk"):
        from_shape(TINY, vocab, seed=2).save_pretrained(folder, Full())
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert torch.equal(load(folder).input_embeddings, first.input_embeddings)


def test_a_folder_that_cannot_be_made(vocab: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CheckpointError, match="cannot be written"):
        from_shape(TINY, vocab).save_pretrained(tmp_path / "file" / "model", vocab)


def test_exporting_does_not_change_the_model(vocab: Any, tmp_path: Path) -> None:
    backbone = from_shape(TINY, vocab, ("en", "de"))
    before = {name: tensor.clone() for name, tensor in backbone.state_dict().items()}
    backbone.save_pretrained(tmp_path / "model", vocab, fold_language="de", dtype=torch.bfloat16)
    after = backbone.state_dict()
    assert all(torch.equal(before[name], after[name]) and after[name].dtype == torch.float32 for name in before)
    assert "interlace_folded_language" not in backbone.model.config.to_dict()


def test_the_configuration_records_languages_and_dtype(vocab: Any, tmp_path: Path) -> None:
    backbone = from_shape(TINY, vocab, ("en", "de"))
    folder = backbone.save_pretrained(tmp_path / "model", vocab, fold_language="de", dtype=torch.bfloat16)
    config = json.loads((folder / "config.json").read_text())
    assert config["interlace_languages"] == {"en": 2, "de": 3}
    assert config["interlace_folded_language"] == "de"
    assert config["type_vocab_size"] == 4
    assert config["dtype"] == "bfloat16"
    assert config["architectures"] == ["BertForMaskedLM"]


def test_other_things_are_never_replaced(vocab: Any, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("three years of work")
    with pytest.raises(DataError, match="holds something that is no checkpoint"):
        from_shape(TINY, vocab).save_pretrained(tmp_path, vocab)
    assert (tmp_path / "thesis.txt").exists()
