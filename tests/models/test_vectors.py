"""Tables that begin with vectors of subwords: which rows, on which sides, how large, and what is refused."""

import numpy as np
import pytest
import torch

from interlace.core.errors import DataError, SettingsError
from interlace.data.vocab import Vocab
from interlace.embeddings import SUBWORDS, WordVectors
from interlace.models.build import build_model, from_shape
from interlace.models.seq2seq import Seq2Seq
from interlace.models.settings import DecoderSettings, ModelSettings, Shape
from interlace.models.token_embeddings import read_vectors
from vector_files import write_vec

LINES = [
    "the old doctor reads three letters",
    "der alte Arzt liest drei Briefe",
    "a cat and a dog in a house",
]
WORDS = ["\u2581the", "\u2581der", "elsewhere"]
SPREAD = 0.1
# Two of the three are subwords; of their 16 numbers two are 2, so their spread about zero is sqrt(8 / 16). Scaled to
# that of a table each 2 is as many of the table's as two times the root of two.
VECTORS = np.zeros((3, 8), np.float32)
VECTORS[0, 0] = VECTORS[1, 3] = 2
VECTORS[2] = 7
SCALED = 2 * 2**0.5


@pytest.fixture(scope="module")
def vocab():
    learnt = Vocab.learn({"en": LINES * 3}, size=120, kind="bpe").with_target_languages(
        ["en", "de"]
    )
    assert {*WORDS[:2]} < {*learnt.tokenizer.get_vocab()}
    return learnt


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    into = tmp_path_factory.mktemp("run") / "vectors"
    WordVectors(SUBWORDS, WORDS, VECTORS).save(into)
    return into


def shape(family="bert", **more):
    sizes = {"layers": 1, "width": 8, "heads": 2, "max_length": 16, "init_std": SPREAD}
    return Shape(**{"family": family, **sizes, **more})


def settings_of(vectors, family="bert", **more):
    return ModelSettings(**{"shape": shape(family), "vectors": str(vectors), **more})


def plain(settings, vocab, **how):
    """The same model, drawn throughout."""
    return build_model(settings.model_copy(update={"vectors": None}), vocab, (), 3, **how)


def spread_of(table):
    return float(table.detach().square().mean().sqrt())


def is_begun(table, drawn, vocab, value=None):
    """Whether it is the table that was drawn but for the two rows."""
    value = SCALED * spread_of(drawn) if value is None else value
    expected = drawn.clone()
    for word, place in zip(WORDS[:2], (0, 3), strict=True):
        row = vocab.tokenizer.token_to_id(word)
        expected[row] = 0
        expected[row, place] = value
    return not torch.equal(expected, drawn) and torch.allclose(table, expected, atol=1e-6)


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
def test_rows_are_the_vectors_with_the_spread_of_drawn_rows(family, vocab, folder):
    settings = settings_of(folder, family)
    model, drawn = build_model(settings, vocab, (), 3), plain(settings, vocab)
    assert is_begun(model.input_embeddings, drawn.input_embeddings, vocab)
    theirs = drawn.model.state_dict()
    for name, weight in model.model.state_dict().items():
        if weight.data_ptr() != model.input_embeddings.data_ptr():
            assert torch.equal(weight, theirs[name])
    scale = SCALED / 2 * spread_of(drawn.input_embeddings)
    assert scale == pytest.approx(SCALED / 2 * SPREAD, rel=0.2)
    [note] = model.notes
    assert note.startswith(f"2 of {vocab.size} token embeddings")
    assert f"vectors of {folder}" in note


def test_rows_can_be_the_vectors_as_they_are(vocab, folder):
    settings = settings_of(folder, vectors_spread="own")
    model, drawn = build_model(settings, vocab, (), 3), plain(settings, vocab)
    assert is_begun(model.input_embeddings, drawn.input_embeddings, vocab, value=2.0)


def test_vectors_can_be_a_file(vocab, folder, tmp_path):
    write_vec(tmp_path / "some.vec.zst", WordVectors(SUBWORDS, WORDS, VECTORS))
    model = build_model(settings_of(tmp_path / "some.vec.zst"), vocab, (), 3)
    assert torch.equal(
        model.input_embeddings, build_model(settings_of(folder), vocab, (), 3).input_embeddings
    )


@pytest.mark.parametrize("family", ["bert", "modernbert"])
@pytest.mark.parametrize("table", ["shared", "own"])
def test_encoder_and_decoder_start_with_the_vectors(family, table, vocab, folder):
    settings = settings_of(folder, family, decoder=DecoderSettings(embeddings=table))
    model, drawn = (
        build_model(settings, vocab, (), 3, seq2seq=True),
        plain(settings, vocab, seq2seq=True),
    )
    assert isinstance(model, Seq2Seq)
    assert model.shared == (table == "shared")
    assert is_begun(model.input_embeddings, drawn.input_embeddings, vocab)
    for which in ("get_input_embeddings", "get_output_embeddings"):
        ours, theirs = (getattr(each.decoder.model, which)().weight for each in (model, drawn))
        assert is_begun(ours, theirs, vocab)


def test_a_decoder_with_a_start_keeps_its_own_table(vocab, folder, tmp_path):
    start = from_shape(shape(), vocab, (), 9).save_pretrained(tmp_path / "start", vocab)
    vocab = Vocab.load(start)
    decoder = DecoderSettings(start=str(start), embeddings="own")
    model = build_model(settings_of(folder, decoder=decoder), vocab, (), 3, seq2seq=True)
    drawn = from_shape(shape(), vocab, (), 9)
    assert torch.equal(
        model.decoder.model.get_input_embeddings().weight, drawn.input_embeddings
    )
    encoder = plain(settings_of(folder), vocab)
    assert is_begun(model.input_embeddings, encoder.input_embeddings, vocab)
    settings = settings_of(folder, decoder=decoder.model_copy(update={"take": "none"}))
    table, drawn_table = (
        each.decoder.model.get_input_embeddings().weight
        for each in (
            build_model(settings, vocab, (), 3, seq2seq=True),
            plain(settings, vocab, seq2seq=True),
        )
    )
    assert is_begun(table, drawn_table, vocab)


def test_special_subwords_stay_drawn_even_where_there_is_a_vector(vocab, tmp_path):
    special = vocab.tokens(vocab.special_ids)
    rows = np.vstack([VECTORS, np.ones((len(special), 8), np.float32)])
    WordVectors(SUBWORDS, [*WORDS, *special], rows).save(tmp_path)
    settings = settings_of(tmp_path)
    model = build_model(settings, vocab, (), 3)
    assert is_begun(model.input_embeddings, plain(settings, vocab).input_embeddings, vocab)


def test_rejects_vectors_of_another_width_or_without_known_subwords(vocab, folder, tmp_path):
    settings = settings_of(folder, shape=shape(width=16))
    with pytest.raises(
        SettingsError,
        match=r"width 8, the model 16; set model\.shape\.width, or embeddings\.skip",
    ):
        build_model(settings, vocab, (), 3)
    WordVectors(SUBWORDS, ["one", "two"], VECTORS[:2]).save(tmp_path)
    with pytest.raises(DataError, match=r"its 2 vectors .*vocab\.start"):
        build_model(settings_of(tmp_path), vocab, (), 3)


@pytest.mark.parametrize("value", [0, np.nan])
def test_rejects_zero_and_infinite_vectors(value, vocab, tmp_path):
    WordVectors(SUBWORDS, WORDS, np.full((3, 8), value, np.float32)).save(tmp_path)
    with pytest.raises(DataError, match="all zero, or contain values that are not finite"):
        build_model(settings_of(tmp_path), vocab, (), 3)


@pytest.mark.parametrize("name", ["run", "words/vectors"])
def test_rejects_folders_without_subword_vectors(name, tmp_path):
    WordVectors(SUBWORDS, WORDS, VECTORS).save(tmp_path / "run" / "vectors")
    WordVectors("de", ["Hund"], VECTORS[:1]).save(tmp_path / "words" / "vectors")
    message = rf"{name}/subwords\.safetensors: no such file of vectors, .*units = 'subwords'"
    with pytest.raises(DataError, match=message):
        read_vectors(settings_of(tmp_path / name))
