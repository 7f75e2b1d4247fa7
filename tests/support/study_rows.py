"""Scores as a study collects them, and outcomes as an evaluation keeps them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import save_file

from interlace.scores import Score, ScoreTable
from interlace.training.predictions import outcomes_file, read_outcomes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from interlace.report.tables import Entry
    from interlace.scores.examples import Examples


def row(
    system: str, pretraining: int | None, language: str, score: float, /, **more: Any
) -> Score:
    """The main score of a run of a system in a language, with one fine-tuning."""
    fixed = {
        "study": "s", "cell": f"{system},seed={pretraining}", "system": system, "label": system.upper(),
        "pretraining_seed": pretraining, "pretrained": pretraining is not None, "task": "pos", "source": "en",
        "metric": "accuracy", "n": 100, "run": f"cells/{system},seed={pretraining}",
    }  # fmt: skip
    return Score(language=language, score=score, **{**fixed, **more})


def two_systems() -> ScoreTable:
    """Two systems with four seeds: `b` is far better in German, like `a` in Spanish."""
    rows = []
    for seed, wiggle in enumerate([0.0, 0.4, -0.4, 0.2]):
        for system, german in (("a", 50.0), ("b", 60.0)):
            off = wiggle if system == "a" else -wiggle
            rows += [row(system, seed, "en", 95.0 + off), row(system, seed, "de", german + off)]
            rows += [row(system, seed, "es", 40.0 + 2 * off)]
    return ScoreTable(rows)


def with_dictionary(rows: Iterable[Score], shares: dict[str, float]) -> ScoreTable:
    """The rows as a probe of words has them, with the metrics of systems that were trained on a dictionary.

    shares: by system, the percent of held-out words. Over all words it has 5 points more.
    """
    more = [
        replace(one, metric=name, main=False, score=score)
        for one in rows
        if (share := shares.get(one.system)) is not None
        for name, score in ((f"{one.metric}, all", one.score + 5), ("held out", share))
    ]
    return ScoreTable([*rows, *more])


def write_outcomes(run: Path, task: str, languages: dict[str, tuple[Any, Any]]) -> None:
    """Outcomes of examples: (score, weight) by language."""
    for language, (score, weight) in languages.items():
        columns = {
            "score": np.asarray(score, np.float32),
            "weight": np.asarray(weight, np.float32),
        }
        path = outcomes_file(run, task, 0, language)
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file(columns, path)


def outcomes_in(folder: Path) -> Callable[[Score], Examples]:
    """Reads the outcomes of a row in a study's folder."""

    def read(row: Score) -> Examples:
        path = outcomes_file(folder / row.run, row.task, row.seed, row.language, row.setting)
        return read_outcomes(path, row.key or None)

    return read


def texts(entries: Iterable[Entry | None]) -> list[str | None]:
    """The texts of table cells."""
    return [None if entry is None else entry.text for entry in entries]
