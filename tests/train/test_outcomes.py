"""What every example got, kept and read again."""

from __future__ import annotations

import numpy as np
import pytest

from interlace.errors import DataError
from interlace.train.outcomes import outcomes_file, read_outcomes
from study_rows import write_outcomes


def test_scores_and_weights_come_back_by_language(tmp_path):
    path = outcomes_file(tmp_path, "pos", 2, "translate-train")
    assert path.relative_to(tmp_path).as_posix() == "predictions/pos.translate-train.2.safetensors"
    write_outcomes(path, {"de": ([1, 3], [2, 4]), "zh-Hant": (np.ones(1), np.ones(1))})
    score, weight = read_outcomes(path, "de")
    assert (score.tolist(), weight.tolist()) == ([1.0, 3.0], [2.0, 4.0])
    assert len(read_outcomes(path, "zh-Hant")[0]) == 1


def test_names_never_leave_the_folder(tmp_path):
    path = outcomes_file(tmp_path, "../my.task", 0, "a/b")
    assert path.parent == tmp_path / "predictions"


def test_what_cannot_be_read_says_why(tmp_path):
    path = tmp_path / "a.safetensors"
    with pytest.raises(DataError, match=r"a.safetensors: no such file; outcomes are kept by `interlace evaluate`"):
        read_outcomes(path, "de")
    write_outcomes(path, {"de": ([1.0], [1.0])})
    with pytest.raises(DataError, match=r"holds no language 'dee'; did you mean 'de'"):
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
