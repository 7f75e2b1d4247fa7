"""Reading a run folder: what is missing is empty, what is damaged is named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from interlace.core.errors import DataError
from interlace.report import write_report
from interlace.report._run import read_runs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_reads_all_parts(two_runs: list[Path]) -> None:
    plain, both = read_runs(two_runs)
    assert (plain.label, plain.style, both.label, both.style) == ("mlm", 0, "mlm+tlm", 1)
    assert len(plain.steps) == 120
    assert len(plain.evaluations) == 12
    assert {sample.objective for sample in both.samples} == {"mlm", "tlm"}
    assert plain.embedding is not None


def test_a_bare_folder_has_empty_parts(tmp_path: Path) -> None:
    (tmp_path / "recipe.json").write_text("{}")
    (run,) = read_runs([tmp_path])
    assert run.label == tmp_path.name
    assert (run.steps, run.evaluations, run.samples, run.scores, run.embedding) == ([], [], [], [], None)


@pytest.mark.parametrize(
    ("part", "content", "message"),
    [
        ("metrics.jsonl", b'{"kind": "evaluation", "step": 1, "scores": {}}\n{"kind": "st', "line 2: damaged JSON"),
        ("metrics.jsonl", b'\n{"kind": "step", "objective": "mlm"}\n', "line 2, key 'step': field required"),
        ("metrics.jsonl", b"[1]\n", "metrics.jsonl, line 1: expected an object"),
        ("metrics.jsonl", b'{"kind": "other"}\n\xff\n', "metrics.jsonl, line 2: not valid UTF-8"),
        ("scores.json", b'[\n{"task": "pos",\n]', "scores.json, line 3: damaged JSON"),
        ("scores.json", b'[{"task": "pos"}]', "scores.json, entry 1, key 'metric': field required"),
        ("run.json", b'{"seconds": {"training": "long"}}', "run.json, key 'seconds', key 'training'"),
        ("recipe.json", b"{", "recipe.json, line 1: damaged JSON"),
        ("samples.json", b'[{"objective": "m", "rows": [{"tokens": ["a"], "at": [1], "targets": [""]}]}]', "outside"),
        ("samples.json", b'[{"objective": "m", "rows": [{"tokens": ["a"], "at": [0], "targets": []}]}]', "'at' has 1"),
        ("embedding.json", b'{"words": [], "pairs": [[0, 1]]}', "outside the list of 0"),
    ],
)  # fmt: skip
def test_damage_is_named(make_run: Callable[..., Path], part: str, content: bytes, message: str) -> None:
    folder = make_run("mlm", gain=0.0)
    (folder / part).write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_runs([folder])
    assert str(folder / part) in str(caught.value)
    assert message in str(caught.value)


def test_a_missing_folder_names_the_nearest(make_run: Callable[..., Path]) -> None:
    folder = make_run("mlm-small", gain=0.0)
    with pytest.raises(DataError, match="did you mean 'mlm-small'"):
        read_runs([folder.with_name("mlm-smal")])


def test_no_run_and_no_run_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="at least one"):
        read_runs([])
    with pytest.raises(DataError, match=r"holds neither recipe\.json .* nor scores\.json"):
        read_runs([tmp_path])


def test_a_folder_given_twice(make_run: Callable[..., Path]) -> None:
    folder = make_run("mlm", gain=0.0)
    with pytest.raises(DataError, match="given twice"):
        read_runs([folder, folder])


def test_unknown_kinds_of_lines_are_passed_over(make_run: Callable[..., Path]) -> None:
    folder = make_run("mlm", gain=0.0)
    (folder / "metrics.jsonl").write_text('{"kind": "diagnostics", "step": 3}\n')
    (run,) = read_runs([folder])
    assert (run.steps, run.evaluations) == ([], [])


def test_scores_of_a_checkpoint_are_a_column_of_their_own(tmp_path: Path) -> None:
    """`evaluate` of a plain checkpoint writes no recipe: the folder names it."""
    (tmp_path / "xlm-r").mkdir()
    row = {"task": "pos", "metric": "accuracy", "language": "de", "source": "en", "seed": 0, "score": 50.0}
    (tmp_path / "xlm-r" / "scores.json").write_text(json.dumps([row]))
    (run,) = read_runs([tmp_path / "xlm-r"])
    assert (run.label, run.recipe, [score.score for score in run.scores]) == ("xlm-r", {}, [50.0])
    page = write_report([tmp_path / "xlm-r"], tmp_path / "page.html").read_text(encoding="utf-8")
    assert "In German, xlm-r reaches 50.0" in page


def test_the_folder_of_a_study_is_told_where_its_report_stands(tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text("{}")
    with pytest.raises(
        DataError, match=r"a study's folder.* to be .*report.html, which `interlace study STUDY --output"
    ):
        read_runs([tmp_path])
    (tmp_path / "report.html").touch()
    with pytest.raises(DataError, match=r"its report is .*report.html.*; its runs are the folders in .*cells$"):
        read_runs([tmp_path])
