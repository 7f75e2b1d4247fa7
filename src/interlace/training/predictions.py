"""What a system got on every single test example, kept so that systems can be compared example by example.

A file a task, setting and seed, `predictions/TASK.SETTING.SEED.safetensors` in the run's folder, holds two float32 rows
a language: `LANGUAGE.score` and `LANGUAGE.weight`, an entry an example in the order of the test file. The score of any
set of examples is the sum of the one by the sum of the other, so a file serves shares and F1 alike:

    share of right labels    1 or 0                           1
    share of right tags      right words of the sentence      words of the sentence
    entity F1                2 TP of the sentence             2 TP + FP + FN of the sentence
    answer F1, EM            the answer's own, 0 to 1         1
    P@1 of a word or line    1 or 0, the mean of both ways    1; 0 for a word without a vector
    mining F1, a source      2 if its pair is right           pairs believed and gold pairs
    alignment error rate     links that are not the others'   links found and sure ones
    perplexity               nats of the sentence             its words, or subwords
    translation              chrF of the sentence alone       1, and below

Where the score is no ratio of two sums, the metadata names the `measure` that makes it of them: of a perplexity, the
exponential of the ratio. BLEU's sums stand in `LANGUAGE.counts`, float32 (examples, 10): both lengths, n-grams that
match and n-grams that there are.

Examples that are drawn together, such as the questions of one passage, have one number in `LANGUAGE.groups`, int32.

Its metadata says of each language (`about`) under which `key` it was scored, that of the score's row, and the
`identity` of the examples: a hash of what is right for them. Examples pair only where identities agree.

What a tuned model predicted for every test example, kept in the run's folder.

`predictions/TASK.SETTING.SEED.safetensors` holds for each language

    LANGUAGE.score, LANGUAGE.weight        (n,) float32, as `train.outcomes` reads them
    LANGUAGE.predicted, LANGUAGE.gold      int32 class numbers, one an example, or one a word; -1 for none
    LANGUAGE.offsets                       (n + 1,) int64, where the words of each example begin; of words only

and, in its metadata, what `train.outcomes` says and the names of the classes. `TASK.SETTING.SEED.json` beside it is for
people: how often each class was taken for each, and some examples that the model got wrong. What a model wrote stands
in `TASK.SETTING.SEED.LANGUAGE.txt`, a line an example; answers to questions in `...LANGUAGE.answers.json`, the text by
the question's id, which the official programs read, and the `n-best` beside it.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.errors import DataError, did_you_mean
from interlace.core.files import atomic
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.scores.examples import Examples, bootstrap
from interlace.training.run_folder import read_json, write_json
from interlace.training.selection import ALONE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.tasks import FineTuneTask, Scores
    from interlace.training.evaluation_job import EvaluationJob
    from interlace.training.selection import Item

    Arrays = dict[str, NDArray[Any]]


FOLDER = "predictions"


_UNSAFE = re.compile(r"[^A-Za-z0-9_+-]")


_DRAWS = 2000  # a third of a second at 10,000 examples


def outcomes_file(run: Path, task: str, seed: int, setting: str = "zero-shot") -> Path:
    """Where the outcomes of a task in a setting with a fine-tuning seed stand."""
    return run / FOLDER / f"{safe_file_name(task)}.{safe_file_name(setting)}.{seed}.safetensors"


def safe_file_name(name: str) -> str:
    """A task, setting or language as a part of a file's name."""
    return _UNSAFE.sub("-", name)


def interval_of(examples: Examples, unit: str = "%") -> dict[str, float]:
    """`low` and `high` of a score, for its row: the middle 95 % of a bootstrap over test examples.

    That is how far it hangs on which examples were asked, and says nothing of other seeds. Empty where one example
    tells no spread.

    unit: of the score; percent, or the ratio as it is.
    """
    found = bootstrap(examples, generator(Purpose.STATISTICS, 0, 3), draws=_DRAWS)
    scale = 100.0 if unit == "%" else 1.0
    ends = {"low": found.low, "high": found.high}
    return {name: round(scale * end, 4) for name, end in ends.items() if math.isfinite(end)}


def write_outcomes(
    path: Path,
    language: str,
    examples: Examples,
    key: str,
    arrays: Mapping[str, NDArray[Any]] | None = None,
    classes: Sequence[str] = (),
) -> None:
    """Write what one language's examples got beside that of the others; the file appears whole or not at all.

    What it holds from another model or under other settings is dropped. Of supervised and translate-train every
    language has a fine-tuning, and so a key, of its own; there languages stay until they are scored again.

    Args:
        path: as `outcomes_file` says.
        language: what was scored.
        examples: what they got.
        key: of the score's row.
        arrays: what else is kept of the language, by name.
        classes: the names of what is predicted.
    """
    from safetensors import safe_open
    from safetensors.numpy import save_file

    new: dict[str, NDArray[Any]] = {
        "score": examples.score.astype(np.float32),
        "weight": examples.weight.astype(np.float32),
    }
    kept: dict[str, NDArray[Any]] = {}
    about: dict[str, dict[str, str]] = {}
    if path.is_file():
        with safe_open(path, "np") as file:
            told = _about(file.metadata())
            about = {name: each for name, each in told.items() if name != language and stays(path, each, key)}
            kept = {name: file.get_tensor(name) for name in file.keys() if name.rpartition(".")[0] in about}  # noqa: SIM118 - no mapping
    about[language] = {"key": key, "identity": examples.identity}
    if examples.measure != "ratio":
        about[language]["measure"] = examples.measure
    if examples.counts is not None:
        new["counts"] = examples.counts.astype(np.float32)
    if examples.groups is not None:
        new["groups"] = examples.groups.astype(np.int32)
    new |= arrays or {}
    kept |= {f"{language}.{part}": np.ascontiguousarray(values) for part, values in new.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as partial:
        save_file(kept, partial, {"about": json.dumps(about), "classes": json.dumps(list(classes))})


def stays(path: Path, about: dict[str, Any], key: str) -> bool:
    """Whether what is kept of one language stands beside what is scored under `key`."""
    return about.get("key") == key or any(f".{alone}." in path.name for alone in ALONE)


def read_outcomes(path: Path, language: str, key: str | None = None) -> Examples:
    """What one language's examples got.

    key: of the score's row that they are to belong to; None: whatever is there.

    Raises:
        DataError: there is no such file or language (names the nearest), it is another model's, or it is damaged.
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
            about = _about(file.metadata()).get(language, {})
            more = {
                part: file.get_tensor(f"{language}.{part}").astype(kind)
                for part, kind in (("counts", np.float64), ("groups", np.int64))
                if f"{language}.{part}" in file.keys()  # noqa: SIM118 - no mapping
            }
    except (SafetensorError, ValueError) as error:
        raise DataError(f"{path}: damaged: {error}") from error
    _check(path, language, score, weight)
    if key is not None and about.get("key") != key:
        raise DataError(
            f"{path}: {language}: what another model, or this one under other settings, got; run "
            "`interlace evaluate` again"
        )
    return Examples(score, weight, about.get("identity", ""), measure=about.get("measure", "ratio"), **more)


def _about(metadata: dict[str, str] | None) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads((metadata or {}).get("about", "{}"))
    return found


def _check(path: Path, language: str, score: NDArray[np.floating], weight: NDArray[np.floating]) -> None:
    if score.ndim != 1 or score.shape != weight.shape or not weight.sum() > 0:
        found = f"scores of shape {score.shape}, weights of shape {weight.shape} and sum {weight.sum():g}"
        raise DataError(f"{path}: {language}: expected rows of one length with some weight, found {found}")


_SHOWN = 12  # wrong examples kept of a language


def write_predictions(
    run: Path, cell: EvaluationJob, item: Item, examples: Any, predictions: Any, gold: Any, scores: Scores
) -> dict[str, Any]:
    """Write what was predicted for one language beside that of the other languages; files appear whole or not at all.

    What the files hold from another model or under other settings (`cell.key`) is dropped.

    Returns:
        `low` and `high` of the score and a name of the `examples`, for its row.
    """
    setting, language = item
    path = outcomes_file(run, cell.name, cell.seed, setting)
    task: Any = cell.task
    got: Any = scores.outcomes
    arrays = _classes(predictions, gold) if task.classes else {}
    shown: dict[str, Any] = {"n": len(got.score)}
    if task.classes:
        shown["confusion"] = _confusion(arrays["predicted"], arrays["gold"], len(task.classes))
    wrong = np.flatnonzero(got.score < got.weight)
    shown |= {"wrong": len(wrong), "samples": _samples(task, cell, examples, predictions, wrong)}
    write_outcomes(path, language, got, cell.key, arrays=arrays, classes=task.classes)
    _write_shown(path.with_suffix(".json"), cell, item, shown)
    for name, content in task.exports(examples, predictions).items():
        write_json(path.with_suffix(f".{safe_file_name(language)}.{name}.json"), content)
    return _told(got, cell)


def write_probe_outcomes(run: Path, cell: EvaluationJob, item: Item, scores: Scores) -> dict[str, Any]:
    """Write what examples got in a probe that tells it, as `write_predictions` does of what is tuned.

    Returns:
        as `write_predictions`; empty where the probe tells scores alone.
    """
    got = scores.outcomes
    if got is None:
        return {}
    setting, language = item
    path = outcomes_file(run, cell.name, cell.seed, setting)
    write_outcomes(path, language, got, cell.key)
    if scores.outputs:
        with atomic(path.with_suffix(f".{safe_file_name(language)}.txt")) as partial:
            partial.write_text("".join(f"{_one_line(line)}\n" for line in scores.outputs), encoding="utf-8")
        wrong = int((got.score < got.weight).sum())
        shown = {"n": len(scores.outputs), "wrong": wrong, "samples": scores.samples}
        _write_shown(path.with_suffix(".json"), cell, item, shown)
    return _told(got, cell)


def _told(got: Examples, cell: EvaluationJob) -> dict[str, Any]:
    return interval_of(got, cell.task.unit) | ({"examples": got.identity} if got.identity else {})


def _one_line(text: str) -> str:
    """What a file of lines holds of a text, which a model may have broken."""
    return text.replace("\r", " ").replace("\n", " ")


def _classes(predictions: Any, gold: Any) -> Arrays:
    if not isinstance(gold, Ragged):
        return {"predicted": np.asarray(predictions, np.int32), "gold": np.asarray(gold, np.int32)}
    offsets = gold.offsets - gold.offsets[0]
    return {"predicted": np.asarray(predictions.flat), "gold": np.asarray(gold.flat), "offsets": offsets}


def _confusion(predicted: NDArray[Any], gold: NDArray[Any], classes: int) -> list[list[int]]:
    """A row a gold class; the last column is for what got no prediction."""
    there = gold >= 0
    cells = gold[there] * (classes + 1) + np.where(predicted[there] < 0, classes, predicted[there])
    counted = np.bincount(cells, minlength=classes * (classes + 1))
    table: list[list[int]] = counted.reshape(classes, classes + 1).tolist()
    return table


def _write_shown(path: Path, cell: EvaluationJob, item: Item, shown: dict[str, Any]) -> None:
    setting, language = item
    kept = read_json(path, {})
    languages = kept.get("languages", {}) if stays(path, kept, cell.key) else {}
    about = {"key": cell.key, "task": cell.name, "setting": setting, "seed": cell.seed}
    about["classes"] = list(getattr(cell.task, "classes", ()))
    write_json(path, {**about, "languages": {**languages, language: shown}})


def _samples(
    task: FineTuneTask, cell: EvaluationJob, examples: Any, predictions: Any, wrong: NDArray[np.int64]
) -> list[dict[str, Any]]:
    """Some of what is wrong, from all over the test set: texts, what is right, and what was predicted."""
    rows = wrong[np.unique(np.linspace(0, len(wrong) - 1, min(_SHOWN, len(wrong))).round().astype(np.int64))]
    return task.samples(cell.vocab, examples, predictions, rows)
