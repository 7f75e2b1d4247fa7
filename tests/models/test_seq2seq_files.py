"""Translation models on disk: opened again here and, where it can, by plain transformers."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoModelForMaskedLM, EncoderDecoderModel

from interlace.core.errors import CheckpointError, SettingsError
from interlace.models.build import build_model, from_shape, load
from interlace.models.seq2seq import Seq2Seq
from interlace.models.settings import DecoderSettings, ModelSettings, Shape

FAMILIES = ["bert", "roberta", "modernbert"]


def made(vocab, family="bert", decoder=None, **more):
    shape = {
        "family": family,
        "layers": 2,
        "width": 16,
        "heads": 2,
        "max_length": 48,
        "init_std": 0.3,
        **more,
    }
    languages = "none" if family == "modernbert" else "embeddings"
    settings = ModelSettings(shape=Shape(**shape), decoder=decoder, languages=languages)
    model = build_model(settings, vocab, ("en", "de"), 3, seq2seq=True)
    assert isinstance(model, Seq2Seq)
    with torch.no_grad():  # as after training: no weight is what a fresh model would have
        for parameter in model.parameters():
            rng = torch.Generator().manual_seed(parameter.numel())
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=rng))
    return model.eval()


@torch.no_grad()
def scores(model):
    rng = torch.Generator().manual_seed(1)
    ids, written = (
        torch.randint(3, 40, (2, 7), generator=rng),
        torch.randint(3, 40, (2, 5), generator=rng),
    )
    mask = torch.tensor([[1] * 7, [1] * 4 + [0] * 3])
    name = model.decoder_language_input
    reads = {name: torch.full_like(ids, model.traits.languages["en"])} if name else {}
    writes = {name: torch.full_like(written, model.decoder_languages["de"])} if name else {}
    states = model.encode({"input_ids": ids, "attention_mask": mask, **reads})
    return model.logits(
        model.decode(states, mask, {"input_ids": written, **writes}).flatten(0, 1)
    ).view(2, 5, -1)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("table", ["shared", "own"])
@pytest.mark.parametrize("tie", [True, False])
def test_saved_models_are_loaded_unchanged(family, table, tie, vocab, tmp_path):
    model = made(vocab, family, DecoderSettings(embeddings=table), tie=tie)
    again = load(
        model.save_pretrained(tmp_path / "model", vocab), vocab, model.traits.languages
    ).eval()
    assert isinstance(again, Seq2Seq)
    assert again.shared == model.shared == (table == "shared")
    assert (again.traits, again.decoder_languages) == (model.traits, model.decoder_languages)
    assert torch.equal(scores(again), scores(model))
    used = {name: each for name, each in model.named_parameters() if each.requires_grad}
    found = {name: each for name, each in again.named_parameters() if each.requires_grad}
    assert used.keys() == found.keys()
    assert all(torch.equal(used[name], found[name]) for name in used)


@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize("table", ["shared", "own"])
def test_logits_match_transformers(family, table, vocab, tmp_path):
    model = made(vocab, family, DecoderSettings(embeddings=table))
    model.save_pretrained(tmp_path / "model", vocab)
    theirs, info = EncoderDecoderModel.from_pretrained(tmp_path / "model", output_loading_info=True)
    theirs.eval()
    assert all("pooler" in name for name in info["missing_keys"])
    assert not info["unexpected_keys"]
    ids = torch.tensor([[0, 5, 9, 17, 2], [0, 7, 2, 1, 1]])
    mask = (ids != 1).long()
    reads, writes = (
        torch.full_like(ids, model.traits.languages["en"]),
        model.decoder_languages["de"],
    )
    with torch.no_grad():
        start = torch.tensor([[4, 8], [4, 11]])
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": reads}
        inputs = {"input_ids": start, "token_type_ids": torch.full_like(start, writes)}
        out = theirs(**given, **{f"decoder_{name}": value for name, value in inputs.items()})
        states = model.encode(given)
        ours = model.logits(model.decode(states, mask, inputs).flatten(0, 1)).view(2, 2, -1)
    torch.testing.assert_close(out.logits, ours, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize("speaks", [False, True])
def test_greedy_decoding_matches_transformers(family, speaks, vocab, tmp_path):
    """With language embeddings, of which the decoder's are given once a row."""
    shape = Shape(family=family, layers=2, width=16, heads=2, max_length=48, init_std=0.5)
    settings = ModelSettings(shape=shape, languages="embeddings" if speaks else "none")
    model = build_model(settings, vocab, ("en", "de"), 3, seq2seq=True).eval()
    model.save_pretrained(tmp_path / "model", vocab)
    theirs = EncoderDecoderModel.from_pretrained(tmp_path / "model").eval()
    ids = torch.tensor([[0, 5, 9, 17, 2], [0, 7, 2, 1, 1]])
    read = {"input_ids": ids, "attention_mask": (ids != 1).long()}
    write, language = {}, None
    if speaks:
        read["token_type_ids"] = torch.full_like(ids, model.traits.languages["en"])
        language = torch.full((2,), model.decoder_languages["de"])
        write["decoder_token_type_ids"] = language[:, None]
    found = theirs.generate(
        **read, **write, decoder_start_token_id=4, max_new_tokens=9, do_sample=False
    )
    memory = model.start(model.encode(read), read["attention_mask"])
    token, written = torch.tensor([4, 4]), [torch.tensor([4, 4])]
    for _ in range(9):
        token = model.step(memory, token, language).argmax(-1)
        written.append(token)
    rows = torch.stack(written, dim=1)
    for ours, plain in zip(rows.tolist(), found.tolist(), strict=True):
        end = ours.index(2) + 1 if 2 in ours else len(ours)
        assert plain[:end] == ours[:end]


def test_the_encoder_of_a_modernbert_model_is_an_ordinary_checkpoint(vocab, tmp_path):
    model = made(vocab, "modernbert")
    model.save_pretrained(tmp_path / "model", vocab)
    ids = torch.tensor([[0, 5, 9, 17, 2]])
    for theirs in (
        AutoModel.from_pretrained(tmp_path / "model", subfolder="encoder", trust_remote_code=False),
        AutoModel.from_pretrained(tmp_path / "model" / "encoder", trust_remote_code=False),
    ):
        torch.testing.assert_close(
            theirs.eval()(ids).last_hidden_state, model.encode({"input_ids": ids})
        )
    masked = AutoModelForMaskedLM.from_pretrained(
        tmp_path / "model" / "encoder", trust_remote_code=False
    ).eval()
    expected = model.logits(model.encode({"input_ids": ids})[0])
    torch.testing.assert_close(masked(ids).logits[0], expected)
    stored = load_file(tmp_path / "model" / "decoder" / "model.safetensors")
    assert not any("tok_embeddings" in name for name in stored)


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
        torch.testing.assert_close(ours, theirs(input_ids=ids, decoder_input_ids=start).logits[0])


@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_rejects_damaged_weights(family, vocab, tmp_path):
    made(vocab, family).save_pretrained(tmp_path / "model", vocab)
    path = min(tmp_path.rglob("model.safetensors"))  # of a modernbert model, the decoder's
    tensors = load_file(path)
    name = next(name for name in tensors if "cross" in name)
    save_file({key: each for key, each in tensors.items() if key != name}, path)
    with pytest.raises(CheckpointError, match=f"lacks the weight {name.removeprefix('decoder.')}"):
        load(tmp_path / "model", vocab)
    save_file({**tensors, name: tensors[name][:3].clone()}, path)
    with pytest.raises(CheckpointError, match="has shape"):
        load(tmp_path / "model", vocab)


def test_rejects_unknown_model_types_and_another_vocabulary(vocab, tmp_path):
    made(vocab).save_pretrained(tmp_path / "model", vocab)
    path = tmp_path / "model" / "config.json"
    config = json.loads(path.read_text())
    config["decoder"]["model_type"] = "gpt2"
    path.write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match=r"'gpt2' side; .*bert"):
        load(tmp_path / "model", vocab)
    config["decoder"]["model_type"] = "bert"
    path.write_text(json.dumps(config))
    vocab.size = 90
    with pytest.raises(CheckpointError, match="the model has 40 tokens, the vocabulary 90"):
        load(tmp_path / "model", vocab)


def test_rejects_folding_a_language(vocab, tmp_path):
    with pytest.raises(
        SettingsError, match=r"export\.fold_language: a translation model reads one language"
    ):
        made(vocab).save_pretrained(tmp_path / "model", vocab, fold_language="en")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("family", "spoil"),
    [
        ("bert", {"encoder": None}),
        ("bert", {"encoder": {"model_type": "gpt2"}}),
        ("bert", {"interlace_seq2seq": "x"}),
        ("modernbert", {"interlace_seq2seq": "x"}),
    ],
)
def test_names_the_folder_of_a_spoiled_configuration(family, spoil, vocab, tmp_path):
    path = made(vocab, family).save_pretrained(tmp_path / "model", vocab) / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **spoil}))
    with pytest.raises(CheckpointError, match=str(tmp_path / "model")):
        load(tmp_path / "model", vocab)
