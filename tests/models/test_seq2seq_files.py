"""Translation models on disk: opened again here and, where it can, by plain transformers."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import EncoderDecoderModel

from interlace.core.errors import CheckpointError, SettingsError
from interlace.models.build import build_model, from_shape, load
from interlace.models.seq2seq import Seq2Seq
from interlace.models.settings import DecoderSettings, ModelSettings, Shape

FAMILIES = ["bert", "roberta", "modernbert"]


def made(vocab, family="bert", decoder=None, **more):
    shape = {"layers": 2, "width": 16, "heads": 2, "max_length": 48, "init_std": 0.3, **more}
    languages = "none" if family == "modernbert" else "embeddings"
    settings = ModelSettings(
        shape=Shape(family=family, **shape), decoder=decoder, languages=languages
    )
    model = build_model(settings, vocab, ("en", "de"), 3, seq2seq=True)
    assert isinstance(model, Seq2Seq)
    with torch.no_grad():  # as after training: no weight is what a fresh model would have
        for parameter in model.parameters():
            rng = torch.Generator().manual_seed(parameter.numel())
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=rng))
    return model.eval()


@torch.no_grad()
def scores(model):
    ids = torch.randint(3, 40, (2, 12), generator=torch.Generator().manual_seed(1))
    read = {
        "input_ids": ids[:, :7],
        "attention_mask": torch.tensor([[1] * 7, [1] * 4 + [0] * 3]),
    }
    write = {"input_ids": ids[:, 7:]}
    if model.decoder_language_input:
        name = model.decoder_language_input
        read[name] = torch.full_like(ids[:, :7], model.traits.languages["en"])
        write[name] = torch.full_like(ids[:, 7:], model.decoder_languages["de"])
    states = model.decode(model.encode(read), read["attention_mask"], write)
    return model.logits(states.flatten(0, 1)).view(2, 5, -1)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("table", ["shared", "own"])
def test_saved_models_are_loaded_unchanged(family, table, vocab, tmp_path):
    model = made(vocab, family, DecoderSettings(embeddings=table))
    folder = model.save_pretrained(tmp_path / "model", vocab)
    again = load(folder, vocab, model.traits.languages).eval()
    assert isinstance(again, Seq2Seq)
    assert again.shared == model.shared == (table == "shared")
    assert (again.traits, again.decoder_languages) == (model.traits, model.decoder_languages)
    assert torch.equal(scores(again), scores(model))
    assert trained(again) == trained(model)


def trained(model):
    return [name for name, weight in model.named_parameters() if weight.requires_grad]


def test_a_plain_model_of_transformers_opens_here(vocab, tmp_path):
    """As `EncoderDecoderModel.from_encoder_decoder_pretrained` of two ordinary checkpoints makes them."""
    from_shape(Shape(layers=1, width=8, heads=2, max_length=16), vocab, seed=1).save_pretrained(
        tmp_path / "one", vocab
    )
    theirs = EncoderDecoderModel.from_encoder_decoder_pretrained(
        tmp_path / "one", tmp_path / "one"
    ).eval()
    theirs.save_pretrained(tmp_path / "pair")
    model = load(tmp_path / "pair", vocab).eval()
    ids, start = torch.tensor([[0, 5, 9, 2]]), torch.tensor([[4, 8, 9]])
    assert model.shared  # both sides began from one checkpoint
    with torch.no_grad():
        ours = model.logits(
            model.decode(model.encode({"input_ids": ids}), None, {"input_ids": start})[0]
        )
        torch.testing.assert_close(
            ours, theirs(input_ids=ids, decoder_input_ids=start).logits[0]
        )


@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_rejects_damaged_weights(family, vocab, tmp_path):
    made(vocab, family).save_pretrained(tmp_path / "model", vocab)
    path = tmp_path / "model" / "model.safetensors"
    tensors = load_file(path)
    name = next(name for name in tensors if "cross" in name)
    save_file({key: each for key, each in tensors.items() if key != name}, path)
    with pytest.raises(
        CheckpointError, match=f"lacks the weight {name.removeprefix('decoder.')}"
    ):
        load(tmp_path / "model", vocab)
    save_file({**tensors, name: tensors[name][:3].clone()}, path)
    with pytest.raises(CheckpointError, match="has shape"):
        load(tmp_path / "model", vocab)


def test_rejects_folding_a_language(vocab, tmp_path):
    with pytest.raises(SettingsError, match="a translation model has two languages"):
        made(vocab).save_pretrained(tmp_path / "model", vocab, fold_language="en")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        ({"encoder": None}, "key 'encoder'"),
        ({"decoder": {"model_type": "gpt2"}}, "'gpt2' model .*bert"),
    ],
)
def test_names_the_folder_of_a_spoiled_configuration(spoil, message, vocab, tmp_path):
    path = made(vocab).save_pretrained(tmp_path / "model", vocab) / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **spoil}))
    with pytest.raises(CheckpointError, match=f"{tmp_path / 'model'}.*{message}"):
        load(tmp_path / "model", vocab)


def test_rejects_another_vocabulary(vocab, tmp_path):
    made(vocab).save_pretrained(tmp_path / "model", vocab)
    vocab.size = 90
    with pytest.raises(CheckpointError, match="the model has 40 tokens, the vocabulary 90"):
        load(tmp_path / "model", vocab)
