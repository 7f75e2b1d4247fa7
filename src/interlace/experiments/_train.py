"""The section `[train]` of a recipe: how long and how fast, and how the mixture is drawn."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from interlace.core.schedules import Schedule, within
from interlace.core.settings import Settings
from interlace.experiments._diagnostics import DiagnosticSettings
from interlace.training.optimizer import OptimizerSettings

Alpha = Annotated[Schedule, AfterValidator(lambda schedule: within(schedule, 0.0, 1.0))]


class TrainSettings(Settings):
    """How long and how fast."""

    steps: int = Field(1000, ge=1, description="Updates.")
    tokens_per_batch: int = Field(4096, ge=16, description="Padded subwords in a micro-batch, on one process.")
    micro_batches: int = Field(1, ge=1, description="Micro-batches that make up a step, on one process.")
    alternate: bool = Field(
        False, description="Take the objectives in turn, an update each (XLM), instead of drawing them by weight."
    )
    language_alpha: Alpha = Field(
        "0.7",
        description="Exponent of language sampling within an objective, a number or a schedule over steps (XLM: 0.7; "
        "mmBERT falls from 0.7 over 0.5 to 0.3 by stage). Corpora of one language share what it gets by their size.",
    )
    most_passes: float | None = Field(
        None,
        gt=0,
        description="Most times an objective reads a corpus over the run, on average; what a small one may not have "
        "goes to the others (UniMax, Chung et al. 2023); none: no limit.",
    )
    sampling_unit: Literal["tokens", "sentences"] = Field("sentences", description="What language shares count.")
    optimise: OptimizerSettings = Field(default_factory=OptimizerSettings, description="Optimiser and learning rate.")
    precision: Literal["auto", "no", "bf16"] = Field(
        "auto",
        description="Autocast precision of matrix products; 'auto': bf16 where the hardware computes in it (GPUs since "
        "Ampere, CPUs with AVX-512), else float32. Where that differs, so do the last digits of a run.",
    )
    evaluate_every: int = Field(0, ge=0, description="Steps between evaluations of perplexity; 0: only at the end.")
    evaluate_tokens: int = Field(
        20_000, ge=256, description="Most held-out subwords a language, or sources a direction, in an evaluation."
    )
    diagnostics: DiagnosticSettings = Field(
        default_factory=DiagnosticSettings, description="What else is measured now and then."
    )
    patience: int = Field(
        0, ge=0, description="Evaluations without a better one before stopping, which ends with the best; 0: never."
    )
    stop_by: Literal["perplexity", "bleu", "round-trip"] = Field(
        "perplexity",
        description="What patience and the best checkpoint go by: mean perplexity, or mean BLEU of greedy translations "
        "of the dev text of the task mt, in all directions that are learnt (XLM's code, without supervision), or of "
        "round trips of that of the task round_trip, which needs no translations (Lample et al. 2018a).",
    )
    checkpoint_every: int = Field(0, ge=0, description="Steps between checkpoints; 0: only at the end.")
    keep: int = Field(2, ge=1, description="Newest checkpoints kept, beside the best.")
    threads: int | None = Field(None, ge=1, description="Torch threads; none: as torch finds.")
    trackers: list[Literal["aim", "clearml", "comet_ml", "mlflow", "tensorboard", "trackio", "wandb"]] = Field(
        [], description="Where losses are also sent, through accelerate; each needs its package."
    )

    def model_post_init(self, _context: Any) -> None:
        """Patience counts evaluations, so there must be some on the way."""
        if self.patience and not self.evaluate_every:
            message = "patience counts evaluations on the way: set train.evaluate_every too"
            raise ValueError(message)
