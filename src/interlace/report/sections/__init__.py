"""The sections of the report page, one a file: results first, then explanations, training, and how to reproduce it."""

from collections.abc import Sequence

from interlace.report.runs import ReportedRun
from interlace.report.section import Section
from interlace.report.sections.compute import compute
from interlace.report.sections.derived_languages import derived_languages
from interlace.report.sections.diagnostics import diagnostics
from interlace.report.sections.differences import differences
from interlace.report.sections.evaluation import evaluation
from interlace.report.sections.losses import losses
from interlace.report.sections.mixture import mixture
from interlace.report.sections.published import published
from interlace.report.sections.recipe import recipe
from interlace.report.sections.reproduction import reproduction
from interlace.report.sections.scores import scores
from interlace.report.sections.training_examples import training_examples
from interlace.report.sections.transfer_gap import transfer_gap
from interlace.report.sections.word_alignments import word_alignments
from interlace.report.sections.word_maps import word_maps

SECTIONS = (
    scores,
    differences,
    transfer_gap,
    published,
    derived_languages,
    word_maps,
    diagnostics,
    evaluation,
    losses,
    mixture,
    training_examples,
    word_alignments,
    recipe,
    compute,
    reproduction,
)


def sections_of(runs: Sequence[ReportedRun]) -> list[Section]:
    """Return the sections of the page that runs have results for."""
    page: list[Section] = []
    for sections in SECTIONS:
        page += sections(runs)
    return page
