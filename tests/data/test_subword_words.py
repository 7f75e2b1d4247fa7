"""The word of each subword, against a slow reading of the rule from the tokenizer's offsets."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from interlace.data import encoding
from interlace.data.tokenizer_files import special_tokens
from interlace.data.vocab import Vocab
from interlace.text import Text
from interlace.text.word_tokenizers import WORD_TOKENIZERS

ALPHABET = [
    *"aabehT .,(1#▁",
    *["é", "e\u0301", "\u0301", "न", "म", "े", "्", "ที่", "中", "文", "\u3000", "\u00a0", "한", "Ω"],
    *["😀", "👍🏽", "\u200b", "\ufeff", "\t", "ﬁ", "İ", "the ", "doctor", "<mask>", "\x00", "\u00ad"],
]
TEXT = st.lists(st.lists(st.sampled_from(ALPHABET), max_size=12).map("".join), min_size=1, max_size=4)
TRAINING = ["the doctor reads a letter", "the cafe\u0301 (near 12 ab ba) नमस्ते ที่ 中文 .,#"] * 3


def _gpt2(*, prefix):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    return tokenizer, trainers.BpeTrainer(vocab_size=320, initial_alphabet=alphabet, show_progress=False)


def _modernbert():
    tokenizer, trainer = _gpt2(prefix=False)
    tokenizer.normalizer = normalizers.NFC()
    return tokenizer, trainer


def _uncased_bert():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer, trainers.WordPieceTrainer(vocab_size=90, special_tokens=["[UNK]"], show_progress=False)


def _xlmr():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace("  ", " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    options = {"vocab_size": 70, "unk_token": "<unk>", "special_tokens": ["<unk>"], "show_progress": False}
    return tokenizer, trainers.UnigramTrainer(**options)


def _byte_fallback():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.ByteFallback()
    special = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    return tokenizer, trainers.BpeTrainer(vocab_size=330, special_tokens=special, show_progress=False)


def _suffixed():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    options = {"vocab_size": 90, "special_tokens": ["<unk>"], "end_of_word_suffix": "</w>", "show_progress": False}
    return tokenizer, trainers.BpeTrainer(**options)


MADE = {
    "gpt2": lambda: _gpt2(prefix=False),
    "roberta": lambda: _gpt2(prefix=True),
    "modernbert": _modernbert,
    "uncased bert": _uncased_bert,
    "xlm-r": _xlmr,
    "byte fallback": _byte_fallback,
    "suffixed": _suffixed,
}
SPLIT = {name: WORD_TOKENIZERS.build(name) for name in ("whitespace", "unicode")}
KINDS = ["byte-bpe", "bpe", "wordpiece", "unigram", *MADE]


@cache
def _vocab(kind):
    if kind not in MADE:
        return Vocab.learn({"xx": TRAINING}, 300 if kind == "byte-bpe" else 90, kind=kind)
    tokenizer, trainer = MADE[kind]()
    tokenizer.train_from_iterator(TRAINING, trainer)
    tokenizer.add_special_tokens(["<s>", "</s>", "<pad>", "<mask>"])
    return Vocab(tokenizer, special_tokens(tokenizer, {}), {}, kind)


def _slow(tokenizer, line, words):
    """The rule word by word: the first character that is no white space, the word that holds it, else the next one."""
    encoding = tokenizer.encode(line, add_special_tokens=False)
    found = []
    for start, end in encoding.offsets:
        place = next((at for at in range(start, end) if not line[at].isspace()), start)
        after = [number for number, (_, stop) in enumerate(words) if stop > place]
        found.append(after[0] if after else len(words) - 1)
    return encoding.ids, found


@pytest.mark.parametrize("word_tokenizer", ["whitespace", "unicode"])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(lines=TEXT)
@example(lines=["", " ", "the  cafe\u0301 ", "中文\u3000ab", "नम्ते नe\u0301", "a<mask> b", "\u00a0ab (ab"])
def test_words_follow_the_rule(kind, word_tokenizer, lines):
    vocab = _vocab(kind)
    words = SPLIT[word_tokenizer].split(lines)
    found = vocab.encode(lines, SPLIT[word_tokenizer], "xx")
    for number, line in enumerate(lines):
        ids, owners = _slow(vocab.tokenizer, line, words[number].tolist())
        assert found.ids[number].tolist() == ids
        assert found.words[number].tolist() == owners
    assert found.ids.values.dtype == found.words.values.dtype == np.int32
    assert found.language == "xx"


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(lines=TEXT)
def test_spelling_and_offsets_agree(kind, lines):
    vocab = _vocab(kind)
    words = SPLIT["unicode"].split(lines)
    text = Text("xx", lines, words, "unicode")
    encodings = vocab.tokenizer.encode_batch(lines, add_special_tokens=False)
    exact = encoding._by_offsets(text, encodings)
    spelled, _ = encoding._by_spelling(vocab.tokenizer, vocab.surfaces, text, encodings)
    assert exact.words == spelled.words


@pytest.mark.parametrize("kind", ["byte-bpe", "bpe", "wordpiece", "unigram", "gpt2", "xlm-r"])
def test_ordinary_lines_need_no_offsets(kind, monkeypatch):
    vocab = _vocab(kind)
    asked = []
    monkeypatch.setattr(encoding, "_offsets", lambda *arguments: asked.append(arguments))
    vocab.encode([line.replace("e\u0301", "e") for line in TRAINING])
    assert asked == []


def test_a_word_with_blanks_inside_keeps_its_subwords(vocab):
    from interlace.core.ragged import Ragged

    line = "the 20 000 letters"
    text = Text("en", [line], Ragged.of([[(0, 3), (4, 10), (11, 18)]], width=2), "conllu")
    found = vocab.encode_text(text)
    owners = dict.fromkeys(range(3), "")
    for number, owner in zip(found.ids[0], found.words[0], strict=True):
        owners[int(owner)] += vocab.tokens([number])[0]
    assert owners == {0: "▁the", 1: "▁20▁000", 2: "▁letters"}


def test_chunks_come_in_order_whatever_is_asked_for(vocab, lines):
    chunks = [Text(name, rows, SPLIT["whitespace"].split(rows)) for name, rows in lines.items()]
    chunks.insert(1, Text("xx", [], SPLIT["whitespace"].split([])))
    found = list(vocab.encode_texts(iter(chunks)))
    assert [part.language for part in found] == ["en", "xx", "hi", "zh", "tr", "th"]
    for part, chunk in zip(found, chunks, strict=True):
        alone = vocab.encode_text(chunk)
        assert part.ids == alone.ids
        assert part.words == alone.words
