"""Published results of four papers, with printing errors corrected in a separate column.

Each TOML file is a paper, with a table for each measure of a printed table. The papers used other data, models and
often other splits, so their figures are shown with ours but never tested against them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Literal

from pydantic import Field

from interlace.core.errors import DataError, did_you_mean
from interlace.core.settings import Settings
from interlace.scores import SUPERVISED, ZERO_SHOT
from interlace.scores.aggregation import GAP
from interlace.scores.held_out import ALL_WORDS

_FOLDER = Path(__file__).parent
_SETTINGS = frozenset({SUPERVISED, ZERO_SHOT, GAP})


@dataclass(frozen=True)
class PublishedRow:
    """One system in one table.

    setting: of fine-tuning, by our name. condition: of pre-training, such as the share of parallel text.
    printed: figure by column, as in the paper. correct: corrected figures by column.
    source: the paper that the figures are cited from, if the authors did not run the system.
    """

    cite: str
    table: PublishedTable
    system: str
    setting: str
    condition: str
    printed: dict[str, float]
    correct: dict[str, float] = field(default_factory=dict)
    source: str = ""
    note: str = ""

    @property
    def scores(self) -> dict[str, float]:
        """The corrected figures by column."""
        return {**self.printed, **self.correct}

    @property
    def where(self) -> str:
        """Paper, table and row, as recipes name them."""
        setting = self.table.called.get(self.setting, self.setting)
        name = self.table.where.format(
            system=self.system, setting=setting, condition=self.condition
        )
        return f"{self.cite}, table {self.table.number}, {name}"

    def figures(
        self,
        task: str,
        setting: str,
        metric: str,
    ) -> dict[str, float]:
        """Return the figures of our task, setting and metric by language and "mean"; empty if the row has none.

        A row without a setting is of any; a table with a column for each setting prints means over languages.
        """
        is_of_metric = (self.table.task, self.table.score) == (
            task,
            metric.removesuffix(ALL_WORDS),
        )
        if not is_of_metric or self.setting not in {"", setting}:
            return {}
        if not self.table.has_settings_as_columns:
            return self.scores
        return {"mean": self.scores[setting]} if setting in self.scores else {}

    def remarks(self, units: Collection[str], rules: Collection[str]) -> list[str]:
        """Return what to know before comparing the row with our scores.

        units: of our scores. rules: by which weights of our models were selected; empty: nothing was fine-tuned.
        """
        table = self.table
        where = f"{self.cite}, table {table.number} ({table.task}, {table.metric})"
        parts = [
            f"{where}: unit: {table.unit} (ours: {', '.join(sorted(units))}).",
            f"Model selection: {table.selection or 'not stated'} (ours: {', '.join(rules) or 'none'}).",
            table.note,
            f"Printing errors: {table.errata}" if table.errata else "",
        ]
        remarks = [" ".join(filter(None, parts))]
        if self.note:
            remarks.append(f"{self.where}: {self.note}")
        return remarks


class _Line(Settings):
    """A row of a TOML file."""

    system: str
    setting: str = ""
    condition: str = ""
    scores: list[float | Literal["-"]]
    correct: dict[str, float] = {}
    source: str = ""
    note: str = ""


class PublishedTable(Settings):
    """One measure of one printed table."""

    number: str = Field(description="As printed, such as '1' or 'appendix E'.")
    about: str = Field(description="What the table shows.")
    task: str = Field(description="The task, by our name if we have it.")
    metric: str = Field(description="The metric.")
    score: str = Field(
        "",
        description="Our name of the metric, if we have it.",
    )
    unit: str = Field(description="Of the figures.")
    split: str = Field(description="The split that is scored.")
    selection: str = Field("", description="How the model was selected.")
    where: str = Field(
        "{system}",
        description="Template of the name of a row in recipes.",
    )
    called: dict[str, str] = Field(
        {},
        description="Our name of a setting -> its name in print.",
    )
    columns: list[str] = Field(
        min_length=1,
        description="Languages, pairs, settings, or means.",
    )
    means: dict[str, list[str]] = Field(
        {},
        description="Columns that are means of other columns.",
    )
    differences: dict[str, tuple[str, str]] = Field(
        {}, description="Columns that are the first minus the second."
    )
    note: str = Field("", description="What to know before comparing.")
    errata: str = Field("", description="Printing errors and corrections.")
    rows: list[_Line] = Field(min_length=1, description="The systems.")

    @property
    def has_settings_as_columns(self) -> bool:
        """Whether the columns are settings of fine-tuning instead of languages."""
        return _SETTINGS.issuperset(self.columns)

    @property
    def measured(self) -> str:
        """The metric with its unit, if that is not its name."""
        return self.metric if self.unit == self.metric else f"{self.metric}, {self.unit}"


class PublishedFigure(Settings):
    """A figure of a paper, whose values are not in the text or are in a table."""

    number: str
    about: str


class PublishedPaper(Settings):
    """All result tables of a paper, in order."""

    cite: str
    title: str
    tables: list[PublishedTable]
    figures: list[PublishedFigure] = []

    def rows(self) -> Iterator[PublishedRow]:
        """Yield every row of every table."""
        for table in self.tables:
            for line in table.rows:
                printed = {}
                for column, score in zip(table.columns, line.scores, strict=True):
                    if not isinstance(score, str):
                        printed[column] = score
                about = line.model_dump(exclude={"scores"})
                yield PublishedRow(
                    cite=self.cite,
                    table=table,
                    printed=printed,
                    **about,
                )


def papers() -> list[str]:
    """Return the names of the papers."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


@cache
def paper(name: str) -> PublishedPaper:
    """Read a paper; raise DataError if there is none of that name."""
    path = _FOLDER / f"{name}.toml"
    if name not in papers():
        raise DataError(f"no published paper {name!r}{did_you_mean(name, papers())}")
    return PublishedPaper.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))


def rows(task: str = "", system: str = "") -> list[PublishedRow]:
    """Return the rows of all papers, or those of a task and of a system."""
    return [
        row
        for row in _all_rows()
        if task in {"", row.table.task} and system in {"", row.system}
    ]


@cache
def _all_rows() -> tuple[PublishedRow, ...]:
    return tuple(chain.from_iterable(paper(name).rows() for name in papers()))


def find_rows(where: str, task: str = "", system: str = "") -> list[PublishedRow]:
    """Return the rows at one place, such as 'Yang et al. 2020, table 1, ALM', a row for each measure.

    task, system: one of several at that place; default: all. A DataError names the nearest place.
    """
    candidates = rows(task, system)
    matching = [row for row in candidates if row.where == where]
    if not matching:
        places = {row.where for row in candidates}
        raise DataError(f"no published results at {where!r}{did_you_mean(where, places)}")
    return matching
