"""The output of programs that order trees anew, joined to the original by its trees."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.derived import TRANSFORMATIONS
from interlace.derived.galactic import SentenceTree, matched
from interlace.readers.conllu import Conllu
from interlace.text import Text


def conllu(path, *trees):
    """A treebank; a tree is words as "form/head/relation"."""
    blocks = []
    for tree in trees:
        rows = [word.split("/") for word in tree.split()]
        blocks.append("".join(f"{n}\t{f}\t_\tX\t_\t_\t{h}\t{r}\t_\t_\n" for n, (f, h, r) in enumerate(rows, 1)) + "\n")
    path.write_text("".join(blocks), encoding="utf-8")
    return path


def read(path):
    (chunk,) = Conllu(trees=True).read_chunks([path], ["en"])
    return chunk


def test_lines_are_found_by_their_trees(tmp_path):
    original = conllu(
        tmp_path / "en.conllu", "The/2/det dog/3/nsubj sees/0/root the/5/det cat/3/obj", "dogs/2/nsubj bark/0/root"
    )
    permuted = conllu(
        tmp_path / "gd.conllu", "bark/0/root dogs/1/nsubj", "cat/3/obj the/1/det sees/0/root The/5/det dog/3/nsubj"
    )
    text = read(original)
    derived = TRANSFORMATIONS.build({"name": "galactic", "permuted": [permuted]}).apply(text)
    assert derived.text.lines == ["cat the sees The dog", "bark dogs"]
    assert derived.links.to_lists() == [[[0, 3], [1, 4], [2, 2], [3, 1], [4, 0]], [[0, 1], [1, 0]]]
    assert derived.text.heads.to_lists() == [[2, 0, -1, 4, 2], [-1, 0]]


@given(data=st.data())
def test_families_are_matched_by_their_subtrees(data):
    """Of any reordered tree, every word has a twin whose head is its head's twin."""
    count = data.draw(st.integers(1, 8))
    heads = [-1] + [data.draw(st.integers(-1, word - 1)) for word in range(1, count)]
    words = [data.draw(st.sampled_from("ab")) for _ in heads]
    order = data.draw(st.permutations(range(count)))
    place = {word: at for at, word in enumerate(order)}
    new_words, new_heads = [words[word] for word in order], [place.get(heads[word], -1) for word in order]
    own, other = sentence_tree(words, heads), sentence_tree(new_words, new_heads)
    assert own.key == other.key
    to = matched(own, other).tolist()
    assert sorted(to) == list(range(count))
    for at, word in enumerate(to):
        assert words[word] == new_words[at]
        assert heads[word] == (to[new_heads[at]] if new_heads[at] >= 0 else -1)


def sentence_tree(words, heads):
    text = replace(Text.of([" ".join(words)], "en"), heads=Ragged.of([heads]), tags={"deprel": [["dep"] * len(words)]})
    return SentenceTree.of(text, 0)


def test_missing_files_are_named(tmp_path):
    text = read(conllu(tmp_path / "en.conllu", "dogs/2/nsubj bark/0/root"))
    other = conllu(tmp_path / "gd.conllu", "dogs/2/obj bark/0/root")
    with pytest.raises(DataError, match=r"no sentence with the tree of 'dogs bark' is in .*gd\.conllu"):
        TRANSFORMATIONS.build({"name": "galactic", "permuted": [other]}).apply(text)
    with pytest.raises(DataError, match=r"galactic\.permuted"):
        TRANSFORMATIONS.build("galactic").apply(text)
    with pytest.raises(DataError, match="has no trees"):
        TRANSFORMATIONS.build({"name": "galactic", "permuted": [other]}).apply(Text.of(["dogs bark"], "en"))
