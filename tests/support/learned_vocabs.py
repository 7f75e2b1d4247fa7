"""Vocabularies of every kind of tokenizer that checkpoints have, learned from a little text."""

from collections.abc import Iterable, Mapping
from typing import Any

from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)

from interlace.data.tokenizer_training import ROLES, TokenizerKind, row_template
from interlace.data.vocab import Vocab

KINDS = ("byte-bpe", "bpe", "wordpiece", "unigram")


def learned_vocab(lines: Mapping[str, Iterable[str]], size: int, kind: str) -> Vocab:
    """Learn a vocabulary; `wordpiece` and `unigram` are kinds that only checkpoints have."""
    if kind == "wordpiece":
        tokenizer, trainer = _wordpiece(size)
    elif kind == "unigram":
        tokenizer, trainer = _unigram(size)
    else:
        byte_or_character: TokenizerKind = "byte-bpe" if kind == "byte-bpe" else "bpe"
        return Vocab.learn(lines, size, kind=byte_or_character)
    text = [line.replace("<unk>", " ") for side in lines.values() for line in side]
    tokenizer.train_from_iterator(text, trainer)
    tokenizer.post_processor = row_template(tokenizer, ROLES["begin"], ROLES["end"])
    return Vocab(tokenizer, ROLES, {}, kind)


def _options(size: int) -> dict[str, Any]:
    special = [
        AddedToken(name, special=True, lstrip=name == "<mask>") for name in ROLES.values()
    ]
    return {"vocab_size": size, "special_tokens": special, "show_progress": False}


def _wordpiece(size: int) -> tuple[Tokenizer, Any]:
    tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
    bert = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), bert])
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer, trainers.WordPieceTrainer(**_options(size))


def _unigram(size: int) -> tuple[Tokenizer, Any]:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer, trainers.UnigramTrainer(unk_token="<unk>", **_options(size))
