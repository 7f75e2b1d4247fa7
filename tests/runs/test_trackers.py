"""Losses, evaluations and scores reach the trackers of a run: stand-ins for Weights & Biases and MLflow."""

import json
import sys

import pytest
from accelerate import tracking
from accelerate.utils import LoggerType

from interlace.core.errors import MissingDependencyError
from interlace.experiments.evaluate import evaluate, target_of
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import read_recipe
from interlace.experiments.studies import Study, cells_of
from interlace.training.device import accelerator_for, start_trackers

WANDB = """
import json, pathlib
calls = pathlib.Path({calls!r})
def write(*call):
    with calls.open("a") as file:
        file.write(json.dumps(call) + "\\n")
class Run:
    def log(self, values, step=None): write("log", values, step)
    def finish(self): write("finish")
class config:
    def update(values, **_): write("config", values)
def init(**options):
    write("init", options)
    return Run()
"""
MLFLOW = (
    WANDB
    + """
class utils:
    class validation:
        MAX_PARAM_VAL_LENGTH, MAX_PARAMS_TAGS_PER_BATCH = 6000, 100
def search_experiments(filter_string): return []
def create_experiment(**options): write("experiment", options["name"])
def start_run(**options): write("init", options)
def log_params(values): write("config", values)
def log_metrics(values, step=None): write("log", values, step)
def end_run(): write("finish")
"""
)


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """Put both packages on the path; return what was called."""
    for name, source in (("wandb", WANDB), ("mlflow", MLFLOW)):
        (tmp_path / "packages" / name).mkdir(parents=True)
        package = tmp_path / "packages" / name / "__init__.py"
        package.write_text(source.format(calls=str(tmp_path / name)))
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path / "packages")
    monkeypatch.setattr(
        tracking,
        "_available_trackers",
        [LoggerType.WANDB, LoggerType.MLFLOW, LoggerType.TENSORBOARD],
    )
    yield lambda name: [json.loads(line) for line in (tmp_path / name).read_text().splitlines()]
    for name in ("wandb", "mlflow"):
        sys.modules.pop(name, None)


def test_training_and_scores_reach_every_tracker(small, calls, tmp_path):
    changes = {
        "train.steps": "3",
        "train.evaluate_every": "3",
        "train.trackers": '["wandb", "mlflow", "tensorboard"]',
    }
    files = {"evaluate.tasks.retrieval.files": '"pairs.{language}"', "evaluate.source": '"en"'}
    run = tmp_path / "run"
    pretrain(read_recipe(str(small), {**changes, **files}), run)
    rows = evaluate(target_of(str(run)), ["retrieval"])
    for name in ("wandb", "mlflow"):
        found = calls(name)
        starts = [call[1] for call in found if call[0] == "init"]
        assert len(starts) == 2
        assert starts[0] == starts[1]  # the scores go to the same run
        logs = [call[1:] for call in found if call[0] == "log"]
        assert [step for values, step in logs if "learning_rate" in values] == [1, 2, 3]
        assert any("perplexity/mean" in values for values, _ in logs)
        scores, step = logs[-1]
        assert (scores["retrieval/p at 1/xx"], step) == (pytest.approx(rows[0]["scores"]["p@1"]), 3)
        [config] = [call[1] for call in found if call[0] == "config" and "train.steps" in call[1]]
        assert config["train.steps"] == 3
        assert found[-1] == ["finish"]
    first = next(call[1] for call in calls("wandb") if call[0] == "init")
    assert (first["project"], first["name"], first["group"], first["resume"]) == (
        "interlace",
        "run",
        "small",
        "allow",
    )
    assert next(call[1] for call in calls("mlflow") if call[0] == "init")["run_name"] == "run"
    assert list((run / "trackers").rglob("events.*"))


def test_an_id_is_of_the_run_and_not_of_its_path(calls, tmp_path):
    for folder, moved in (
        ("run", "other"),
        ("run", None),
        ("other", None),
    ):  # the second has the path of the first
        accelerator = accelerator_for("no", trackers=["wandb"], folder=tmp_path / folder)
        start_trackers(accelerator, tmp_path / folder, "small")
        if moved:
            (tmp_path / folder).rename(tmp_path / moved)
    first, second, again = [call[1]["id"] for call in calls("wandb") if call[0] == "init"]
    assert first == again != second


def test_another_tracker_does_not_make_another_run(small, tmp_path, calls):
    run = tmp_path / "run"
    pretrain(read_recipe(str(small), {"train.steps": "2"}), run)
    assert (
        pretrain(read_recipe(str(small), {"train.steps": "2", "train.trackers": '["wandb"]'}), run)
        == run / "model"
    )


def test_a_missing_package_is_named_before_training(small, tmp_path):
    with pytest.raises(MissingDependencyError, match="clearml"):
        pretrain(read_recipe(str(small), {"train.trackers": '["clearml"]'}), tmp_path / "run")


def test_cells_of_a_study_send_to_its_trackers(tmp_path):
    study = {
        "name": "s",
        "set": {"train": {"trackers": ["tensorboard"]}},
        "systems": {"a": {"recipe": "tiny/mlm"}},
    }
    [cell] = cells_of(Study.read(study), tmp_path)
    assert cell.recipe.train.trackers == ["tensorboard"]
