"""Subwords and the word of each, compared with the rule applied word by word."""

import re
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from interlace.core.ragged import Ragged
from interlace.data.tokenizer_files import special_tokens
from interlace.data.vocab import Vocab
from interlace.text import Text
from interlace.text.word_tokenizers import WORD_TOKENIZERS
from learned_vocabs import KINDS as LEARNED
from learned_vocabs import learned_vocab
from little_checkpoints import KINDS as CHECKPOINTS
from little_checkpoints import save

ALPHABET = [
    *"aabehT .,(1#▁",
    *["é", "e\u0301", "\u0301", "न", "म", "े", "्", "ที่", "中", "文", "\u3000", "\u00a0", "한", "Ω"],
    *[
        "😀",
        "👍🏽",
        "\u200b",
        "\ufeff",
        "\t",
        "ﬁ",
        "İ",
        "the ",
        "doctor",
        "<mask>",
        "\x00",
        "\u00ad",
    ],
]
TEXT = st.lists(
    st.lists(st.sampled_from(ALPHABET), max_size=12).map("".join), min_size=1, max_size=4
)
TRAINING = ["the doctor reads a letter", "the cafe\u0301 (near 12 ab ba) नमस्ते ที่ 中文 .,#"] * 3


def _gpt2(*, prefix):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    return tokenizer, trainers.BpeTrainer(
        vocab_size=320, initial_alphabet=alphabet, show_progress=False
    )


def _modernbert():
    tokenizer, trainer = _gpt2(prefix=False)
    tokenizer.normalizer = normalizers.NFC()
    return tokenizer, trainer


def _uncased_bert():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer, trainers.WordPieceTrainer(
        vocab_size=90, special_tokens=["[UNK]"], show_progress=False
    )


def _xlmr():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace("  ", " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    options = {
        "vocab_size": 70,
        "unk_token": "<unk>",
        "special_tokens": ["<unk>"],
        "show_progress": False,
    }
    return tokenizer, trainers.UnigramTrainer(**options)


def _byte_fallback():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.ByteFallback()
    special = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    return tokenizer, trainers.BpeTrainer(
        vocab_size=330, special_tokens=special, show_progress=False
    )


def _suffixed():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    options = {
        "vocab_size": 90,
        "special_tokens": ["<unk>"],
        "end_of_word_suffix": "</w>",
        "show_progress": False,
    }
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
KINDS = ["byte-bpe", "bpe", *MADE]


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
@example(
    lines=["", " ", "the  cafe\u0301 ", "中文\u3000ab", "नम्ते नe\u0301", "a<mask> b", "\u00a0ab (ab"]
)
def test_words_follow_the_rule(kind, word_tokenizer, lines):
    vocab = _vocab(kind)
    words = SPLIT[word_tokenizer].split(lines)
    found = vocab.encode(lines, word_tokenizer, "xx")
    for number, line in enumerate(lines):
        ids, owners = _slow(vocab.tokenizer, line, words[number].tolist())
        assert found.ids[number].tolist() == ids
        assert found.words[number].tolist() == owners
    assert found.word_counts.tolist() == words.lengths.tolist()
    assert found.ids.values.dtype == found.words.values.dtype == np.int32
    assert found.language == "xx"


LINES = ["我喜歡喝茶", "他不喜歡我", "she cannot read", "cannot be", "我喝茶"]


def text_of(*lines):
    """Words by line; a word that begins with `+` touches the one before."""
    spans, plain = [], []
    for words in lines:
        line, places = "", []
        for word in words:
            line += " " if line and not word.startswith("+") else ""
            places.append((len(line), len(line) + len(word.removeprefix("+"))))
            line += word.removeprefix("+")
        plain.append(line)
        spans.append(places)
    return Text("xx", plain, Ragged.of(spans, width=2), "gold")


@pytest.fixture(scope="module", params=LEARNED)
def learned(request):
    return learned_vocab({"xx": LINES * 30}, 420, request.param)


def words_found(sentences, line):
    return sorted(set(sentences.words[line].tolist()))


def test_every_word_gets_a_subword(learned):
    text = text_of(
        ["她", "+喜", "+歡", "+茶"], ["she", "can", "+not", "read"], ["我", "+喜歡", "+喝", "+茶"]
    )
    sentences = learned.encode_words_apart(text)
    assert [words_found(sentences, line) for line in range(3)] == [[0, 1, 2, 3]] * 3
    text = text_of(["she", "read"], ["我"], [])
    assert learned.encode_words_apart(text) == learned.encode_text(text)


def test_lines_are_cut_only_where_a_subword_is_shared():
    vocab = Vocab.learn({"xx": LINES * 30}, size=420)
    text = text_of(["she", "can", "+not", "read"])
    assert words_found(vocab.encode_text(text), 0) == [0, 1, 3]
    sentences = vocab.encode_words_apart(text)
    assert vocab.tokens(sentences.ids[0]) == ["▁she", "▁can", "not", "▁read"]
    assert sentences.words[0].tolist() == [0, 1, 2, 3]


@given(st.data())
def test_words_are_in_order_and_whole_for_any_borders(data):
    vocab = Vocab.learn({"xx": LINES * 30}, size=420)
    plain = data.draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=3))
    spans = []
    for line in plain:
        inner = range(1, len(line))
        cuts = sorted(data.draw(st.sets(st.sampled_from(inner), max_size=4)))
        edges = [0, *cuts, len(line)]
        spans.append([(a, b) for a, b in pairwise(edges)])
    spans = [
        [(a, b) for a, b in row if line[a:b].strip() == line[a:b]]
        for line, row in zip(plain, spans, strict=True)
    ]
    text = Text("xx", plain, Ragged.of(spans, width=2), "gold")
    sentences = vocab.encode_words_apart(text)
    for line, row in enumerate(sentences.words):
        assert row.tolist() == sorted(row.tolist())
        assert vocab.decode(sentences.ids[line]).replace(" ", "") == plain[line].replace(" ", "")
        if len(text.words[line]):
            touching = [
                w for w, (a, _) in enumerate(spans[line]) if w and spans[line][w - 1][1] == a
            ]
            assert set(touching) <= set(row.tolist())


SPELLED = "a </s> b<mask> [MASK] <unk> [UNK]c <pad>x <s> ＜/s＞"


@pytest.mark.parametrize("kind", LEARNED)
def test_special_tokens_that_text_spells_are_text(kind):
    """Also where normalization spells them: XLM-R's turns the wide brackets into narrow ones."""
    names = re.sub(
        r"[<>\[\]]", " ", SPELLED
    )  # a tokenizer is not trained on the special tokens in its text
    vocab = learned_vocab({"en": [SPELLED, " ".join(SPELLED), names] * 20}, 400, kind)
    if kind == "unigram":
        vocab.tokenizer.normalizer = normalizers.NFKC()
        vocab = Vocab(vocab.tokenizer, vocab._special, {}, "nfkc")
    for line in [
        SPELLED,
        *(str(vocab.tokenizer.id_to_token(int(number))) for number in vocab.special_ids),
    ]:
        for ids in (
            vocab.encode([line]).ids.flat,
            vocab.encode_with_offsets(Text.of([line], "en"))[0].ids.flat,
        ):
            assert not np.isin(ids, vocab.special_ids).any()
            assert vocab.decode(ids).replace(" ", "") in {
                line.replace(" ", ""),
                line.replace(" ", "").replace("＜/s＞", "</s>"),
            }


@pytest.mark.parametrize("kind", CHECKPOINTS)
def test_control_tokens_of_published_tokenizers_never_come_from_text(kind, tmp_path):
    vocab = Vocab.load(save(kind, tmp_path))
    control = np.setdiff1d(vocab.special_ids, [vocab.unk])  # these small ones cannot spell brackets
    lines = [
        f"doctor{vocab.tokenizer.id_to_token(int(number))} reads" for number in vocab.special_ids
    ]
    assert not np.isin(vocab.encode(lines).ids.flat, control).any()
