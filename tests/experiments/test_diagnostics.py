"""Samples of alignments, and words of the embedding plot."""

from itertools import pairwise

import pytest

from interlace.experiments.recipe import Recipe
from interlace.experiments.samples import MAX_CONCEPTS, concepts


@pytest.mark.parametrize(
    "count",
    [1, MAX_CONCEPTS, MAX_CONCEPTS + 1, 2 * MAX_CONCEPTS - 1, 1000],
)
def test_words_are_taken_evenly_over_the_dictionary(tmp_path, count):
    """The first ones alone are the most frequent, or begin with a."""
    for target in ("de", "es"):
        lines = [f"w{number}\t{target}{number}" for number in range(count)]
        (tmp_path / f"en-{target}.txt").write_text(
            "\n".join([*lines, f"only-{target}\tx"]) + "\n"
        )
    asked = {"targets": ["de", "es"], "dictionary": "{source}-{target}.txt"}
    found = concepts(Recipe.read({"name": "r", "evaluate": asked}), tmp_path)
    places = [int(words["en"][1:]) for words in found]
    assert [words["es"] for words in found] == [f"es{place}" for place in places]
    assert len(set(places)) == min(count, MAX_CONCEPTS)
    assert (places[0], places[-1]) == (0, count - 1)
    gaps = {after - before for before, after in pairwise(places)}
    assert max(gaps, default=0) - min(gaps, default=0) <= 1
