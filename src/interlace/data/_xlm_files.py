"""XLM's own vocabulary files as a fast tokenizer: `vocab.json` and `merges.txt`, else read by slow Python only.

Theirs first runs Moses, jieba and others by language; ours finds words by one rule for all: letters with their marks,
numbers, and each other sign by itself. A merge that leads out of the vocabulary is left out, so that its parts stay
known instead of becoming an unknown subword.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from interlace.core.errors import DataError
from interlace.data._special import content
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from pathlib import Path

VOCAB, MERGES, CONFIG, KIND = "vocab.json", "merges.txt", "config.json", "xlm"
_END = "</w>"
_WORDS = r"\p{N}+(?:[.,]\p{N}+)*|[\p{L}\p{M}]+|[^\s\p{L}\p{M}\p{N}]"
_LOWER = "do_lowercase_and_remove_accent"

# What transformers calls them without being told; `</s>` both begins and ends a row, as in XLM's code.
ROLES = {
    "bos_token": "<s>",
    "cls_token": "</s>",
    "sep_token": "</s>",
    "pad_token": "<pad>",
    "unk_token": "<unk>",
    "mask_token": "<special1>",
}


def is_xlm(folder: Path) -> bool:
    """Whether a folder holds these files and no others to make a tokenizer of."""
    if not all((folder / name).is_file() for name in (VOCAB, MERGES, CONFIG)):
        return False
    return bool(_read(folder / CONFIG).get("model_type") == KIND)


def build(folder: Path, config: dict[str, Any]) -> Tokenizer:
    """The tokenizer; `config` is that of `tokenizer_config.json` with `ROLES` below it.

    Raises:
        DataError: a file is damaged.
    """
    vocab = _read(folder / VOCAB)
    roles = {key: content(config[key]) for key in ROLES}
    merges = [pair for pair in _merges(folder / MERGES) if {*pair, "".join(pair)} <= vocab.keys()]
    try:
        model = models.BPE(vocab, merges, unk_token=roles["unk_token"], end_of_word_suffix=_END)
    except Exception as error:  # the Rust library raises plain Exception
        raise DataError(f"{folder / VOCAB}: is no vocabulary of XLM's: {error}") from error
    tokenizer = Tokenizer(model)
    if config.get(_LOWER, True):
        steps = [normalizers.Lowercase(), normalizers.NFD(), normalizers.Replace(Regex(r"\p{Mn}+"), "")]
        tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(_WORDS), "removed", invert=True)
    tokenizer.decoder = decoders.BPEDecoder(_END)
    special = [token for token in vocab if token in roles.values() or token.startswith("<special")]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    begin, end = roles["cls_token"], roles["sep_token"]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}",
        pair=f"{begin} $A {end} $B:0 {end}",
        special_tokens=[(token, vocab[token]) for token in {begin, end}],
    )
    return tokenizer


def _merges(path: Path) -> list[tuple[str, str]]:
    """The two subwords of each line; XLM's files give a count after them, others a line of their version first."""
    found = []
    for line in read_lines(path):
        parts = line.split()
        if len(parts) > 1 and not line.startswith("#version"):
            found.append((parts[0], parts[1]))
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path}: damaged JSON: {error}") from error
    return data if isinstance(data, dict) else {}
