"""Run folders of two recipes."""

import pytest

from report_runs import write_run


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
