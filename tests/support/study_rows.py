"""Rows of results as a study writes them, and outcomes as an evaluation keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import save_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def row(system: str, seed: int | None, language: str, score: float, **more: Any) -> dict[str, Any]:
    """The main score of a run of a system in a language, with one fine-tuning."""
    fixed = {
        "study": "s", "cell": f"{system},seed={seed}", "system": system, "label": system.upper(), "model": None,
        "pretraining_seed": seed, "tuning_seed": 0, "task": "pos", "setting": "zero-shot", "source": "en",
        "language": language, "metric": "accuracy", "main": True, "unit": "%", "greater_is_better": True,
        "score": score, "n": 100, "run": f"cells/{system},seed={seed}",
    }  # fmt: skip
    return {**fixed, **more}


def with_dictionary(rows: Sequence[dict[str, Any]], shares: dict[str, float]) -> list[dict[str, Any]]:
    """The rows as a probe of words has them, with what systems that have read a dictionary tell beside the main score.

    shares: by system, the percent of the words that it has read nothing of. Over all words it has 5 points more.
    """
    more = [
        {**one, "metric": name, "main": False, "score": score}
        for one in rows
        if (share := shares.get(one["system"])) is not None
        for name, score in ((f"{one['metric']}, all", one["score"] + 5), ("held out", share))
    ]
    return [*rows, *more]


def write_outcomes(path: Path, languages: dict[str, tuple[Any, Any]]) -> None:
    """What examples got: (score, weight) by language."""
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {
        f"{language}.{part}": np.asarray(values, np.float32)
        for language, both in languages.items()
        for part, values in zip(("score", "weight"), both, strict=True)
    }
    save_file(arrays, path)
