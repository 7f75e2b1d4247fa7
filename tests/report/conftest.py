"""Run folders of two recipes, and reports without PNG files."""

import pytest

from interlace.report import svg
from report_runs import write_run


@pytest.fixture(autouse=True)
def no_png(request, monkeypatch):
    """Drawing every figure as PNG takes a second a page; the tests of these files ask for it."""
    if "with_png" not in request.fixturenames:
        monkeypatch.setattr(svg, "_has_resvg", lambda: False)


@pytest.fixture
def with_png():
    """Figures are written as PNG too."""


@pytest.fixture
def make_run(tmp_path):
    """`make_run("mlm", gain=0.0)` writes a run folder of that name and returns it."""

    def make(name, folder="", **settings):
        return write_run(tmp_path / (folder or name), name, **settings)

    return make


@pytest.fixture
def two_runs(make_run):
    """Plain masked language modelling, and with translation language modelling beside it."""
    return [make_run("mlm", gain=0.0), make_run("mlm+tlm", gain=1.0, tlm=True)]
