"""Figures as SVG files, alone or in a folder beside a report."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from interlace.core.errors import SettingsError
from interlace.core.files import atomic, atomic_folder, must_be_replaceable
from interlace.report.svg import Drawing

_MARK = "figures.txt"  # the file that tells a folder of figures


def check_figure_path(path: Path) -> None:
    """Raise a SettingsError if the suffix is not `.svg`."""
    if path.suffix != ".svg":
        raise SettingsError(f"{path}: a figure is FILE.svg")


def write_figure(drawing: Drawing, path: Path) -> None:
    """Write a drawing as SVG; raises as `check_figure_path` does."""
    check_figure_path(path)
    with atomic(path) as partial:
        partial.write_text(str(drawing.document()), encoding="utf-8")


def write_figures(figures: Mapping[str, Sequence[Drawing]], folder: Path) -> list[Path]:
    """Write figures as `NAME-NUMBER.svg` into a folder, in place of an older folder of figures."""
    check_figures_folder(folder)
    written = []
    with atomic_folder(folder) as partial:
        (partial / _MARK).write_text(
            "Figures of a report, written by interlace.\n", encoding="utf-8"
        )
        for name, drawings in figures.items():
            for number, drawing in enumerate(drawings, 1):
                file_name = f"{name}-{number}.svg"
                write_figure(drawing, partial / file_name)
                written.append(folder / file_name)
    return written


def check_figures_folder(folder: Path) -> None:
    """Reject a folder to write that is there and holds anything but figures of an older report."""
    must_be_replaceable(
        folder,
        _MARK,
        "folder of figures",
        ["*-*.svg"],
    )
