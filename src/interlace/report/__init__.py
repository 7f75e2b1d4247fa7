"""The report page and the tables of studies; the page's functions are imported when they are first used."""

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from interlace.core.errors import dependency_errors

if TYPE_CHECKING:
    from interlace.report.comparison_table import ComparisonTable
    from interlace.report.page import read_scores, write_report
    from interlace.report.runs import read_outcomes

__all__ = ["ComparisonTable", "read_outcomes", "read_scores", "write_report"]

_MODULES = {
    "ComparisonTable": "interlace.report.comparison_table",
    "read_outcomes": "interlace.report.runs",
    "read_scores": "interlace.report.page",
    "write_report": "interlace.report.page",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'interlace.report' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


class _CallableModule(ModuleType):
    """Makes `interlace.report([run], "report.html")` write a page, though the name is that of the package."""

    @dependency_errors()
    def __call__(
        self,
        runs: Sequence[Any],
        output: Path | str = "report.html",
        baseline: str = "",
    ) -> Path:
        """Write one self-contained HTML page about finished runs, and return its path.

        runs: folders of finished runs, or what `il.pretrain` returned. output: the page, which is replaced, as is the
        folder of its figures as SVG beside it: `report-figures` of `report.html`.
        baseline: folder or name of the run that the others are compared with; default: the first.

        Raises:
            DataError: a folder holds no run. SettingsError: no run is the baseline.
        """
        from interlace.report.page import write_report

        return write_report(
            [Path(str(run)) for run in runs],
            Path(output),
            baseline,
        )


sys.modules[__name__].__class__ = _CallableModule
