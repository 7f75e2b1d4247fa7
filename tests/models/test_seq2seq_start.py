"""What each side of a translation model takes from which checkpoint."""

import itertools
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from interlace.core.errors import SettingsError
from interlace.core.ragged import Ragged
from interlace.data.vocab import Origin, Vocab
from interlace.models.build import build_model, from_shape, load
from interlace.models.seq2seq import Seq2Seq
from interlace.models.settings import DecoderSettings, ModelSettings, Shape

FAMILIES = ["bert", "roberta", "modernbert"]
LANGUAGES = ("en", "de")
TAKES = ["none", "embeddings", "whole"]


@pytest.fixture(autouse=True)
def _tokenizers(monkeypatch):
    """All checkpoints here have one vocabulary; its file is a stand-in."""
    monkeypatch.setattr(Vocab, "load", lambda _: Stand())


class Stand:
    """A vocabulary without surprises."""

    def __init__(self):
        self.tokenizer = self

    def get_vocab(self, with_added_tokens):
        return {"a": 5} if with_added_tokens else {}

    def token_to_id(self, token):
        return ord(token) - ord("a") + 5


@pytest.fixture
def words(vocab):
    vocab.tokenizer = Stand()
    return vocab


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    """By family, a masked and a causal checkpoint."""
    folder, ways = tmp_path_factory.mktemp("grid"), ((7, False), (8, True))

    def save_files(into):
        (into / "tokenizer.json").write_text("{}")

    vocab = SimpleNamespace(
        size=40, pad=1, begin=0, end=2, origin=Origin.of(40), save_files=save_files
    )
    return {
        each: [checkpoint(folder, each, vocab, seed, causal=way) for seed, way in ways]
        for each in FAMILIES
    }


def shape(family, **more):
    sizes = {"layers": 2, "width": 16, "heads": 2, "max_length": 24}
    return Shape(family=family, **{**sizes, **more})


def checkpoint(folder, family, vocab, seed, *, causal=False, **more):
    """A checkpoint with every weight away from where fresh ones stand."""
    languages = () if family == "modernbert" else LANGUAGES
    backbone = from_shape(shape(family, **more), vocab, languages, seed, causal=causal)
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in backbone.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=rng))
    return str(backbone.save_pretrained(folder / f"{family}-{seed}", vocab))


def build(settings, vocab, seed=1):
    languages = LANGUAGES if settings.languages == "embeddings" else ()
    model = build_model(settings, vocab, languages, seed, seq2seq=True)
    assert isinstance(model, Seq2Seq)
    return model


@cache
def reference(start):
    """The transformers model of a checkpoint, to be looked at."""
    return load(start).model


def settings_of(family, **more):
    return ModelSettings(languages="none" if family == "modernbert" else "embeddings", **more)


def parts(model, vocab_rows=40):
    """Weights of the table, and of all else that is no cross-attention, under their names in a masked model."""
    state = {name: each for name, each in model.state_dict().items() if "cross" not in name}
    return (
        {name: each for name, each in state.items() if each.shape == (vocab_rows, 16)},
        {name: each for name, each in state.items() if each.shape != (vocab_rows, 16)},
    )


def same(ours, theirs):
    return all(torch.equal(each, theirs[name]) for name, each in ours.items())


def differs_all_over(ours, theirs):
    return not any(torch.equal(each, theirs[name]) for name, each in ours.items())


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("reads", "writes"), list(itertools.product(TAKES, TAKES)))
def test_each_side_takes_the_asked_weights(family, reads, writes, words, grid):
    """With a table each, so that both can be told apart: encoder from a masked model, decoder from a causal one."""
    one, two = grid[family]
    decoder = DecoderSettings(start=two, take=writes, embeddings="own")
    model = build(settings_of(family, start=one, take=reads, decoder=decoder), words)
    masked, causal = reference(one), reference(two)
    for side, take, start in (
        (model.model, reads, masked),
        (model.decoder.model, writes, causal),
    ):
        (table, rest), (their_table, their_rest) = parts(side), parts(start)
        assert (
            same(table, their_table) if take != "none" else differs_all_over(table, their_table)
        )
        assert same(rest, their_rest) if take == "whole" else differs_all_over(rest, their_rest)


@pytest.mark.parametrize("family", FAMILIES)
def test_one_start_gives_both_sides_one_table_and_one_head(family, words, tmp_path):
    start = checkpoint(tmp_path, family, words, 7)
    model = build(settings_of(family, start=start), words)
    theirs = load(start).model.state_dict()
    assert model.shared
    assert same(model.model.state_dict(), theirs)
    state = model.decoder.model.state_dict()
    assert same({name: each for name, each in state.items() if "cross" not in name}, theirs)
    assert model.decoder_languages == model.traits.languages


@pytest.mark.parametrize(
    ("encoder", "decoder"),
    [
        ("whole", {"take": "none"}),
        ("none", {"take": "whole"}),
        ("fresh", {"take": "whole"}),
    ],
)
def test_a_taken_embedding_table_is_shared(encoder, decoder, words, tmp_path):
    start = checkpoint(tmp_path, "bert", words, 7)
    if encoder == "fresh":
        settings = settings_of("bert", shape=shape("bert"), decoder={**decoder, "start": start})
    else:
        settings = settings_of("bert", start=start, take=encoder, decoder=decoder)
    model = build(settings, words)
    assert model.shared
    assert torch.equal(model.input_embeddings, load(start).input_embeddings)


def test_a_decoder_of_fewer_layers_takes_the_lowest(words, tmp_path):
    start = checkpoint(tmp_path, "bert", words, 7, layers=3)
    model = build(settings_of("bert", start=start, decoder=DecoderSettings(layers=2)), words)
    assert (model.model.config.num_hidden_layers, len(model.decoder.layers)) == (3, 2)
    assert same(parts(model.decoder.model)[1], load(start).model.state_dict())


@pytest.mark.parametrize("family", FAMILIES)
def test_tables_grow_by_what_the_vocabulary_has_beyond_the_start(family, words, tmp_path):
    start = checkpoint(tmp_path, family, words, 7)
    words.size, words.changed = (
        42,
        Origin(40, np.arange(40), Ragged.of([(), ()], dtype=np.int32)),
    )
    model = build(settings_of(family, start=start), words)
    assert model.vocab_size == 42
    assert model.shared
    assert torch.equal(model.input_embeddings[:40], load(start).input_embeddings)
    ids = torch.tensor([[0, 41, 2]])
    states = model.decode(model.encode({"input_ids": ids}), None, {"input_ids": ids})
    assert model.logits(states[0]).shape == (3, 42)


@pytest.mark.parametrize("family", FAMILIES)
def test_training_continues_from_a_translation_model(family, words, tmp_path):
    model = build(settings_of(family, shape=shape(family)), words)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape))
    start = str(model.save_pretrained(tmp_path / "model", words))
    again = build(settings_of(family, start=start), words, seed=5)
    assert same(again.state_dict(), model.state_dict())
    alone = build_model(settings_of(family, start=start), words, (), 5)
    assert not isinstance(alone, Seq2Seq)
    assert same(alone.state_dict(), model.state_dict())
    for more in ({"take": "none"}, {"decoder": {"embeddings": "own"}}):
        with pytest.raises(SettingsError, match="is a translation model"):
            build(settings_of(family, start=start, **more), words)


def test_rejects_sharing_two_tables_and_another_vocabulary(words, tmp_path, monkeypatch):
    one, two = (checkpoint(tmp_path, "bert", words, seed) for seed in (7, 8))
    settings = settings_of("bert", start=one, decoder=DecoderSettings(start=two))
    with pytest.raises(SettingsError, match=r"set model\.decoder\.embeddings = 'own'"):
        build(settings, words)
    monkeypatch.setattr(Stand, "get_vocab", lambda _self, **_: {"a": 6})
    with pytest.raises(SettingsError, match=r"is not the model's \('a' has another id\)"):
        build(settings, words)


def test_rejects_other_widths_and_more_layers_than_the_start_has(words, tmp_path):
    one = checkpoint(tmp_path, "bert", words, 7)
    wide = checkpoint(tmp_path, "bert", words, 8, width=32)
    for more, message in (
        ({"start": one, "decoder": {"start": wide, "embeddings": "own"}}, "16, the decoder 32"),
        ({"shape": shape("bert"), "decoder": {"start": wide}}, "16, the decoder 32"),
        ({"start": one, "decoder": {"layers": 3}}, "layers = 3, but its start has 2"),
    ):
        with pytest.raises(SettingsError, match=message):
            build(settings_of("bert", **more), words)
