"""Confusion matrices, and examples of wrong predictions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.report.matrices import Shade, heat_map
from interlace.report.runs import first_of_each
from interlace.report.sections import Section
from interlace.report.svg import text_width
from interlace.report.text import language_name, language_names, number, percent, render, task_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from interlace.report.runs import LanguagePredictions, PredictionFile, Run, WrongExample
    from interlace.report.svg import Drawing

_MAX_SMALL = 6  # classes of a table with wide cells
_MAX_CONFUSIONS = 3  # listed for each language
_MAX_EXAMPLES = 3  # shown for each language
_LEAD = "Rows: gold class. Columns: predicted class, in percent of the row. The frame marks correct predictions."


@dataclass(frozen=True)
class _TaskPredictions:
    """The predictions of one run for one task in one setting, of all fine-tunings."""

    name: str
    classes: list[str]
    by_language: dict[str, list[LanguagePredictions]]

    def counts(self, languages: Sequence[str]) -> NDArray[np.int64]:
        """(C, C + 1) counts of gold by predicted classes; the last column is for missing predictions."""
        total: NDArray[np.int64] = np.zeros((len(self.classes), len(self.classes) + 1), np.int64)
        for language in languages:
            for found in self.by_language[language]:
                total += np.array(found.confusion or total * 0, np.int64)
        return total


def predictions(runs: Sequence[Run]) -> Section:
    """Return for each task a matrix of the source language and one of all others, and examples."""
    found = [one for run in first_of_each(runs) for one in _tasks(run)]
    sources = {row.source for run in runs for row in run.scores}
    figures = [figure for one in found if one.classes for figure in _figures(one, sources)]
    frequent = [(one.name, rows) for one in found if len(one.classes) > 2 and (rows := _frequent(one))]
    examples = [(one.name, groups) for one in found if (groups := _examples(one))]
    title = "Confusion matrices"
    if not found:
        kept = any(True for run in runs for _ in (run.folder / "predictions").glob("*.safetensors"))
        return Section(title, "Predictions were not kept, only outcomes." if kept else "No predictions were kept.")
    body = render("predictions", figures=figures, frequent=frequent, examples=examples)
    lead = _LEAD if figures else "Examples of wrong predictions."
    return Section(title, lead, body, [drawing for _, drawing in figures])


def _tasks(run: Run) -> list[_TaskPredictions]:
    groups: dict[tuple[str, str], list[PredictionFile]] = {}
    for found in run.predictions:
        groups.setdefault((found.task, found.setting), []).append(found)
    return [
        _TaskPredictions(
            f"{task_name(task, setting)}, {run.label}",
            files[0].classes,
            {
                language: [file.languages[language] for file in files if language in file.languages]
                for language in dict.fromkeys(language for file in files for language in file.languages)
            },
        )
        for (task, setting), files in groups.items()
    ]


def _figures(one: _TaskPredictions, sources: set[str]) -> list[tuple[str, Drawing]]:
    """Return (caption, matrix) of the source language, and of all others together."""
    first = [language for language in one.by_language if language in sources]
    others = [language for language in one.by_language if language not in sources]
    names = {language_names(first): first, f"{len(others)} other language{'s' * (len(others) != 1)}": others}
    return [
        (f"{one.name}: {name}{_fine_tunings(one, languages)}", _matrix(one, languages, name))
        for name, languages in names.items()
        if languages
    ]


def _fine_tunings(one: _TaskPredictions, languages: Sequence[str]) -> str:
    count = max(len(one.by_language[language]) for language in languages)
    return f", sum of {count} fine-tunings" if count > 1 else ""


def _matrix(one: _TaskPredictions, languages: Sequence[str], name: str) -> Drawing:
    """Draw the matrix without rows of no example, and without an empty last column."""
    table = one.counts(languages)
    columns = [*one.classes, "none"] if table[:, -1].any() else one.classes
    rows = [row for row in range(len(one.classes)) if table[row].sum()]
    small = len(one.classes) <= _MAX_SMALL
    note = _fine_tunings(one, languages)
    cells = [[_cell(table[row], column, row, note, small=small) for column in range(len(columns))] for row in rows]
    label = f"{one.name}, {name}: " + "; ".join(
        f"{one.classes[row]} correct {100 * table[row, row] / table[row].sum():.0f} %" for row in rows
    )
    widest = max(text_width(column, 12.0) for column in columns) + 6
    width, height = (max(widest, 84.0), 30.0) if small else (max(widest, 32.0), 24.0)
    return heat_map([one.classes[row] for row in rows], columns, cells, label, width, height)


def _cell(row: NDArray[np.int64], column: int, gold: int, note: str, *, small: bool) -> Shade | None:
    share = 100 * row[column] / row.sum()
    if share < 0.5 and column != gold:
        return None
    words = percent(share) if small else number(share, 0)
    return Shade(words, "", share / 100, column == gold, f"{row[column]} of {row.sum()}{note}")


def _frequent(one: _TaskPredictions) -> list[tuple[str, str]]:
    """Return by language the most frequent confusions, in percent of all errors."""
    found = []
    names = [*one.classes, "none"]
    for language in one.by_language:
        table = one.counts([language])
        counts = Counter(
            {(row, column): int(table[row, column]) for row, column in np.argwhere(table).tolist() if row != column}
        )
        parts = [
            f"{names[row]} \N{RIGHTWARDS ARROW} {names[column]} {percent(100 * count / counts.total())}"
            for (row, column), count in counts.most_common(_MAX_CONFUSIONS)
        ]
        if parts:
            found.append((language_name(language), ", ".join(parts)))
    return found


def _examples(one: _TaskPredictions) -> list[dict[str, Any]]:
    found = []
    for language, seeds in one.by_language.items():
        shown = [sample for sample in seeds[0].samples if sample.texts][:_MAX_EXAMPLES]
        about = f"{seeds[0].wrong} of {seeds[0].n} examples with errors"
        about += f" (first of {len(seeds)} fine-tunings)" if len(seeds) > 1 else ""
        if shown:
            found.append({"language": language, "about": about, "samples": [_example(sample) for sample in shown]})
    return found


def _example(sample: WrongExample) -> dict[str, Any]:
    """Return texts with labels, or words with the wrong ones marked."""
    marks = {mark["word"]: mark for mark in sample.wrong}
    words = [{"word": word, "mark": marks.get(place)} for place, word in enumerate(sample.words)]
    return {"texts": sample.texts, "gold": sample.gold, "predicted": sample.predicted or "none", "words": words}
