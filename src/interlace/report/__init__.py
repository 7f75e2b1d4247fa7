"""The report page and the tables of studies; the page's functions are imported when they are first used."""

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlace.report.page import read_scores, write_report

__all__ = ["read_scores", "write_report"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'interlace.report' has no attribute {name!r}")
    return getattr(import_module("interlace.report.page"), name)


class _CallableModule(ModuleType):
    """Makes `interlace.report([run], "report.html")` write a page, though the name is that of the package."""

    def __call__(self, runs: Sequence[Any], output: Path | str = "report.html") -> Path:
        """Write one self-contained HTML page about finished runs, and return its path."""
        from interlace.report.page import write_report

        return write_report([Path(str(run)) for run in runs], Path(output))


sys.modules[__name__].__class__ = _CallableModule
