"""Every kind of checkpoint that can begin a translation model keeps one contract, whatever each side takes of it.

A model is built from the checkpoint with its own tokenizer, whose vocabulary grows by the target languages; steps give
what whole rows give, every weight that is not frozen learns, and what is written opens again.
"""

import pytest
import torch
from transformers import EncoderDecoderModel

from interlace.core.errors import SettingsError
from interlace.data.layout import sentence_layout
from interlace.data.vocab import Vocab
from interlace.models.build import build_model, load
from interlace.models.seq2seq import Seq2Seq
from interlace.models.settings import DecoderSettings, ModelSettings
from little_checkpoints import KINDS, save

ABLE = [kind for kind in KINDS if kind != "xlm"]
STARTS = [
    ("whole", "whole"),
    ("whole", "none"),
    ("none", "whole"),
    ("embeddings", "embeddings"),
]
LINES = ["the old doctor reads three letters", "a cat"]


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    return {kind: str(save(kind, tmp_path_factory.mktemp("start") / kind)) for kind in KINDS}


@pytest.fixture
def build(checkpoints):
    """A model from the checkpoint of a kind, with its vocabulary."""

    def made(kind, reads="whole", **decoder):
        start, vocab = (
            checkpoints[kind],
            Vocab.load(checkpoints[kind]).with_target_languages(["en", "de"]),
        )
        speaks = "none" if kind == "mmbert" else "embeddings"
        settings = ModelSettings(
            start=start, take=reads, languages=speaks, decoder=DecoderSettings(**decoder)
        )
        model = build_model(settings, vocab, ("en", "de"), 3, seq2seq=True)
        assert isinstance(model, Seq2Seq)
        return model, vocab

    return made


def inputs(model, vocab):
    """Two English lines to read, and two German ones, as long, to write."""
    rows = sentence_layout(vocab.encode(LINES), vocab, 32)
    read = {
        "input_ids": torch.from_numpy(rows.ids),
        "attention_mask": torch.from_numpy(rows.real).long(),
    }
    write = {"input_ids": read["input_ids"].clone()}
    write["input_ids"][:, 0] = vocab.targets["de"]
    if model.traits.language_input and model.decoder_language_input:
        read[model.traits.language_input] = torch.full_like(
            read["input_ids"], model.traits.languages["en"]
        )
        write[model.decoder_language_input] = torch.full_like(
            write["input_ids"], model.decoder_languages["de"]
        )
    return read, write


def scores(model, vocab):
    read, write = inputs(model, vocab)
    hidden = model.decode(model.encode(read), read["attention_mask"], write)
    return model.logits(hidden.flatten(0, 1)).view(*hidden.shape[:2], -1)


@pytest.mark.parametrize("kind", ABLE)
@pytest.mark.parametrize(("reads", "writes"), STARTS)
def test_fulfills_the_contract(kind, reads, writes, build, tmp_path):
    model, vocab = build(kind, reads, take=writes)
    assert model.vocab_size >= vocab.size
    scores(model.train(), vocab).square().sum().backward()
    learnt = {
        name: each.grad is not None
        for name, each in model.named_parameters()
        if each.requires_grad
    }
    assert all(learnt.values()), [name for name, there in learnt.items() if not there]
    model.eval()
    with torch.no_grad():
        whole = scores(model, vocab)
        read, write = inputs(model, vocab)
        memory = model.start(model.encode(read), read["attention_mask"])
        for place in range(whole.shape[1]):
            step = model.step(memory, *(each[:, place] for each in write.values()))
            torch.testing.assert_close(step, whole[:, place], atol=1e-4, rtol=1e-4)
        again = load(
            model.save_pretrained(tmp_path / "model", vocab), Vocab.load(tmp_path / "model")
        ).eval()
        assert isinstance(again, Seq2Seq)
        assert torch.equal(scores(again, vocab), whole)


@pytest.mark.parametrize("kind", [kind for kind in ABLE if kind != "mmbert"])
def test_scores_match_transformers(kind, build, tmp_path):
    model, vocab = build(kind)
    model.eval().save_pretrained(tmp_path / "model", vocab)
    theirs, info = EncoderDecoderModel.from_pretrained(
        tmp_path / "model", output_loading_info=True
    )
    assert not info["missing_keys"]
    read, write = inputs(model, vocab)
    written = {f"decoder_{name}": each for name, each in write.items()}
    real = read["attention_mask"].bool()  # RoBERTa's own positions of padding are others
    with torch.no_grad():
        found, ours = theirs.eval()(**read, **written).logits, scores(model, vocab)
    torch.testing.assert_close(found[real], ours[real], atol=1e-5, rtol=1e-5)


def test_xlm_cannot_be_a_decoder(build):
    with pytest.raises(SettingsError, match="xlm family cannot be a decoder"):
        build("xlm")
