"""Writing a backbone over a folder, and pooling its states."""

import json

import pytest
import torch

from interlace.core.errors import DataError
from interlace.models.backbone import pool
from interlace.models.build import from_shape, load
from interlace.models.settings import Shape

TINY = Shape(layers=1, width=8, heads=2, max_length=16)


def test_an_old_folder_is_replaced_whole(vocab, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model-00001-of-00002.safetensors").write_text("old")
    (folder / "config.json").write_text("{}")
    from_shape(TINY, vocab).save_pretrained(folder, vocab)
    assert sorted(path.name for path in folder.iterdir()) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


MINE = {
    "a file of annotations": lambda folder: (folder / "gold.json").write_text("[]"),
    "a folder in one of ours": lambda folder: (folder / "1_Pooling" / "mine").mkdir(
        parents=True
    ),
    "a link to a folder where we have one": lambda folder: (folder / "encoder").symlink_to(
        folder.parent
    ),
}


@pytest.mark.parametrize("kind", MINE)
def test_a_folder_with_something_of_others_is_not_replaced(vocab, tmp_path, kind):
    folder = from_shape(TINY, vocab).save_pretrained(tmp_path / "model", vocab)
    MINE[kind](folder)
    before = sorted(folder.rglob("*"))
    with pytest.raises(DataError, match="would be deleted"):
        from_shape(TINY, vocab).save_pretrained(folder, vocab)
    assert sorted(folder.rglob("*")) == before


def test_a_failed_export_leaves_the_old_folder(vocab, tmp_path):
    first = from_shape(TINY, vocab, seed=1)
    folder = first.save_pretrained(tmp_path / "model", vocab)

    class Full(type(vocab)):
        def save_files(self, folder):
            raise OSError(28, "No space left on device")

    with pytest.raises(DataError, match="No space left on device"):
        from_shape(TINY, vocab, seed=2).save_pretrained(folder, Full())
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert torch.equal(load(folder).input_embeddings, first.input_embeddings)


def test_exporting_records_languages_and_dtype_and_does_not_change_the_model(vocab, tmp_path):
    backbone = from_shape(TINY, vocab, ("en", "de"))
    before = {name: tensor.clone() for name, tensor in backbone.state_dict().items()}
    how = {"fold_language": "de", "dtype": torch.bfloat16}
    folder = backbone.save_pretrained(tmp_path / "model", vocab, **how)
    for name, tensor in backbone.state_dict().items():
        torch.testing.assert_close(tensor, before[name], rtol=0, atol=0)
    config = json.loads((folder / "config.json").read_text())
    assert config["interlace_languages"] == {"en": 2, "de": 3}
    assert (config["interlace_folded_language"], config["dtype"]) == ("de", "bfloat16")


def test_never_replaces_other_folders(vocab, tmp_path):
    (tmp_path / "thesis.txt").write_text("three years of work")
    with pytest.raises(DataError, match="holds something that is no checkpoint"):
        from_shape(TINY, vocab).save_pretrained(tmp_path, vocab)
    assert (tmp_path / "thesis.txt").exists()
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match=r"cannot be written: Not a directory"):
        from_shape(TINY, vocab).save_pretrained(tmp_path / "file" / "model", vocab)


# one row of three real states and one of two, the padding large enough to show where it leaks in
STATES = torch.tensor(
    [[[1.0, -4.0], [3.0, -2.0], [5.0, 0.0]], [[2.0, -1.0], [4.0, -3.0], [99.0, 99.0]]]
)


MASK = torch.tensor([[1, 1, 1], [1, 1, 0]])


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("first", [[1.0, -4.0], [2.0, -1.0]]),
        ("mean", [[3.0, -2.0], [3.0, -2.0]]),
        ("max", [[5.0, 0.0], [4.0, -1.0]]),
    ],
)
def test_pooling_by_hand(how, expected):
    assert pool(STATES, MASK, how).tolist() == expected


@pytest.mark.parametrize("how", ["first", "mean", "max"])
def test_padding_never_counts_and_empty_rows_are_pooled_to_zeros(how):
    other = STATES.clone()
    other[1, 2] = -1e9
    assert torch.equal(pool(STATES, MASK, how), pool(other, MASK, how))
    assert pool(STATES, torch.tensor([[1, 1, 1], [0, 0, 0]]), how)[1].tolist() == [0.0, 0.0]


def test_half_precision_is_summed_in_float32():
    states = torch.full((1, 1000, 1), 1.001).to(torch.bfloat16)
    mask = torch.ones(1, 1000)
    assert torch.equal(pool(states, mask, "mean"), states[:, 0])
