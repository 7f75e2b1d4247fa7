"""A run's folder: its lock and its records."""

import json

import pytest

from command_line import run_code
from interlace.core.errors import DataError, RunError
from interlace.training.run_folder import append_line, cut_metrics, locked, read_run


def test_rejects_a_folder_in_use(tmp_path):
    code = "import sys, pathlib\nfrom interlace.training.run_folder import locked\n"
    code += "with locked(pathlib.Path(sys.argv[1])): pass"
    with locked(tmp_path):
        other = run_code(code, tmp_path, check=False)
    assert "RunError" in other.stderr
    assert "in use by another process" in other.stderr


@pytest.mark.parametrize("marks", [(), ("scores.json", "evaluate.json"), ("study.json",)])
def test_rejects_folders_of_others_and_leaves_them_as_they_are(tmp_path, marks):
    for name in ("b.txt", "a.txt", "d", "c"):
        (tmp_path / name).write_text("precious")
    told = rf"holds a\.txt, b\.txt, c, d but no {(*marks, 'recipe.json')[0]}, .* such as .*/run"
    with pytest.raises(RunError, match=told), locked(tmp_path, *marks):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt", "c", "d"]


@pytest.mark.parametrize(
    "names",
    [
        ["recipe.json", "model"],
        ["cell.json", "log.txt"],
        ["run_state.json", "dictionaries", "train.log"],
        [],
    ],
)
def test_accepts_own_folders_and_those_of_a_failed_start(tmp_path, names):
    for name in names:
        (tmp_path / name).write_text("{}")
    with pytest.raises(ZeroDivisionError), locked(tmp_path):
        raise ZeroDivisionError
    assert {path.name for path in tmp_path.iterdir()} - {".lock"} == {*names}


@pytest.mark.parametrize("kept", ["recipe.json", "metrics.jsonl"])
def test_failed_start_removes_the_folder_that_it_made_if_nothing_else_is_in_it(tmp_path, kept):
    with pytest.raises(NotADirectoryError), locked(tmp_path / "run"):
        (tmp_path / "run" / kept / "below").write_text(
            (tmp_path / "run" / kept).write_text("{}") and ""
        )
    assert (tmp_path / "run").exists() == (kept == "metrics.jsonl")


def test_metrics_are_cut_back_to_the_checkpoint(tmp_path):
    path = tmp_path / "metrics.jsonl"
    for step in (1, 2, 3):
        append_line(path, {"step": step})
    with path.open("a") as file:
        file.write('{"step": 4, "los')  # killed while it wrote
    cut_metrics(path, 2)
    assert [json.loads(line)["step"] for line in path.read_text().splitlines()] == [1, 2]


def test_metrics_keep_their_text_and_damaged_lines_name_the_remedy(tmp_path):
    path, line = (
        tmp_path / "metrics.jsonl",
        b'{"loss": 1.50,  "scores": {"b": 1}, "step": 1, "kind": "evaluation"}\n',
    )
    path.write_bytes(line)
    cut_metrics(path, 1)
    assert path.read_bytes() == line
    for damaged in (b'{"step": 2, "l\n', b'{"stop": 2}\n'):
        path.write_bytes(line + damaged + line)
        with pytest.raises(
            DataError, match=r"metrics\.jsonl, line 2: damaged: .*; delete this line"
        ):
            cut_metrics(path, 1)


def test_damaged_json_names_file_and_line(tmp_path):
    (tmp_path / "run.json").write_text('{\n"a": 1,,\n}')
    with pytest.raises(DataError, match=r"run\.json: damaged.*line 2"):
        read_run(tmp_path)


@pytest.mark.parametrize("below", ["", "/run"])
def test_rejects_a_file_in_place_of_the_folder(tmp_path, below):
    (tmp_path / "taken").write_text("precious")
    with (
        pytest.raises(RunError, match="cannot be written or locked"),
        locked(tmp_path / f"taken{below}"),
    ):
        pass
    assert (tmp_path / "taken").read_text() == "precious"
