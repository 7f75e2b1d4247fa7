"""Run folders of two recipes, and reports without PNG files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from interlace.report import svg
from report_runs import write_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(autouse=True)
def no_png(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing every figure as PNG takes a second a page; the tests of these files ask for it."""
    if "with_png" not in request.fixturenames:
        monkeypatch.setattr(svg, "_has_resvg", lambda: False)


@pytest.fixture
def with_png() -> None:
    """Figures are written as PNG too."""


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    """`make_run("mlm", gain=0.0)` writes a run folder of that name and returns it."""

    def make(name: str, folder: str = "", **settings: Any) -> Path:
        return write_run(tmp_path / (folder or name), name, **settings)

    return make


@pytest.fixture
def two_runs(make_run: Callable[..., Path]) -> list[Path]:
    """Plain masked language modelling, and with translation language modelling beside it."""
    return [make_run("mlm", gain=0.0), make_run("mlm+tlm", gain=1.0, tlm=True)]
