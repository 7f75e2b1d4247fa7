"""Which words an aligner linked, in a few sentence pairs; also as a picture of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.report import Section
from interlace.report._format import language_name
from interlace.report._matrix import draw
from interlace.report._parts import LinkMatrix
from interlace.report._picture_file import must_be_drawable, write_picture
from interlace.report._run import first_of_each
from interlace.report._svg import picture
from interlace.report._templates import render

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from interlace.report._run import Run

__all__ = ["LinkMatrix", "link_matrix", "must_be_drawable", "write_figure"]

_SHOWN = 6  # matrices on a page


def link_matrix(runs: Sequence[Run]) -> Section:
    """The section: pairs of each corpus, from the first run that linked it."""
    corpora: dict[str, list[LinkMatrix]] = {}
    for run in first_of_each(runs):
        fresh = {matrix.corpus for matrix in run.links} - set(corpora)
        for matrix in run.links:
            if matrix.corpus in fresh:
                corpora.setdefault(matrix.corpus, []).append(matrix)
    figures = [
        {"corpus": language_name(corpus), "picture": _drawn(matrix)} for corpus, matrix in _by_turns(corpora)[:_SHOWN]
    ]
    lead = (
        "Pairs of the training text, and the links that the aligner found in them. What it links wrongly,"
        " the objectives that read links learn wrongly."
        if figures
        else "These runs read no word links."
    )
    return Section("Linked words", lead, render("link_matrix", figures=figures))


def write_figure(matrix: LinkMatrix, path: Path) -> None:
    """Write the matrix of one pair as `.svg` or `.png`.

    Raises:
        SettingsError: the name ends in neither.
        MissingDependencyError: PNG needs a package that is not installed.
        DataError: the file cannot be written.
    """
    write_picture(draw(matrix), path)


def _drawn(matrix: LinkMatrix) -> object:
    drawing = draw(matrix)
    return picture(drawing.width, drawing.height, drawing.label, drawing.parts, "matrix")


def _by_turns(corpora: dict[str, list[LinkMatrix]]) -> list[tuple[str, LinkMatrix]]:
    """The first pair of each corpus, then the second of each."""
    ranked = [(rank, corpus, matrix) for corpus, found in corpora.items() for rank, matrix in enumerate(found)]
    return [(corpus, matrix) for _, corpus, matrix in sorted(ranked, key=lambda entry: entry[0])]
