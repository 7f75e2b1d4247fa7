"""Subwords and the word of each, compared with the rule applied word by word."""

import re
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from interlace.core.ragged import Ragged
from interlace.data import Sentences
from interlace.data.tokenizer_files import special_tokens
from interlace.data.vocab import Vocab
from interlace.text import Text
from interlace.text.word_tokenizers import WORD_TOKENIZERS
from learned_vocabs import KINDS as LEARNED
from learned_vocabs import learned_vocab
from little_checkpoints import KINDS as CHECKPOINTS
from little_checkpoints import save

ALPHABET = [
    *"aabehT .,(1#▁é\u0301नमे्中文\u3000\u00a0한Ω😀\u200b\ufeff\tﬁİ\x00\u00ad",
    *["e\u0301", "ที่", "👍🏽", "the ", "doctor", "<mask>"],
]
TEXT = st.lists(
    st.lists(st.sampled_from(ALPHABET), max_size=12).map("".join), min_size=1, max_size=4
)
TRAINING = ["the doctor reads a letter", "the cafe\u0301 (near 12 ab ba) नमस्ते ที่ 中文 .,#"] * 3


def trained(model, pre_tokenizer, trainer, normalizer=None, **options):
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.train_from_iterator(TRAINING, trainer(show_progress=False, **options))
    tokenizer.add_special_tokens(["<s>", "</s>", "<pad>", "<mask>"])
    return Vocab(tokenizer, special_tokens(tokenizer, {}), {}, "trained")


def _bytes(*, prefix):
    pieces = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    options = {"vocab_size": 320, "initial_alphabet": pieces.alphabet()}
    return trained(models.BPE(), pieces, trainers.BpeTrainer, **options)


def _uncased_bert():
    return trained(
        models.WordPiece(unk_token="[UNK]"),
        pre_tokenizers.BertPreTokenizer(),
        trainers.WordPieceTrainer,
        normalizers.BertNormalizer(lowercase=True),
        vocab_size=90,
        special_tokens=["[UNK]"],
    )


def _xlmr():
    return trained(
        models.Unigram(),
        pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]),
        trainers.UnigramTrainer,
        normalizers.Sequence([normalizers.NFKC(), normalizers.Replace("  ", " ")]),
        vocab_size=70,
        unk_token="<unk>",
        special_tokens=["<unk>"],
    )


def _byte_fallback():
    return trained(
        models.BPE(unk_token="<unk>", byte_fallback=True),
        pre_tokenizers.Metaspace(prepend_scheme="first"),
        trainers.BpeTrainer,
        vocab_size=330,
        special_tokens=["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))],
    )


def _of_checkpoint(kind):
    tokenizer = CHECKPOINTS[kind][0]().backend_tokenizer
    return Vocab(tokenizer, special_tokens(tokenizer, {}), {}, kind)


MAKERS = {
    "byte-bpe": lambda: Vocab.learn({"xx": TRAINING}, 300),
    "bpe": lambda: Vocab.learn({"xx": TRAINING}, 90, kind="bpe"),
    "gpt2": lambda: _bytes(prefix=False),
    "roberta": lambda: _bytes(prefix=True),
    "uncased bert": _uncased_bert,
    "xlm-r": _xlmr,
    "byte fallback": _byte_fallback,
}
MAKERS |= {kind: lambda kind=kind: _of_checkpoint(kind) for kind in ("mmbert", "xlm")}
SPLIT = {name: WORD_TOKENIZERS.build(name) for name in ("whitespace", "unicode")}


@cache
def _vocab(kind):
    return MAKERS[kind]()


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
@pytest.mark.parametrize("kind", MAKERS)
@settings(max_examples=40)
@given(lines=TEXT)
@example(
    lines=[
        "",
        " ",
        "the  cafe\u0301 ",
        "中文\u3000ab",
        "नम्ते नe\u0301",
        "a<mask> b",
        "\u00a0ab (ab",
    ]
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
    chunks = [Text("xx", [line], words.slice(row, row + 1)) for row, line in enumerate(lines)]
    assert Sentences.concatenate(list(vocab.encode_texts(chunks))) == found


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


def test_lines_without_touching_words_are_not_cut(learned):
    text = text_of(["she", "read"], ["我"], [])
    assert learned.encode_words_apart(text) == learned.encode_text(text)


def test_lines_are_cut_only_where_a_subword_is_shared():
    vocab = Vocab.learn({"xx": LINES * 30}, size=420)
    text = text_of(["she", "can", "+not", "read"])
    assert set(vocab.encode_text(text).words[0].tolist()) == {0, 1, 3}
    sentences = vocab.encode_words_apart(text)
    assert vocab.tokens(sentences.ids[0]) == ["▁she", "▁can", "not", "▁read"]


def test_a_word_of_an_unspaced_script_has_no_blank_before_it(vocab):
    word = "医生来了"
    # this tokenizer puts a blank before every line
    begun = vocab.encode([word]).ids[0].tolist()
    assert (vocab.tokens(begun)[0], vocab.encode_words([word])[0].tolist()) == ("▁", begun[1:])
    assert vocab.encode_words(["", "a"]).to_lists() == [[], vocab.encode(["a"]).ids[0].tolist()]


@given(st.data())
def test_words_are_in_order_and_whole_for_any_borders(learned, data):
    vocab = learned
    plain = data.draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=3))
    spans = []
    for line in plain:
        cuts = data.draw(st.sets(st.sampled_from(range(1, len(line))), max_size=4))
        pieces = pairwise([0, *sorted(cuts), len(line)])
        spans.append([(a, b) for a, b in pieces if line[a:b].strip() == line[a:b]])
    text = Text("xx", plain, Ragged.of(spans, width=2), "gold")
    sentences = vocab.encode_words_apart(text)
    for line, row in enumerate(sentences.words):
        assert row.tolist() == sorted(row.tolist())
        assert vocab.decode(sentences.ids[line]).replace(" ", "") == plain[line].replace(
            " ", ""
        )
        for word in range(1, len(spans[line])):
            if spans[line][word - 1][1] == spans[line][word][0]:
                assert word in row


NARROW = str.maketrans("＜＞", "<>")
SPELLED = "a </s> b<mask> [MASK] <unk> [UNK]c <pad>x <s> ＜/s＞"


@pytest.mark.parametrize("kind", LEARNED)
def test_special_tokens_that_text_spells_are_text(kind):
    """Also where normalization spells them: XLM-R's turns the wide brackets into narrow ones."""
    # a tokenizer is not trained on the special tokens in its text
    names = re.sub(r"[<>\[\]]", " ", SPELLED)
    vocab = learned_vocab({"en": [SPELLED, " ".join(SPELLED), names] * 20}, 400, kind)
    if kind == "unigram":
        vocab.tokenizer.normalizer = normalizers.NFKC()
        vocab = Vocab(vocab.tokenizer, vocab._special, {}, "nfkc")
    names = [str(vocab.tokenizer.id_to_token(int(number))) for number in vocab.special_ids]
    for line in [SPELLED, *names]:
        ids = vocab.encode([line]).ids.flat
        assert not np.isin(ids, vocab.special_ids).any()
        text = vocab.decode(ids).replace(" ", "")
        assert text.translate(NARROW) == line.replace(" ", "").translate(NARROW)


@pytest.mark.parametrize("kind", CHECKPOINTS)
def test_control_tokens_of_published_tokenizers_never_come_from_text(kind, tmp_path):
    vocab = Vocab.load(save(kind, tmp_path))
    # these small ones cannot spell brackets
    control = np.setdiff1d(vocab.special_ids, [vocab.unk])
    lines = [
        f"doctor{vocab.tokenizer.id_to_token(int(number))} reads"
        for number in vocab.special_ids
    ]
    assert not np.isin(vocab.encode(lines).ids.flat, control).any()
