"""A tiny BERT as transformers saves it, with WordPiece learnt on given lines: nothing of ours made it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import transformers
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

NAMES = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}


def save_plain_bert(folder: Path, lines: Iterable[str], size: int = 700) -> Path:
    """Write the checkpoint, every weight random, with a vocabulary of so many subwords of these lines."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=list(NAMES.values()), show_progress=False
    )
    tokenizer.train_from_iterator(lines, trainer)
    numbers = tokenizer.get_vocab()
    tokenizer.post_processor = processors.BertProcessing(
        ("[SEP]", numbers["[SEP]"]), ("[CLS]", numbers["[CLS]"])
    )
    make: Any = transformers.PreTrainedTokenizerFast
    fast = make(
        tokenizer_object=tokenizer, **{f"{name}_token": token for name, token in NAMES.items()}
    )
    config = transformers.BertConfig(
        vocab_size=len(fast),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
    )
    transformers.set_seed(0)
    transformers.BertForMaskedLM(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder
