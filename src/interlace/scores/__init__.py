"""One tidy table of scores, with statistics, comparisons of systems and published figures that work on it.

A row of the table, `Score`, is one value of one metric. The files `scores.json` of runs hold an entry for each
evaluation, which becomes a row for each of its metrics; `results.json` of studies holds rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, fields, replace
from html import escape
from importlib import import_module
from operator import attrgetter
from typing import Annotated, Any, Literal, Required

from pydantic import Field
from typing_extensions import TypedDict

from interlace.core.display import visible
from interlace.core.errors import dependency_errors
from interlace.core.json_files import JsonMapping, JsonObject, checked, json_record

ZERO_SHOT = "zero-shot"
SUPERVISED = "supervised"
# settings with one fine-tuning a language
PER_LANGUAGE: tuple[Literal["supervised", "translate-train"], ...] = (
    "supervised",
    "translate-train",
)
ORACLE = ", oracle"  # behind translate-test on human translations
MAJORITY = "majority class"  # metric: percent of the examples in the most frequent class
COLLAPSED = "\N{DOUBLE DAGGER}"  # marks a score of a collapsed fine-tuning
COLLAPSED_NOTE = (
    COLLAPSED
    + ": includes a collapsed fine-tuning ({} of {} here), which predicts the same label or the same answer "
    "positions for every example."
)

Scale = tuple[str, bool | None]  # unit, and whether greater is better (None: neither)


@json_record
class ContaminationShares(TypedDict, total=False):
    """Percent of test examples in the pre-training text, and checkpoints whose training text is unknown."""

    exact: float
    ngram: float
    unknown: list[str]


@json_record
class Selection(TypedDict, total=False):
    """How the weights of a fine-tuning were selected.

    chance: percent of the examples of all languages that are in the most frequent class.
    """

    rule: str
    learning_rate: float
    collapsed: bool
    chance: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Score:
    """One value of one metric: a system on the test examples of a task in one setting and language.

    system: what is compared; label: its name in tables; axes: the study settings that distinguish its variants.
    run: the run folder, the unit of pre-training; pretrained: False for a checkpoint that was not pre-trained here.
    seed: of the fine-tuning. main: whether the metric is the task's main metric.
    greater_is_better: None where neither is. low, high: 95 % bootstrap interval of the main metric over test examples.
    n: test examples. setting: with `ORACLE` where test text was translated by people; such scores have no comparable
    published ones. translations: "human" or "machine" where translated text is read. tuning: how weights were
    selected. contamination: test text found in the pre-training text. candidates: the name and size of the set that
    nearest words are chosen from. signatures: of metrics such as BLEU.
    examples: hash of the test examples. key: identifies the score by model content, task settings, contents of the test
    files, and the task's scoring version, which are the next four columns. seconds: of predicting and scoring.
    """

    study: str = ""
    cell: str = ""
    system: str = ""
    label: str = ""
    axes: JsonObject = field(default_factory=dict)
    model: str = ""
    run: str = ""
    pretrained: bool = True
    pretraining_seed: int | None = None
    seed: int = 0
    task: str
    setting: str = ZERO_SHOT
    source: str = ""
    language: str
    metric: str
    main: bool = True
    unit: str = "%"
    greater_is_better: bool | None = True
    score: float
    low: float | None = None
    high: float | None = None
    n: int | None = None
    translations: str = ""
    tuning: Selection = field(default_factory=Selection)
    contamination: ContaminationShares = field(default_factory=ContaminationShares)
    candidates: dict[str, int] = field(default_factory=dict)
    signatures: dict[str, str] = field(default_factory=dict)
    examples: str = ""
    key: str = ""
    model_key: str = ""
    settings_key: str = ""
    files_key: str = ""
    scoring_version: int = 1
    tokens: int | None = None
    steps: int | None = None
    seconds: float = 0.0

    @property
    def collapsed(self) -> bool:
        """Whether the score is of a collapsed fine-tuning."""
        return bool(self.tuning.get("collapsed"))

    @property
    def fine_tuning(self) -> tuple[Hashable, ...]:
        """Identifies the fine-tuning; scores of several languages may share one."""
        return self.run, self.task, self.setting, self.seed, self.key


@json_record
class MetricScale(TypedDict):
    """Unit and direction of a metric."""

    unit: str
    greater_is_better: bool | None


@json_record
class ScoreEntry(TypedDict, total=False):
    """What is read of an entry of `scores.json` as it is; its other keys are columns of `Score`."""

    task: Required[str]
    language: Required[Annotated[str, Field(min_length=1)]]  # the mean of languages is ""
    metric: Required[str]
    score: Required[float | None]
    seed: int
    scores: dict[str, float]
    scales: dict[str, MetricScale]
    setting: str
    unit: str
    translations: str
    contamination: ContaminationShares
    model: str


def setting_name(row: JsonMapping) -> str:
    """Return the setting of an evaluation entry (`scores.json`), with `ORACLE` if people translated the test text."""
    setting = str(row.get("setting") or ZERO_SHOT)
    if setting == "translate-test" and row.get("translations") == "human":
        return setting + ORACLE
    return setting


def from_to(values: Iterable[float], form: str = ",") -> str:
    """Format the lowest and the highest value: `4`, `3 to 1,200`; `0` without any."""
    ends = sorted(values) or [0]
    texts = [format(ends[0], form), format(ends[-1], form)]
    return " to ".join(dict.fromkeys(texts))


class ScoreTable(tuple[Score, ...]):
    """Scores in order; `filter` and `group` make smaller tables."""

    __slots__ = ()

    def filter(self, keep: Callable[[Score], bool] | None = None, **columns: Any) -> ScoreTable:
        """Return the rows with these values in these columns, such as `filter(task="pos", main=True)`."""
        rows: Iterable[Score] = self
        for name, value in columns.items():
            rows = [row for row in rows if getattr(row, name) == value]
        if keep is not None:
            rows = [row for row in rows if keep(row)]
        return ScoreTable(rows)

    def group(self, *columns: str) -> dict[Any, ScoreTable]:
        """Return a table for each value of a column, or each tuple of values of several, in order of appearance."""
        groups: dict[Any, list[Score]] = {}
        key_of = attrgetter(*columns)
        for row in self:
            groups.setdefault(key_of(row), []).append(row)
        return {key: ScoreTable(rows) for key, rows in groups.items()}

    def unique(self, column: str) -> list[Any]:
        """Return the values of a column, each once."""
        return list(dict.fromkeys(getattr(row, column) for row in self))

    def collapse_note(self) -> str:
        """Return a sentence on collapsed fine-tunings for a caption; empty where none collapsed."""
        collapsed: dict[Hashable, bool] = {}  # by fine-tuning
        for row in self:
            if row.tuning:
                collapsed[row.fine_tuning] = (
                    collapsed.get(row.fine_tuning, False) or row.collapsed
                )
        if not any(collapsed.values()):
            return ""
        return COLLAPSED_NOTE.format(
            sum(collapsed.values()),
            len(collapsed),
        )

    def candidates_note(self) -> str:
        """Return a sentence on the sets that nearest words are chosen from, with their sizes; empty without any."""
        sizes: dict[str, list[int]] = {}
        for row in self:
            for name, size in row.candidates.items():
                sizes.setdefault(f"{row.task}: {name}", []).append(size)
        parts = [f"{name}, {from_to(set_sizes)} words" for name, set_sizes in sizes.items()]
        return f"Candidates of {'; of '.join(parts)}." if parts else ""

    def majority_note(self) -> str:
        """Return a sentence on the accuracy of always predicting the most frequent class; empty without any.

        The class is the most frequent one over all languages, where that is stored.
        """
        parts = []
        for task, rows in self.filter(metric=MAJORITY).group("task").items():
            shares = [row.tuning.get("chance", row.score) for row in rows]
            parts.append(f"{task} {from_to(shares, '.1f')} %")
        return f"Accuracy of the most frequent class: {', '.join(parts)}." if parts else ""

    def to_dicts(self) -> list[JsonObject]:
        """Return the rows as dictionaries; the axes are columns behind `label`."""
        dicts = []
        for row in self:
            values: JsonObject = {}
            for name in _COLUMNS:
                if name == "axes":
                    values |= row.axes
                else:
                    values[name] = getattr(row, name)
            dicts.append(values)
        return dicts

    def to_pandas(self) -> Any:
        """Return a data frame.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        with dependency_errors("a data frame of scores"):
            pandas: Any = import_module("pandas")
        columns = None if self else _COLUMNS
        return pandas.DataFrame(self.to_dicts(), columns=columns)

    def __repr__(self) -> str:
        """Return the columns that identify a score and its value; `to_pandas` has all."""
        rows = self._shown_rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = []
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            lines.append("  ".join(cells).rstrip())
        if len(self) > _MAX_SHOWN:
            lines.append(f"{_MAX_SHOWN} of {len(self):,} scores")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, *body = self._shown_rows()
        rows = [_html_row("th", head)]
        for cells in body:
            rows.append(_html_row("td", cells))
        if len(self) > _MAX_SHOWN:
            rows.append(f"<caption>{_MAX_SHOWN} of {len(self):,} scores</caption>")
        return f"<table>{''.join(rows)}</table>"

    def _shown_rows(self) -> list[list[str]]:
        """Return the names of the shown columns, then the cells of each of the first scores."""
        rows = [list(_SHOWN)]
        for score in self[:_MAX_SHOWN]:
            rows.append([_shown_text(getattr(score, name)) for name in _SHOWN])
        return rows

    def to_json(self) -> list[JsonObject]:
        """Return `to_dicts` with null for numbers that are not finite."""
        dicts = self.to_dicts()
        for row in dicts:
            for name, value in row.items():
                if isinstance(value, float) and not math.isfinite(value):
                    row[name] = None
        return dicts


_COLUMNS = tuple(item.name for item in fields(Score))
_SHOWN = ("label", "task", "setting", "language", "metric", "score", "low", "high")
_MAX_SHOWN = 60  # rows in a notebook or a terminal


def _shown_text(value: Any) -> str:
    """Return a value as a cell of a table, without control characters."""
    text = f"{value:.1f}" if isinstance(value, float) else str(value or "")
    return visible(text)


def _html_row(tag: str, cells: Iterable[str]) -> str:
    html = ""
    for cell in cells:
        html += f"<{tag}>{escape(cell)}</{tag}>"
    return f"<tr>{html}</tr>"


def table_of_entries(
    entries: Iterable[JsonMapping],
    where: str = "scores.json",
    **columns: Any,
) -> ScoreTable:
    """Return the rows of evaluation entries (`scores.json`): the main metric of each, then its other metrics.

    entries: each with `task`, `metric`, `language`, `score`, and by metric `scores` and `scales`, unit and direction
    (default: unknown). where: names the file in errors. columns: values of further columns, the same
    in all rows. Raise a DataError if an entry lacks a column or has a wrong type.
    """
    rows: list[Score] = []
    for number, entry in enumerate(entries, 1):
        place = f"{where}, entry {number}"
        present = {
            key: value for key, value in entry.items() if value is not None or key == "score"
        }
        read = checked(present, ScoreEntry, place)
        values = {
            key: value for key, value in read.items() if key in _COLUMNS and value is not None
        }
        values["setting"] = setting_name(read)
        values["score"] = math.nan if read["score"] is None else read["score"]
        main = checked(
            {**values, **columns},
            Score,
            place,
        )
        rows.append(main)
        for metric, value in read.get("scores", {}).items():
            if metric == main.metric:
                continue
            scale = read.get("scales", {}).get(metric, {"unit": "", "greater_is_better": None})
            row = replace(
                main,
                metric=metric,
                main=False,
                unit=scale["unit"],
                greater_is_better=scale["greater_is_better"],
                score=value,
                low=None,
                high=None,
            )
            rows.append(row)
    return ScoreTable(rows)
