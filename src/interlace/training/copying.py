"""A model that is to translate and learns to copy, to say nothing or to go on for ever, told early.

These are the ways in which back-translation fails.
"""

from __future__ import annotations

import logging
from collections import defaultdict, deque
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING

from interlace.objectives.back_translation import COPIED, LENGTH

if TYPE_CHECKING:
    from interlace.training.loop import Step

log = logging.getLogger(__name__)

MOST = 0.8  # languages that share names and signs stay below: copying is near 1
LENGTHS = (0.2, 2.0)  # subwords by those of the sentence: between these, whatever the languages
WINDOW = 100  # steps of back-translation


@dataclass
class Copying:
    """Warns when, over some time, most of what a model writes stood in what it read, or is far too short or too long.

    Each language that it reads is looked at by itself: one direction may collapse beside a sound one. Of each kind of
    failure it warns again only after it got better.
    seen: shares and ratios of the last steps, by corpus. told: what was warned of, by corpus.
    """

    most: float = MOST
    lengths: tuple[float, float] = LENGTHS
    window: int = WINDOW
    seen: defaultdict[str, deque[tuple[float, float]]] = field(default_factory=lambda: defaultdict(deque))
    told: dict[str, set[str]] = field(default_factory=dict)

    def __call__(self, step: Step) -> None:
        """Look at a step of back-translation."""
        if COPIED not in step.losses:
            return
        seen = self.seen[step.corpus]
        seen.append((step.losses[COPIED], step.losses[LENGTH]))
        if len(seen) < self.window:
            return
        share, ratio = (fmean(values) for values in zip(*seen, strict=True))
        seen.popleft()
        wrong = self._wrong(share, ratio)
        for kind, message in wrong.items():
            if kind not in self.told.get(step.corpus, ()):
                log.warning("step %d: over %d steps that read %s, %s", step.index, self.window, step.corpus, message)
        self.told[step.corpus] = set(wrong)

    def _wrong(self, share: float, ratio: float) -> dict[str, str]:
        """What is wrong, by its kind, and what may help."""
        least, most = self.lengths
        cure = "begin from a model of both languages (model.start)"
        found = {}
        if share > self.most:
            found["copies"] = (
                f"{share:.0%} of what the model wrote in another language stood in what it had read: it copies and "
                f"learns no translation; {cure}, or lower the weight of denoise"
            )
        if not least <= ratio <= most:
            length = "next to nothing" if ratio < least else "without end"
            found["lengths"] = (
                f"the model wrote {ratio:.2g} subwords in another language for each that it had read: it says {length} "
                f"and learns no translation; {cure}, or let denoise come first (weight of back_translation)"
            )
        return found
