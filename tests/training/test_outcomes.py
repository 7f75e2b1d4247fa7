"""What every example got, kept and read again."""

from __future__ import annotations

import numpy as np
import pytest

from interlace.core.errors import DataError
from interlace.scores.examples import Examples
from interlace.training.predictions import confidence_interval, outcomes_file, read_outcomes
from interlace.training.predictions import write_outcomes as keep
from study_rows import write_outcomes


def test_scores_and_weights_come_back_by_language(tmp_path):
    path = outcomes_file(tmp_path, "pos", 2, "translate-train")
    assert path.relative_to(tmp_path).as_posix() == "predictions/pos.translate-train.2.safetensors"
    write_outcomes(path, {"de": ([1, 3], [2, 4]), "zh-Hant": (np.ones(1), np.ones(1))})
    found = read_outcomes(path, "de")
    assert (found.score.tolist(), found.weight.tolist()) == ([1.0, 3.0], [2.0, 4.0])
    assert len(read_outcomes(path, "zh-Hant").score) == 1


def examples(*score, identity="these"):
    return Examples(np.array(score, float), np.ones(len(score)), identity)


def test_languages_keep_their_keys_and_identities(tmp_path):
    path = outcomes_file(tmp_path, "pos", 0)
    keep(path, "de", examples(1, 0), "model")
    keep(path, "es", examples(1, 1, identity="those"), "model")
    keep(path, "de", examples(0, 0), "model")
    assert read_outcomes(path, "de", "model").score.tolist() == [0, 0]
    assert [read_outcomes(path, language, "model").identity for language in ("de", "es")] == ["these", "those"]


def test_what_another_model_got_is_dropped_and_never_read_as_this_ones(tmp_path):
    path = outcomes_file(tmp_path, "pos", 0)
    keep(path, "es", examples(1), "old")
    keep(path, "de", examples(1), "new")
    with pytest.raises(DataError, match="no language 'es'"):
        read_outcomes(path, "es")
    with pytest.raises(DataError, match=r"de: outcomes of another model"):
        read_outcomes(path, "de", "old")


@pytest.mark.parametrize("setting", ["translate-train", "supervised"])
def test_fine_tunings_of_their_own_stand_beside_each_other(setting, tmp_path):
    path = outcomes_file(tmp_path, "xnli", 0, setting)
    keep(path, "de", examples(1), "tuned on de")
    keep(path, "es", examples(0), "tuned on es")
    assert read_outcomes(path, "de", "tuned on de").score.tolist() == [1]
    assert read_outcomes(path, "es", "tuned on es").score.tolist() == [0]


def test_the_interval_is_in_the_unit_of_the_score():
    half = examples(*[1, 0] * 200)
    found = confidence_interval(half)
    assert found["low"] == pytest.approx(50 - 4.9, abs=0.6)  # 1.96 standard errors of a share of one half of 400
    assert found["high"] == pytest.approx(50 + 4.9, abs=0.6)
    assert confidence_interval(half, "")["low"] == pytest.approx(found["low"] / 100, abs=1e-4)
    assert confidence_interval(examples(1)) == {}


def test_names_never_leave_the_folder(tmp_path):
    path = outcomes_file(tmp_path, "../my.task", 0, "a/b")
    assert path.parent == tmp_path / "predictions"


def test_what_cannot_be_read_says_why(tmp_path):
    path = tmp_path / "a.safetensors"
    with pytest.raises(DataError, match=r"a.safetensors: no such file"):
        read_outcomes(path, "de")
    write_outcomes(path, {"de": ([1.0], [1.0])})
    with pytest.raises(DataError, match=r"no language 'dee'; did you mean 'de'"):
        read_outcomes(path, "dee")
    path.write_bytes(b"nonsense")
    with pytest.raises(DataError, match=r"a.safetensors: damaged"):
        read_outcomes(path, "de")


@pytest.mark.parametrize(("score", "weight"), [([1.0], [1.0, 1.0]), ([], []), ([0.0], [0.0]), ([[1.0]], [[1.0]])])
def test_rows_that_do_not_fit_are_refused(tmp_path, score, weight):
    path = tmp_path / "a.safetensors"
    write_outcomes(path, {"de": (score, weight)})
    with pytest.raises(DataError, match="de: expected rows of one length with some weight"):
        read_outcomes(path, "de")


def test_a_perplexity_is_kept_with_its_measure_and_has_an_interval(tmp_path):
    path = outcomes_file(tmp_path, "perplexity", 0)
    keep(path, "de", Examples(np.array([4.0, 9.0]), np.array([2.0, 3.0]), "two", measure="perplexity"), "model")
    found = read_outcomes(path, "de")
    assert (found.measure, found.counts) == ("perplexity", None)
    assert found.total == pytest.approx(np.exp(13 / 5))
    ends = confidence_interval(found, "per word")
    assert ends == {"low": pytest.approx(np.exp(2), abs=1e-3), "high": pytest.approx(np.exp(3), abs=1e-3)}


def test_what_is_no_ratio_is_kept_with_its_counts(tmp_path):
    path = outcomes_file(tmp_path, "mt", 0)
    counts = np.array(
        [[3.0, 3.0, 3.0, 2.0, 1.0, 0.0, 3.0, 2.0, 1.0, 0.0], [4.0, 5.0, 2.0, 1.0, 0.0, 0.0, 4.0, 3, 2, 1]]
    )
    scored = Examples(np.array([0.9, 0.3]), np.ones(2), "two", counts, "bleu")
    keep(path, "en-de", scored, "model")
    keep(path, "de-en", examples(1, 0), "model")
    found = read_outcomes(path, "en-de")
    assert found.measure == "bleu"
    np.testing.assert_array_equal(found.counts, counts)
    assert found.total == scored.total
    assert read_outcomes(path, "de-en").counts is None
