"""How many switched sentences are cut into other subwords than the tokenizer would cut their text into."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interlace.data import Sentences
    from interlace.data.vocab import Vocab


def cut_otherwise(sentences: Sentences, vocab: Vocab) -> float:
    """Share of the rows, of those that spell their text (no unknown subword), whose ids another encoding changes."""
    rows = [row.tolist() for row in sentences.ids]
    texts = _texts(rows, vocab)
    again = vocab.tokenizer.encode_batch(texts, add_special_tokens=False)
    compared = [(row, new.ids) for row, new in zip(rows, again, strict=True) if vocab.unk not in row]
    other = sum(row != ids for row, ids in compared)
    return float(other / max(len(compared), 1))


def _texts(rows: list[list[int]], vocab: Vocab) -> list[str]:
    """What the rows spell; a tokenizer that was saved without a decoder gets its kind's usual one."""
    from tokenizers import decoders

    if vocab.tokenizer.decoder is not None:
        texts: list[str] = vocab.tokenizer.decode_batch(rows, skip_special_tokens=False)
        return texts
    pieces = type(vocab.tokenizer.model).__name__ == "WordPiece"
    decoder = decoders.WordPiece(cleanup=False) if pieces else decoders.Fuse()
    return [decoder.decode(vocab.tokens(row)) for row in rows]
