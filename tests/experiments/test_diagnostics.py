"""Samples of alignments, and words of the embedding plot."""

from itertools import pairwise

import numpy as np
import pytest

from interlace.alignment import WordPairs
from interlace.core.ragged import Ragged
from interlace.data.alignments import WordAlignments
from interlace.data.corpus import ParallelCorpus
from interlace.experiments.monitoring import MAX_CONCEPTS, concepts, sample_alignments
from interlace.experiments.recipe import Recipe
from interlace.report.runs import AlignmentMatrix


@pytest.mark.parametrize(
    "count", [1, 2, MAX_CONCEPTS - 1, MAX_CONCEPTS, MAX_CONCEPTS + 1, 2 * MAX_CONCEPTS - 1, 2 * MAX_CONCEPTS, 1000]
)
def test_words_are_taken_evenly_over_the_dictionary(tmp_path, count):
    """The first ones alone are the most frequent, or begin with a."""
    for target in ("de", "es"):
        lines = [f"w{number}\t{target}{number}" for number in range(count)]
        (tmp_path / f"en-{target}.txt").write_text("\n".join([*lines, f"only-{target}\tx"]) + "\n")
    asked = {"targets": ["de", "es"], "dictionary": "{source}-{target}.txt"}
    found = concepts(Recipe.read({"name": "r", "evaluate": asked}), tmp_path)
    places = [int(words["en"][1:]) for words in found]
    assert [words["es"] for words in found] == [f"es{place}" for place in places]
    assert len(set(places)) == min(count, MAX_CONCEPTS)
    assert (places[0], places[-1]) == (0, count - 1)
    gaps = {after - before for before, after in pairwise(places)}
    assert max(gaps, default=0) - min(gaps, default=0) <= 1


def test_samples_have_a_medium_length(tmp_path):
    lengths = [2, 6, 30, 8, 7]
    side = Ragged.of([list(range(length)) for length in lengths])
    types = [f"w{number}" for number in range(30)]
    links = Ragged.of([[(0, 1)]] * 5, width=2)
    words = WordPairs(side, side, types, types, ("en", "de"))
    corpus, bare = ParallelCorpus.__new__(ParallelCorpus), ParallelCorpus.__new__(ParallelCorpus)
    corpus.alignments = WordAlignments.write(tmp_path / "links", [(words, links, np.full(5, 0.5, np.float32))])
    bare.alignments = None
    found = sample_alignments({"en-de": corpus, "en-fr": bare})
    assert [len(row["source"]) for row in found] == [6, 8]
    assert [row["links"] for row in found] == [[[0, 1]], [[0, 1]]]
    assert all(AlignmentMatrix.model_validate(row).corpus == "en-de" for row in found)
    assert found[0]["confidence"] == [pytest.approx(0.5, abs=0.01)]
