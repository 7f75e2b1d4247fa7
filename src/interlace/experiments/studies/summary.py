"""What a study comes to: tables, comparisons with the baseline, and the runs that a report is made of."""

from __future__ import annotations

import logging
import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from interlace.experiments.studies._state import Places
from interlace.experiments.studies.cells import cells_of
from interlace.experiments.studies.comparing import compare
from interlace.experiments.studies.correlating import correlations
from interlace.experiments.studies.differences import differences
from interlace.experiments.studies.rendering import write_tables
from interlace.experiments.studies.results import JSON, read_results
from interlace.experiments.studies.tables import tables
from interlace.experiments.studies.transfer import transfer
from interlace.training.predictions import outcomes_file
from interlace.training.run_folder import RECIPE, SCORES, read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from interlace.experiments.studies import Study
    from interlace.experiments.studies._comparison import Comparison, Untested
    from interlace.experiments.studies.cells import Cell
    from interlace.experiments.studies.measures import Measure, Variant
    from interlace.experiments.studies.results import Row
    from interlace.experiments.studies.tables import Table

log = logging.getLogger(__name__)
TABLES, COMPARISONS = "tables", "comparisons.json"
_DRAWS = 2000  # of examples, for each system in each language: a third of a second at 5,000 examples


def summarise(study: Study, folder: Path, into: Path) -> list[Table]:
    """Write the tables and comparisons of what is finished, and return the tables; none where nothing is.

    Args:
        study: the grid.
        folder: where its file stands.
        into: the study's folder.

    Raises:
        SettingsError: `evaluate.metrics` names a score that a task does not tell.
    """
    rows = read_results(into) if read_json(into / JSON) else []
    if not rows:
        return []
    baseline = study.reference if any(row["system"] == study.reference for row in rows) else None
    cells = cells_of(study, folder)
    recipes = {cell.system: cell.recipe for cell in cells}
    metrics = study.evaluate.metrics
    compared = [
        *compare(rows, baseline, metrics=metrics),
        *compare(rows, baseline, "languages", metrics=metrics),
    ]
    by_examples, reasons = _by_examples(rows, baseline, into)
    compared += by_examples
    missing = unfinished(cells, rows) + unlike_code(rows)
    found = [
        *(replace(one, caption=one.caption + missing) for one in tables(rows, study.name, baseline, recipes, metrics)),
        *differences(compared, study.name),
        *correlations(rows, study.name),
        *transfer(rows, study.name, recipes),
    ]
    write_tables(into / TABLES, found)
    write_json(into / COMPARISONS, [*map(told, compared), *reasons])
    return found


def unfinished(cells: Sequence[Cell], rows: Sequence[Row]) -> str:
    """A sentence for captions on the systems of which cells have no scores, having failed or not been run; or none."""
    done = {row["cell"] for row in rows}
    left = Counter(cell.label for cell in cells if cell.name not in done)
    if not left:
        return ""
    whole = Counter(cell.label for cell in cells)
    told = ", ".join(f"{whole[label] - count} of {label}'s {whole[label]}" for label, count in left.items())
    return f" Not all runs are finished: {told}."


def unlike_code(rows: Sequence[Row]) -> str:
    """A sentence for captions on the commits that scored the cells, or none where it was one."""
    by_cell = {row["cell"]: row["commit"] or "no known commit" for row in rows}
    counts = Counter(by_cell.values())
    if len(counts) < 2:
        return ""
    return f" Runs are of unlike code: {', '.join(f'{count} of {commit}' for commit, count in counts.items())}."


def _by_examples(
    rows: Sequence[Row], baseline: str | None, into: Path
) -> tuple[list[Comparison], list[dict[str, Any]]]:
    """Over examples, task by task; and of the systems that cannot be compared so, why not.

    Of a task that tells nobody what examples get, and of one that the baseline has no score in, nothing is said.
    """
    baseline = baseline or rows[0]["system"]
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["task"], row["setting"]), []).append(row)
    found: list[Comparison] = []
    reasons: list[dict[str, Any]] = []
    for (task, setting), some in groups.items():
        files = {outcomes_file(into / row["run"], task, row["tuning_seed"], setting) for row in some}
        if not any(file.is_file() for file in files) or all(row["system"] != baseline for row in some):
            continue
        untested: list[Untested] = []
        found += compare(some, baseline, "examples", into, draws=_DRAWS, untested=untested.append)
        _warn(untested)
        reasons += map(_not_told, untested)
    return found, reasons


def _warn(untested: Sequence[Untested]) -> None:
    """Once for each pair and reason, with the languages in which it is so."""
    languages: dict[tuple[str, ...], list[str]] = {}
    for one in untested:
        place = one.measure.task, one.measure.setting, one.variant.label, one.against.label, one.why
        languages.setdefault(place, []).append(one.measure.language)
    for (task, setting, system, other, why), spoken in languages.items():
        message = "%s, %s: %s is not compared with %s by test examples in %s: %s"
        log.warning(message, task, setting, system, other, ", ".join(spoken), why)


def _not_told(one: Untested) -> dict[str, Any]:
    """A comparison that could not be made, as plain data."""
    return {
        **dict.fromkeys(_TOLD),
        **_place(one.measure, one.variant, one.against),
        "resampled": "examples",
        "why_not": one.why,
    }


def _place(measure: Measure, variant: Variant, against: Variant) -> dict[str, Any]:
    names = {key: getattr(measure, key) for key in ("task", "setting", "language", "metric", "unit")}
    return {**names, "system": variant.label, "against": against.label}


def told(one: Comparison) -> dict[str, Any]:
    """A comparison as plain data; what cannot be said is null."""
    data = {
        **_place(one.measure, one.variant, one.against),
        "difference": one.difference.value,
        "low": one.difference.low,
        "high": one.difference.high,
        "p": one.p,
        "holm": one.adjusted,
        "least_p": one.min_p,
        "resampled": one.unit,
        "n": one.n,
        "cohens_d": one.effect,
        "cliffs_delta": one.delta,
        "mcnemar": one.mcnemar,
        "why_not": None,
    }
    return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in data.items()}


_TOLD = (
    *("task", "setting", "language", "metric", "unit", "system", "against", "difference", "low", "high", "p", "holm"),
    *("least_p", "resampled", "n", "cohens_d", "cliffs_delta", "mcnemar", "why_not"),
)  # keys of a comparison as plain data


def finished_runs(study: Study, folder: Path, into: Path) -> list[Path]:
    """Folders of finished cells that a report can show: those that were pre-trained here, and scored checkpoints."""
    places = Places(into)
    runs = [places.cell(cell.name) for cell in cells_of(study, folder) if places.is_finished(cell)]
    return [run for run in runs if (run / RECIPE).is_file() or (run / SCORES).is_file()]
