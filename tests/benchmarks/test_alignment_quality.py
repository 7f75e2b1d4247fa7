"""What the tables on word links rest on: sets read whole, gold beside the right pairs, differences drawn fairly."""

from __future__ import annotations

import importlib
from dataclasses import replace
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
def given(sets):
    """Three pairs of two words; gold links stand beside the last two."""
    words = Ragged.of([[0, 1]] * 3)
    sure = links([(0, 0)], [(0, 1), (1, 0)])
    return sets.GoldSet("enfr", WordPairs(words, words, ["a", "b"], ["x", "y"]), sure, links([(0, 0), (1, 1)], sure[1]))


def test_extra_pairs_do_not_change_scores(given):
    assert (given.extra, len(given.own), given.own.first) == (1, 2, 1)
    found = [(0, 0), (1, 1)], [(0, 1), (1, 1)]
    expected = Agreement(links=4, sure=3, possible=4, in_sure=2, in_possible=3)
    assert given.score(links([(1, 0)], *found)) == given.score(links(*found)) == expected


def test_pair_scores_sum_to_the_set_score(given):
    found = links([(1, 0)], [(0, 0), (0, 1)], [(1, 1)])
    each = given.scores(found)
    assert [one.in_sure for one in each] == [1, 0]
    assert sum(each, Agreement()) == given.score(found)


def results(quality, given, gibbs, eflomal):
    """Results with counts by pair of links that were found, and of those that are right."""
    made = quality.Results(None, None, 1, sets={"enfr": given})
    for label, counts in (("gibbs", gibbs), ("eflomal gdfa", eflomal)):
        made.counts["enfr", label] = np.array(counts)
        made.runs["enfr", label] = [Agreement(links=4, sure=4, in_sure=2, in_possible=2)]
    return made


def test_significance_of_shared_and_single_differences(quality, given):
    same = results(quality, given, [[8, 6], [8, 6]], [[8, 4], [8, 4]])
    assert same.apart("enfr") == "25.0 to 25.0"
    one = results(quality, given, [[8, 8], [8, 4]], [[8, 4], [8, 4]])
    assert one.apart("enfr") == "0.0 to 50.0"


@pytest.mark.parametrize(
    ("name", "pairs", "sure", "possible"),
    [
        ("enfr", 447, 4_038, 4_038 + 13_400),
        ("fr-en", 318, 5_063, 5_063 + 8_045),
        ("de-en", 100, 1_232, 1_232),  # one more link leads beyond the end of its sentence
        ("en-es", 100, 835, 835),
        ("en-sv", 1_164, 23_766, 23_766),
        ("zhen", 450, 11_238, 11_238 + 178),
        ("en-hi", 90, 1_408, 1_408),  # one more, as well
    ],
)
def test_reads_all_gold_links(real_data, sets, name, pairs, sure, possible):
    read = replace(sets.GOLD[name], captions=False, premises=False).read(name, real_data)
    assert (len(read.pairs), read.extra) == (pairs, 0)
    assert (len(read.sure.flat), len(read.possible.flat)) == (sure, possible)


def test_extra_text_precedes_gold_text(real_data, sets):
    read = sets.GOLD["en-es"].read("en-es", real_data)
    assert (read.extra, len(read.pairs)) == (10_000, 10_100)
    assert all((side.lengths[: read.extra] > 0).all() for side in (read.pairs.source, read.pairs.target))
    first = [read.pairs.source_types[word] for word in read.own.source[0]]
    assert " ".join(first) == "resumption of the session"
