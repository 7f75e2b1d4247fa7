"""What `pyproject.toml`, `constraints.txt` and `CITATION.cff` say of versions agrees; what the package index shows."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from interlace import __version__

ROOT = Path(__file__).parent.parent
OLDEST_PYTHON = {"python_version": "3.11", "python_full_version": "3.11.0"}


def requirements():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    for lines in (project["dependencies"], *extras):
        yield from (line for line in lines if not line.startswith("interlace["))


def pinned_versions(text):
    """Versions by name, for the oldest Python, which all extras support."""
    lines = [Requirement(line) for line in text.splitlines() if not line.startswith("#")]
    used = [
        line for line in lines if line.marker is None or line.marker.evaluate(OLDEST_PYTHON)
    ]
    return {line.name: str(line.specifier).removeprefix("==") for line in used}


@pytest.mark.parametrize("line", list(requirements()))
def test_make_lock_has_pinned_what_the_package_asks_for(line):
    versions = pinned_versions((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    requirement = Requirement(line)
    assert versions[requirement.name.replace("_", "-")] in requirement.specifier


def test_the_citation_names_the_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall("^version: (.*)$", citation, re.MULTILINE) == [__version__]


def test_the_package_index_shows_no_relative_link():
    pytest.importorskip("hatch_fancy_pypi_readme")
    relative_link = re.compile(r"\]\((?!https:)|(src|href)=\"(?!https:)")
    assert relative_link.search((ROOT / "README.md").read_text(encoding="utf-8"))
    command = [sys.executable, "-m", "hatch_fancy_pypi_readme"]
    shown = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8")
    assert "interlace align train.en train.de" in shown.stdout
    assert not relative_link.search(shown.stdout)
