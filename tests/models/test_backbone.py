"""Which weights stay as they are, in every family."""

import json
from itertools import pairwise

import pytest
import torch

from interlace.core.errors import DataError, SettingsError
from interlace.models.backbone import Backbone, freeze_layers, pool
from interlace.models.build import from_shape, load
from interlace.models.settings import Shape

TINY = Shape(layers=1, width=8, heads=2, max_length=16)


def test_an_old_folder_is_replaced_whole(vocab, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model-00001-of-00002.safetensors").write_text("old")
    (folder / "config.json").write_text("{}")
    from_shape(TINY, vocab).save_pretrained(folder, vocab)
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.safetensors", "tokenizer.json"]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match=r"notes\.txt: .* would be deleted"):
        from_shape(TINY, vocab).save_pretrained(folder, vocab)


MINE = {
    "a file of annotations": lambda folder: (folder / "gold.json").write_text("[]"),
    "a folder of annotations": lambda folder: (folder / "mine").mkdir(),
    "a folder in one of ours": lambda folder: (folder / "1_Pooling" / "mine").mkdir(parents=True),
    "a link to a folder": lambda folder: (folder / "mine").symlink_to(folder.parent),
    "a link to a folder where we have one": lambda folder: (folder / "encoder").symlink_to(folder.parent),
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

    with pytest.raises(DataError, match="no space left on the disk"):
        from_shape(TINY, vocab, seed=2).save_pretrained(folder, Full())
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match=r"notes\.txt: .* would be deleted"):
        from_shape(TINY, vocab).save_pretrained(folder, vocab)
    assert torch.equal(load(folder).input_embeddings, first.input_embeddings)


def test_exporting_records_languages_and_dtype_and_does_not_change_the_model(vocab, tmp_path):
    backbone = from_shape(TINY, vocab, ("en", "de"))
    before = {name: tensor.clone() for name, tensor in backbone.state_dict().items()}
    folder = backbone.save_pretrained(tmp_path / "model", vocab, fold_language="de", dtype=torch.bfloat16)
    after = backbone.state_dict()
    assert all(torch.equal(before[name], after[name]) and after[name].dtype == torch.float32 for name in before)
    assert "interlace_folded_language" not in backbone.model.config.to_dict()
    config = json.loads((folder / "config.json").read_text())
    assert config["interlace_languages"] == {"en": 2, "de": 3}
    assert config["interlace_folded_language"] == "de"
    assert config["type_vocab_size"] == 4
    assert config["dtype"] == "bfloat16"
    assert config["architectures"] == ["BertForMaskedLM"]


def test_never_replaces_other_folders(vocab, tmp_path):
    (tmp_path / "thesis.txt").write_text("three years of work")
    with pytest.raises(DataError, match="holds something that is no checkpoint"):
        from_shape(TINY, vocab).save_pretrained(tmp_path, vocab)
    assert (tmp_path / "thesis.txt").exists()
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match=r"cannot be written: .*file is not a folder"):
        from_shape(TINY, vocab).save_pretrained(tmp_path / "file" / "model", vocab)


LAYERS = 3


@pytest.fixture(params=["bert", "roberta", "modernbert", "xlm"])
def backbone(request):
    import transformers as hf

    sizes = {"vocab_size": 50, "pad_token_id": 0}
    usual = {"hidden_size": 8, "num_hidden_layers": LAYERS, "num_attention_heads": 2, "intermediate_size": 16}
    if request.param == "xlm":
        config = hf.XLMConfig(**sizes, emb_dim=8, n_layers=LAYERS, n_heads=2, pad_index=0, langs=["en", "de"])
        return Backbone(hf.XLMWithLMHeadModel(config))
    if request.param == "modernbert":
        config = hf.ModernBertConfig(**sizes, **usual, cls_token_id=1, sep_token_id=2, bos_token_id=1, eos_token_id=2)
        return Backbone(hf.ModernBertForMaskedLM(config))
    kind = {"bert": (hf.BertConfig, hf.BertForMaskedLM), "roberta": (hf.RobertaConfig, hf.RobertaForMaskedLM)}
    config, model = kind[request.param]
    return Backbone(model(config(**sizes, **usual)))


def trained(backbone):
    return {name for name, value in backbone.model.base_model.named_parameters() if value.requires_grad}


def test_only_layers_above_the_frozen_ones_are_trained(backbone):
    everything = dict(backbone.model.base_model.named_parameters())
    embeddings = {name for name in everything if "embeddings" in name or "layer_norm_emb" in name}
    assert embeddings
    left = []
    for layers in range(LAYERS + 1):
        count = freeze_layers(backbone, layers)
        assert count == sum(value.numel() for value in everything.values() if not value.requires_grad)
        assert not trained(backbone) & embeddings
        left.append(trained(backbone))
    taken = [before - after for before, after in pairwise(left)]
    numbers = [{part for name in names for part in name.split(".") if part.isdigit()} for names in taken]
    assert numbers == [{"0"}, {"1"}, {"2"}]
    inner = [{name for name in names if not name.startswith("final_norm.")} for names in taken]
    assert len({len(names) for names in inner[1:]}) == 1
    assert not left[-1]  # ModernBERT's last norm stands behind all layers
    with pytest.raises(SettingsError, match=f"tuning.freeze = 4, but the model has {LAYERS} layers"):
        freeze_layers(backbone, LAYERS + 1)


# one row of three real states and one of two, the padding large enough to show where it leaks in
STATES = torch.tensor([[[1.0, -4.0], [3.0, -2.0], [5.0, 0.0]], [[2.0, -1.0], [4.0, -3.0], [99.0, 99.0]]])


MASK = torch.tensor([[1, 1, 1], [1, 1, 0]])


@pytest.mark.parametrize(
    ("how", "expected"),
    [("first", [[1.0, -4.0], [2.0, -1.0]]), ("mean", [[3.0, -2.0], [3.0, -2.0]]), ("max", [[5.0, 0.0], [4.0, -1.0]])],
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
    assert pool(states).item() == states[0, 0, 0].item()
    assert pool(states).dtype == torch.bfloat16
