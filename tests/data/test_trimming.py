"""Fewer tokens of existing tokenizers: the text that they are trimmed by is cut as before."""

import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
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
from transformers import AutoTokenizer

from interlace.core.errors import DataError
from interlace.data.extension import extend_vocab
from interlace.data.tokenizer_files import special_tokens
from interlace.data.trimming import trim_vocab
from interlace.data.vocab import Vocab
from little_checkpoints import ENGLISH, KINDS, OTHER, TRAINED_ON, wordpiece

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LINES = [
    *TRAINED_ON,
    "A cat! ééé 中文 the tables",
    "unknowable lettres",
    "<s> [MASK] </w> ##ing",
]


def sentencepiece_bpe():
    """As Gemma's and mmBERT's: a piece has a merge for every way to split it, and unknown characters become bytes."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.BpeTrainer(vocab_size=120, show_progress=False)
    tokenizer.train_from_iterator(TRAINED_ON, trainer)
    pieces = json.loads(tokenizer.to_str())["model"]["vocab"]
    vocab = {name: number for number, name in enumerate(SPECIAL)}
    for byte in range(256):
        vocab[f"<0x{byte:02X}>"] = len(vocab)
    for name in sorted(pieces, key=pieces.get):
        vocab.setdefault(name, len(vocab))
    merges = []
    for name in sorted(pieces, key=pieces.get):
        for cut in range(1, len(name)):
            if name[:cut] in pieces and name[cut:] in pieces:
                merges.append((name[:cut], name[cut:]))
    tokenizer.model = models.BPE(
        vocab, merges, unk_token="[UNK]", byte_fallback=True, fuse_unk=True
    )
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL])
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    return tokenizer


def prefixed_bpe():
    """With `##` before subwords inside of a word, and BERT's post-processor."""
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]", continuing_subword_prefix="##"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.BpeTrainer(
        vocab_size=120,
        special_tokens=SPECIAL,
        continuing_subword_prefix="##",
        show_progress=False,
    )
    tokenizer.train_from_iterator(TRAINED_ON, trainer)
    sides = [(token, tokenizer.token_to_id(token)) for token in ("[SEP]", "[CLS]")]
    tokenizer.post_processor = processors.BertProcessing(*sides)
    return tokenizer


def vocab_of(tokenizer):
    return Vocab(tokenizer, special_tokens(tokenizer, {}), {}, "by hand")


@pytest.fixture(
    scope="module",
    params=[*KINDS, "sentencepiece-bpe", "prefixed-bpe"],
)
def vocab(request, tmp_path_factory):
    if request.param == "sentencepiece-bpe":
        return vocab_of(sentencepiece_bpe())
    if request.param == "prefixed-bpe":
        return vocab_of(prefixed_bpe())
    folder = tmp_path_factory.mktemp("tokenizer")
    KINDS[request.param][0]().save_pretrained(folder)
    return Vocab.load(folder)


def names(vocab, lines):
    return [vocab.tokens(row) for row in vocab.encode(lines).ids]


TEXT = st.lists(
    st.one_of(
        st.lists(st.sampled_from([*ENGLISH, *OTHER]), max_size=6).map(" ".join),
        st.text("abcdehrst éö中☃<>/s[]#1!", max_size=12),
        st.text(max_size=8).filter(lambda text: text.isprintable()),
    ),
    min_size=1,
    max_size=4,
).filter(lambda lines: any(line.strip() for line in lines))


@settings(max_examples=40)
@given(TEXT)
def test_text_keeps_its_segmentation(vocab, lines):
    trimmed = trim_vocab(vocab, lines)
    assert names(trimmed, lines) == names(vocab, lines)


@settings(max_examples=40)
@given(TEXT, st.data())
def test_text_of_kept_characters_keeps_its_segmentation(vocab, lines, data):
    trimmed = trim_vocab(vocab, lines, keep="characters")
    characters = sorted({*"".join(lines)})
    other = data.draw(st.text(characters, max_size=20))
    assert names(trimmed, [other]) == names(vocab, [other])


def test_ids_follow_the_order_of_the_old_ones(vocab, tmp_path):
    trimmed = trim_vocab(vocab, LINES[1:2])
    assert trimmed.size < vocab.size
    kept = trimmed.origin.kept.tolist()
    assert kept == sorted({*kept})
    assert len(kept) == trimmed.size == trimmed.origin.size
    assert trimmed.origin.original_size == vocab.size
    for number, old in enumerate(kept):
        assert trimmed.tokenizer.id_to_token(number) == vocab.tokenizer.id_to_token(old)
    for role in ("pad", "begin", "end", "mask", "unk"):
        assert kept[getattr(trimmed, role)] == getattr(vocab, role)
    assert [kept[number] for number in trimmed.special_ids] == vocab.special_ids.tolist()
    pair = ("der alte Arzt", "der alte")
    row = trimmed.tokenizer.encode(*pair).ids
    assert [kept[number] for number in row] == vocab.tokenizer.encode(*pair).ids
    trimmed.save(tmp_path / "saved")
    again = Vocab.load(tmp_path / "saved")
    assert again.fingerprint == trimmed.fingerprint
    plain = AutoTokenizer.from_pretrained(tmp_path / "saved", trust_remote_code=False)
    assert plain("der alte Arzt")["input_ids"] == trimmed.tokenizer.encode("der alte Arzt").ids


def test_new_text_has_no_more_unknown_characters(vocab):
    """Characters of the same scripts stay, so only longer tokens are missed."""
    trimmed = trim_vocab(vocab, ["the cat"])
    new = [" ".join([*ENGLISH, *OTHER])]
    unknown = vocab.tokens([vocab.unk])[0]
    (before,), (after,) = names(vocab, new), names(trimmed, new)
    assert after.count(unknown) <= before.count(unknown)
    assert len(after) > len(before)


def test_trimmed_vocabularies_can_be_extended(vocab):
    trimmed = trim_vocab(vocab, LINES[1:2])
    extended = extend_vocab(trimmed, {"xx": [" ".join(OTHER), *OTHER] * 3}, 5, min_count=2)
    origin = extended.origin
    assert origin.kept.tolist() == trimmed.origin.kept.tolist()
    assert (origin.base, origin.size) == (trimmed.size, extended.size)
    with_targets = extended.with_target_languages(["de"])
    assert with_targets.origin.pieces.lengths[-1] == 0
    assert with_targets.origin.kept is origin.kept


def numbered(*tokens):
    return {token: number for number, token in enumerate(tokens)}


def by_hand(model):
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL])
    return vocab_of(tokenizer)


def kept_names(vocab, lines, keep="text"):
    trimmed = trim_vocab(vocab, lines, keep)
    return [trimmed.tokenizer.id_to_token(number) for number in trimmed.regular_ids.tolist()]


def test_wordpiece_keeps_what_makes_a_word_unknown():
    """`abd` is unknown because `ab` matches first; without `ab`, `a` and `##bd` would spell it."""
    ids = numbered(*SPECIAL, "a", "ab", "##bd", "##bc", "xy", "1")
    vocab = by_hand(models.WordPiece(ids, unk_token="[UNK]"))
    assert names(vocab, ["abd"]) == [["[UNK]"]]
    assert kept_names(vocab, ["abd"]) == ["a", "ab", "##bd"]
    assert kept_names(vocab, ["a1"]) == ["a", "1"]


def test_bpe_keeps_the_merges_of_a_subword_alone():
    """`abc` is merged from `ab` and `c`; `bc`, which could make it too, is never reached."""
    ids = numbered(*SPECIAL, "a", "b", "c", "ab", "bc", "abc", "cc")
    merges = [("a", "b"), ("b", "c"), ("a", "bc"), ("ab", "c"), ("c", "c")]
    vocab = by_hand(models.BPE(ids, merges, unk_token="[UNK]"))
    assert kept_names(vocab, ["abc"]) == ["a", "b", "c", "ab", "abc"]
    assert kept_names(vocab, ["abc"], "characters") == ["a", "b", "c", "ab", "bc", "abc", "cc"]
    model = json.loads(trim_vocab(vocab, ["abc"]).tokenizer.to_str())["model"]
    assert model["merges"] == [["a", "b"], ["ab", "c"]]


def test_unigram_keeps_a_piece_of_the_lowest_score():
    """Unknown characters cost 10 more than it: with a higher minimum, `d` and unknown `x` would spell `dx`."""
    scores = {**dict.fromkeys(SPECIAL, 0.0), "d": -1.0, "dx": -30.0, "ж": -25.0, "Ж": -40.0}
    vocab = by_hand(models.Unigram(list(scores.items()), unk_id=1))
    assert names(vocab, ["dx"]) == [["dx"]]
    assert kept_names(vocab, ["dx"]) == ["d", "dx", "Ж"]


@pytest.mark.parametrize("lines", [[], ["", " "]])
def test_needs_text(lines):
    vocab = by_hand(models.WordPiece(numbered(*SPECIAL, "a"), unk_token="[UNK]"))
    with pytest.raises(DataError, match="no text to trim"):
        trim_vocab(vocab, lines)


def real_lines(real_data):
    """Lines of nine languages, also with marks, without blanks, and in upper case."""
    lines = []
    for path in sorted((real_data / "parallel" / "tatoeba").glob("*-eng.*")):
        if path.suffix != ".eng":
            lines += path.read_text(encoding="utf-8").split("\n")[:30]
    paragraphs = real_data / "mono" / "wikipedia-paragraphs" / "zh.txt.gz"
    with gzip.open(paragraphs, "rt", encoding="utf-8") as file:
        lines += [next(file).rstrip("\n") for _ in range(30)]
    return lines


def unigram(lines):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=3000, special_tokens=SPECIAL, unk_token="[UNK]", show_progress=False
    )
    tokenizer.train_from_iterator(lines, trainer)
    return vocab_of(tokenizer)


LEARNED = {
    "byte-bpe": lambda lines: Vocab.learn({"xx": lines}, 3000),
    "wordpiece": lambda lines: vocab_of(wordpiece(lines, 3000).backend_tokenizer),
    "unigram": unigram,
}


@pytest.mark.parametrize("kind", LEARNED)
def test_real_text_keeps_its_segmentation(real_data, kind):
    lines = real_lines(real_data)
    vocab = LEARNED[kind](lines)
    few = lines[::10]
    trimmed = trim_vocab(vocab, few)
    assert trimmed.size < 0.9 * vocab.size
    assert names(trimmed, few) == names(vocab, few)
    by_characters = trim_vocab(vocab, few, keep="characters")
    characters = set("".join(few))
    covered = [line for line in lines if characters.issuperset(line)]
    assert len(covered) > 2 * len(few)
    assert names(by_characters, covered) == names(vocab, covered)
