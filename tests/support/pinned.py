"""Tests whose expected values were made with the versions in constraints.txt."""

from importlib.metadata import version
from pathlib import Path

import pytest

CONSTRAINTS = Path(__file__).parents[2] / "constraints.txt"


def needs_pinned(*packages: str) -> pytest.MarkDecorator:
    """Skip a test if a package has another version than the pinned one."""
    pinned = {}
    for line in CONSTRAINTS.read_text(encoding="utf-8").splitlines():
        package, separator, number = line.partition("==")
        if separator:
            pinned[package] = number
    others = []
    for package in packages:
        installed = version(package).partition("+")[0]
        if installed != pinned[package]:
            others.append(f"{package} {installed} is not {pinned[package]}")
    return pytest.mark.skipif(bool(others), reason=", ".join(others))
