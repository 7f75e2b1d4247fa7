"""What an update has read and spent, and the totals over all updates of a run, which checkpoints store."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class TrainingStep:
    """The record of one update; all counts are sums over all processes.

    index: number of updates so far, this one included.
    losses: mean loss a prediction, by term, over the whole step.
    counts: predictions by term; tokens: real tokens; rows: sequences of the batches.
    languages: real tokens by language, where the objective counts them.
    seconds: wall-clock time of the step, or the mean of the updates that were read together; waited: part of it spent
        waiting for data.
    memory: peak of this process so far, in bytes: of the GPU's, else resident.
    last: number of the last update of the training; 0: unknown.
    """

    index: int
    objective: str
    corpus: str
    losses: dict[str, float]
    counts: dict[str, float]
    tokens: int
    learning_rate: float
    gradient_norm: float
    seconds: float
    waited: float
    rows: int = 0
    languages: dict[str, int] = field(default_factory=dict)
    memory: int = 0
    last: int = 0

    @property
    def skipped(self) -> bool:
        """Whether the gradient was not finite, so that the weights stayed as they were."""
        return not math.isfinite(self.gradient_norm)


@dataclass
class TrainingTotals:
    """Sums over the updates of a run.

    tokens, rows, steps: by objective and corpus, such as `mlm/en`. languages: tokens; if an objective does not report
    the languages of its tokens, the languages of the corpus share them evenly.

    seconds, waited: of all updates.
    memory: the peak of the first process, in bytes. skipped: updates whose gradient was not finite.
    """

    tokens: Counter[str] = field(default_factory=Counter)
    rows: Counter[str] = field(default_factory=Counter)
    steps: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    waited: float = 0.0
    memory: int = 0
    skipped: int = 0

    def add(self, step: TrainingStep) -> None:
        """Count one update."""
        name = f"{step.objective}/{step.corpus}"
        self.tokens[name] += step.tokens
        self.rows[name] += step.rows
        self.steps[name] += 1
        if step.languages:
            self.languages.update(step.languages)
        else:
            languages = step.corpus.rpartition(":")[2].split("-")
            self.languages.update(dict.fromkeys(languages, step.tokens // len(languages)))
        self.seconds += step.seconds
        self.waited += step.waited
        self.memory = max(self.memory, step.memory)
        self.skipped += step.skipped

    @property
    def mixture(self) -> dict[str, dict[str, int]]:
        """What training read: `tokens`, `rows`, `steps`, `objectives` and `languages`, each sorted by name."""
        objectives = Counter[str]()
        for name, tokens in self.tokens.items():
            objectives[name.partition("/")[0]] += tokens
        counts = {
            "tokens": self.tokens,
            "rows": self.rows,
            "steps": self.steps,
            "objectives": objectives,
            "languages": self.languages,
        }
        return {name: dict(sorted(count.items())) for name, count in counts.items()}

    @property
    def speed(self) -> dict[str, Any]:
        """Tokens/s, the share of time spent waiting for data, peak memory and skipped updates."""
        seconds = max(self.seconds, 1e-9)
        return {
            "tokens_per_second": round(sum(self.tokens.values()) / seconds, 1),
            "waited_share": round(self.waited / seconds, 4),
            "memory": self.memory,
            "skipped": self.skipped,
        }
