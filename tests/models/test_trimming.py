"""A checkpoint with fewer tokens: what it computed from text of the kept ones it still does."""

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

from interlace.core.errors import CheckpointError
from interlace.core.ragged import Ragged
from interlace.data.tokenizer_files import special_tokens
from interlace.data.trimming import trim_vocab
from interlace.data.vocab import Origin, Vocab
from interlace.models.build import build_model, load
from interlace.models.checkpoint_files import renumber_tokens
from interlace.models.seq2seq import Seq2Seq
from interlace.models.settings import ModelSettings
from interlace.models.token_embeddings import fit_embeddings
from little_checkpoints import FURTHER_KINDS, KINDS, SIZE, save

LINES = ["der alte Arzt liest drei Briefe", "der Arzt liest"]


@pytest.fixture(scope="module", params=[*KINDS, *FURTHER_KINDS])
def start(request, tmp_path_factory):
    """A checkpoint of a family, and its vocabulary."""
    folder = save(request.param, tmp_path_factory.mktemp("start"))
    return folder, Vocab.load(folder)


def outputs(folder, maker=AutoModelForMaskedLM):
    """The output of plain transformers for the lines."""
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    inputs = tokenizer(LINES, return_tensors="pt", padding=True, return_token_type_ids=False)
    model = maker.from_pretrained(folder, trust_remote_code=False).eval()
    with torch.no_grad():
        return model(**inputs)


def test_predictions_of_kept_tokens_are_unchanged(start, tmp_path):
    folder, vocab = start
    trimmed = trim_vocab(vocab, LINES)
    model = load(folder, trimmed)
    assert model.vocab_size == trimmed.size
    out = model.save_pretrained(tmp_path / "out", trimmed)
    before, after = outputs(folder).logits, outputs(out).logits
    torch.testing.assert_close(after, before[..., trimmed.origin.kept])
    before, after = (outputs(path, AutoModel).last_hidden_state for path in (folder, out))
    torch.testing.assert_close(after, before)
    config = transformers.AutoConfig.from_pretrained(out, trust_remote_code=False)
    assert config.pad_token_id == trimmed.pad
    reloaded = load(out, Vocab.load(out))
    torch.testing.assert_close(reloaded.input_embeddings, model.input_embeddings)


def test_new_tokens_follow_the_kept_ones():
    config = transformers.BertConfig(
        vocab_size=8,
        hidden_size=2,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=2,
    )
    model = transformers.BertForMaskedLM(config)
    rows = model.get_input_embeddings().weight.detach().clone()
    origin = Origin(7, np.array([0, 2, 5]), Ragged.of([[1, 2]]))
    fit_embeddings(model, origin, 0)
    expected = torch.stack([rows[0], rows[2], rows[5], (rows[2] + rows[5]) / 2])
    torch.testing.assert_close(model.get_input_embeddings().weight.detach(), expected)
    assert model.cls.predictions.bias.shape == (4,)
    assert model.config.vocab_size == 4


def test_ids_in_a_configuration_are_renumbered():
    config = {
        "pad_token_id": 3,
        "eos_token_id": [5, 4],
        "bos_token_id": None,
        "decoder": {"decoder_start_token_id": 5, "pad_index": 9},
        "hidden_size": 5,
        "token_ids": [3],
    }
    assert renumber_tokens(config, np.array([0, 3, 5])) == {
        "pad_token_id": 1,
        "eos_token_id": [2, None],
        "bos_token_id": None,
        "decoder": {"decoder_start_token_id": 2, "pad_index": None},
        "hidden_size": 5,
        "token_ids": [3],
    }


def test_translation_models_keep_both_sides(tmp_path):
    folder = save("mbert", tmp_path / "start")
    vocab = Vocab.load(folder).with_target_languages(["de"])
    model = build_model(ModelSettings(start=str(folder)), vocab, ["en", "de"], seq2seq=True)
    model.save_pretrained(tmp_path / "model", vocab)
    whole = Vocab.load(tmp_path / "model")
    trimmed = trim_vocab(whole, LINES)
    smaller = load(tmp_path / "model", trimmed)
    assert isinstance(smaller, Seq2Seq)
    assert trimmed.targets["de"] == trimmed.size - 1
    kept = trimmed.origin.kept
    decoder = smaller.decoder.model.get_input_embeddings().weight
    for weight in (smaller.input_embeddings, decoder):
        assert torch.equal(weight, model.input_embeddings[kept])


def test_positions_that_follow_from_the_padding_forbid_another_id(tmp_path):
    names = ["unused", "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"]
    tokenizer = Tokenizer(WordPiece({name: number for number, name in enumerate(names)}))
    vocab = Vocab(tokenizer, special_tokens(tokenizer, {}), {}, "by hand")
    config = transformers.RobertaConfig(vocab_size=len(names), **SIZE)
    transformers.RobertaForMaskedLM(config).save_pretrained(tmp_path)
    assert load(tmp_path, vocab).traits.first_position == 2
    with pytest.raises(CheckpointError, match=r"cannot be trimmed.* 1, which would become 0"):
        load(tmp_path, trim_vocab(vocab, ["a"]))
