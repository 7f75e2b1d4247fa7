import numpy as np
import pytest

from interlace.core.errors import DataError
from interlace.tasks.word_similarity import (
    WordSimilarity,
    correlations,
    read_pairs,
)
from little_files import write
from vector_files import in_the_plane

SIMLEX = "word 1\tword 2\tscore\nold\tnew\t0\nsmart\tclever\t9.7\nhard\ttough\t8"


def scored(root, vectors, language="en", **settings):
    task = WordSimilarity(**settings)
    examples = task.examples("test", language, None, root)
    return task.measure_words({side.language: side for side in vectors}, examples)


def test_correlations_by_hand():
    found = correlations(np.array([0.0, 1.0, 10.0]), np.array([1.0, 2.0, 3.0]))
    assert found["spearman"] == 100
    assert found["pearson"] == pytest.approx(100 * 10 / np.sqrt(182 / 3 * 2))
    assert found["harmonic"] == pytest.approx(
        2 * 100 * found["pearson"] / (100 + found["pearson"])
    )
    assert correlations(np.ones(3), np.arange(3.0)) == {
        "spearman": 0,
        "pearson": 0,
        "harmonic": 0,
    }


def test_ranks_by_cosine_within_and_across_languages(tmp_path):
    write(tmp_path, "similarity/en.tsv", SIMLEX)
    good = in_the_plane("en", old=0, new=170, smart=40, clever=41, hard=80, tough=100)
    assert scored(tmp_path, [good])["spearman"] == 100
    assert scored(tmp_path, [good])["coverage"] == 100
    write(tmp_path, "similarity/en-de.tsv", "old\tneu\t0\nsmart\tklug\t9.7\nhard\tschwer\t8")
    vectors = (
        in_the_plane("en", old=0, smart=40, hard=80),
        in_the_plane("de", neu=170, klug=41, schwer=100),
    )
    assert scored(tmp_path, vectors, "en-de")["spearman"] == 100
    with pytest.raises(DataError, match="no word vectors of 'de'"):
        scored(tmp_path, vectors[:1], "en-de")


def test_pairs_without_vectors_are_skipped_or_get_the_midpoint(tmp_path):
    """With 0.5 for the pair that has none: gold 0 9 8 5 against cosines -.98 1 .94 .5, ranks all right."""
    write(tmp_path, "similarity/en.tsv", SIMLEX, "odd\tqueer\t5")
    vectors = [in_the_plane("en", old=0, new=170, smart=40, clever=41, hard=80, tough=100)]
    left = scored(tmp_path, vectors)
    assert (left["spearman"], left["coverage"]) == (100, 75)
    assert scored(tmp_path, vectors, missing="midpoint")["spearman"] == 100


def test_rejects_too_few_pairs_and_constant_judgments(tmp_path):
    write(tmp_path, "similarity/en.tsv", SIMLEX)
    with pytest.raises(DataError, match="1 of 3 pairs in 'en' have vectors for both words"):
        scored(tmp_path, [in_the_plane("en", old=0, new=1)])
    write(tmp_path, "similarity/en.tsv", "old\tnew\t5", "smart\tclever\t5", "hard\ttough\t5")
    with pytest.raises(DataError, match="all 3 pairs have the score 5"):  # Spearman's is 0 / 0
        scored(
            tmp_path,
            [in_the_plane("en", old=0, new=90, smart=10, clever=20, hard=30, tough=40)],
        )


def test_a_header_is_a_first_line_without_a_score(tmp_path):
    rows = [
        ("old", "new", 0),
        ("smart", "clever", 9.7),
        ("hard", "tough", 8),
    ]
    assert read_pairs(write(tmp_path, "a.tsv", SIMLEX), None) == rows
    assert read_pairs(write(tmp_path, "b.tsv", SIMLEX.split("\n", 1)[1]), None) == rows


@pytest.mark.parametrize("line", ["old\tnew", "old\tnew\tx\t3", "\tnew\t3", "old\tnew\tnan"])
def test_a_bad_row_is_named(tmp_path, line):
    with pytest.raises(DataError, match=r"a\.tsv, line 2: expected two words and a score"):
        read_pairs(write(tmp_path, "a.tsv", "a\tb\t1", line), None)


def test_reads_words_and_scores_from_two_files(tmp_path):
    write(tmp_path, "data/en-de.test.data.txt", "New York\tneu\nsmart\tklug\nhard\tschwer")
    write(tmp_path, "keys/en-de.test.gold.txt", "0.5\n4\n3")
    task = WordSimilarity(
        files="data/{language}.test.data.txt", gold="keys/{language}.test.gold.txt"
    )
    examples = task.examples("test", "en-de", None, tmp_path)
    assert examples.languages == ("en", "de")
    assert examples.first == ["New York", "smart", "hard"]
    assert examples.scores.tolist() == [0.5, 4, 3]


@pytest.mark.parametrize(
    ("words", "gold", "line"),
    [
        ("a\tb", "1\n2", 2),
        ("a\tb\nc\td", "1", 2),
        ("a b", "1", 1),
        ("a\tb", "x", 1),
    ],
)
def test_two_files_must_correspond_by_line(tmp_path, words, gold, line):
    with pytest.raises(DataError, match=f"gold, line {line}: expected two words and a score"):
        read_pairs(write(tmp_path, "words", words), write(tmp_path, "gold", gold))
