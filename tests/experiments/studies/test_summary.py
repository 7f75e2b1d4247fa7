"""What a study comes to in its folder: tables, and comparisons by all that can be drawn again."""

import json

import numpy as np
import pytest

from interlace.experiments.studies import cells_of, read_study
from interlace.experiments.studies.folder import StudyFolder
from interlace.experiments.studies.running import run_study
from interlace.report.study import summarize
from study_rows import write_outcomes


def finished_runs(study, folder, into):
    return StudyFolder(into).finished_runs(cells_of(study, folder))


@pytest.fixture
def finished(grid, tmp_path, stand_in):
    """A study that is run, and its folder."""
    study, folder = read_study(str(grid))
    into = tmp_path / "study"
    run_study(study, folder, into)
    return study, folder, into


def compared(into):
    return json.loads((into / "comparisons.json").read_text())


def units(into):
    return {(row["resampled"], row["language"]) for row in compared(into)}


def keep_outcomes(run, task, count):
    ones = np.ones(count), np.ones(count)
    write_outcomes(run, task, dict.fromkeys(("en", "de", "es"), ones))


def test_writes_tables_and_comparisons(finished):
    study, folder, into = finished
    names = [table.name for table in summarize(study, folder, into)]
    assert names == ["main", "retrieval", "transfer"]
    assert sorted(path.stem for path in (into / "tables").iterdir()) == names
    assert units(into) == {("seeds", language) for language in ("", "en", "de", "es")}
    row = next(row for row in compared(into) if row["language"] == "de")
    assert (row["system"], row["against"], row["difference"], row["n"]) == ("B", "a", 0.0, 2)


def test_bootstraps_over_examples_with_stored_outcomes(finished):
    study, folder, into = finished
    for run in finished_runs(study, folder, into):
        keep_outcomes(run, "retrieval", 5)
    summarize(study, folder, into)
    assert {("examples", language) for language in ("", "en", "de", "es")} <= units(into)
    assert "over examples" in (into / "tables" / "retrieval.md").read_text()


def test_study_without_scores_has_no_tables(grid, tmp_path):
    assert summarize(*read_study(str(grid)), tmp_path / "none") == []
