"""The page around the sections: title, summary of the results, table of contents."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from markupsafe import Markup

from interlace.report import svg
from interlace.report.runs import all_scores, checkpoint_note, first_of_each
from interlace.report.score_tables import summary_entry, task_scores
from interlace.report.text import BLEU, language_name, language_names, render, style_sheet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.report.runs import Run
    from interlace.report.score_tables import TaskScores
    from interlace.report.sections import Section

_MAX_TASKS = 3  # in the summary


def page(runs: Sequence[Run], sections: Sequence[Section]) -> str:
    """Return the HTML document."""
    results = task_scores(all_scores(runs))
    results = [one for one in results if one.first.setting == "zero-shot"] or results
    firsts = first_of_each(runs)
    abouts = [(run, checkpoint_note(run) or str(run.recipe.get("about") or "")) for run in firsts]
    return render(
        "page",
        title=title(results),
        names=", ".join(run.label for run in firsts),
        summary=summary(results),
        caution=caution(runs, results),
        abouts=[(run, svg.key(run.style), about) for run, about in abouts if about],
        sections=sections,
        version=runs[0].facts.get("interlace"),
        style=style_sheet() + Markup(svg.style_sheet()),  # noqa: S704 - our own file
    )


def title(results: Sequence[TaskScores]) -> str:
    """Return the title of the page."""
    if results and all(one.first.unit == BLEU for one in results):
        return "Translation"
    sources = list(dict.fromkeys(one.first.source for one in results if one.tuned))
    if sources:
        return f"Zero-shot transfer from {language_names(sources)}"
    return "Probes of cross-lingual models" if results else "Cross-lingual pre-training"


def summary(results: Sequence[TaskScores]) -> str:
    """Return the best systems of the first tasks, by the mean over the same languages."""
    with_summary = [one for one in results if one.summary is not None]
    if not with_summary:
        return "No mean over languages that all systems share." if results else "No task has been scored yet."
    first = with_summary[0]
    same = [one for one in with_summary if _languages(one) == _languages(first)][:_MAX_TASKS]
    return " ".join([f"{_where(first)}.", *map(summary_entry, same)])


def _languages(one: TaskScores) -> tuple[str, ...]:
    return (one.first.source, *sorted(one.averaged)) if one.mean else (one.others[0].language,)


def _where(one: TaskScores) -> str:
    if one.mean is None:
        return language_name(one.others[0].language)
    what = "directions" if one.first.unit == BLEU else "languages"
    without = f" other than {language_name(one.first.source)}" if one.mean.has_source else ""
    return f"Mean over {len(one.averaged)} {what}{without}"


def caution(runs: Sequence[Run], results: Sequence[TaskScores]) -> str:
    """Return which runs are unfinished, and how many measurements the summary rests on."""
    unfinished = [run.folder.name for run in runs if run.recipe and not run.facts.get("finished")]
    parts = [f"Training not finished: {', '.join(unfinished)}."] if unfinished else []
    sizes = [
        len(result.values)
        for one in results
        if (measure := one.summary) is not None
        for result in one.results[measure].values()
    ]
    if not sizes:
        return " ".join(parts)
    several = f"{min(sizes)} to {max(sizes)}" if min(sizes) < max(sizes) else str(max(sizes))
    parts.append(f"Measurements a system: {several}.")
    times = Counter(run.label for run in runs)
    if once := [label for label, count in times.items() if count == 1]:
        parts.append(f"Pre-trained once: {', '.join(once)}; other pre-training seeds may rank the systems differently.")
    return " ".join(parts)
