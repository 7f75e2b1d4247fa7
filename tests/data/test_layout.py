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
from little_words import sentences

VOCAB = SimpleNamespace(pad=0, begin=1, end=2, separator_ids=np.array([2]))
ROBERTA = SimpleNamespace(pad=0, begin=1, end=2, separator_ids=np.array([2, 2]))


def test_pads_and_truncates_sentences_and_their_separators_are_not_content():
    layout = sentence_layout(sentences([[5, 6, 7], [8]]), VOCAB, max_length=10)
    assert layout.ids.tolist() == [[1, 5, 6, 7, 2], [1, 8, 2, 0, 0]]
    assert layout.real.tolist() == [[True] * 5, [True] * 3 + [False] * 2]
    assert layout.words.tolist() == [[-1, 0, 1, 2, -1], [-1, 0, -1, -1, -1]]
    assert layout.content.tolist() == (layout.words >= 0).tolist()
    assert layout.tokens == 8
    layout = sentence_layout(sentences([[5, 6, 7, 8, 9], [5]]), VOCAB, max_length=5)
    assert layout.ids.tolist() == [[1, 5, 6, 7, 2], [1, 5, 2, 0, 0]]
    layout = sentence_layout(sentences([[5, 2, 7]], [[0, -1, 1]]), VOCAB, max_length=8)
    assert layout.content.tolist() == [[False, True, False, True, False]]


def test_the_default_is_the_template_of_the_vocabulary():
    pairs = Pairs(sentences([[5, 6], [5]]), sentences([[7], [8, 9]], language="de"))
    layout = pair_layout(pairs, VOCAB, max_length=10)
    assert layout.ids.tolist() == [[1, 5, 6, 2, 7, 2], [1, 5, 2, 8, 9, 2]]
    assert layout.sides.tolist() == [[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1]]
    assert layout.words.tolist() == [[-1, 0, 1, -1, 0, -1], [-1, 0, -1, 0, 1, -1]]
    double = pair_layout(pairs, ROBERTA, max_length=10)
    assert double.ids.tolist() == [[1, 5, 6, 2, 2, 7, 2], [1, 5, 2, 2, 8, 9, 2]]
    assert double.sides.tolist() == [[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1]]


# ids (^ begins, $ ends), sides and positions of the pair A A - C
LAYOUTS = {
    ("xlm", True): ("^ A A $ ^ C $", [0, 0, 0, 0, 1, 1, 1], [0, 1, 2, 3, 0, 1, 2]),
    ("xlm", False): ("^ A A $ C $", [0, 0, 0, 1, 1, 1], [0, 1, 2, 3, 4, 5]),
    ("roberta", True): ("^ A A $ $ C $", [0, 0, 0, 0, 1, 1, 1], [0, 1, 2, 3, 0, 1, 2]),
    ("roberta", False): ("^ A A $ $ C $", [0, 0, 0, 0, 1, 1, 1], [0, 1, 2, 3, 4, 5, 6]),
    ("bert", True): ("^ A A $ C $", [0, 0, 0, 0, 1, 1], [0, 1, 2, 3, 1, 2]),
    ("bert", False): ("^ A A $ C $", [0, 0, 0, 0, 1, 1], [0, 1, 2, 3, 4, 5]),
}
OPENED = {
    "own": ("<s>", "</s>", "xlm"),
    "xlm": ("</s>", "</s>", "xlm"),
    "xlm-r": ("<s>", "</s>", "roberta"),
}
OPENED |= {"mbert": ("[CLS]", "[SEP]", "bert"), "mmbert": ("[CLS]", "[SEP]", "bert")}


@pytest.fixture(scope="module", params=OPENED)
def opened(request, vocab, tmp_path_factory):
    """A vocabulary that was trained here, or of a checkpoint; with its begin and end token and its family's layout."""
    if request.param == "own":
        return vocab, *OPENED["own"]
    folder = tmp_path_factory.mktemp("tokenizer")
    KINDS[request.param][0]().save_pretrained(folder)
    return Vocab.load(folder), *OPENED[request.param]


@pytest.mark.parametrize(("kind", "restart"), LAYOUTS)
def test_layouts_of_each_vocabulary(opened, kind, restart):
    vocab, begin, end, _ = opened
    a, c = vocab.regular_ids[-2:].tolist()
    layout = pair_layout(
        Pairs(sentences([[a, a]]), sentences([[c]])), vocab, 16, kind, restart=restart
    )
    row, sides, positions = LAYOUTS[kind, restart]
    names = {"^": begin, "$": end, "A": vocab.tokens([a])[0], "C": vocab.tokens([c])[0]}
    assert vocab.tokens(layout.ids[0]) == [names[token] for token in row.split()]
    assert layout.sides.tolist() == [sides]
    assert layout.positions(0, restart=restart).tolist() == [positions]
    assert layout.positions(2, restart=restart).tolist() == [[place + 2 for place in positions]]


def test_families_keep_their_layout_in_files(opened, tmp_path):
    vocab, *_, family = opened
    assert vocab.pair_layout == family
    vocab.save(tmp_path / "ours")
    AutoTokenizer.from_pretrained(tmp_path / "ours", trust_remote_code=False).save_pretrained(
        tmp_path / "theirs"
    )
    for name in ("ours", "theirs"):
        again = Vocab.load(tmp_path / name)
        assert (again.pair_layout, again.separator_ids) == (family, vocab.separator_ids)


LENGTHS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=4)


@given(
    LENGTHS,
    st.sampled_from(["xlm", "roberta", "bert", None]),
    st.sampled_from([0, 2]),
    st.integers(8, 24),
)
def test_word_k_has_the_same_position_on_both_sides(lengths, kind, first, max_length):
    source, target = (sentences([range(5, 5 + row[side]) for row in lengths]) for side in (0, 1))
    layout = pair_layout(Pairs(source, target), VOCAB, max_length, kind, restart=True)
    positions = layout.positions(first, restart=True)
    assert (positions[layout.content] == first + 1 + layout.words[layout.content]).all()
    assert (positions[layout.content] == first + layout.ids[layout.content] - 4).all()
    assert (positions[~layout.real] == max(first - 1, 0)).all()
    assert layout.ids.shape[1] <= max_length


#  max_length 10: the second side begins in column 5, with its own special tokens; padding (_) has no position
PADDED = {
    ("xlm", True): ("^ A A $ _ ^ C $", [0, 1, 2, 3, None, 0, 1, 2]),
    ("xlm", False): ("^ A A _ _ $ C $", [0, 1, 2, None, None, 3, 4, 5]),
    ("roberta", True): ("^ A A $ _ $ C $", [0, 1, 2, 3, None, 0, 1, 2]),
    ("roberta", False): ("^ A A $ _ $ C $", [0, 1, 2, 3, None, 4, 5, 6]),
    ("bert", True): ("^ A A $ _ C $", [0, 1, 2, 3, None, 1, 2]),
    ("bert", False): ("^ A A $ _ C $", [0, 1, 2, 3, None, 4, 5]),
}


@pytest.mark.parametrize(("kind", "restart"), PADDED)
def test_inner_padding_of_each_layout(kind, restart):
    pairs = Pairs(sentences([[5, 5]]), sentences([[7]]))
    layout = pair_layout(pairs, VOCAB, 10, kind, restart=restart, inner_padding=True)
    row, positions = PADDED[kind, restart]
    assert layout.ids.tolist() == [["_^$..A.C".index(token) for token in row.split()]]
    assert layout.real.tolist() == [[token != "_" for token in row.split()]]
    for first, pad in ((0, 0), (2, 1)):
        expected = [pad if place is None else first + place for place in positions]
        assert layout.positions(first, restart=restart).tolist() == [expected]
    assert layout.tokens == layout.real.sum()


@given(
    LENGTHS, st.sampled_from(["xlm", "roberta", "bert", None]), st.booleans(), st.integers(8, 40)
)
def test_inner_padding_only_moves_the_second_side(lengths, kind, restart, max_length):
    source, target = (sentences([range(5, 5 + row[side]) for row in lengths]) for side in (0, 1))
    half = (max_length - 4) // 2
    fit = [row for row in range(len(lengths)) if max(lengths[row]) <= half]
    assume(fit)
    pairs = Pairs(source, target).take(fit)
    args = pairs, VOCAB, max_length, kind
    padded, plain = (
        pair_layout(*args, restart=restart, inner_padding=inner) for inner in (True, False)
    )
    for name in ("ids", "words", "sides", "content"):
        assert (getattr(padded, name)[padded.real] == getattr(plain, name)[plain.real]).all()
    places = (layout.positions(0, restart=restart)[layout.real] for layout in (padded, plain))
    np.testing.assert_array_equal(*places)
    assert (padded.lengths == plain.lengths).all()
    assert (padded.real.sum(axis=1) == padded.lengths).all()
    assert padded.ids.shape[1] <= max_length


def test_inner_padding_truncates_each_side_to_its_half():
    side = sentences([[5] * 9])
    layout = pair_layout(Pairs(side, side), VOCAB, 10, "xlm", restart=True, inner_padding=True)
    assert layout.ids.tolist() == [[1, 5, 5, 5, 2, 1, 5, 5, 5, 2]]


@pytest.mark.parametrize(
    ("first", "second", "kept"), [(9, 2, (5, 2)), (2, 9, (2, 5)), (9, 9, (3, 4)), (3, 4, (3, 4))]
)
def test_truncates_the_longer_side_first(first, second, kept):
    pairs = Pairs(sentences([[5] * first]), sentences([[7] * second]))
    layout = pair_layout(pairs, VOCAB, max_length=10)
    found = [(layout.ids[0] == token).sum() for token in (5, 7)]
    assert tuple(found) == kept
    assert layout.ids.shape[1] <= 10
