"""Studies run to their end whatever befalls single cells; `interlace` itself is a stand-in that takes no time."""

import json
import os
import re
import signal
import subprocess
import threading
import time
from dataclasses import fields

import pytest

from interlace.core.errors import RunError, SettingsError
from interlace.experiments.studies import read_study, running
from interlace.experiments.studies.running import run_study
from interlace.report.study import summarize
from interlace.scores import Score, ScoreTable
from toy_settings import TOY, under

pytestmark = pytest.mark.usefixtures("stand_in")


@pytest.fixture
def run(grid, tmp_path, monkeypatch):
    """Runs the grid into one folder, with changes to it."""

    monkeypatch.setattr(running, "POLL", 0.02)

    def call(changes=None, **options):
        return run_study(*read_study(str(grid), changes or {}), tmp_path / "study", **options)

    return call


def folder_of(tmp_path, cell):
    return tmp_path / "study" / "cells" / cell


def calls(tmp_path, cell):
    path = folder_of(tmp_path, cell) / "calls.jsonl"
    return (
        [json.loads(line) for line in path.read_text().split("\n") if line]
        if path.exists()
        else []
    )


def commands(tmp_path, cell):
    return [call["arguments"][0] for call in calls(tmp_path, cell)]


def told(tmp_path, cell):
    return json.loads((folder_of(tmp_path, cell) / "cell.json").read_text())


def scores(tmp_path):
    columns = {field.name for field in fields(Score)}
    rows = []
    for row in json.loads((tmp_path / "study" / "results.json").read_text()):
        axes = {name: row.pop(name) for name in set(row) - columns}
        rows.append(Score(**row, axes=axes))
    return ScoreTable(rows)


def test_pretrains_and_evaluates_every_cell_once(run, tmp_path):
    assert [cell.name for cell in run(only="b").cells] == ["b,seed=0", "b,seed=1"]
    assert calls(tmp_path, "a,seed=0") == []
    assert run().failed == {}
    assert len(calls(tmp_path, "b,seed=0")) == 2  # was done before
    for cell in ("a,seed=0", "b,seed=0", "a,seed=1", "b,seed=1"):
        assert commands(tmp_path, cell) == ["pretrain", "evaluate"]
        assert told(tmp_path, cell)["state"] == "finished"
    run()
    assert len(calls(tmp_path, "a,seed=0")) == 2  # nothing is done twice


def test_results_are_tidy_tables(run, tmp_path):
    run({"axes.train.steps": "[5]", "evaluate.seeds": "2"})
    rows = scores(tmp_path)
    assert len(rows) == 4 * 3 * 2 * 2  # cells, languages, fine-tunings, metrics
    [one] = rows.filter(cell="b,steps=5,seed=1", language="de", seed=1, main=True)
    assert one.score == 52.0
    assert (one.label, one.axes, one.pretraining_seed) == ("B, steps 5", {"train.steps": 5}, 1)
    assert (one.tokens, one.steps) == (1000, 5)


def test_failed_cell_is_retried_and_does_not_stop_others(run, tmp_path):
    killed = run({"systems.a.set.about": "die"}, only="a,seed=0").failed
    assert killed["a,seed=0"].startswith("killed by signal 9 (out of memory?)")
    outcome = run({"systems.a.set.about": "refuse"})
    assert outcome.failed == {
        f"a,seed={seed}": "error: text.en: no such file" for seed in (0, 1)
    }
    assert told(tmp_path, "a,seed=0")["error"] == "error: text.en: no such file"
    assert "some lines first" in (folder_of(tmp_path, "a,seed=0") / "log.txt").read_text()
    assert {row.system for row in scores(tmp_path)} == {"b"}
    assert run().failed == {}  # `about` is no setting, so these are the same cells
    assert commands(tmp_path, "a,seed=0") == ["pretrain"] * 3 + ["evaluate"]
    assert commands(tmp_path, "b,seed=0") == ["pretrain", "evaluate"]


def wait_for(path):
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_stopped_study_interrupts_its_child_and_resumes(run, tmp_path):
    def interrupt():
        wait_for(folder_of(tmp_path, "a,seed=0") / "asleep")
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run({"systems.a.set.about": "sleep"})
    thread.join()
    assert (folder_of(tmp_path, "a,seed=0") / "interrupted").exists()
    assert told(tmp_path, "a,seed=0")["state"] == "stopped"
    assert not folder_of(tmp_path, "b,seed=0").exists()
    assert run().failed == {}


def test_rejects_cells_of_other_settings(run, tmp_path):
    run()
    with pytest.raises(SettingsError) as error:
        run({"systems.b.set.train.steps": "9"})
    assert str(error.value).count("began with other settings (train.steps was 1560, is 9)") == 1
    assert run({"systems.b.set.train.steps": "9"}, only="a").failed == {}
    assert run().failed == {}
    assert len(calls(tmp_path, "b,seed=0")) == 2


def test_changed_evaluation_keeps_the_model(run, tmp_path):
    run()
    run({"evaluate.seeds": "2"})
    assert commands(tmp_path, "a,seed=0") == ["pretrain", "evaluate", "evaluate"]
    assert {row.seed for row in scores(tmp_path)} == {0, 1}
    run({"evaluate.seeds": "1", "evaluate.tasks": '["pos"]'})
    assert {(row.task, row.seed) for row in scores(tmp_path)} == {("pos", 0)}


def test_results_omit_removed_languages_and_systems(run, grid, tmp_path):
    """Their scores stay in the cells, where they may be asked for again."""
    run({"evaluate.tasks": '["pos"]'})
    assert {row.language for row in scores(tmp_path)} == {"en", "de", "es"}
    run({"evaluate.tasks": '["pos"]', "set.evaluate.tasks.pos.targets": '["de"]'})
    assert {row.language for row in scores(tmp_path)} == {"en", "de"}
    grid.write_text(grid.read_text().partition("[systems.b]")[0])
    run()
    assert {row.system for row in scores(tmp_path)} == {"a"}


def checkpoint(model):
    """A system that evaluates a checkpoint on the toy corpus of the others."""
    return {
        "systems.c.recipe": "tiny/mlm",
        "systems.c.model": model,
        **under("systems.c.set", **TOY),
    }


def test_checkpoint_is_only_evaluated(run, tmp_path):
    run(checkpoint("some/model"), only="c")
    [call] = calls(tmp_path, "c")
    run_folder = folder_of(tmp_path, "c")
    assert call["arguments"] == [
        *("evaluate", "some/model", "--recipe", str(run_folder / "evaluate.json")),
        *("--tasks", "retrieval", "--seeds", "1", "--output", str(run_folder)),
    ]
    found = {(row.model, row.pretraining_seed, row.tokens) for row in scores(tmp_path)}
    assert found == {("some/model", None, None)}


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_changed_checkpoint_is_scored_again(run, tmp_path, name):
    (tmp_path / "model").mkdir()
    for each in ("model.safetensors", "config.json"):
        (tmp_path / "model" / each).write_text("as it was")
    run(checkpoint(str(tmp_path / "model")), only="c")
    (tmp_path / "model" / name).write_text("another")
    for _ in range(2):
        run(checkpoint(str(tmp_path / "model")), only="c")
    assert commands(tmp_path, "c") == ["evaluate"] * 2


def test_rejects_missing_checkpoints_before_running(run, tmp_path):
    absent = tmp_path / "absent"
    changes = checkpoint(str(absent))
    with pytest.raises(SettingsError, match=rf"  c: {absent}: no such checkpoint"):
        run(changes)
    with pytest.raises(SettingsError, match=r"b .*stepss"):
        run({"systems.b.set.train.stepss": "1"})
    assert not calls(tmp_path, "a,seed=0")
    absent.mkdir()
    assert not run(changes, only="c").failed
    absent.rmdir()
    assert not run(changes, only="c").failed  # what is finished needs it no more


def test_rejects_folders_with_other_files(run, tmp_path):
    place = tmp_path / "study/recipe.json"
    place.parent.mkdir()
    place.write_text("{}")
    with pytest.raises(RunError, match=r"holds recipe\.json but no study\.json"):
        run()
    assert place.read_text() == "{}"
    assert not (tmp_path / "study" / "study.json").exists()


def test_a_folder_holds_one_study(run):
    run()
    with pytest.raises(
        RunError, match=r"holds study 'grid', not 'other'; choose another folder"
    ):
        run({"name": "other"})


def test_rejects_damaged_cell_files(run, tmp_path):
    run(only="a,seed=0")
    (folder_of(tmp_path, "a,seed=0") / "cell.json").write_text('{"seconds": 3, "training": 1')
    with pytest.raises(RunError, match=r"cell.json: damaged"):
        run()


PROCESS = """
import sys
from pathlib import Path
from interlace.experiments.studies import read_study, running
from interlace.report.study import summarize
from interlace.scores import Score, ScoreTable

_, grid, into, about, sys.executable = sys.argv
running.POLL = 0.02
study, folder = read_study(grid, {"set.about": about})
outcome = running.run_study(study, folder, Path(into))
with running.StudyFolder(Path(into)).lock():
    summarize(study, folder, Path(into))
sys.exit(len(outcome.failed))
"""


@pytest.fixture
def start(python, grid, tmp_path):
    """Starts a process that runs and summarizes the grid."""

    def call(about):
        return subprocess.Popen(
            [python, "-c", PROCESS, grid, tmp_path / "study", about, running.sys.executable]
        )

    return call


def written_results(folder):
    """Return the tables and comparisons, and the scores."""
    texts = {
        path.name: path.read_text()
        for path in [*folder.glob("tables/*"), folder / "comparisons.json"]
    }
    rows = json.loads((folder / "results.json").read_text())
    return texts, rows


def test_two_processes_share_the_cells_and_write_the_same_results(start, grid, tmp_path):
    processes = [start("nap"), start("nap")]
    assert [process.wait() for process in processes] == [0, 0]
    parents = set()
    for cell in ("a,seed=0", "b,seed=0", "a,seed=1", "b,seed=1"):
        assert commands(tmp_path, cell) == ["pretrain", "evaluate"]
        parents.update(call["parent"] for call in calls(tmp_path, cell))
    assert len(parents) == 2
    study, folder = read_study(str(grid))
    run_study(study, folder, tmp_path / "alone")
    summarize(study, folder, tmp_path / "alone")
    assert written_results(tmp_path / "study") == written_results(tmp_path / "alone")


def test_a_cell_of_another_process_is_done_last_or_taken_over(run, start, tmp_path, caplog):
    other = start("sleep")
    wait_for(folder_of(tmp_path, "a,seed=0") / "asleep")

    def kill():
        wait_for(folder_of(tmp_path, "b,seed=1") / "scores.json")
        other.kill()

    thread = threading.Thread(target=kill)
    thread.start()
    with caplog.at_level("INFO"):
        assert run().failed == {}
    thread.join()
    other.wait()
    assert re.search(
        r"a,seed=0 is left to another process: .*a,seed=0\.lock: held by another process",
        caplog.text,
    )
    assert commands(tmp_path, "a,seed=0") == ["pretrain", "pretrain", "evaluate"]
    assert commands(tmp_path, "b,seed=0") == ["pretrain", "evaluate"]
    assert len({row.cell for row in scores(tmp_path)}) == 4
