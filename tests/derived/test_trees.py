"""Word order of another language: trees by hand, the model against all orders counted out, and what trees keep."""

from collections import Counter
from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.derived import TRANSFORMATIONS
from interlace.derived.common.kernels import expect, sample_order
from interlace.derived.common.trees import Forest, parsed
from interlace.derived.galactic import SentenceTree, matched
from interlace.derived.syntax import HEAD, Precedence
from interlace.readers.conllu import Conllu
from interlace.text import Text
from interlace.toy.languages import text
from interlace.toy.sampling import sample

SUBJECT, OBJECT, ADVERB = ("nsubj", "NOUN"), ("obj", "NOUN"), ("advmod", "ADV")


def conllu(path, *trees):
    """A treebank; a tree is words as "form/TAG/head/relation"."""
    blocks = []
    for tree in trees:
        rows = [word.split("/") for word in tree.split()]
        blocks.append(
            "".join(
                f"{n}\t{f}\t_\t{t}\t_\t_\t{h}\t{r}\t_\t_\n"
                for n, (f, t, h, r) in enumerate(rows, 1)
            )
            + "\n"
        )
    path.write_text("".join(blocks), encoding="utf-8")
    return path


def read(path):
    (chunk,) = Conllu(trees=True).read_chunks([path], ["en"])
    return chunk


def counted_out(before):
    """p(order) of every order, by the definition."""
    weights = {
        order: np.exp(sum(before[i, j] for i, j in combinations(order, 2)))
        for order in permutations(range(len(before)))
    }
    total = sum(weights.values())
    return {order: weight / total for order, weight in weights.items()}, total


# Thing 1 is drawn behind 2 and before 0, but 2 never comes before 0.
CONSTRAINED = np.array([[0, -3, 0], [3, 0, -3], [-np.inf, 3, 0]])


@pytest.mark.parametrize("before", [np.random.default_rng(0).normal(size=(4, 4)), CONSTRAINED])
def test_sampled_orders_follow_the_model(before):
    expected, _ = counted_out(before)
    order, counts = np.empty(len(before), np.int64), Counter()
    bits = np.random.default_rng(1).integers(2**64, size=40_000, dtype=np.uint64)
    for one in bits:
        sample_order(before, one, order)
        counts[tuple(order.tolist())] += 1
    for one, share in expected.items():
        assert abs(counts[one] / len(bits) - share) <= 5 * np.sqrt(share / len(bits))


def test_expectations_sum_over_all_orders():
    weights = np.random.default_rng(1).normal(size=(3, 3))
    groups = Ragged.of([[0, 1, 2, 2], [1, 0]], np.int64)
    counts = np.array([2.0, 3.0])
    found, expected, logs = np.zeros((3, 3)), np.zeros((3, 3)), 0.0
    total = expect(groups.values, groups.offsets, counts, weights, found)
    for group, count in zip(groups, counts, strict=True):
        shares, all_orders = counted_out(weights[np.ix_(group, group)])
        logs += count * np.log(all_orders)
        for order, share in shares.items():
            for i, j in combinations(order, 2):
                expected[group[i], group[j]] += count * share
    np.testing.assert_allclose(found, expected)
    assert total == pytest.approx(logs)


def test_fitted_weights_reproduce_frequencies():
    """Seven of ten subjects stand before their verb, all objects behind it."""
    seen = [(SUBJECT, HEAD, OBJECT)] * 700 + [(HEAD, SUBJECT, OBJECT)] * 300
    model = Precedence.fit(seen * 10)
    weights, is_known = model.between([HEAD, SUBJECT, OBJECT])
    shares, _ = counted_out(weights)
    assert shares[1, 0, 2] == pytest.approx(0.7, abs=0.01)
    assert shares[0, 1, 2] == pytest.approx(0.3, abs=0.01)
    assert is_known.tolist() == [[False, True, True], [True, False, True], [True, True, False]]


def test_unseen_pairs_are_unknown_and_tags_back_off_to_relations():
    model = Precedence.fit([(SUBJECT, HEAD)] * 50)
    weights, is_known = model.between([HEAD, ("nsubj", "PRON"), ADVERB, SUBJECT])
    assert weights[1, 0] > 1  # a subject of another kind is a subject
    assert is_known[1, 0]
    assert not is_known[2].any()


def forest(heads, relations=None):
    tags = ["X"] * len(heads)
    return Forest.of(Ragged.of([heads]), relations or ["dep"] * len(heads), tags)


def test_crossing_arcs_are_lifted():
    """Word 0 depends on 2 over 1, and 3 on 1 over 2: both go up to what 2 and 1 depend on."""
    assert forest([2, 4, 4, 1, -1]).heads.tolist() == [4, 4, 4, 4, -1]


def contiguous(heads):
    """Whether every word and all below it are a run."""
    for word in range(len(heads)):
        below = []
        for other in range(len(heads)):
            at = other
            while at not in {-1, word}:
                at = heads[at]
            if at == word:
                below.append(other)
        if below[-1] - below[0] + 1 != len(below):
            return False
    return True


@st.composite
def trees(draw):
    """Heads of a random tree or several."""
    count = draw(st.integers(1, 9))
    order = draw(st.permutations(range(count)))
    heads = [-1] * count
    for place, word in enumerate(order[1:], 1):
        heads[word] = draw(st.sampled_from([-1, *order[:place]]))
    return heads


@given(heads=trees())
@settings(max_examples=100)
def test_projective_trees_have_contiguous_subtrees(heads):
    found = forest(heads).heads
    assert contiguous(found)
    for word, head in enumerate(heads):
        ways = set()
        at = word
        while at >= 0:
            at = heads[at]
            ways.add(at)
        assert found[word] in ways  # lifted, never hung elsewhere
        if contiguous(heads):
            assert found[word] == head


@pytest.mark.parametrize("heads", [[1, 0], [0], [2, -1], [-2, -1]])
def test_invalid_trees_are_named(heads):
    with pytest.raises(DataError, match=r"^line 2: its heads are no tree"):
        Forest.of(Ragged.of([[-1], heads]), ["dep"] * 3, ["X"] * 3)


@pytest.fixture
def verb_first(tmp_path):
    """A language with the verb first, adjectives behind, and adpositions behind."""
    tree = "sees/VERB/0/root dogs/NOUN/1/nsubj old/ADJ/2/amod cats/NOUN/1/obj in/ADP/4/case ./PUNCT/1/punct"
    path = conllu(tmp_path / "like.conllu", *[tree] * 2000)
    return TRANSFORMATIONS.build({"name": "syntax", "like": [path]})


def test_words_get_the_order_of_the_treebank(verb_first, tmp_path):
    given_text = read(
        conllu(
            tmp_path / "en.conllu",
            "very/ADV/2/advmod old/ADJ/3/amod dogs/NOUN/4/nsubj see/VERB/0/root in/ADP/6/case cats/NOUN/4/obj "
            "./PUNCT/4/punct",
        )
    )
    derived = verb_first.apply(given_text)
    assert derived.text.tokens(0) == ["see", "dogs", "very", "old", "cats", "in", "."]
    assert derived.links.to_lists() == [
        [[0, 2], [1, 3], [2, 1], [3, 0], [4, 5], [5, 4], [6, 6]]
    ]
    assert derived.text.heads.to_lists() == [[-1, 0, 3, 1, 0, 4, 0]]


def test_subtrees_and_final_marks_stay_together(verb_first):
    given_text = text("en", sample(300, "train", 3))
    derived = verb_first.apply(given_text).text
    for row, heads in enumerate(derived.heads):
        assert contiguous(heads.tolist())
        assert given_text.tokens(row)[-1] == derived.tokens(row)[-1]


def test_heads_with_too_many_dependents_keep_them(verb_first, tmp_path):
    words = " ".join(f"w{n}/NOUN/14/nsubj" for n in range(13))
    given_text = read(conllu(tmp_path / "en.conllu", words + " sees/VERB/0/root"))
    assert verb_first.apply(given_text).text.lines == given_text.lines


def test_parses_of_plain_text_are_found(verb_first, tmp_path):
    parses = conllu(
        tmp_path / "parses.conllu",
        "old/ADJ/2/amod dogs/NOUN/3/nsubj see/VERB/0/root ./PUNCT/3/punct",
        "old/ADJ/2/amod dogs/NOUN/0/root",
        "cats/NOUN/2/nsubj do/AUX/0/root n't/PART/2/advmod ./PUNCT/2/punct",
    )
    with_trees = verb_first.model_copy(update={"trees": (parses,)})
    lines = ["old dogs", "old dogs see . old dogs", "", "old dogs see.", "cats don't."]
    # "see." is one word: the verb with its mark
    derived = with_trees.apply(Text.of(lines, "en")).text
    assert derived.lines == [
        "dogs old",
        "see dogs old . dogs old",
        "",
        "see. dogs old",
        "cats don't.",
    ]
    with pytest.raises(DataError, match=r"no tree for 'old cats'"):
        with_trees.apply(Text.of(["old dogs", "old cats"], "en"))
    with pytest.raises(DataError, match=r"syntax\.trees"):
        verb_first.apply(Text.of(lines, "en"))


def test_segmentation_into_sentences_backtracks(verb_first, tmp_path):
    """`No one` is a sentence too, but what is left of `No one came` is none."""
    tags = "/X/0/root"
    parses = conllu(
        tmp_path / "p.conllu",
        f"No{tags}",
        f"No{tags} one/X/1/dep",
        f"one{tags} came/X/1/dep",
        f"a{tags}",
    )
    with_trees = verb_first.model_copy(update={"trees": (parses,)})
    found = parsed(
        Text.of(["No one came", "No one one came", "a a No onecame"], "en"), with_trees.trees
    )
    assert found.heads.tolist() == [-1, -1, 1, -1, 0, -1, 2, -1, -1, -1, -1]
    with pytest.raises(DataError, match=r"no tree for 'No one a came': 'came'\.\. is in none"):
        with_trees.apply(Text.of(["No one a came"], "en"))
    with pytest.raises(DataError, match="is in none"):  # every way is tried, but none twice
        with_trees.apply(Text.of(["a" * 2000 + "No" * 2000 + "b"], "en"))


def test_a_treebank_without_selected_heads_is_named(tmp_path):
    like = conllu(tmp_path / "like.conllu", "a/X/2/nsubj b/ADJ/0/root")
    with pytest.raises(DataError, match=r"like\.conllu: no .* NOUN has a dependent"):
        TRANSFORMATIONS.build({"name": "syntax", "like": [like]}).apply(read(like))


def test_lines_are_found_by_their_trees(tmp_path):
    original = conllu(
        tmp_path / "en.conllu",
        "The/X/2/det dog/X/3/nsubj sees/X/0/root the/X/5/det cat/X/3/obj",
        "dogs/X/2/nsubj bark/X/0/root",
    )
    permuted = conllu(
        tmp_path / "gd.conllu",
        "bark/X/0/root dogs/X/1/nsubj",
        "cat/X/3/obj the/X/1/det sees/X/0/root The/X/5/det dog/X/3/nsubj",
    )
    text = read(original)
    derived = TRANSFORMATIONS.build({"name": "galactic", "permuted": [permuted]}).apply(text)
    assert derived.text.lines == ["cat the sees The dog", "bark dogs"]
    assert derived.links.to_lists() == [
        [[0, 3], [1, 4], [2, 2], [3, 1], [4, 0]],
        [[0, 1], [1, 0]],
    ]
    assert derived.text.heads.to_lists() == [[2, 0, -1, 4, 2], [-1, 0]]


@given(data=st.data())
def test_families_are_matched_by_their_subtrees(data):
    """Of any reordered tree, every word has a twin whose head is its head's twin."""
    count = data.draw(st.integers(1, 8))
    heads = [-1] + [data.draw(st.integers(-1, word - 1)) for word in range(1, count)]
    words = [data.draw(st.sampled_from("ab")) for _ in heads]
    order = data.draw(st.permutations(range(count)))
    place = {word: at for at, word in enumerate(order)}
    new_words, new_heads = (
        [words[word] for word in order],
        [place.get(heads[word], -1) for word in order],
    )
    own, other = sentence_tree(words, heads), sentence_tree(new_words, new_heads)
    assert own.key == other.key
    to = matched(own, other).tolist()
    assert sorted(to) == list(range(count))
    for at, word in enumerate(to):
        assert words[word] == new_words[at]
        assert heads[word] == (to[new_heads[at]] if new_heads[at] >= 0 else -1)


def sentence_tree(words, heads):
    text = replace(
        Text.of([" ".join(words)], "en"),
        heads=Ragged.of([heads]),
        tags={"deprel": [["dep"] * len(words)]},
    )
    return SentenceTree.of(text, 0)


def test_missing_files_are_named(tmp_path):
    text = read(conllu(tmp_path / "en.conllu", "dogs/X/2/nsubj bark/X/0/root"))
    other = conllu(tmp_path / "gd.conllu", "dogs/X/2/obj bark/X/0/root")
    with pytest.raises(
        DataError, match=r"no sentence with the tree of 'dogs bark' is in .*gd\.conllu"
    ):
        TRANSFORMATIONS.build({"name": "galactic", "permuted": [other]}).apply(text)
    with pytest.raises(DataError, match=r"galactic\.permuted"):
        TRANSFORMATIONS.build("galactic").apply(text)
