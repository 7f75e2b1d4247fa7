"""Training examples as the model reads them."""

from collections.abc import Sequence

from interlace.report.runs import ReportedRun, of_first_runs
from interlace.report.sections import Section
from interlace.report.text import language_name, render

_MAX_CORPORA = 3  # of an objective


def training_examples(runs: Sequence[ReportedRun]) -> Section | None:
    """Return the section `Training examples`: for each objective an example of some corpora, from the first run."""
    by_objective = of_first_runs(
        runs,
        lambda run: run.samples,
        lambda sample: sample.objective,
    )
    if not by_objective:
        return None
    shown = {}
    for name, samples in by_objective.items():
        shown[name] = samples[:_MAX_CORPORA]
    lead = "What the model reads and predicts, as `interlace preview` shows it; [M] is the mask."
    body = render("samples", objectives=shown, language_name=language_name)
    return Section("Training examples", lead, body)
