"""Reverse the words of each sentence (T_inv of Tang et al. 2022)."""

from typing import Any

from interlace.derived.common.sentences import SentenceOrder


class Invert(SentenceOrder):
    """Reverses each sentence; the sentence-final mark stays at the end."""

    def fill(self, order: Any, words: Any, runs: Any, key: int) -> None:  # noqa: ARG002 - not random
        """Reverse each run."""
        from interlace.derived.common.kernels import reverse

        reverse(runs, order)
