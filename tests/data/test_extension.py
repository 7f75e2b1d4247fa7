"""New subwords for existing tokenizers, and the continued merges that find them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

from interlace.core.errors import DataError
from interlace.data.extension import extend_vocab
from interlace.data.tokenizer_files import special_tokens
from interlace.data.vocab import Origin, Vocab
from little_checkpoints import ENGLISH, KINDS, OTHER

AMHARIC = "ሰላም ለዓለም ሰላም"
TEXT = {"xx": [" ".join(OTHER[start : start + 6]) for start in range(15)] * 3 + [AMHARIC] * 4}
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@pytest.fixture(scope="module", params=list(KINDS))
def both(request, tmp_path_factory):
    """A vocabulary and the same extended."""
    folder = tmp_path_factory.mktemp("tokenizer")
    KINDS[request.param][0]().save_pretrained(folder)
    old = Vocab.load(folder)
    return old, extend_vocab(old, TEXT, 40, min_count=2)


def ids_of(vocab, line):
    return vocab.encode([line]).ids[0].tolist()


def test_keeps_old_ids_and_special_tokens(both):
    old, new = both
    for token, number in old.tokenizer.get_vocab(with_added_tokens=True).items():
        assert new.tokenizer.token_to_id(token) == number
    for role in ("pad", "begin", "end", "mask", "unk", "separator_ids"):
        assert getattr(new, role) == getattr(old, role)
    assert new.special_ids.tolist() == old.special_ids.tolist()
    assert new.fingerprint != old.fingerprint
    after = new.encode([*TEXT["xx"], AMHARIC]).ids.flat
    assert new.unk not in after
    # else a whole word is a single unknown subword
    if old.unk not in ids_of(old, TEXT["xx"][0]):
        assert len(after) < 0.9 * len(old.encode([*TEXT["xx"], AMHARIC]).ids.flat)


def test_a_new_subword_is_frequent_and_spelled_by_its_pieces(both, tmp_path):
    """Characters that the old subwords cannot spell are missing in the pieces."""
    old, new = both
    spellings = new.surfaces.spellings
    for number, pieces in enumerate(new.origin.pieces, old.size):
        assert all(piece < old.size for piece in pieces)
        joined = b"".join(spellings[piece] for piece in pieces)
        assert joined == bytes(byte for byte in spellings[number] if byte in joined)
    new.origin.save(tmp_path)
    again = Origin.open(tmp_path)
    assert (again.base, again.pieces) == (old.size, new.origin.pieces)
    with pytest.raises(
        DataError, match=r"no new subword occurs 5000 times.*remove vocab.extend"
    ):
        extend_vocab(old, TEXT, 40, min_count=5000)


WORDS = st.lists(
    st.sampled_from([*ENGLISH, *OTHER, "12", "tables,", "catö", "ehtlo", "ሰዓ", "☃"]), max_size=8
)


@given(WORDS)
def test_words_without_a_new_subword_keep_their_ids(both, words):
    old, new = both
    for word in words:
        after = ids_of(new, f"a {word}")
        if max(after) < old.size:
            assert after == ids_of(old, f"a {word}")


def vocab_of(model, pre=None):
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre or pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL])
    return Vocab(tokenizer, special_tokens(tokenizer, {}), {}, "by hand")


def numbered(*tokens):
    return {token: number for number, token in enumerate(tokens)}


def test_wordpiece_by_hand():
    """`walk ##ing` is met thrice and becomes one; digits and punctuation never do."""
    ids = numbered(*SPECIAL, "walk", "##ing", "a", "1", "##2", ".")
    old = vocab_of(models.WordPiece(ids, unk_token="[UNK]"))
    new = extend_vocab(
        old, {"en": ["walking 12.", "walking 12.", "walking 12. a"]}, 5, min_count=2
    )
    assert new.size == old.size + 1
    assert new.tokens(ids_of(new, "walk walking 12.")) == ["walk", "walking", "1", "##2", "."]
    assert new.origin.pieces[0].tolist() == [5, 6]


def test_bpe_by_hand():
    """The old merge comes first, so `abc` is `ab c` before it is one."""
    model = models.BPE(numbered(*SPECIAL, "a", "b", "c", "ab"), [("a", "b")], unk_token="[UNK]")
    old = vocab_of(model)
    new = extend_vocab(old, {"en": ["abc abc ac ca"]}, 5, min_count=2)
    assert json.loads(new.tokenizer.to_str())["model"]["merges"] == [["a", "b"], ["ab", "c"]]
    assert new.tokens(ids_of(new, "abc bc ab")) == ["abc", "b", "c", "ab"]


def test_unigram_by_hand():
    """The new subword is as likely as the less likely of its parts, so that it is used."""
    scores = {**dict.fromkeys(SPECIAL, 0.0), "a": -4.0, "b": -5.0, "c": -3.0, "d": -9.0}
    old = vocab_of(models.Unigram(list(scores.items()), unk_id=1))
    new = extend_vocab(old, {"en": ["ab c c c", "ab d c c"]}, 1, min_count=2)
    assert json.loads(new.tokenizer.to_str())["model"]["vocab"][-1] == ["ab", -5]
    assert new.tokens(ids_of(new, "ab ba")) == ["ab", "b", "a"]


def test_rejects_a_tokenizer_of_whole_words():
    old = vocab_of(models.WordLevel(numbered(*SPECIAL, "a"), unk_token="[UNK]"))
    with pytest.raises(DataError, match="a WordLevel tokenizer cannot be extended"):
        extend_vocab(old, {"en": ["a b"]}, 5)
