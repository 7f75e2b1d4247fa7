"""Predictions and outcomes of every test example in a run's folder, so that systems can be compared by example.

`predictions/TASK.SETTING.SEED.LANGUAGE.safetensors` holds two float32 rows, `score` and `weight`, with one entry per
example in the order of the test file. The score of any set of examples is the sum of the former divided by the sum of
the latter:

    accuracy                 1 or 0                           1
    tagging accuracy         correct words of the sentence    words of the sentence
    entity F1                2 TP of the sentence             2 TP + FP + FN of the sentence
    answer F1, EM            that of the answer, 0 to 1       1
    P@1 of a word or line    1 or 0, mean of both directions  1; 0 for a word without a vector
    alignment error rate     links that are not in the other  predicted links and sure links
    perplexity               nats of the sentence             its words, or tokens
    translation              chrF of the sentence             1, and below

If the score is not the ratio of two sums, the metadata names the `measure` that computes it from them: for perplexity,
the exponential of the ratio. The sums of BLEU are `counts`, float32 (examples, 10): both lengths, matching n-grams and
n-grams. Examples that are sampled together, such as the questions of one passage, share a number in `groups`, int32.

The metadata (`about`) has the `key` of the score row and the `identity` of the examples, a hash of what is correct for
them: examples can be paired only if identities agree.

Generated text is in `...LANGUAGE.txt`, a line per example; answers to questions are in
`...LANGUAGE.answers.json`, by the question's id, as official evaluation programs read them.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.errors import DataError
from interlace.core.files import atomic
from interlace.core.json_files import JsonMapping, JsonObject, checked, parse_json, write_json
from interlace.core.ragged import Arrays
from interlace.core.randomness import Purpose, generator
from interlace.scores import ORACLE
from interlace.scores.examples import Examples, bootstrap

if TYPE_CHECKING:
    from interlace.tasks import Scores
    from interlace.training.evaluation_job import EvaluationJob
    from interlace.training.selection import Item

FOLDER = "predictions"

_UNSAFE = re.compile(r"[^A-Za-z0-9_+-]")
_BOOTSTRAP_SAMPLES = 2000  # a third of a second for 10,000 examples
_COLUMNS = {"score": np.float32, "weight": np.float32, "counts": np.float32, "groups": np.int32}


def outcomes_file(
    run: Path,
    task: str,
    seed: int,
    language: str,
    setting: str = "zero-shot",
) -> Path:
    """Return the file with the outcomes of a task in a language and a setting, as in score tables.

    seed: of fine-tuning.
    """
    parts = [task, setting.removesuffix(ORACLE), str(seed), language]
    name = ".".join(map(safe_file_name, parts))
    return run / FOLDER / f"{name}.safetensors"


def outcomes_key(row: JsonMapping) -> str:
    """Return the key under which the outcomes of a score's test examples are stored."""
    return hashed(
        [str(row.get(name)) for name in ("model_key", "settings_key", "scoring_version")]
    )


def hashed(parts: Sequence[str]) -> str:
    """Return a hash of 16 hexadecimal digits."""
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=8).hexdigest()


def safe_file_name(name: str) -> str:
    """Return a task, setting or language as a part of a file name."""
    return _UNSAFE.sub("-", name)


def confidence_interval(examples: Examples, unit: str = "%") -> dict[str, float]:
    """Return `low` and `high` of a score in a unit (or a ratio): its 95 % bootstrap interval over test examples.

    It does not cover the variance of seeds. Empty for a single example.
    """
    interval = bootstrap(
        examples, generator(Purpose.STATISTICS, 0, 3), draws=_BOOTSTRAP_SAMPLES
    )
    scale = 100.0 if unit == "%" else 1.0
    ends = {}
    if math.isfinite(interval.low):
        ends["low"] = round(scale * interval.low, 4)
    if math.isfinite(interval.high):
        ends["high"] = round(scale * interval.high, 4)
    return ends


def record_outcomes(
    job: EvaluationJob, item: Item, scores: Scores, answers: JsonMapping | None = None
) -> JsonObject:
    """Write the outcomes of one language, and its generated text or its answers by kind, atomically.

    Nothing is written without outcomes or a folder for them, and in other processes than the first.
    Returned for the score's row: its `low` and `high`, and the identity of the `examples`.
    """
    outcomes = scores.outcomes
    if outcomes is None or job.output is None or not job.accelerator.is_main_process:
        return {}
    path = outcomes_file(
        job.output,
        job.name,
        job.seed,
        item.language,
        item.setting,
    )
    write_outcomes(path, outcomes, job.key)
    for name, content in (answers or {}).items():
        write_json(path.with_suffix(f".{name}.json"), content)
    if scores.outputs:
        with atomic(path.with_suffix(".txt")) as partial:
            lines = [text.replace("\r", " ").replace("\n", " ") for text in scores.outputs]
            partial.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    task: Any = job.task
    columns: JsonObject = dict(confidence_interval(outcomes, task.unit))
    if outcomes.identity:
        columns["examples"] = outcomes.identity
    return columns


def write_outcomes(path: Path, examples: Examples, key: str) -> None:
    """Write outcomes atomically; key: of the score row."""
    from safetensors.numpy import save_file

    about = {"key": key, "identity": examples.identity, "measure": examples.measure}
    columns: Arrays = {}
    for name, dtype in _COLUMNS.items():
        values = getattr(examples, name)
        if values is not None:
            columns[name] = np.ascontiguousarray(values, dtype)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as partial:
        metadata = {"about": json.dumps(about)}  # several entries would be in any order
        save_file(columns, partial, metadata)


def read_outcomes(path: Path, key: str | None = None) -> Examples:
    """Return the outcomes of test examples; raise a DataError if there are none.

    key: key of the score row that they must belong to; None: any.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file; `interlace evaluate` writes it")
    columns: Arrays = {}
    with _open_outcomes(path) as file:
        for name in file.keys():  # noqa: SIM118 - no mapping
            read_as = np.int64 if name == "groups" else np.float64
            columns[name] = file.get_tensor(name).astype(read_as)
        about = _about(file.metadata(), path)
    score = columns.get("score", np.zeros(0))
    weight = columns.get("weight", np.zeros(0))
    if score.ndim != 1 or score.shape != weight.shape or not weight.sum() > 0:
        shapes = f"scores of shape {score.shape}, weights of shape {weight.shape} and sum {weight.sum():g}"
        raise DataError(f"{path}: expected rows of one length with some weight, found {shapes}")
    if key is not None and about.get("key") != key:
        raise DataError(
            f"{path}: outcomes of another model or settings; run `interlace evaluate` again"
        )
    return Examples(
        score,
        weight,
        about.get("identity", ""),
        measure=about.get("measure", "ratio"),
        counts=columns.get("counts"),
        groups=columns.get("groups"),
    )


@contextmanager
def _open_outcomes(path: Path) -> Iterator[Any]:
    """Open a file of outcomes; raise a DataError that names it if it is damaged."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "np") as file:
            yield file
    except (SafetensorError, ValueError) as error:
        raise DataError(f"{path}: damaged: {error}") from error


def _about(metadata: dict[str, str] | None, path: Path) -> dict[str, str]:
    text = (metadata or {}).get("about", "{}")
    return checked(parse_json(text), dict[str, str], str(path))
