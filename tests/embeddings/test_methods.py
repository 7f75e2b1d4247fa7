import sys

import numpy as np
import pytest
from scipy.linalg import expm

from interlace.alignment.lexicon import Lexicon
from interlace.core.errors import DataError, MissingDependencyError
from interlace.core.neighbors import nearest, unit
from interlace.embeddings import EmbeddingSources, WordVectors
from interlace.embeddings.common.mapping import MappedPair, Mapping, procrustes
from interlace.embeddings.common.skipgram import SkipGram
from interlace.embeddings.concat import Concat
from interlace.embeddings.identical import Identical
from interlace.embeddings.muse import has_converged
from interlace.embeddings.procrustes import Procrustes

WIDTH, COUNT = 4, 400


def rotation(seed, size=0.3):
    """A small proper rotation: in so few dimensions adversarial training finds no reflection."""
    skew = np.random.default_rng(seed).normal(0, size, (WIDTH, WIDTH))
    return expm(skew - skew.T).astype(np.float32)


def cloud():
    """Vectors in clusters, so that only one rotation fits."""
    rng = np.random.default_rng(5)
    centres = rng.normal(0, 1, (8, WIDTH))
    return (centres[rng.integers(0, 8, COUNT)] + rng.normal(0, 0.3, (COUNT, WIDTH))).astype(
        np.float32
    )


def languages(same=0):
    """English, and the same vectors rotated under other names; the first `same` words are spelled alike."""
    vectors = cloud()
    names = [f"w{number}" for number in range(len(vectors))]
    others = names[:same] + [f"x{number}" for number in range(same, len(vectors))]
    return {
        "en": WordVectors("en", names, vectors),
        "xx": WordVectors("xx", others, vectors @ rotation(0)),
    }


def found_again(vectors):
    """Share of the words of xx whose nearest English vector is their own."""
    best = nearest(unit(vectors["xx"].vectors), unit(vectors["en"].vectors))
    return float((best == np.arange(len(best))).mean())


def test_procrustes_by_hand():
    """A quarter turn: x to y, y to -x."""
    turned = procrustes(np.eye(2, dtype=np.float32), np.array([[0, 1], [-1, 0]], np.float32))
    np.testing.assert_allclose(turned, [[0, 1], [-1, 0]], atol=1e-6)


def test_refinement_corrects_a_rotation_and_keeps_the_best_by_the_criterion():
    pair = languages()
    sides = MappedPair(pair["xx"], pair["en"], Mapping(normalization=[]))
    right = rotation(0).T
    bent = procrustes(
        np.eye(WIDTH, dtype=np.float32),
        right + np.random.default_rng(1).normal(0, 0.2, right.shape),
    )
    refined = sides.refine(bent)
    np.testing.assert_allclose(refined.rotation, right, atol=1e-3)
    assert sides.criterion(refined.rotation) == pytest.approx(max(refined.history))
    assert refined.history[0] < 0.998 < max(refined.history)


def test_stochastic_induction_leaves_a_poor_start():
    """Every twentieth word is paired with its translation, the others at random."""
    rng, count, width = np.random.default_rng(8), 300, 20
    vectors = rng.normal(0, 1, (count, width)) * np.linspace(2, 0.3, width)
    turn = np.linalg.qr(rng.normal(0, 1, (width, width)))[0]
    english = WordVectors("en", [f"w{row}" for row in range(count)], unit(vectors))
    other = WordVectors("xx", [f"x{row}" for row in range(count)], unit(vectors @ turn))
    paired = np.where(np.arange(count) % 20 == 0, np.arange(count), rng.permutation(count))
    correct = {}
    for drawn in (1.0, 0.1):
        search = {"sampled_fraction": drawn, "patience": 5, "refinements": 10}
        sides = MappedPair(other, english, Mapping(normalization=[], **search))
        refined = sides.refine(sides.solve(np.arange(count), paired))
        assert sides.criterion(refined.rotation) == pytest.approx(max(refined.history))
        places = nearest(unit(other.vectors @ refined.rotation), english.vectors)
        correct[drawn] = float((places == np.arange(count)).mean())
    assert correct[1.0] < 0.2
    assert correct[0.1] > 0.99


def test_normalization_steps_are_applied_in_order():
    vectors = np.array([[3.0, 0.0], [0.0, 4.0]], np.float32)
    np.testing.assert_allclose(
        Mapping(normalization=["unit", "center"]).normalized(vectors),
        [[0.5, -0.5], [-0.5, 0.5]],
    )
    assert Mapping(normalization=[]).normalized(vectors) is vectors


def test_identical_words_find_the_rotation():
    method = Identical(mapping=Mapping(normalization=[]))
    assert found_again(method.fit(EmbeddingSources(vectors=languages(same=12))).vectors) == 1
    with pytest.raises(DataError, match="have no word in common"):
        method.fit(EmbeddingSources(vectors=languages()))


def test_procrustes_reads_a_small_dictionary_in_either_direction():
    entries = [(f"x{number}", f"w{number}", 1.0) for number in range(12)]
    lexicon = Lexicon.of(entries)
    for dictionary in ({("xx", "en"): lexicon}, {("en", "xx"): lexicon.reversed()}):
        sources = EmbeddingSources({}, languages(), dictionary)
        learnt = Procrustes(mapping=Mapping(normalization=[])).fit(sources)
        assert found_again(learnt.vectors) == 1
        assert learnt.about["mappings"]["xx"]["entries"] == 12


@pytest.mark.parametrize(
    ("criterion", "agreement", "expected"),
    [(0.6, 0.95, True), (0.6, 0.73, False), (0.4, 0.95, False), (0.6, None, None)],
)
def test_warns_of_runs_that_disagree_or_are_no_better_than_chance(
    criterion, agreement, expected, caplog
):
    pair = languages()
    mapped = MappedPair(pair["xx"], pair["en"], Mapping())
    assert has_converged(mapped, criterion, 0.5, agreement) is expected
    assert ("xx onto en" in caplog.text) == (expected is False)


@pytest.mark.parametrize(
    ("lexicon", "message"),
    [
        ({}, "no dictionary of 'xx' and 'en'; there are: none"),
        (
            {("en", "xx"): Lexicon.of([("a", "b", 1)])},
            "none of 1 entries .* has a vector for both",
        ),
    ],
)
def test_rejects_unusable_dictionary(lexicon, message):
    with pytest.raises(DataError, match=message):
        Procrustes().fit(EmbeddingSources(vectors=languages(), dictionaries=lexicon))


SMALL = SkipGram(width=8, min_count=1, epochs=3, buckets=100)


def test_concat_gives_a_word_of_both_languages_one_vector_and_rejects_existing_ones():
    pytest.importorskip("gensim")
    texts = {
        "en": [["Anna", "sees", "a", "cat"]] * 30,
        "de": [["Anna", "sieht", "die", "Katze"]] * 30,
    }
    found = Concat(skipgram=SMALL).fit(EmbeddingSources(texts=texts)).vectors
    np.testing.assert_array_equal(
        *(vectors.vectors[vectors.find(["Anna"])] for vectors in (found["en"], found["de"]))
    )
    with pytest.raises(DataError, match="cannot use existing vectors"):
        Concat().fit(EmbeddingSources(vectors=languages()))


def test_error_without_gensim_names_the_command_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim.models.fasttext", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'interlace\[vectors\]'"):
        SMALL.train("xx", [["a"]])
