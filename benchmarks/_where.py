"""On what a benchmark ran, in one line: what has to stand beside every figure."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

import numba
import numpy as np

ROOT = Path(__file__).parent.parent


def where() -> str:
    """Commit, machine, load at the start, and versions; `+` marks source that differs from the commit."""
    commit = _git("rev-parse", "--short", "HEAD") or "unknown"
    changed = "+" if _git("status", "--porcelain", "--", "src") else ""
    return (
        f"Commit {commit}{changed}; {os.cpu_count()} cores of {_processor()}, load {os.getloadavg()[0]:.1f} before; "
        f"Python {platform.python_version()}, numpy {np.__version__}, numba {numba.__version__}."
    )


def _git(*command: str) -> str:
    done = subprocess.run(["git", "-C", ROOT, *command], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _processor() -> str:
    try:
        rows = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n")
    except OSError:
        return platform.processor() or platform.machine()
    return next((row.split(":", 1)[1].strip() for row in rows if row.startswith("model name")), platform.machine())
