"""Benchmark of alignment quality: gold sets, scores and confidence intervals."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from interlace.alignment import WordPairs
from interlace.alignment.agreement import Agreement
from interlace.core.ragged import Ragged

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def links(*rows):
    return Ragged.of(rows, width=2)


@pytest.fixture
def sets(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("_gold_sets")


@pytest.fixture
def quality(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("alignment_quality")


@pytest.fixture
def gold(sets):
    """Three pairs of two words, of which the last two have gold links."""
    words = Ragged.of([[0, 1]] * 3)
    sure = links([(0, 0)], [(0, 1), (1, 0)])
    return sets.GoldSet(
        "enfr",
        WordPairs(words, words, ["a", "b"], ["x", "y"]),
        sure,
        links([(0, 0), (1, 1)], sure[1]),
    )


def test_extra_pairs_do_not_change_scores_and_pair_scores_sum_to_the_set_score(gold):
    assert (gold.extra, len(gold.gold_pairs), gold.gold_pairs.first) == (1, 2, 1)
    found = [(0, 0), (1, 1)], [(0, 1), (1, 1)]
    expected = Agreement(links=4, sure=3, possible=4, in_sure=2, in_possible=3)
    assert gold.score(links([(1, 0)], *found)) == gold.score(links(*found)) == expected
    found = links([(1, 0)], [(0, 0), (0, 1)], [(1, 1)])
    each = gold.pair_scores(found)
    assert [one.in_sure for one in each] == [1, 0]
    assert sum(each, Agreement()) == gold.score(found)


def results(quality, gold, gibbs, eflomal):
    """Return results with the counts of each pair: links found and sure, links in sure and in possible."""
    made = quality.Results(None, None, 1, sets={"enfr": gold})
    for label, counts in (("gibbs", gibbs), ("eflomal gdfa", eflomal)):
        made.counts["enfr", label] = np.array(counts)
        made.runs["enfr", label] = [Agreement(links=4, sure=4, in_sure=2, in_possible=2)]
    return made


def test_confidence_interval_of_the_difference(quality, gold):
    found = results(quality, gold, [[8, 8], [8, 4]], [[8, 4], [8, 4]])
    assert found.difference("enfr") == "0.0 to 50.0"
