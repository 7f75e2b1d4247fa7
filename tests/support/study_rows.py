"""Rows of results as a study writes them."""

from __future__ import annotations

from typing import Any


def row(system: str, seed: int | None, language: str, score: float, **more: Any) -> dict[str, Any]:
    """The main score of a run of a system in a language, with one fine-tuning."""
    fixed = {
        "study": "s", "cell": f"{system},seed={seed}", "system": system, "label": system.upper(), "model": None,
        "pretraining_seed": seed, "tuning_seed": 0, "task": "pos", "setting": "zero-shot", "source": "en",
        "language": language, "metric": "accuracy", "main": True, "unit": "%", "greater_is_better": True,
        "score": score, "n": 100, "run": f"cells/{system},seed={seed}",
    }  # fmt: skip
    return {**fixed, **more}
