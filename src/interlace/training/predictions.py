"""What a tuned model predicted for every test example, kept in the run's folder.

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

from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.ragged import Ragged
from interlace.data import LabeledExamples, Pairs
from interlace.data.questions import Questions
from interlace.scores.examples import Examples, identity_of
from interlace.tasks._outcomes import Measured
from interlace.tasks.retrieval import words_a_line
from interlace.text.lines import atomic
from interlace.training.folder import read_json, write_json
from interlace.training.outcomes import file_name, interval_of, outcomes_file, stays, write_outcomes

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.training.cell import Cell
    from interlace.training.selection import Item

    Arrays = dict[str, NDArray[Any]]

_SHOWN = 12  # wrong examples kept of a language


def keep_predictions(run: Path, cell: Cell, item: Item, examples: Any, predictions: Any, gold: Any) -> dict[str, Any]:
    """Write what was predicted for one language beside that of the other languages; files appear whole or not at all.

    What the files hold from another model or under other settings (`cell.key`) is dropped.

    Returns:
        `low` and `high` of the score and a name of the `examples`, for its row.
    """
    setting, language = item
    path = outcomes_file(run, cell.name, cell.seed, setting)
    score, weight = cell.task.outcomes(examples, predictions, gold)
    got = Examples(score, weight, _identity(examples, gold), groups=_groups(examples))
    arrays = _classes(predictions, gold) if cell.task.classes else {}
    shown: dict[str, Any] = {"n": len(score)}
    if cell.task.classes:
        shown["confusion"] = _confusion(arrays["predicted"], arrays["gold"], len(cell.task.classes))
    wrong = np.flatnonzero(score < weight)
    shown |= {"wrong": len(wrong), "samples": _samples(cell, examples, predictions, gold, wrong)}
    write_outcomes(path, language, got, cell.key, arrays=arrays, classes=cell.task.classes)
    _write_shown(path.with_suffix(".json"), cell, item, shown)
    for name, content in cell.task.told(examples, predictions).items():
        write_json(path.with_suffix(f".{file_name(language)}.{name}.json"), content)
    return _told(got, cell)


def keep_measured(run: Path, cell: Cell, item: Item, scores: dict[str, float]) -> dict[str, Any]:
    """Write what examples got in a probe that tells it, as `keep_predictions` does of what is tuned.

    Returns:
        as `keep_predictions`; empty where the probe tells scores alone.
    """
    if not isinstance(scores, Measured):
        return {}
    setting, language = item
    path = outcomes_file(run, cell.name, cell.seed, setting)
    write_outcomes(path, language, scores.examples, cell.key)
    if scores.outputs:
        with atomic(path.with_suffix(f".{file_name(language)}.txt")) as partial:
            partial.write_text("".join(f"{_one_line(line)}\n" for line in scores.outputs), encoding="utf-8")
        wrong = int((scores.examples.score < scores.examples.weight).sum())
        shown = {"n": len(scores.outputs), "wrong": wrong, "samples": scores.samples}
        _write_shown(path.with_suffix(".json"), cell, item, shown)
    return _told(scores.examples, cell)


def _told(got: Examples, cell: Cell) -> dict[str, Any]:
    return interval_of(got, cell.task.unit) | ({"examples": got.identity} if got.identity else {})


def _one_line(text: str) -> str:
    """What a file of lines holds of a text, which a model may have broken."""
    return text.replace("\r", " ").replace("\n", " ")


def _identity(examples: Any, gold: Any) -> str:
    """Names the examples by what is right for them, whatever vocabulary cut them; empty where that cannot be said.

    Those with a label each by their lengths in words as well: test sets of two languages may have the same labels.
    """
    if isinstance(examples, Questions):
        return identity_of(examples.ids, *examples.answers)
    if isinstance(gold, Ragged):
        return identity_of(gold.lengths, gold.flat)
    labels = isinstance(gold, np.ndarray) and np.issubdtype(gold.dtype, np.integer)
    pairs = examples.examples if isinstance(examples, LabeledExamples) else None
    sides = (pairs.source, pairs.target) if isinstance(pairs, Pairs) else ()
    return identity_of(gold, *map(words_a_line, sides)) if labels else ""


def _groups(examples: Any) -> NDArray[np.int64] | None:
    """(n,) the passage of each question, the first sentence of each pair; None of what has nothing in common."""
    if isinstance(examples, Questions):
        return np.unique(examples.owners, return_inverse=True)[1]
    if not isinstance(examples, LabeledExamples) or not isinstance(examples.examples, Pairs):
        return None
    known: dict[bytes, int] = {}
    rows = examples.examples.source.ids
    return np.array([known.setdefault(np.asarray(row).tobytes(), len(known)) for row in rows], np.int64)


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


def _write_shown(path: Path, cell: Cell, item: Item, shown: dict[str, Any]) -> None:
    setting, language = item
    kept = read_json(path, {})
    languages = kept.get("languages", {}) if stays(path, kept, cell.key) else {}
    about = {"key": cell.key, "task": cell.name, "setting": setting, "seed": cell.seed}
    about["classes"] = list(cell.task.classes)
    write_json(path, {**about, "languages": {**languages, language: shown}})


def _samples(cell: Cell, examples: Any, predictions: Any, gold: Any, wrong: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Some of what is wrong, from all over the test set: texts, what is right, and what was predicted."""
    rows = wrong[np.unique(np.linspace(0, len(wrong) - 1, min(_SHOWN, len(wrong))).round().astype(np.int64))]
    return cell.task.samples(cell.vocab, examples, predictions, gold, rows)
