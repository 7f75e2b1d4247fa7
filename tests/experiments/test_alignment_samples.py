"""Sentence pairs whose alignments a run keeps for its report."""

from __future__ import annotations

import numpy as np
import pytest

from interlace.alignment import WordPairs
from interlace.core.ragged import Ragged
from interlace.data.alignments import WordAlignments
from interlace.data.corpus import ParallelCorpus
from interlace.experiments.diagnostics import sample_alignments
from interlace.report.runs import AlignmentMatrix


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
