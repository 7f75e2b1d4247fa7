"""Rows as a model reads them, worked by hand for the vocabularies of each family."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from interlace.data import Pairs
from interlace.data.layout import pair_layout, sentence_layout
from interlace.data.vocab import Vocab
from little_checkpoints import KINDS
from little_rows import framed
from little_words import sentences

VOCAB = SimpleNamespace(pad=0, begin=1, end=2, frame=framed(1, 2), separator_ids=np.array([2]))
ROBERTA = SimpleNamespace(pad=0, begin=1, end=2, separator_ids=np.array([2, 2]))


def test_pads_and_truncates_sentences_and_their_separators_are_not_content():
    layout = sentence_layout(sentences([[5, 6, 7, 8, 9], [8]]), VOCAB, max_length=5)
    assert layout.ids.tolist() == [[1, 5, 6, 7, 2], [1, 8, 2, 0, 0]]
    assert layout.real.tolist() == [[True] * 5, [True] * 3 + [False] * 2]
    assert layout.words.tolist() == [[-1, 0, 1, 2, -1], [-1, 0, -1, -1, -1]]
    assert layout.content.tolist() == (layout.words >= 0).tolist()
    assert layout.tokens == 8
    layout = sentence_layout(sentences([[5, 2, 7]], [[0, -1, 1]]), VOCAB, max_length=8)
    assert layout.content.tolist() == [[False, True, False, True, False]]


# ids (^ begins, $ ends), sides and positions of the pair A A - C
LAYOUTS = {
    ("xlm", True): ("^ A A $ ^ C $", [0, 0, 0, 0, 1, 1, 1], [0, 1, 2, 3, 0, 1, 2]),
    ("xlm", False): ("^ A A $ C $", [0, 0, 0, 1, 1, 1], [0, 1, 2, 3, 4, 5]),
    ("roberta", True): ("^ A A $ $ C $", [0, 0, 0, 0, 1, 1, 1], [0, 1, 2, 3, 0, 1, 2]),
    ("roberta", False): ("^ A A $ $ C $", [0, 0, 0, 0, 1, 1, 1], [0, 1, 2, 3, 4, 5, 6]),
    ("bert", True): ("^ A A $ C $", [0, 0, 0, 0, 1, 1], [0, 1, 2, 3, 1, 2]),
    ("bert", False): ("^ A A $ C $", [0, 0, 0, 0, 1, 1], [0, 1, 2, 3, 4, 5]),
}
FAMILIES = {"own": "xlm", "xlm": "xlm", "xlm-r": "roberta", "mbert": "bert", "mmbert": "bert"}


@pytest.mark.parametrize(("kind", "restart"), LAYOUTS)
def test_layouts_by_hand(kind, restart):
    pairs = Pairs(sentences([[5, 5]]), sentences([[7]]))
    layout = pair_layout(pairs, VOCAB, 16, kind, restart=restart)
    if kind == "roberta" and not restart:
        assert pair_layout(pairs, ROBERTA, 16).ids.tolist() == layout.ids.tolist()
    row, sides, positions = LAYOUTS[kind, restart]
    assert layout.ids.tolist() == [["_^$..A.C".index(token) for token in row.split()]]
    assert layout.sides.tolist() == [sides]
    assert layout.positions(0, restart=restart).tolist() == [positions]
    assert layout.positions(2, restart=restart).tolist() == [[place + 2 for place in positions]]


@pytest.mark.parametrize("family", FAMILIES)
def test_families_keep_their_layout_in_files(family, vocab, tmp_path):
    if family != "own":
        KINDS[family][0]().save_pretrained(tmp_path / "checkpoint")
        vocab = Vocab.load(tmp_path / "checkpoint")
    assert vocab.pair_layout == FAMILIES[family]
    vocab.save(tmp_path / "ours")
    plain = AutoTokenizer.from_pretrained(tmp_path / "ours", trust_remote_code=False)
    plain.save_pretrained(tmp_path / "theirs")
    for name in ("ours", "theirs"):
        again = Vocab.load(tmp_path / name)
        assert (again.pair_layout, again.separator_ids) == (
            FAMILIES[family],
            vocab.separator_ids,
        )


LENGTHS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=4)
ANY_LAYOUT = st.sampled_from(["xlm", "roberta", "bert", None])


def pairs_of(lengths):
    source = sentences([range(5, 5 + length) for length, _ in lengths])
    return Pairs(source, sentences([range(5, 5 + length) for _, length in lengths]))


@given(LENGTHS, ANY_LAYOUT, st.booleans(), st.integers(8, 40))
def test_inner_padding_only_moves_the_second_side(lengths, kind, restart, max_length):
    half = (max_length - 4) // 2
    lengths = [row for row in lengths if max(row) <= half]
    assume(lengths)
    pairs = pairs_of(lengths)
    plain = pair_layout(pairs, VOCAB, max_length, kind, restart=restart)
    padded = pair_layout(pairs, VOCAB, max_length, kind, restart=restart, inner_padding=True)
    for name in ("ids", "words", "sides", "content"):
        assert (getattr(padded, name)[padded.real] == getattr(plain, name)[plain.real]).all()
    positions = padded.positions(0, restart=restart)[padded.real]
    assert positions.tolist() == plain.positions(0, restart=restart)[plain.real].tolist()
    assert (padded.real.sum(axis=1) == plain.lengths).all()
    assert padded.lengths.tolist() == plain.lengths.tolist()
    assert padded.ids.shape[1] <= max_length


@pytest.mark.parametrize(
    ("source", "target", "kept"),
    [(9, 2, (5, 2)), (2, 9, (2, 5)), (9, 9, (3, 4)), (3, 4, (3, 4))],
)
def test_truncates_the_longer_side_first(source, target, kept):
    pairs = Pairs(sentences([[5] * source]), sentences([[7] * target]))
    ids = pair_layout(pairs, VOCAB, max_length=10).ids[0]
    assert ((ids == 5).sum(), (ids == 7).sum()) == kept
