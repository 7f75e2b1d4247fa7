"""Figures as SVG files in a folder beside a report."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from interlace.core.files import atomic_folder, must_be_replaceable
from interlace.report.svg import Drawing

_MARK = "figures.txt"  # the file that tells a folder of figures


def write_figures(figures: Mapping[str, Sequence[Drawing]], folder: Path) -> None:
    """Write figures as `NAME-NUMBER.svg` into a folder, in place of an older folder of figures."""
    check_figures_folder(folder)
    with atomic_folder(folder) as partial:
        mark = partial / _MARK
        mark.write_text("Figures of a report, written by interlace.\n", encoding="utf-8")
        for name, drawings in figures.items():
            for number, drawing in enumerate(drawings, 1):
                path = partial / f"{name}-{number}.svg"
                path.write_text(str(drawing.document()), encoding="utf-8")


def check_figures_folder(folder: Path) -> None:
    """Reject a folder to write that is there and holds anything but figures of an older report."""
    must_be_replaceable(
        folder,
        _MARK,
        "folder of figures",
        ["*-*.svg"],
    )
