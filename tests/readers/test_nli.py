from __future__ import annotations

import pytest

from interlace.core.errors import DataError
from interlace.readers.nli import Nli
from interlace.text.lines import write_lines

HEADER = "language\tgold_label\tsentence1\tsentence2\tpairID\tgenre"


def _read(path, rows, language="en", **settings):
    write_lines(path / "nli.tsv", rows)
    return list(Nli(**settings).read_chunks([path / "nli.tsv"], [language]))


def test_premise_and_hypothesis_are_the_two_sides(tmp_path):
    (pairs,) = _read(tmp_path, [HEADER, "en\tneutral\tHe reads.\tHe sleeps.\t1\tx"])
    assert (pairs.source.lines, pairs.target.lines, pairs.labels) == (["He reads."], ["He sleeps."], ["neutral"])
    assert pairs.source.language == pairs.target.language == "en"


def test_rows_of_other_languages_are_passed_over(tmp_path):
    rows = [HEADER, "en\tneutral\ta\tb\t1\tx", "de\tentailment\tc\td\t1\tx"]
    (pairs,) = _read(tmp_path, rows, "de")
    assert pairs.source.lines == ["c"]
    with pytest.raises(DataError, match="no labelled pair of language 'fr'"):
        _read(tmp_path, rows, "fr")


def test_pairs_without_a_majority_are_left_out_and_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("interlace.readers.CHUNK", 1)
    rows = [HEADER, "en\t-\ta\tb\t1\tx", "en\tneutral\ta\tb\t1\tx", "en\tneutral\ta\tb\t1\tx", "en\t-\ta\tb\t1\tx"]
    chunks = _read(tmp_path, rows)
    assert [len(chunk) for chunk in chunks] == [1, 1]
    assert sum(chunk.notes.get("pairs without a majority label left out", 0) for chunk in chunks) == 2


def test_sick_and_other_spellings_of_labels(tmp_path):
    rows = ["pair_ID\tsentence_A\tsentence_B\tentailment_judgment", "1\ta\tb\tENTAILMENT", "2\tc\td\tcontradictory"]
    settings = {"premise": "sentence_A", "hypothesis": "sentence_B", "label": "entailment_judgment"}
    (pairs,) = _read(tmp_path, rows, **settings)
    assert pairs.labels == ["entailment", "contradiction"]


def test_another_label_is_named_with_its_line(tmp_path):
    with pytest.raises(DataError, match=r"nli\.tsv, line 2: label 'maybe', expected one of entailment, neutral"):
        _read(tmp_path, [HEADER, "en\tmaybe\ta\tb\t1\tx"])


def test_a_missing_column_names_the_nearest(tmp_path):
    with pytest.raises(
        DataError, match="none of the columns 'sentence1', 'premise', 'sentence_A'; did you mean 'sentence_1'"
    ):
        _read(tmp_path, ["gold_label\tsentence_1\tsentence_2", "neutral\ta\tb"])


def test_real_sets(real_data):
    chunks = list(Nli().read_chunks([real_data / "nli/xnli/xnli.test.hi.tsv.gz"], ["hi"]))
    labels = [label for chunk in chunks for label in chunk.labels]
    assert {label: labels.count(label) for label in set(labels)} == dict.fromkeys(
        ("entailment", "neutral", "contradiction"), 1670
    )
