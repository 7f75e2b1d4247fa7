"""The report page: results of runs as one HTML page with figures.

The page is one file that loads nothing from elsewhere. Its sections are entries of the registry
`interlace.report.sections`.
"""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from markupsafe import Markup

from interlace.core.errors import DataError
from interlace.core.outputs import is_stream, output_file
from interlace.report import figure_files, svg
from interlace.report.comparison_table import ComparisonTable, TaskScores
from interlace.report.runs import ReportedRun, all_scores, first_of_each, read_runs
from interlace.report.section import Section
from interlace.report.sections import sections_of
from interlace.report.tables import html_fragment
from interlace.report.text import (
    BLEU,
    language_name,
    language_names,
    number,
    p_value,
    render,
    style_sheet,
)
from interlace.scores import ZERO_SHOT, ScoreTable, from_to
from interlace.scores.aggregation import Measure
from interlace.scores.comparison import significance_against
from interlace.scores.statistics import ALPHA

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
        raise DataError(
            f"{into}: is a folder; name the file of the report, for instance {into / 'report.html'}"
        )
    folder = into.with_name(f"{into.stem}-figures")
    figures = {section.anchor: section.figures for section in sections if section.figures}
    try:
        figure_files.check_figures_folder(folder)
        with output_file(into) as partial:
            partial.write_text(_page(read, sections), encoding="utf-8")
        if not is_stream(into):
            figure_files.write_figures(figures, folder)
    except OSError as error:
        raise DataError(
            f"{error.filename or into}: cannot be written: {error.strerror or error}"
        ) from None
    return into


def is_report(path: Path) -> bool:
    """Return whether a file is a report page, which another one may replace."""
    with path.open("rb") as file:
        return _GENERATOR in file.read(1000)


def _page(runs: Sequence[ReportedRun], sections: Sequence[Section]) -> str:
    scores = _headline_scores(all_scores(runs))
    columns = first_of_each(runs)
    abouts = []
    for run in columns:
        about = _about(run)
        if about:
            abouts.append((run, svg.key(run.style), about))
    head = page_head(runs)
    table = ""
    if scores:
        table = html_fragment(
            replace(ComparisonTable(scores, title="").main(), caption="", head="System")
        )
    return render(
        "page",
        title=head.title,
        names=", ".join(run.label for run in columns),
        summary=head.summary,
        caution=head.caution,
        table=table,
        abouts=abouts,
        sections=sections,
        version=runs[0].facts.get("interlace"),
        style=style_sheet() + Markup(svg.style_sheet()),  # noqa: S704 - our own file
    )


def _headline_scores(scores: ScoreTable) -> ScoreTable:
    """Return the zero-shot scores, or all if there are none."""
    return scores.filter(setting=ZERO_SHOT) or scores


def _about(run: ReportedRun) -> str:
    """Return what a recipe says of itself, or the names of checkpoints that were not pre-trained here."""
    if run.recipe:
        return str(run.recipe.get("about", ""))
    models = ", ".join(model or "unknown" for model in run.models)
    return f"Not pre-trained here. Checkpoint: {models or 'unknown'}."


@dataclass(frozen=True)
class PageHead:
    """The title of the page, the summary of its results, and what the summary rests on."""

    title: str
    summary: str
    caution: str


def page_head(runs: Sequence[ReportedRun]) -> PageHead:
    """Return the head of the page about runs."""
    tasks = ComparisonTable(_headline_scores(all_scores(runs))).tasks
    unfinished = [run.folder.name for run in runs if run.recipe and not run.facts.get("finished")]
    cautions = []
    if unfinished:
        cautions.append(f"Training not finished: {', '.join(unfinished)}.")
    for name in unfinished:
        log.warning("%s: training is not finished; its figures are preliminary", name)
    counts: list[int] = []
    for task in tasks:
        if task.summary is not None:
            counts += [len(result.values) for result in task.results[task.summary].values()]
    if counts:
        cautions.append(f"Measurements per system: {from_to(counts)}.")
        run_counts = Counter(run.label for run in runs)
        once = ", ".join(label for label, count in run_counts.items() if count == 1)
        if once:
            reason = "differences between methods are not tested, and other seeds may rank the systems differently"
            cautions.append(f"Single pre-training run: {once}; {reason}.")
    return PageHead(_title(tasks), _summary(tasks), " ".join(cautions))


def _title(tasks: Sequence[TaskScores]) -> str:
    if not tasks:
        return "Cross-lingual pre-training"
    if all(task.first.unit == BLEU for task in tasks):
        return "Translation"
    sources = dict.fromkeys(task.first.source for task in tasks if task.is_tuned)
    if sources:
        return f"Zero-shot transfer from {language_names(list(sources))}"
    return "Probes of cross-lingual models"


def _summary(tasks: Sequence[TaskScores]) -> str:
    """Return where the mean of the first task is over, and what the test of its best two systems supports."""
    if not tasks:
        return "No task has been scored yet."
    task = next((task for task in tasks if task.summary is not None), None)
    if task is None or task.summary is None:
        return "No mean over languages that all systems share."
    scope = language_name(task.summary.language)
    if task.mean is not None:
        kind = "directions" if task.first.unit == BLEU else "languages"
        without = f" other than {language_name(task.first.source)}" if task.mean.has_source else ""
        scope = f"Mean over {len(task.averaged)} {kind}{without}"
    return f"{scope}. {_verdict(task, task.summary)}"


def _verdict(task: TaskScores, measure: Measure) -> str:
    """Return a sentence on the best two systems of a task, with the test of their difference."""
    results = task.results[measure]
    greater_is_better = measure.greater_is_better is not False
    ranked = sorted(results, key=lambda system: results[system].mean, reverse=greater_is_better)[:2]
    shown = [f"{system.label} {number(results[system].mean)}{task.unit}" for system in ranked]
    if len(ranked) == 1:
        return f"{task.title}: {shown[0]}."
    test = significance_against(results, ranked[0])[ranked[1]]
    relation = "better than" if test.p < ALPHA else "not significantly different from"
    evidence = p_value(test.p)
    if min(len(results[system].sample) for system in ranked) == 1:
        relation = "and"
        evidence = "one run each, not tested"
    elif test.min_p >= ALPHA:
        evidence += ", cannot be significant with so few runs"
    return f"{task.title}: {shown[0]} {relation} {shown[1]} ({evidence})."
