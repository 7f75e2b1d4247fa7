"""How many switched sentences are cut into other subwords than the tokenizer would cut their text into."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interlace.data import Sentences
    from interlace.data.vocab import Vocab


def cut_otherwise(sentences: Sentences, vocab: Vocab) -> float:
    """Share of the rows, of those that spell their text (no unknown subword), whose ids another encoding changes."""
    rows = [row.tolist() for row in sentences.ids]
    texts = vocab.tokenizer.decode_batch(rows, skip_special_tokens=False)
    again = vocab.tokenizer.encode_batch(texts, add_special_tokens=False)
    compared = [(row, new.ids) for row, new in zip(rows, again, strict=True) if vocab.unk not in row]
    other = sum(row != ids for row, ids in compared)
    return float(other / max(len(compared), 1))
