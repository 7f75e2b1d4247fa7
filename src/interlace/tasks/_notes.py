"""What a reader left out, mended or skipped, told to whoever listens."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

log = logging.getLogger(__name__)


def log_notes(task: str, path: Path, notes: Iterable[Mapping[str, int]]) -> None:
    """Log the counts of all chunks of a file together."""
    total: Counter[str] = Counter()
    for counts in notes:
        total.update(counts)
    for what, count in sorted(total.items()):
        if count:
            log.info("%s: %s: %d %s", task, path, count, what)
