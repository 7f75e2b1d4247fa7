"""Updates of Hugging Face's Trainer and of interlace, alternating in one process."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import (
    AutoTokenizer,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from interlace.training.device import resolved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interlace.data.vocab import Vocab


@dataclass
class AlternatingUpdates(TrainerCallback):
    """Time every update of the Trainer, and run and time one update of interlace after it.

    updates: runs an update of interlace at each `next` and yields its size. trainer_size: size of the Trainer's last
    update in the same unit. trainer, interlace: (size, seconds) of each update.
    """

    updates: Iterator[int]
    trainer_size: Callable[[], int]
    clock: Callable[[], float]
    trainer: list[tuple[int, float]] = field(default_factory=list)
    interlace: list[tuple[int, float]] = field(default_factory=list)
    start: float = 0.0

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.start = self.clock()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        middle = self.clock()
        self.trainer.append((self.trainer_size(), middle - self.start))
        size = next(self.updates)
        self.start = self.clock()
        self.interlace.append((size, self.start - middle))


def tokenizer_of(vocab: Vocab, folder: str) -> Any:
    """Return the vocabulary as a tokenizer of transformers."""
    vocab.save(Path(folder) / "tokenizer")
    return AutoTokenizer.from_pretrained(Path(folder) / "tokenizer", trust_remote_code=False)


def trainer_of(
    model: Any,
    collator: Any,
    rows: list[dict[str, Any]],
    alternating: AlternatingUpdates,
    **arguments: Any,
) -> Trainer:
    """Return a Trainer with fused AdamW, a constant learning rate, and no logging or checkpoints."""
    settings = TrainingArguments(
        **arguments, use_cpu=not torch.cuda.is_available(), bf16=resolved("auto") == "bf16",
        optim="adamw_torch_fused", lr_scheduler_type="constant", logging_strategy="no", save_strategy="no",
        report_to="none", disable_tqdm=True,
    )  # fmt: skip
    dataset: Any = rows
    trainer = Trainer(model, settings, collator, dataset, callbacks=[alternating])
    trainer.remove_callback(PrinterCallback)
    return trainer
