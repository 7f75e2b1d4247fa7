"""Word alignments of sentence pairs of the training text."""

from collections.abc import Sequence

from interlace.report.figures.alignment_matrix import alignment_matrix
from interlace.report.runs import ReportedRun, of_first_runs
from interlace.report.section import CaptionedFigure, Section, figure_section
from interlace.report.text import language_name

_MAX_FIGURES = 6


def word_alignments(runs: Sequence[ReportedRun]) -> list[Section]:
    """Return the section `Word alignments`: the first pairs of each corpus by turns."""
    by_corpus = of_first_runs(runs, lambda run: run.alignments, lambda matrix: matrix.corpus)
    longest = max((len(matrices) for matrices in by_corpus.values()), default=0)
    figures = []
    for index in range(longest):
        for corpus, matrices in by_corpus.items():
            if index < len(matrices):
                figures.append(
                    CaptionedFigure(language_name(corpus), alignment_matrix(matrices[index]))
                )
    lead = "Sentence pairs of the training text with the word alignments that objectives read."
    return figure_section("Word alignments", lead, figures[:_MAX_FIGURES])
