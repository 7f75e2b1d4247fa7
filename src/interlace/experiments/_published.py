"""Which rows of papers' tables a recipe stands for, so that a reader has their figures beside ours."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from interlace.core.errors import DataError
from interlace.core.settings import Settings
from interlace.scores.published import Row, placed

_FIGURES = {"metric", "scores"}


class Published(Settings):
    """A row of a paper's table (`interlace.scores.published`); its scale and data may differ from ours."""

    where: str = Field(description="Paper, table and row, as `interlace list published` has them.")
    task: str = Field("", description="Where the table has the row for several tasks, one of them; none: all.")
    system: str = Field("", description="Where several systems share the row's name, one of them.")
    columns: list[str] | None = Field(None, min_length=1, description="Languages or settings; none: all of the row.")
    note: str = Field("", description="What to know before comparing with this recipe.")

    @model_validator(mode="before")
    @classmethod
    def _without_figures(cls, given: Any) -> Any:
        """Runs of old hold the figures themselves, and what was measured in words of their own."""
        if isinstance(given, dict) and given.keys() >= _FIGURES:
            return {"where": given.get("where", "")}
        return given

    @model_validator(mode="after")
    def _is_there(self) -> Published:
        try:
            self.rows()
        except DataError as error:
            raise ValueError(str(error)) from None
        return self

    def rows(self) -> list[Row]:
        """The row, once for each of its measures."""
        return placed(self.where, self.task, self.system, self.columns)
