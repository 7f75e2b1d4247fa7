"""Training examples as the model reads them."""

from collections.abc import Sequence

from interlace.report.runs import ReportedRun, Sample
from interlace.report.sections import Section
from interlace.report.text import language_name, render

_MAX_CORPORA = 3  # of an objective


def training_examples(runs: Sequence[ReportedRun]) -> Section | None:
    """Return the section `Training examples`: for each objective an example of some corpora."""
    by_objective: dict[str, dict[str, Sample]] = {}
    for run in runs:
        for sample in run.samples:
            by_objective.setdefault(sample.objective, {}).setdefault(sample.corpus, sample)
    if not by_objective:
        return None
    shown = {}
    for name, samples in by_objective.items():
        shown[name] = list(samples.values())[:_MAX_CORPORA]
    lead = "What the model reads and predicts, as `interlace preview` shows it; [M] is the mask."
    body = render("samples", objectives=shown, language_name=language_name)
    return Section("Training examples", lead, body)
