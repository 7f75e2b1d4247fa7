"""The report page: results of runs as one HTML page with figures, which loads nothing from elsewhere."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from interlace.core.errors import DataError
from interlace.core.files import atomic_folder, must_be_replaceable
from interlace.core.outputs import is_stream, output_file
from interlace.report.comparison_table import ComparisonTable
from interlace.report.runs import ReportedRun, all_scores, first_of_each, read_runs
from interlace.report.sections import Section
from interlace.report.sections.scores import scores, transfer
from interlace.report.sections.settings import compute, mixture, recipe
from interlace.report.sections.training import evaluation, losses, training_examples
from interlace.report.sections.words import word_maps
from interlace.report.svg import Drawing
from interlace.report.tables import html_fragment
from interlace.report.text import language_names, render
from interlace.scores import ScoreTable

log = logging.getLogger(__name__)
_GENERATOR = b'<meta name="generator" content="interlace">'  # of the page's template
_FIGURES_MARK = "figures.txt"  # the file that tells a folder of figures
_SECTIONS = (
    scores,
    transfer,
    word_maps,
    evaluation,
    losses,
    mixture,
    training_examples,
    recipe,
    compute,
)


def read_scores(runs: Sequence[Path | str]) -> ScoreTable:
    """Return the scores in run folders, by `system` as on the report page; a DataError names what is no run folder."""
    return all_scores(read_runs([Path(run) for run in runs]))


def write_report(
    runs: Sequence[Path],
    into: Path,
    baseline: str = "",
) -> Path:
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
        _check_figures_folder(folder)
        with output_file(into) as partial:
            partial.write_text(_page(read, sections), encoding="utf-8")
        if not is_stream(into):
            _write_figures(figures, folder)
    except OSError as error:
        raise DataError(
            f"{error.filename or into}: cannot be written: {error.strerror or error}"
        ) from None
    return into


def _write_figures(figures: Mapping[str, Sequence[Drawing]], folder: Path) -> None:
    """Write figures as `NAME-NUMBER.svg` into a folder, in place of an older folder of figures."""
    _check_figures_folder(folder)
    with atomic_folder(folder) as partial:
        mark = partial / _FIGURES_MARK
        mark.write_text("Figures of a report, written by interlace.\n", encoding="utf-8")
        for name, drawings in figures.items():
            for number, drawing in enumerate(drawings, 1):
                path = partial / f"{name}-{number}.svg"
                path.write_text(str(drawing.document()), encoding="utf-8")


def _check_figures_folder(folder: Path) -> None:
    """Reject a folder to write that is there and holds anything but figures of an older report."""
    must_be_replaceable(
        folder,
        _FIGURES_MARK,
        "folder of figures",
        ["*-*.svg"],
    )


def is_report(path: Path) -> bool:
    """Return whether a file is a report page, which another one may replace."""
    with path.open("rb") as file:
        return _GENERATOR in file.read(1000)


def sections_of(runs: Sequence[ReportedRun]) -> list[Section]:
    """Return the sections of the page that runs have results for."""
    sections = []
    for make_section in _SECTIONS:
        section = make_section(runs)
        if section is not None:
            sections.append(section)
    return sections


def _page(runs: Sequence[ReportedRun], sections: Sequence[Section]) -> str:
    table_of_scores = all_scores(runs)
    columns = first_of_each(runs)
    table = ""
    if table_of_scores:
        table = html_fragment(ComparisonTable(table_of_scores, title="").main())
    return render(
        "page",
        title=title_of(table_of_scores),
        names=", ".join(run.label for run in columns),
        cautions=cautions(runs),
        table=table,
        abouts=[(run.label, run.recipe["about"]) for run in columns if run.recipe.get("about")],
        sections=sections,
        version=runs[0].facts.get("interlace"),
    )


def title_of(table: ScoreTable) -> str:
    """Return the title of the page."""
    sources = table.filter(lambda row: row.language == row.source).unique("source")
    if sources:
        return f"Zero-shot transfer from {language_names(sources)}"
    return "Cross-lingual language models"


def cautions(runs: Sequence[ReportedRun]) -> list[str]:
    """Return what to know of the runs before reading their scores."""
    notes = []
    unfinished = [
        run.folder.name for run in runs if run.recipe and not run.facts.get("finished")
    ]
    for name in unfinished:
        log.warning("%s: training is not finished; its figures are preliminary", name)
    if unfinished:
        notes.append(f"Training not finished: {', '.join(unfinished)}.")
    for run in runs:
        last_step = run.steps[-1].step if run.steps else 0
        steps = run.facts.get("steps", 0)
        if last_step < steps:
            notes.append(
                f"Records of training are lost: {run.folder.name}, after step {last_step:,} of {steps:,}."
            )
            log.warning("%s", notes[-1])
    run_counts = Counter(run.label for run in runs)
    single = [label for label, run_count in run_counts.items() if run_count == 1]
    if single:
        notes.append(
            f"Single pre-training run: {', '.join(single)}; other seeds may rank the systems differently."
        )
    return notes
