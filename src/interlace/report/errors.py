"""What models took for what, and examples that they got wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.report import Section
from interlace.report._format import NARROW, counted, heading, joined, language_name, number
from interlace.report._heat import Shaded, draw_heat
from interlace.report._run import first_of_each
from interlace.report._svg import picture, text_width
from interlace.report._templates import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup
    from numpy.typing import NDArray

    from interlace.report._parts import Predicted, Predictions, Wrong
    from interlace.report._run import Run

_SMALL = 6  # classes of a table with room for whole numbers
_TYPE = 12.0  # of the names of columns
_SWAPS = 3  # mistakes named for each language
_EXAMPLES = 3  # shown of each language


@dataclass(frozen=True)
class _Asked:
    """One task of one run in one setting, all seeds together."""

    label: str
    name: str
    classes: list[str]
    by_language: dict[str, list[Predicted]]

    def tunings(self, languages: Sequence[str]) -> int:
        """Over how many fine-tunings these languages' predictions are added up, the most of any."""
        return max(len(self.by_language[language]) for language in languages)

    def table(self, languages: Sequence[str]) -> NDArray[np.int64]:
        """(C, C + 1) how often each class was taken for each; the last column is for none."""
        tables = [found.confusion for language in languages for found in self.by_language[language]]
        total: NDArray[np.int64] = np.zeros((len(self.classes), len(self.classes) + 1), np.int64)
        for table in tables:
            total += np.array(table or total * 0, np.int64)
        return total


def errors(runs: Sequence[Run]) -> Section:
    """The section: of each task a table of the source language and one of all others, and a few examples."""
    asked = [found for run in first_of_each(runs) for found in _asked(run)]
    sources = {str(score.source) for run in runs for score in run.scores}
    figures = [figure for one in asked if one.classes for figure in _figures(one, sources)]
    swaps = [{"name": _title(one), "rows": _swaps(one)} for one in asked if len(one.classes) > 2]
    examples = [{"name": _title(one), "languages": _examples(one)} for one in asked]
    lead = (
        "Rows are right, columns are what was predicted, in per cent of a row; the frame is what should be dark."
        if figures
        else "Open an example to see what was right and what was predicted."
        if examples
        else "Of these tasks it is kept what each example got, but not what was predicted."
        if any(True for run in runs for _ in (run.folder / "predictions").glob("*.safetensors"))
        else "No predictions were kept with these runs."
    )
    body = render("errors", figures=figures, swaps=[one for one in swaps if one["rows"]], examples=examples)
    return Section("Mistakes", lead, body)


def _asked(run: Run) -> list[_Asked]:
    groups: dict[tuple[str, str], list[Predictions]] = {}
    for found in run.predictions:
        groups.setdefault((found.task, found.setting), []).append(found)
    return [
        _Asked(
            run.label,
            heading(task, setting),
            files[0].classes,
            {language: [file.languages[language] for file in files if language in file.languages]
             for language in dict.fromkeys(language for file in files for language in file.languages)},
        )
        for (task, setting), files in groups.items()
    ]  # fmt: skip


def _title(one: _Asked) -> str:
    return f"{one.name}, {one.label}"


def _figures(one: _Asked, sources: set[str]) -> list[dict[str, Any]]:
    """The source language, and all others added up."""
    first = [language for language in one.by_language if language in sources]
    others = [language for language in one.by_language if language not in sources]
    names = {" and ".join(map(language_name, first)): first, counted(len(others), "other language"): others}
    return [
        {
            "over": f"{_title(one)}: {name}{_added_up(one, languages)}",
            "picture": _drawn(one, one.table(languages), name, _added_up(one, languages)),
        }
        for name, languages in names.items()
        if languages
    ]


def _added_up(one: _Asked, languages: Sequence[str]) -> str:
    """Says that counts are over several fine-tunings, each of which is asked every example; "" of one."""
    tunings = one.tunings(languages)
    return f", {counted(tunings, 'fine-tuning')} added up" if tunings > 1 else ""


def _drawn(one: _Asked, table: NDArray[np.int64], name: str, added_up: str) -> Markup:
    """Rows with no example, and a last column that nothing was put in, are left out."""
    columns = [*one.classes, "none"] if table[:, -1].any() else one.classes
    rows = [row for row in range(len(one.classes)) if table[row].sum()]
    small = len(one.classes) <= _SMALL
    cells = [[_cell(table[row], column, row, added_up, small=small) for column in range(len(columns))] for row in rows]
    label = f"{_title(one)}, {name}: " + "; ".join(
        f"{one.classes[row]} right {100 * table[row, row] / table[row].sum():.0f} %" for row in rows
    )
    widest = max(text_width(column, _TYPE) for column in columns) + 6
    width, height = (max(widest, 84.0), 30.0) if small else (max(widest, 32.0), 24.0)
    drawing = draw_heat([one.classes[row] for row in rows], columns, cells, label, width=width, height=height)
    return picture(drawing.width, drawing.height, drawing.label, drawing.parts, "matrix")


def _cell(row: NDArray[np.int64], column: int, right: int, added_up: str, *, small: bool) -> Shaded | None:
    share = 100 * row[column] / row.sum()
    if share < 0.5 and column != right:
        return None
    unit = f"{NARROW}%" if small else ""
    return Shaded(
        f"{number(share, 0)}{unit}", "", share / 100, column == right, f"{row[column]} of {row.sum()}{added_up}"
    )


def _swaps(one: _Asked) -> list[tuple[str, str]]:
    """Of each language the most frequent mistakes."""
    found = []
    names = [*one.classes, "nothing"]
    for language in one.by_language:
        table = one.table([language])
        counts = Counter(
            {(row, column): int(table[row, column]) for row, column in np.argwhere(table).tolist() if row != column}
        )
        wrong = counts.total()
        text = [
            f"{names[row]} taken for {names[column]} ({number(100 * count / wrong, 0)}{NARROW}%)"
            for (row, column), count in counts.most_common(_SWAPS)
        ]
        if text:
            found.append((language_name(language), joined(text)))
    return found


def _examples(one: _Asked) -> list[dict[str, Any]]:
    found = []
    for language, seeds in one.by_language.items():
        shown = [sample for sample in seeds[0].samples if sample.texts][:_EXAMPLES]
        about = f"{seeds[0].wrong} of {seeds[0].n} with a mistake"
        about += f", the first of {counted(len(seeds), 'fine-tuning')}" if len(seeds) > 1 else ""
        found.append({"language": language, "about": about, "samples": [_shown(sample) for sample in shown]})
    return [entry for entry in found if entry["samples"]]


def _shown(sample: Wrong) -> dict[str, Any]:
    """Texts with the verdict, or words with the wrong ones marked."""
    marks = {mark["word"]: mark for mark in sample.wrong}
    words = [{"word": word, "mark": marks.get(place)} for place, word in enumerate(sample.words)]
    return {"texts": sample.texts, "gold": sample.gold, "predicted": sample.predicted or "nothing", "words": words}
