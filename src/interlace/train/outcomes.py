"""What a tuned model got on every single test example, kept so that systems can be compared example by example.

A file a task, setting and seed, `predictions/TASK.SETTING.SEED.safetensors` in the run's folder, holds two float32 rows
a language: `LANGUAGE.score` and `LANGUAGE.weight`, an entry an example in the order of the test file. The score of any
set of examples is the sum of the one by the sum of the other, so a file serves shares and F1 alike:

    share of right labels    1 or 0                           1
    share of right tags      right words of the sentence      words of the sentence
    entity F1                2 TP of the sentence             2 TP + FP + FN of the sentence
    answer F1, EM            the answer's own, 0 to 1         1
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from interlace.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

FOLDER = "predictions"
_UNSAFE = re.compile(r"[^A-Za-z0-9_+-]")


def outcomes_file(run: Path, task: str, seed: int, setting: str = "zero-shot") -> Path:
    """Where the outcomes of a task in a setting with a fine-tuning seed stand."""
    return run / FOLDER / f"{_UNSAFE.sub('-', task)}.{_UNSAFE.sub('-', setting)}.{seed}.safetensors"


def read_outcomes(path: Path, language: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(N,) score and (N,) weight of one language's examples.

    Raises:
        DataError: there is no such file or language (names the nearest), or the file is damaged.
    """
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise DataError(f"{path}: no such file; outcomes are kept by `interlace evaluate`")
    try:
        with safe_open(path, "np") as file:
            known = [name.removesuffix(".score") for name in file.keys() if name.endswith(".score")]  # noqa: SIM118
            if language not in known:
                raise DataError(f"{path}: holds no language {language!r}{did_you_mean(language, known)}")
            score, weight = (file.get_tensor(f"{language}.{part}").astype(np.float64) for part in ("score", "weight"))
    except SafetensorError as error:
        raise DataError(f"{path}: damaged: {error}") from error
    _check(path, language, score, weight)
    return score, weight


def _check(path: Path, language: str, score: NDArray[np.floating], weight: NDArray[np.floating]) -> None:
    if score.ndim != 1 or score.shape != weight.shape or not weight.sum() > 0:
        found = f"scores of shape {score.shape}, weights of shape {weight.shape} and sum {weight.sum():g}"
        raise DataError(f"{path}: {language}: expected rows of one length with some weight, found {found}")
