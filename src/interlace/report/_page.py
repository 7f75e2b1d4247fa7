"""The page around the sections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.report._format import joined
from interlace.report._headline import caution, summary, title
from interlace.report._run import checkpoint_of, first_of_each
from interlace.report._scores import tables
from interlace.report._templates import render, style

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from interlace.report import Section
    from interlace.report._run import Run


def page(runs: Sequence[Run], sections: Mapping[str, Section]) -> str:
    """The whole HTML document."""
    results = tables(runs)
    results = [table for table in results if table.setting == "zero-shot"] or results  # what the first words speak of
    return render(
        "page",
        title=title(results),
        names=joined([run.label for run in first_of_each(runs)]),
        summary=summary(runs, results),
        caution=caution(runs, results),
        abouts=_abouts(runs),
        sections=[(name.replace("_", "-"), section) for name, section in sections.items()],
        version=runs[0].facts.get("interlace"),
        style=style(),
    )


def _abouts(runs: Sequence[Run]) -> list[tuple[Run, str]]:
    """What each recipe says of itself, and which checkpoint was scored where there is no recipe."""
    told = [(run, checkpoint_of(run) or str(run.recipe.get("about") or "")) for run in first_of_each(runs)]
    return [(run, about) for run, about in told if about]
