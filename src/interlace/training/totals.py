"""What a training run has read and spent so far, over all its updates; checkpoints store it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlace.training.loop import TrainingStep


@dataclass
class TrainingTotals:
    """Sums over the updates of a run.

    tokens, rows, steps: by objective and corpus, such as `mlm/en`. objectives, languages: tokens. If an objective does
    not report the languages of its tokens, the languages of the corpus share them evenly.

    seconds, waited: of all updates. tflop: 10^12 floating-point operations; unmeasured: updates without this number.
    peak_seconds: seconds times the share of the peak; without_peak: updates without this share. memory: the peak of the
    first process, in bytes. skipped: updates whose gradient was not finite.
    """

    tokens: Counter[str] = field(default_factory=Counter)
    rows: Counter[str] = field(default_factory=Counter)
    steps: Counter[str] = field(default_factory=Counter)
    objectives: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    waited: float = 0.0
    tflop: float = 0.0
    unmeasured: int = 0
    peak_seconds: float = 0.0
    without_peak: int = 0
    memory: int = 0
    skipped: int = 0

    def add(self, step: TrainingStep) -> None:
        """Count one update."""
        name, languages = f"{step.objective}/{step.corpus}", step.corpus.rpartition(":")[2].split("-")
        self.tokens[name] += step.tokens
        self.rows[name] += step.rows
        self.steps[name] += 1
        self.objectives[step.objective] += step.tokens
        self.languages.update(step.languages or dict.fromkeys(languages, step.tokens // len(languages)))
        self.seconds += step.seconds
        self.waited += step.waited
        self.tflop += step.flops / 1e12
        self.unmeasured += not step.flops
        self.peak_seconds += (step.peak_share or 0.0) * step.seconds
        self.without_peak += step.peak_share is None
        self.memory = max(self.memory, step.memory)
        self.skipped += step.skipped

    @property
    def mixture(self) -> dict[str, dict[str, int]]:
        """What training read: `tokens`, `rows`, `steps`, `objectives` and `languages`, each sorted by name."""
        names = ("tokens", "rows", "steps", "objectives", "languages")
        return {name: dict(sorted(getattr(self, name).items())) for name in names}

    @property
    def speed(self) -> dict[str, Any]:
        """Tokens/s, TFLOP/s, and shares of the peak and of time spent waiting for data.

        `tflops` and `peak_share` are those of runs whose updates all have them.
        """
        seconds, updates = max(self.seconds, 1e-9), sum(self.steps.values())
        found: dict[str, Any] = {"tokens_per_second": round(sum(self.tokens.values()) / seconds, 1)}
        if updates and not self.unmeasured:
            found["tflops"] = round(self.tflop / seconds, 4)
        if updates and not self.without_peak:
            found["peak_share"] = round(self.peak_seconds / seconds, 4)
        return {
            **found,
            "waited_share": round(self.waited / seconds, 4),
            "memory": self.memory,
            "skipped": self.skipped,
        }
