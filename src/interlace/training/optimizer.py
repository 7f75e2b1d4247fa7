"""The optimizer and its learning rate, a pure function of the step: there is no scheduler state to restore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from interlace.core.json_files import JsonObject
from interlace.core.settings import Settings

if TYPE_CHECKING:
    from torch import nn
    from torch.optim import AdamW, Optimizer


Decay = Annotated[float, Field(ge=0, lt=1)]


class OptimizerSettings(Settings):
    """AdamW (Loshchilov & Hutter 2019), or Muon for matrices, with a warm-up."""

    algorithm: Literal["adamw", "muon"] = Field(
        "adamw",
        description="'muon': matrices of layers by Muon (Jordan et al. 2024), with updates as large as AdamW's, so "
        "that the learning rate suits both (Liu et al. 2025); other weights by AdamW.",
    )
    learning_rate: float = Field(
        5e-4, gt=0, description="Peak learning rate (XLM: 1e-4 to 5e-4)."
    )
    schedule: Literal["linear", "inverse_sqrt", "constant", "wsd"] = Field(
        "linear",
        description="After the warm-up: linearly to 0 after the last step, proportional to 1/sqrt(step), or flat; "
        "'wsd': flat, then linearly to 0 in the last `decay_share` of the steps (Hu et al. 2024).",
    )
    decay_share: float = Field(
        0.2, gt=0, le=1, description="Share of the steps in which the rate of 'wsd' falls."
    )
    warmup: int = Field(
        200, ge=0, description="Steps over which the rate rises from 0 (ALM: 4000)."
    )
    max_warmup_share: float = Field(
        0.1, ge=0, le=1, description="Maximum share of the steps with a rising rate."
    )
    betas: tuple[Decay, Decay] = Field(
        (0.9, 0.98), description="Adam's decay rates of moments (ALM: 0.9, 0.98)."
    )
    epsilon: float = Field(
        1e-6, gt=0, description="Added to the root of the second moment (RoBERTa: 1e-6)."
    )
    weight_decay: float = Field(
        0.01, ge=0, description="Decoupled weight decay of matrices; not of biases and norms."
    )
    clip: float = Field(1.0, gt=0, description="Maximum norm of the gradient.")

    def warmup_steps(self, last: int) -> int:
        """Return the steps of warm-up in a run of `last` updates."""
        return min(self.warmup, int(self.max_warmup_share * last))

    def rate(self, step: int, last: int) -> float:
        """Return the learning rate of update `step` (the first is 1) in a run of `last` updates."""
        warmup = self.warmup_steps(last)
        if step <= warmup:
            return self.learning_rate * step / warmup
        if self.schedule == "constant":
            return self.learning_rate
        if self.schedule == "inverse_sqrt":
            return float(self.learning_rate * (max(warmup, 1) / step) ** 0.5)
        decay = last - warmup
        if self.schedule == "wsd":
            decay = min(decay, round(self.decay_share * last))
        share = max(last - step + 1, 0) / max(decay, 1)
        return self.learning_rate * min(share, 1.0)

    def build(self, model: nn.Module) -> Optimizer:
        """Return the optimizer of all trainable parameters."""
        from interlace.training.muon import MuonWithAdamW, hidden_matrices

        if self.algorithm == "adamw":
            return self._adamw(list(model.parameters()))
        by_muon = hidden_matrices(model)
        numbers = {id(parameter) for parameter in by_muon}
        rest = [parameter for parameter in model.parameters() if id(parameter) not in numbers]
        return MuonWithAdamW(
            by_muon,
            self._adamw(rest),
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
        )

    def _adamw(self, parameters: list[nn.Parameter]) -> AdamW:
        """Return AdamW for those parameters that are trained."""
        from torch.optim import AdamW

        trainable = [parameter for parameter in parameters if parameter.requires_grad]
        matrices = [parameter for parameter in trainable if parameter.ndim >= 2]
        biases = [parameter for parameter in trainable if parameter.ndim < 2]  # and norms
        groups: list[JsonObject] = [
            {"params": matrices, "weight_decay": self.weight_decay},
            {"params": biases, "weight_decay": 0.0},
        ]
        return AdamW(
            groups,
            lr=self.learning_rate,
            betas=self.betas,
            eps=self.epsilon,
            fused=True,
        )
