"""A run's folder: its lock and its records."""

import json
import subprocess
import sys

import pytest

from interlace.core.errors import RunError
from interlace.training.run_folder import append_line, cut_metrics, locked, read_json


def test_rejects_a_folder_in_use(tmp_path):
    code = "import sys, pathlib\nfrom interlace.training.run_folder import locked\n"
    code += "with locked(pathlib.Path(sys.argv[1])): pass"
    with locked(tmp_path):
        other = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=False)
    assert "RunError" in other.stderr
    assert "in use by another process" in other.stderr


def test_metrics_are_cut_back_to_the_checkpoint(tmp_path):
    path = tmp_path / "metrics.jsonl"
    for step in (1, 2, 3):
        append_line(path, {"step": step})
    with path.open("a") as file:
        file.write('{"step": 4, "los')  # killed while it wrote
    cut_metrics(path, 2)
    assert [json.loads(line)["step"] for line in path.read_text().splitlines()] == [1, 2]


def test_damaged_json_names_file_and_line(tmp_path):
    (tmp_path / "run.json").write_text('{\n"a": 1,,\n}')
    with pytest.raises(RunError, match=r"run\.json: damaged.*line 2"):
        read_json(tmp_path / "run.json")


@pytest.mark.parametrize("below", ["", "/run"])
def test_rejects_a_file_in_place_of_the_folder(tmp_path, below):
    (tmp_path / "taken").write_text("precious")
    with pytest.raises(RunError, match="is or is below a file"), locked(tmp_path / f"taken{below}"):
        pass
    assert (tmp_path / "taken").read_text() == "precious"
