"""Tiny checkpoints of published encoder-decoders, each with a tokenizer of its own class and its language codes.

M2M100 has no fast tokenizer in transformers; its own codes are in one as converted ones have them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import transformers

from little_checkpoints import LONGEST, TRAINED_ON, save_with_noise, unigram

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BART_SIZE: dict[str, Any] = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
    "max_position_embeddings": LONGEST,
    "scale_embedding": True,
    "dropout": 0.0,
    "encoder_layerdrop": 0.5,
    "decoder_layerdrop": 0.5,
}
T5_SIZE: dict[str, Any] = {
    "d_model": 16,
    "d_kv": 8,
    "d_ff": 32,
    "num_layers": 2,
    "num_decoder_layers": 2,
    "num_heads": 2,
    "n_positions": LONGEST,
}


def _words() -> list[str]:
    return sorted({f"▁{word}" for line in TRAINED_ON for word in line.split()})


def _merges() -> list[tuple[str, str]]:
    """Of the beginnings of words, up to three characters; trained ones would differ between runs where they tie."""
    merges: dict[str, tuple[str, str]] = {}
    for word in _words():
        for end in range(2, min(4, len(word)) + 1):
            merges[word[:end]] = (word[: end - 1], word[end - 1])
    return list(merges.values())


def _pieces() -> list[tuple[str, float]]:
    """Unigram pieces of toy text, without special tokens: characters, and beginnings of words."""
    characters = [(character, -6.0) for character in sorted({*"".join(_words())})]
    return characters + [(left + right, -5.0) for left, right in _merges()]


def _as_pieces(*names: str) -> list[tuple[str, float]]:
    return [(name, 0.0) for name in names]


def mbart_tokenizer() -> Any:
    from transformers.models.mbart.tokenization_mbart import FAIRSEQ_LANGUAGE_CODES

    special = _as_pieces("<s>", "<pad>", "</s>", "<unk>")
    codes = _as_pieces(*FAIRSEQ_LANGUAGE_CODES, "<mask>")
    return transformers.MBartTokenizer(vocab=special + _pieces() + codes)


def mbart50_tokenizer() -> Any:
    special = _as_pieces("<unk>", "<s>", "</s>")  # in sentencepiece's order
    return transformers.MBart50Tokenizer(vocab=special + _pieces())


def nllb_tokenizer() -> Any:
    special = _as_pieces("<s>", "<pad>", "</s>", "<unk>")
    vocab = {piece: number for number, (piece, _) in enumerate(special + _pieces())}
    make: Any = transformers.NllbTokenizer
    return make(vocab=vocab, merges=_merges())


def m2m100_tokenizer() -> Any:
    tokenizer = unigram()
    tokenizer.add_special_tokens({"additional_special_tokens": ["__en__", "__de__", "__hi__"]})
    return tokenizer


def t5_tokenizer() -> Any:
    special = _as_pieces("<pad>", "</s>", "<unk>")
    return transformers.T5Tokenizer(vocab=special + _pieces(), extra_ids=4)


# a tokenizer, a configuration and its settings
KINDS: dict[str, tuple[Callable[[], Any], Any, dict[str, Any]]] = {
    "mbart": (mbart_tokenizer, transformers.MBartConfig, BART_SIZE),
    "mbart-50": (mbart50_tokenizer, transformers.MBartConfig, BART_SIZE),
    "nllb": (nllb_tokenizer, transformers.M2M100Config, BART_SIZE),
    "m2m_100": (m2m100_tokenizer, transformers.M2M100Config, BART_SIZE),
    "t5": (t5_tokenizer, transformers.T5Config, T5_SIZE),
    "t5-1.1": (  # whose states are not scaled before the head
        t5_tokenizer,
        transformers.T5Config,
        {**T5_SIZE, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
    ),
    "mt5": (t5_tokenizer, transformers.MT5Config, T5_SIZE),
}
WITH_CODES = [kind for kind in KINDS if "t5" not in kind]
CODES = {  # of English and German
    "mbart": ("en_XX", "de_DE"),
    "mbart-50": ("en_XX", "de_DE"),
    "nllb": ("eng_Latn", "deu_Latn"),
    "m2m_100": ("__en__", "__de__"),
}


def save(kind: str, folder: Path, noise: float = 0.1) -> Path:
    """Write the checkpoint of a kind, every weight random and large enough to matter."""
    make_tokenizer, config_class, settings = KINDS[kind]
    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(folder)
    start = tokenizer.pad_token_id if "t5" in kind else tokenizer.eos_token_id
    if kind == "mbart":
        start = tokenizer.convert_tokens_to_ids(
            "de_DE"
        )  # as of one that was trained to write it
    config = config_class(
        vocab_size=len(tokenizer) + 3,  # rows of the table that no token has
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=start,
        **settings,
    )
    torch.manual_seed(0)
    maker: Any = transformers.AutoModelForSeq2SeqLM
    model = maker.from_config(config, trust_remote_code=False)
    return save_with_noise(model, folder, noise)
