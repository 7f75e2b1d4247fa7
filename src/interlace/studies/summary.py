"""What a study comes to: tables, comparisons with the baseline, and the runs that a report is made of."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any

from interlace.errors import DataError
from interlace.studies._state import Places
from interlace.studies.cells import cells_of
from interlace.studies.comparing import compare
from interlace.studies.rendering import write_tables
from interlace.studies.results import JSON, read_results
from interlace.studies.tables import tables
from interlace.train.folder import RECIPE, read_json, write_json
from interlace.train.outcomes import outcomes_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from interlace.studies import Study
    from interlace.studies.comparing import Comparison
    from interlace.studies.results import Row
    from interlace.studies.tables import Table

log = logging.getLogger(__name__)
TABLES, COMPARISONS = "tables", "comparisons.json"
_DRAWS = 2000  # of examples, for each system in each language: a third of a second at 5,000 examples


def summarise(study: Study, folder: Path, into: Path) -> list[Table]:
    """Write the tables and comparisons of what is finished, and return the tables; none where nothing is.

    Args:
        study: the grid.
        folder: where its file stands.
        into: the study's folder.
    """
    rows = read_results(into) if read_json(into / JSON) else []
    if not rows:
        return []
    baseline = study.reference if any(row["system"] == study.reference for row in rows) else None
    recipes = {cell.system: cell.recipe for cell in cells_of(study, folder)}
    found = tables(rows, study.name, baseline, recipes)
    write_tables(into / TABLES, found)
    write_json(into / COMPARISONS, [told(one) for one in _comparisons(rows, baseline, into)])
    return found


def _comparisons(rows: Sequence[Row], baseline: str | None, into: Path) -> list[Comparison]:
    """By seeds and languages, and by examples in the tasks of which all runs kept what those got."""
    found = [*compare(rows, baseline), *compare(rows, baseline, "languages")]
    kept: dict[str, bool] = {}
    for row in rows:
        file = outcomes_file(into / row["run"], row["task"], row["tuning_seed"], row["setting"])
        kept[row["task"]] = kept.get(row["task"], True) and file.is_file()
    some = [row for row in rows if kept[row["task"]]]
    try:
        return [*found, *(compare(some, baseline, "examples", into, draws=_DRAWS) if some else [])]
    except DataError as error:  # runs of another version, or on other examples
        log.info("nothing is said of other test examples: %s", error)
        return found


def told(one: Comparison) -> dict[str, Any]:
    """A comparison as plain data; what cannot be said is null."""
    data = {
        **{key: getattr(one.measure, key) for key in ("task", "setting", "language", "metric", "unit")},
        "system": one.variant.label,
        "against": one.against.label,
        "difference": one.difference.value,
        "low": one.difference.low,
        "high": one.difference.high,
        "p": one.p,
        "holm": one.adjusted,
        "least_p": one.least,
        "resampled": one.unit,
        "n": one.n,
        "cohens_d": one.effect,
        "cliffs_delta": one.delta,
    }
    return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in data.items()}


def finished_runs(study: Study, folder: Path, into: Path) -> list[Path]:
    """Run folders of finished cells that a report can show: those that were pre-trained here."""
    places = Places(into)
    runs = [places.cell(cell.name) for cell in cells_of(study, folder) if places.is_finished(cell)]
    return [run for run in runs if (run / RECIPE).is_file()]
