"""Special subwords that say which language is wanted: `<2de>`, the first that a translation model's decoder reads.

They stand in the tokenizer as special added tokens, so they open again with it, `decode` leaves them out, and no
objective predicts or draws them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenizers import Tokenizer

    from interlace.data.extension import Extension
    from interlace.data.vocab import Vocab

_TARGET = re.compile(r"<2([^<>\s]+)>")


def targets_of(tokenizer: Tokenizer) -> dict[str, int]:
    """Language -> id of its special subword, by id."""
    added = sorted(tokenizer.get_added_tokens_decoder().items())
    found = {number: _TARGET.fullmatch(token.content) for number, token in added if token.special}
    return {match[1]: number for number, match in found.items() if match}


def with_target_languages(vocab: Vocab, languages: Sequence[str]) -> tuple[Tokenizer, Extension]:
    """The tokenizer with a special subword for each of `languages`, and what a checkpoint's tables grow by.

    Raises:
        DataError: the tokenizer does not number new subwords after its own.
    """
    from interlace.data.extension import Extension

    names = [f"<2{language}>" for language in languages]
    tokenizer = type(vocab.tokenizer).from_str(vocab.tokenizer.to_str())
    tokenizer.add_special_tokens(names)
    ids = [tokenizer.token_to_id(name) for name in names]
    if ids != list(range(vocab.size, vocab.size + len(names))):
        raise DataError(f"{vocab.name}: this tokenizer cannot be extended: {names[0]} gets the id {ids[0]}")
    before = vocab.extension
    spelt = Ragged.of([()] * len(names), dtype=np.int32)
    if before is None:
        return tokenizer, Extension(vocab.size, spelt)
    lengths = np.concatenate([before.pieces.lengths, spelt.lengths])
    return tokenizer, Extension(before.base, Ragged.from_lengths(before.pieces.flat, lengths))
