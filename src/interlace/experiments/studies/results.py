"""What finished cells scored, as one tidy table: a row a score, in `results.parquet` and `results.json`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from interlace.core.errors import DataError
from interlace.core.files import atomic, must_exist
from interlace.experiments.studies._asked import asked_of
from interlace.training.run_folder import RUN, SCORES, read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from interlace.experiments.studies import Study
    from interlace.experiments.studies._state import Places, State
    from interlace.experiments.studies.cells import Cell
    from interlace.tasks import Task

Row = dict[str, Any]
PARQUET, JSON = "results.parquet", "results.json"
ZERO_SHOT = "zero-shot"  # the setting of scores that name none
KINDS: dict[str, str] = {
    "study": "string", "cell": "string", "system": "string", "label": "string", "model": "string",
    "pretraining_seed": "int64", "tuning_seed": "int64",
    "task": "string", "setting": "string", "source": "string", "language": "string",
    "metric": "string", "main": "bool", "unit": "string", "greater_is_better": "bool", "score": "double",
    "low": "double", "high": "double", "n": "int64",
    "translations": "string", "tuning": "string", "contamination": "string",
    "tokens": "int64", "steps": "int64", "parameters": "int64",
    "seconds": "double", "pretraining_seconds": "double", "evaluation_seconds": "double",
    "interlace": "string", "commit": "string", "device": "string", "precision": "string",
    "finished": "string", "run": "string", "key": "string", "model_key": "string",
    "settings_key": "string", "files_key": "string", "scoring_version": "int64",
}  # fmt: skip
"""Columns and their Arrow types; a column an axis stands behind `label`. `low` and `high`: the middle 95 % of the main
score over test examples drawn again, where what each got is known. `seconds`: of predicting and scoring;
`tuning` (what was selected) and `leak` (test text seen in training) are tables, as JSON text in the Parquet file;
`key` names the model and settings that a score is of; `greater_is_better` is empty where neither is."""

# What a score's row has as well:
_SCORED = (
    "task",
    "source",
    "language",
    "n",
    "seconds",
    "translations",
    "tuning",
    "contamination",
    "key",
    "model_key",
    "settings_key",
    "files_key",
    "scoring_version",
)


def collect(study: Study, cells: Sequence[Cell], places: Places) -> list[Row]:
    """The rows of all cells that are finished under the settings they have now, in the study's order.

    Scores outlive what was asked: of tasks, settings, languages and seeds that the study has dropped there are none.
    """
    return [row for cell in cells if places.is_finished(cell) for row in _rows(study, cell, places)]


def _rows(study: Study, cell: Cell, places: Places) -> Iterator[Row]:
    run, state = places.cell(cell.name), places.state(cell)
    home = run if cell.model else places.home(cell)
    about = _about(study, cell, state, read_json(home / RUN) or {})
    about["run"] = run.relative_to(places.into).as_posix()
    asked = {name: asked_of(cell.recipe, name) for name in cell.tasks}
    for score in read_json(run / SCORES, []):
        item = score.get("setting") or ZERO_SHOT, score["language"]
        if item in asked.get(score["task"], ()) and score["seed"] < cell.tuning_seeds:
            task = cell.recipe.evaluate.task(score["task"])
            for metric, value in {score["metric"]: score["score"], **score.get("scores", {})}.items():
                yield _ordered({**about, **_measured(score, metric, value, task)}, cell.axes)


def _about(study: Study, cell: Cell, state: State, run: dict[str, Any]) -> Row:
    seconds = run.get("seconds", {})
    return {
        **cell.axes,
        "study": study.name,
        "cell": cell.name,
        "system": cell.system,
        "label": cell.label,
        "model": cell.model,
        "pretraining_seed": cell.seed,
        "pretraining_seconds": round(sum(seconds.get(stage, 0.0) for stage in ("data", "training", "export")), 3),
        "evaluation_seconds": state.seconds.get("evaluate"),
        "interlace": state.interlace,
        "commit": state.commit,
        "finished": state.finished,
        **{key: run.get(key) for key in ("tokens", "steps", "parameters", "device", "precision")},
    }


def _measured(score: Row, metric: str, value: float, task: Task) -> Row:
    main = metric == score["metric"]
    unit, greater = task.scale(metric)
    return {
        **{key: score.get(key) for key in _SCORED},
        "setting": score.get("setting") or ZERO_SHOT,
        "tuning_seed": score["seed"],
        "metric": metric,
        "main": main,
        "unit": score.get("unit", "%") if main else unit,
        "greater_is_better": score.get("greater_is_better", True) if main else greater,
        "score": value,
        **({key: score.get(key) for key in ("low", "high")} if main else {}),
    }


def _ordered(row: Row, axes: dict[str, Any]) -> Row:
    names = list(KINDS)
    behind = names.index("label") + 1
    return {name: row.get(name) for name in [*names[:behind], *axes, *names[behind:]]}


def write_results(into: Path, rows: Sequence[Row]) -> None:
    """Both files, each whole or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    axes = [name for name in (rows[0] if rows else {}) if name not in KINDS]
    columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else KINDS)}
    kinds: dict[str, Any] = {
        name: getattr(pa, kind.replace("double", "float64").replace("bool", "bool_"))() for name, kind in KINDS.items()
    }
    kinds |= {axis: _kind(columns[axis]) for axis in axes}
    arrays = {
        name: pa.array([_fitting(value, kinds[name]) for value in values], kinds[name])
        for name, values in columns.items()
    }
    with atomic(into / PARQUET) as partial:
        pq.write_table(pa.table(arrays), partial)
    write_json(into / JSON, list(rows))


def _kind(values: Sequence[Any]) -> Any:
    """Numbers and truth values as they are, all else as text."""
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int}:
        return pa.int64()
    return pa.float64() if kinds and kinds <= {int, float} else pa.string()


def _fitting(value: Any, kind: Any) -> Any:
    if str(kind) != "string" or value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def read_results(into: Path) -> list[Row]:
    """The rows of a study's folder.

    Raises:
        DataError: it holds none; RunError: the file is damaged.
    """
    rows = read_json(must_exist(into / JSON, "study's results"), [])
    if not rows:
        raise DataError(f"{into / JSON}: holds no scores yet; run the study first")
    found: list[Row] = rows
    return found
