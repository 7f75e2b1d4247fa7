"""What a paper reports for the system that a recipe stands for, so that a reader has it beside our figures."""

from __future__ import annotations

from pydantic import Field

from interlace.settings import Settings


class Published(Settings):
    """One row of a table of a paper. Theirs: another scale, other data, often other metrics than ours."""

    where: str = Field(description="Paper, table and row.")
    task: str = Field(description="What was measured.")
    metric: str = Field(description="In which unit; higher is better but for perplexity and error rates.")
    scores: dict[str, float] = Field(
        min_length=1, description="Figure by language, pair or setting; 'mean' is the paper's own."
    )
    note: str = Field("", description="An erratum, or what to know before comparing.")
