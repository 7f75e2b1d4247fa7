"""The report page: results of runs as one HTML page with figures.

The page is one file that loads nothing from elsewhere. Its sections are entries of the registry
`interlace.report.sections`.
"""

import logging
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from interlace.core.errors import DataError
from interlace.core.outputs import is_stream, output_file
from interlace.report import svg
from interlace.report.runs import Run, all_scores, first_of_each, read_runs
from interlace.report.score_tables import TaskScores, summary_table, task_scores, verdict
from interlace.report.sections import Section, sections_of
from interlace.report.tables import html_fragment
from interlace.report.text import BLEU, language_name, language_names, render, style_sheet
from interlace.scores import ScoreTable

log = logging.getLogger(__name__)
_GENERATOR = b'<meta name="generator" content="interlace">'  # of the page's template


def read_scores(runs: Sequence[Path | str]) -> ScoreTable:
    """Return the scores in run folders, by `system` as on the report page; a DataError names what is no run folder."""
    return all_scores(read_runs([Path(run) for run in runs]))


def write_report(runs: Sequence[Path], into: Path, baseline: str = "") -> Path:
    """Write an HTML page about run folders to the file `into`, and return it; `baseline` as in `read_runs`.

    The figures are also written as SVG to a folder beside the page (`report-figures/` for `report.html`), unless the
    page is written to a pipe or a device.
    Raise a DataError if one is no run folder or damaged, or the page cannot be written.
    """
    read = read_runs(runs, baseline)
    sections = sections_of(read)
    if into.is_dir():
        raise DataError(f"{into}: is a folder; name the file of the report, for instance {into / 'report.html'}")
    folder = into.with_name(f"{into.stem}-figures")
    figures = {section.anchor: section.figures for section in sections if section.figures}
    try:
        svg.check_figures_folder(folder)
        with output_file(into) as partial:
            partial.write_text(_page(read, sections), encoding="utf-8")
        if not is_stream(into):
            svg.write_figures(figures, folder)
    except OSError as error:
        raise DataError(f"{error.filename or into}: cannot be written: {error.strerror or error}") from None
    return into


def is_report(path: Path) -> bool:
    """Return whether a file is a report page, which another one may replace."""
    with path.open("rb") as file:
        return _GENERATOR in file.read(1000)


def _page(runs: Sequence[Run], sections: Sequence[Section]) -> str:
    results = task_scores(all_scores(runs))
    firsts = first_of_each(runs)
    abouts = []
    for run in firsts:
        models = ", ".join(model or "unknown" for model in run.models) or "unknown"
        about = run.recipe.get("about", "") if run.recipe else f"Not pre-trained here. Checkpoint: {models}."
        abouts += [(run, svg.key(run.style), about)] * bool(about)
    title, summary, caution = page_head(runs, results)
    table = summary_table([one for one in results if one.first.setting == "zero-shot"] or results)
    return render(
        "page",
        title=title,
        names=", ".join(run.label for run in firsts),
        summary=summary,
        caution=caution,
        table=html_fragment(table) if table.columns else "",
        abouts=abouts,
        sections=sections,
        version=runs[0].facts.get("interlace"),
        style=style_sheet() + Markup(svg.style_sheet()),  # noqa: S704 - our own file
    )


def page_head(runs: Sequence[Run], results: Sequence[TaskScores]) -> tuple[str, str, str]:
    """Return the title, the summary of the results, and what the summary rests on."""
    results = [one for one in results if one.first.setting == "zero-shot"] or results
    title = "Probes of cross-lingual models" if results else "Cross-lingual pre-training"
    if results and all(one.first.unit == BLEU for one in results):
        title = "Translation"
    elif sources := list(dict.fromkeys(one.first.source for one in results if one.tuned)):
        title = f"Zero-shot transfer from {language_names(sources)}"
    unfinished = [run.folder.name for run in runs if run.recipe and not run.facts.get("finished")]
    parts = [f"Training not finished: {', '.join(unfinished)}."] if unfinished else []
    for name in unfinished:
        log.warning("%s: training is not finished; its figures are preliminary", name)
    means = [one.results[one.summary] for one in results if one.summary is not None]
    sizes = [len(result.values) for by_system in means for result in by_system.values()]
    if sizes:
        several = f"{min(sizes)} to {max(sizes)}" if min(sizes) < max(sizes) else str(max(sizes))
        parts.append(f"Measurements per system: {several}.")
        times = Counter(run.label for run in runs)
        if once := ", ".join(label for label, count in times.items() if count == 1):
            reason = "differences between methods are not tested, and other seeds may rank the systems differently"
            parts.append(f"Single pre-training run: {once}; {reason}.")
    return title, _summary(results), " ".join(parts)


def _summary(results: Sequence[TaskScores]) -> str:
    """Return where the mean of the first task is over, and what the test of its best two systems supports."""
    first = next((one for one in results if one.summary is not None), None)
    if first is None:
        return "No mean over languages that all systems share." if results else "No task has been scored yet."
    if first.mean is None:
        where = language_name(first.others[0].language)
    else:
        without = f" other than {language_name(first.first.source)}" if first.mean.has_source else ""
        where = f"Mean over {len(first.averaged)} {'directions' if first.first.unit == BLEU else 'languages'}{without}"
    return f"{where}. {verdict(first)}"
