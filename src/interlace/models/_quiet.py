"""Keep transformers from printing and from prompts: what matters is raised or noted by us."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from interlace.data._hub import no_prompts

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bars, reports, warnings or prompts of transformers inside; its settings come back after."""
    from transformers.utils import logging as theirs

    loud: Any = theirs  # its switches have no type hints
    level, bars = loud.get_verbosity(), loud.is_progress_bar_enabled()
    loud.set_verbosity(logging.CRITICAL)
    loud.disable_progress_bar()
    try:
        with no_prompts():
            yield
    finally:
        loud.set_verbosity(level)
        if bars:
            loud.enable_progress_bar()
