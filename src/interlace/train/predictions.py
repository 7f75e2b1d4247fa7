"""What a tuned model predicted for every test example, kept in the run's folder.

`predictions/TASK.SETTING.SEED.safetensors` holds for each language

    LANGUAGE.score, LANGUAGE.weight        (n,) float32, as `train.outcomes` reads them
    LANGUAGE.predicted, LANGUAGE.gold      int32 class numbers, one an example, or one a word; -1 for none
    LANGUAGE.offsets                       (n + 1,) int64, where the words of each example begin; of words only

and, in its metadata, the names of the classes. `TASK.SETTING.SEED.json` beside it is for people: how often each class
was taken for each, and some examples that the model got wrong.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.data import Labelled, Pairs
from interlace.data.questions import Questions
from interlace.ragged import Ragged
from interlace.text.lines import atomic
from interlace.train.folder import read_json, write_json
from interlace.train.outcomes import outcomes_file

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.data.vocab import Vocab
    from interlace.train.cell import Cell
    from interlace.train.selection import Item

    Arrays = dict[str, NDArray[Any]]

_SHOWN = 12  # wrong examples kept of a language
_WORDS = 40  # shown of a sentence


def keep_predictions(run: Path, cell: Cell, item: Item, examples: Any, predictions: Any, gold: Any) -> None:
    """Write what was predicted for one language beside that of the other languages; files appear whole or not at all.

    What the file holds from another model or under other settings (`cell.key`) is dropped.
    """
    setting, language = item
    path = outcomes_file(run, cell.name, cell.seed, setting)
    path.parent.mkdir(parents=True, exist_ok=True)
    score, weight = cell.task.outcomes(examples, predictions, gold)
    new = {"score": score.astype(np.float32), "weight": weight.astype(np.float32)}
    shown: dict[str, Any] = {"n": len(score)}
    if cell.task.classes:
        new |= _classes(predictions, gold)
        shown["confusion"] = _confusion(new["predicted"], new["gold"], len(cell.task.classes))
    wrong = np.flatnonzero(score < weight)
    shown |= {"wrong": len(wrong), "samples": _samples(cell, examples, predictions, gold, wrong)}
    _write_arrays(path, cell, {f"{language}.{part}": np.ascontiguousarray(values) for part, values in new.items()})
    _write_shown(path.with_suffix(".json"), cell, item, shown)


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


def _write_arrays(path: Path, cell: Cell, new: Arrays) -> None:
    from safetensors import safe_open
    from safetensors.numpy import save_file

    arrays: Arrays = {}
    if path.is_file():
        with safe_open(path, "np") as file:
            if (file.metadata() or {}).get("key") == cell.key:
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
    with atomic(path) as partial:
        save_file(arrays | new, partial, {"key": cell.key, "classes": json.dumps(cell.task.classes)})


def _write_shown(path: Path, cell: Cell, item: Item, shown: dict[str, Any]) -> None:
    setting, language = item
    kept = read_json(path, {})
    languages = kept.get("languages", {}) if kept.get("key") == cell.key else {}
    about = {"key": cell.key, "task": cell.name, "setting": setting, "seed": cell.seed}
    about["classes"] = list(cell.task.classes)
    write_json(path, {**about, "languages": {**languages, language: shown}})


def _samples(cell: Cell, examples: Any, predictions: Any, gold: Any, wrong: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Some of what is wrong, from all over the test set: texts, what is right, and what was predicted."""
    rows = wrong[np.unique(np.linspace(0, len(wrong) - 1, min(_SHOWN, len(wrong))).round().astype(np.int64))]
    if isinstance(examples, Questions):
        return _answers(cell, examples, predictions, rows)
    if not isinstance(examples, Labelled) or not cell.task.classes:
        return []
    names = [*cell.task.classes, "none"]  # -1 is the last
    if isinstance(gold, Ragged):
        return [_tagged(cell.vocab, examples.examples, predictions, gold, names, row) for row in rows.tolist()]
    sides = (
        (examples.examples.source, examples.examples.target)
        if isinstance(examples.examples, Pairs)
        else (examples.examples,)
    )
    return [
        {
            "texts": [cell.vocab.decode(side.ids[row]) for side in sides],
            "gold": names[int(gold[row])],
            "predicted": names[int(predictions[row])],
        }
        for row in rows.tolist()
    ]


def _tagged(vocab: Vocab, sentences: Any, predictions: Any, gold: Any, names: list[str], row: int) -> dict[str, Any]:
    """A sentence as words, with the words that got another tag."""
    ids, words = sentences.ids[row], sentences.words[row]
    right, found = gold[row], predictions[row]
    spelt = [vocab.decode(ids[words == word]) for word in range(min(len(right), _WORDS))]
    wrong = [word for word in range(len(spelt)) if right[word] >= 0 and right[word] != found[word]]
    return {
        "texts": [" ".join(spelt)],
        "words": spelt,
        "wrong": [{"word": word, "gold": names[int(right[word])], "predicted": names[int(found[word])]}
                  for word in wrong],
    }  # fmt: skip


def _answers(cell: Cell, questions: Questions, predictions: Any, rows: NDArray[np.int64]) -> list[dict[str, Any]]:
    task: Any = cell.task
    listed = task.answers(questions.take(rows), predictions[rows])
    return [
        {
            "texts": [cell.vocab.decode(questions.questions.ids[row])],
            "gold": " | ".join(dict.fromkeys(questions.answers[row])),
            "predicted": next((best["text"] for best in each["n_best"]), ""),
        }
        for row, each in zip(rows.tolist(), listed, strict=True)
    ]
