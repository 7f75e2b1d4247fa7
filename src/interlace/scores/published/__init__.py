"""Published results as data: every table of the four papers, with what is wrong in print said beside it.

A file is a paper. A printed table that holds several measures is a table for each. Figures are theirs: another scale,
other data, often another split than ours, so they stand beside our scores and are never ranked with them.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, model_validator

from interlace.core.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_FOLDER = Path(__file__).parent
_MISSING = "-"


@dataclass(frozen=True)
class Row:
    """One system in one table.

    printed: figure by column, as in the paper. correct: the columns in which print is wrong, with what is right.
    theirs: whether the authors ran it; what they cite is not. source: the paper that they took it from.
    """

    cite: str
    table: Table
    system: str
    setting: str
    printed: dict[str, float]
    correct: dict[str, float] = field(default_factory=dict)
    theirs: bool = True
    source: str = ""
    note: str = ""

    @property
    def scores(self) -> dict[str, float]:
        """Figure by column, errata mended."""
        return {**self.printed, **self.correct}

    @property
    def where(self) -> str:
        """Paper, table and row, as recipes name them."""
        setting = self.table.called.get(self.setting, self.setting)
        return f"{self.cite}, table {self.table.number}, {self.table.where.format(system=self.system, setting=setting)}"

    def fits(self, task: str, setting: str, score: str) -> bool:
        """Whether figures may stand beside our scores of that name: a paper's row without a setting fits any."""
        return (self.table.task, self.table.score) == (task, score) and self.setting in {"", setting}

    def remarks(self, units: Collection[str], rules: Collection[str]) -> list[str]:
        """What to know before reading the row beside our scores: of the table, and of the row where there is a note.

        Args:
            units: of our scores; where one is not the table's, that is said.
            rules: by which our scores' weights were chosen; none: nothing was tuned.
        """
        table, parts = self.table, []
        if others := [unit for unit in units if unit != table.unit]:
            parts.append(f"Unit: {table.unit}; ours: {' and '.join(sorted(others))}, which need not be the same.")
        if table.selection or rules:
            ours = f"; ours: {' and '.join(rules)}" if rules else ""
            parts.append(f"Selection: {table.selection or 'not named'}{ours}.")
        parts += [table.note] if table.note else []
        parts += [f"Wrong in print: {table.errata}"] if table.errata else []
        told = [f"{self.cite}, table {table.number} ({table.task}, {table.metric}): {' '.join(parts)}"] if parts else []
        return [*told, f"{self.where}: {self.note}"] if self.note else told

    def only(self, columns: Collection[str]) -> Row:
        """The same row with some of its figures."""
        kept = [{key: value for key, value in each.items() if key in columns} for each in (self.printed, self.correct)]
        return replace(self, printed=kept[0], correct=kept[1])


class _Line(BaseModel):
    """A row as the file has it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    system: str
    setting: str = ""
    scores: list[float | str]
    correct: dict[str, float] = {}
    theirs: bool = True
    source: str = ""
    note: str = ""


class Table(BaseModel):
    """One measure of one printed table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: str = Field(description="As printed, such as '1' or 'appendix E'.")
    about: str = Field(description="What it shows, a sentence.")
    task: str = Field(description="What is measured, under our name of the task where there is one.")
    metric: str = Field(description="How.")
    score: str = Field("", description="Name of our score of the same kind; none: we have none.")
    unit: str = Field(description="Of the figures.")
    split: str = Field(description="What is scored: test sets, but dev sets in ALIGN-MLM.")
    selection: str = Field("", description="How the scored model was chosen among those tuned.")
    greater_is_better: bool = Field(True, description="False for perplexity, distances and hours.")
    where: str = Field("{system}", description="How recipes name a row.")
    called: dict[str, str] = Field({}, description="A setting's name in print, where we call it otherwise.")
    columns: list[str] = Field(min_length=1, description="Languages, pairs, settings, or means of these.")
    means: dict[str, list[str]] = Field({}, description="Columns that are means of others.")
    differences: dict[str, tuple[str, str]] = Field({}, description="Columns that are the first minus the second.")
    note: str = Field("", description="What to know before comparing.")
    errata: str = Field("", description="What is wrong in print, and what is right.")
    rows: list[_Line] = Field(min_length=1, description="A system each.")

    @property
    def measured(self) -> str:
        """The metric with its unit, where this says more."""
        return self.metric if self.unit == self.metric else f"{self.metric}, {self.unit}"

    @model_validator(mode="after")
    def _fits(self) -> Table:
        for line in self.rows:
            if len(line.scores) != len(self.columns):
                message = f"{line.system}: {len(line.scores)} figures for {len(self.columns)} columns"
                raise ValueError(message)
            wrong = [score for score in line.scores if isinstance(score, str) and score != _MISSING]
            unknown = [*wrong, *(set(line.correct) - set(self.columns))]
            if unknown:
                message = f"{line.system}: {unknown[0]!r} is neither a figure nor a column"
                raise ValueError(message)
            if line.correct and not self.errata:
                message = f"{line.system}: a figure is mended, and 'errata' does not say why"
                raise ValueError(message)
        return self


class Figure(BaseModel):
    """A figure of a paper whose values stand nowhere in text, or stand in a table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: str
    about: str


class Paper(BaseModel):
    """All tables of results of one paper, in the order of print."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cite: str
    title: str
    tables: list[Table]
    figures: list[Figure] = []

    def rows(self) -> Iterator[Row]:
        """Every row of every table."""
        for table in self.tables:
            for line in table.rows:
                printed = {
                    column: score
                    for column, score in zip(table.columns, line.scores, strict=True)
                    if not isinstance(score, str)
                }
                extra = line.model_dump(include={"correct", "theirs", "source", "note"})
                yield Row(self.cite, table, line.system, line.setting, printed, **extra)


def papers() -> list[str]:
    """Names of the papers."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


@cache
def paper(name: str) -> Paper:
    """All that one paper prints.

    Raises:
        DataError: there is no paper of that name; says which there are.
    """
    path = _FOLDER / f"{name}.toml"
    if name not in papers():
        raise DataError(f"no published results of {name!r}{did_you_mean(name, papers())}")
    return Paper.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))


def tables(name: str, number: str = "") -> list[Table]:
    """The tables of a paper, or the measures of one of them.

    Raises:
        DataError: there is no such paper or table; says which there are.
    """
    found = [table for table in paper(name).tables if number in {"", table.number}]
    if not found:
        numbers = list(dict.fromkeys(table.number for table in paper(name).tables))
        raise DataError(f"{name}: no table {number!r}{did_you_mean(number, numbers)}")
    return found


def rows(
    task: str = "",
    *,
    names: Sequence[str] = (),
    number: str = "",
    setting: str = "",
    system: str = "",
    column: str = "",
) -> list[Row]:
    """Rows of all papers (or of those of `names`) that fit what is asked for; an empty string asks for nothing.

    column: a language, pair or setting that the row must have a figure for.
    """
    every = (row for name in (names or papers()) for row in paper(name).rows())
    asked = {"task": task, "number": number, "setting": setting, "system": system}
    return [row for row in every if _fits(row, asked) and (not column or column in row.printed)]


def placed(where: str, task: str = "", system: str = "", columns: Collection[str] | None = None) -> list[Row]:
    """The rows that print one place, such as 'Yang et al. 2020, table 1, ALM': a row for each measure of the table.

    Args:
        where: paper, table and row.
        task: where the place holds several tasks, one of them; none: all.
        system: where several systems stand in the place, one of them; none: all.
        columns: figures wanted; none: all.

    Raises:
        DataError: there is no such place, or none of the columns in it; says what there is.
    """
    found = [row for row in rows(task, system=system) if row.where == where]
    if not found:
        places = {row.where for row in rows(task, system=system)}
        raise DataError(f"no published results at {where!r}{did_you_mean(where, places)}")
    unknown = next((column for column in columns or () if not any(column in row.printed for row in found)), None)
    if unknown is not None:
        raise DataError(f"{where}: no column {unknown!r}{did_you_mean(unknown, found[0].table.columns)}")
    return found if columns is None else [row.only(columns) for row in found]


def lookup(task: str, column: str, system: str, *, setting: str = "", metric: str = "") -> list[tuple[float, Row]]:
    """Every published figure of a system in a language (or pair), errata mended, with the row that it stands in."""
    found = rows(task, setting=setting, system=system, column=column)
    return [(row.scores[column], row) for row in found if metric in {"", row.table.metric}]


def _fits(row: Row, asked: dict[str, str]) -> bool:
    has = {"task": row.table.task, "number": row.table.number, "setting": row.setting, "system": row.system}
    return all(value in {"", has[key]} for key, value in asked.items())
