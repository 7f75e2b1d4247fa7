"""What all tests share: no network, no writing outside temporary folders, one thread, and where real data stands."""

import gc
import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from warm import warm_python

# Read when the libraries are imported, so set before any test module is.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A shell's background jobs ignore Ctrl-C, and so would the commands that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

# The same examples every time, so that a red test is red again; `--hypothesis-profile explore` draws new ones.
settings.register_profile("steady", deadline=None, derandomize=True, database=None)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("steady")


def pytest_collection_finish():
    """Keep what lives as long as the tests out of garbage collections, of which `free_memory` of accelerate is one."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory):
    """Prepared data goes to a temporary folder that all workers share, never to the user's cache."""
    folder = tmp_path_factory.getbasetemp()
    shared = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTERLACE_CACHE", str(shared / "cache"))
        yield


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """Prepared data of this test goes to its temporary folder."""
    monkeypatch.setenv("INTERLACE_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def python():
    """A program in the place of `sys.executable` whose processes start at once; see tests/support/warm.py."""
    if not hasattr(os, "fork"):
        yield sys.executable
        return
    with warm_python() as program:
        yield program


@pytest.fixture(scope="session")
def real_data():
    """The folder of real data that `INTERLACE_DATA` names; tests that need it are skipped where there is none."""
    folder = Path(os.environ.get("INTERLACE_DATA") or "missing")
    if not folder.is_dir():
        pytest.skip("INTERLACE_DATA names no folder")
    return folder
