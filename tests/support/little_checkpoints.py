"""Tiny checkpoints of every family that recipes go on from, with tokenizers of the kinds that they have.

`mbert`: WordPiece, a pooler and a next-sentence head. `xlm-r`: Unigram with the mask behind all pieces, positions that
start after the padding's. `mmbert`: ModernBERT with byte-level BPE, special tokens beside the model and a padded
table. `xlm`: BPE with `</w>`, `langs` of its own, one token that both begins and ends rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import transformers
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

ENGLISH = (
    "the old doctor reads three letters in her big house and the young cat sees two red books on her table"
).split()
OTHER = [word[::-1] + "ö" for word in ENGLISH]
TRAINED_ON = [
    " ".join(ENGLISH),
    "der alte Arzt liest drei Briefe",
    "a cat and a dog",
    "she sees it",
    "Öl ist da",
]
SIZE: dict[str, Any] = {
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "hidden_size": 16,
    "intermediate_size": 32,
}
LONGEST = 64
WORDPIECES = 110  # where merges tie, which are learned differs between runs
XLM_LANGUAGES = {"de": 0, "en": 1, "zh": 2}


def save(kind: str, folder: Path, noise: float = 0.1) -> Path:
    """Write the checkpoint of a kind, every weight random and large enough to matter."""
    make_tokenizer, make_model = {**KINDS, **FURTHER_KINDS}[kind]
    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    model = make_model(tokenizer)
    return save_with_noise(model, folder, noise)


def save_with_noise(model: Any, folder: Path, noise: float) -> Path:
    """Write a model after random changes of all weights but those of its norms."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" not in name.lower():
                parameter.add_(torch.randn_like(parameter) * noise)
    model.save_pretrained(folder)
    return folder


def save_plain_bert(folder: Path, lines: Iterable[str], size: int = 700) -> Path:
    """Write a BERT as transformers saves it, whose subwords are learnt on given lines."""
    tokenizer = wordpiece(lines, size)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(**_common(tokenizer), **SIZE)
    transformers.BertForMaskedLM(config).save_pretrained(folder)
    return folder


def _finish(tokenizer: Tokenizer, names: dict[str, str], between: str = "", **more: Any) -> Any:
    first, last = names["cls_token"], names["sep_token"]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}",
        pair=f"{first} $A {last}{between} $B:1 {last}:1",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in {first, last}],
    )
    make: Any = transformers.PreTrainedTokenizerFast
    return make(tokenizer_object=tokenizer, **names, **more)


def wordpiece(lines: Iterable[str] = TRAINED_ON, size: int | None = None) -> Any:
    names = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
    }
    names["mask_token"] = "[MASK]"
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size or WORDPIECES, special_tokens=list(names.values()), show_progress=False
    )
    tokenizer.train_from_iterator(lines, trainer)
    tokenizer.decoder = decoders.WordPiece()
    return _finish(tokenizer, names)


def unigram() -> Any:
    """As XLM-R's: specials first, the mask behind all pieces, two separators between the sides of a pair."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(
        vocab_size=60, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(TRAINED_ON, trainer)
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    names = {
        "cls_token": "<s>",
        "pad_token": "<pad>",
        "sep_token": "</s>",
        "unk_token": "<unk>",
        "mask_token": "<mask>",
    }
    return _finish(tokenizer, names, " </s>", bos_token="<s>", eos_token="</s>")


def byte_bpe() -> Any:
    """As ModernBERT's: special tokens stand beside the model, after its vocabulary."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=290, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(TRAINED_ON, trainer)
    tokenizer.decoder = decoders.ByteLevel()
    names = {
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "pad_token": "[PAD]",
    }
    names["mask_token"] = "[MASK]"
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in names.values()])
    return _finish(tokenizer, names, model_input_names=["input_ids", "attention_mask"])


def suffix_bpe() -> Any:
    """As XLM's: words end with `</w>`, and `</s>` both begins and ends a row."""
    special = ["<s>", "</s>", "<pad>", "<unk>", "<special1>"]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.BpeTrainer(
        vocab_size=120, special_tokens=special, end_of_word_suffix="</w>", show_progress=False
    )
    tokenizer.train_from_iterator(TRAINED_ON, trainer)
    tokenizer.decoder = decoders.BPEDecoder()
    names = {
        "bos_token": "<s>",
        "sep_token": "</s>",
        "cls_token": "</s>",
        "pad_token": "<pad>",
        "unk_token": "<unk>",
    }
    names["mask_token"] = "<special1>"
    return _finish(tokenizer, names, model_input_names=["input_ids", "attention_mask"])


def _common(tokenizer: Any) -> dict[str, Any]:
    return {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}


def mbert(tokenizer: Any) -> Any:
    """With a pooler and a next-sentence head, as Google's checkpoints have."""
    config = transformers.BertConfig(
        max_position_embeddings=LONGEST, **_common(tokenizer), **SIZE
    )
    return transformers.BertForPreTraining(config)


def xlm_r(tokenizer: Any) -> Any:
    places = LONGEST + tokenizer.pad_token_id + 1
    config = transformers.XLMRobertaConfig(
        max_position_embeddings=places, type_vocab_size=1, **_common(tokenizer), **SIZE
    )
    model = transformers.XLMRobertaForMaskedLM(config)
    model.roberta.pooler = transformers.XLMRobertaModel(config).pooler
    return model


def mmbert(tokenizer: Any) -> Any:
    """With rows of the table that no subword has."""
    padded: dict[str, Any] = {**_common(tokenizer), "vocab_size": 304}
    config = transformers.ModernBertConfig(
        max_position_embeddings=LONGEST,
        local_attention=8,
        cls_token_id=tokenizer.cls_token_id,
        sep_token_id=tokenizer.sep_token_id,
        **padded,
        **SIZE,
    )
    return transformers.ModernBertForMaskedLM(config)


def xlm(tokenizer: Any) -> Any:
    make: Any = transformers.XLMConfig  # takes the languages too
    config = make(
        emb_dim=16,
        n_layers=2,
        n_heads=2,
        max_position_embeddings=LONGEST,
        n_langs=len(XLM_LANGUAGES),
        lang2id=XLM_LANGUAGES,
        id2lang={str(row): language for language, row in XLM_LANGUAGES.items()},
        **_common(tokenizer),
    )
    return transformers.XLMWithLMHeadModel(config)


def _maker(config_class: Any, **settings: Any) -> Callable[[Any], Any]:
    """Return a function that makes a masked language model of a configuration with these further settings."""

    def make(tokenizer: Any) -> Any:
        sizes = {"max_position_embeddings": LONGEST, **SIZE, **settings}
        if config_class is transformers.XLMRobertaXLConfig:
            sizes["max_position_embeddings"] += tokenizer.pad_token_id + 1
        special = {
            "bos_token_id": tokenizer.cls_token_id,
            "eos_token_id": tokenizer.sep_token_id,
            "mask_token_id": tokenizer.mask_token_id,
        }
        config = config_class(**_common(tokenizer), **special, **sizes)
        maker: Any = transformers.AutoModelForMaskedLM
        return maker.from_config(config, trust_remote_code=False)

    return make


KINDS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "mbert": (wordpiece, mbert),
    "xlm-r": (unigram, xlm_r),
    "mmbert": (byte_bpe, mmbert),
    "xlm": (suffix_bpe, xlm),
}
# families that no shipped recipe names
FURTHER_KINDS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "deberta-v2": (  # as mDeBERTa-v3: relative positions alone, in buckets
        unigram,
        _maker(
            transformers.DebertaV2Config,
            relative_attention=True,
            position_buckets=8,
            norm_rel_ebd="layer_norm",
            share_att_key=True,
            pos_att_type=["p2c", "c2p"],
            position_biased_input=False,
            type_vocab_size=0,
        ),
    ),
    # two heads of queries share keys and values
    "eurobert": (byte_bpe, _maker(transformers.EuroBertConfig, num_key_value_heads=1)),
    "distilbert": (wordpiece, _maker(transformers.DistilBertConfig, hidden_dim=32)),
    "rembert": (  # embeddings are narrower than states, and its head is wider
        unigram,
        _maker(transformers.RemBertConfig, input_embedding_size=8, output_embedding_size=24),
    ),
    "xlm-roberta-xl": (unigram, _maker(transformers.XLMRobertaXLConfig, type_vocab_size=1)),
    "gte": (unigram, _maker(transformers.GteConfig)),
    "nomic_bert": (wordpiece, _maker(transformers.NomicBertConfig)),
}
