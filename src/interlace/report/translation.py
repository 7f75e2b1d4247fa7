"""Translation: BLEU beside what it does not tell, such as how much is copied, and how exactly it was computed."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from interlace.report import Section
from interlace.report._format import BLEU, counted, joined, language_name, number
from interlace.report._templates import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.report._parts import Score
    from interlace.report._run import Run

_COLUMNS = {  # score: what its column is called, and digits
    "bleu": ("BLEU", 1),
    "chrf": ("chrF", 1),
    "tokenized bleu": ("tokenised BLEU", 1),
    "round-trip bleu": ("round trip", 1),
    "round-trip chrf": ("round trip, chrF", 1),
    "copied words": ("copied words, %", 1),
    "copied words, references": ("in references, %", 1),
    "length ratio": ("length", 2),
}


@dataclass(frozen=True)
class _Row:
    """A system in one direction: means over seeds, and the interval over sentences where there is one seed."""

    system: str
    direction: str
    figures: list[str]
    interval: str


def translation(runs: Sequence[Run]) -> Section:
    """The section: a row a direction and run, and the signatures of the scores."""
    by_run: dict[str, list[Score]] = {run.label: [] for run in runs}
    for run in runs:
        by_run[run.label] += [score for score in run.scores if score.unit == BLEU]
    every = [score for scores in by_run.values() for score in scores]
    tasks = [_task(by_run, task) for task in dict.fromkeys(score.task for score in every)]
    return Section("Translation", _lead(every), render("translation", tasks=tasks))


def _task(by_run: dict[str, list[Score]], task: str) -> dict[str, object]:
    """A table with those columns that any of its scores has."""
    every = [score for scores in by_run.values() for score in scores if score.task == task]
    columns = [name for name in _COLUMNS if any(name in score.scores for score in every)]
    return {
        "name": task,
        "columns": [_COLUMNS[name][0] for name in columns],
        "rows": _rows(by_run, task, columns),
        "signatures": _signatures(every),
    }


def _lead(scores: Sequence[Score]) -> str:
    if not scores:
        return "No translation has been scored."
    return (
        "BLEU is computed on raw text; tokenised BLEU counts words as papers do, and compares with theirs alone. A"
        " model whose output has far more words in common with the source than the references have is copying. Length"
        " is that of the output by that of the references."
    )


def _rows(by_run: dict[str, list[Score]], task: str, columns: Sequence[str]) -> list[_Row]:
    directions = dict.fromkeys(score.language for scores in by_run.values() for score in scores if score.task == task)
    rows = []
    for direction in directions:
        for label, scores in by_run.items():
            found = [score for score in scores if (score.task, score.language) == (task, direction)]
            if found:
                rows.append(_row(label, direction, found, columns))
    return rows


def _row(label: str, direction: str, found: Sequence[Score], columns: Sequence[str]) -> _Row:
    figures = []
    for name in columns:
        values = [score.scores[name] for score in found if name in score.scores]
        figures.append(number(fmean(values), _COLUMNS[name][1]) if values else "")
    one = found[0]
    interval = ""
    if len(found) > 1:
        interval = f"{counted(len(found), 'seed')}, {number(min(s.score for s in found))} to " + number(
            max(s.score for s in found)
        )
    elif one.low is not None and one.high is not None:
        interval = f"{number(one.low)} to {number(one.high)}"
    return _Row(label, language_name(direction), figures, interval)


def _signatures(scores: Sequence[Score]) -> list[tuple[str, str]]:
    """Each score's signature, with the directions that it is of where they differ."""
    found: dict[tuple[str, str], list[str]] = {}
    for score in scores:
        for name, signature in score.signatures.items():
            directions = found.setdefault((_COLUMNS.get(name, (name,))[0], signature), [])
            if score.language not in directions:
                directions.append(score.language)
    several = len({name for name, _ in found}) < len(found)
    return [
        (f"{name} ({joined([language_name(one) for one in directions])})" if several else name, signature)
        for (name, signature), directions in found.items()
    ]
