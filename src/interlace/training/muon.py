"""Muon for the matrices of the layers (Jordan et al. 2024), AdamW for all other weights, as one optimizer."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import AdamW, Muon, Optimizer


def hidden_matrices(model: nn.Module) -> list[nn.Parameter]:
    """Return the trained matrices that are neither embeddings nor a projection to the vocabulary."""
    tables = [module for module in model.modules() if isinstance(module, nn.Embedding)]
    embeddings = {id(table.weight) for table in tables}
    vocabulary = max((table.num_embeddings for table in tables), default=0)
    matrices = []
    for parameter in model.parameters():
        is_table = id(parameter) in embeddings or parameter.shape[:1] == (vocabulary,)
        if parameter.requires_grad and parameter.ndim == 2 and not is_table:
            matrices.append(parameter)
    return matrices


class MuonWithAdamW(Optimizer):
    """Muon and AdamW with the groups and the state of both.

    Updates of Muon have the root mean square of those of AdamW (Liu et al. 2025, section 2.2), so both share a learning
    rate. Like fused AdamW, a step changes nothing on the device if `found_inf` is not 0.
    """

    found_inf: Tensor | None = None

    def __init__(
        self,
        matrices: list[nn.Parameter],
        adamw: AdamW,
        *,
        learning_rate: float,
        weight_decay: float,
    ) -> None:
        self._adamw = adamw
        self._muon = Muon(
            matrices,
            lr=learning_rate,
            weight_decay=weight_decay,
            adjust_lr_fn="match_rms_adamw",
        )
        super().__init__([*self._muon.param_groups, *adamw.param_groups], {})
        self.param_groups = [*self._muon.param_groups, *adamw.param_groups]
        self._muon.state = self.state
        adamw.state = self.state

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Update all weights that have a gradient."""
        if closure is not None:
            raise ValueError("closures are not supported")
        if self.found_inf is not None:
            setattr(self._adamw, "found_inf", self.found_inf)  # noqa: B010 - torch declares no such attribute
        self._adamw.step()
        before = self._muon_tensors()
        copies = [tensor.clone() for tensor in before]
        step: Any = self._muon.step
        step()
        if self.found_inf is None:
            return
        skips = self.found_inf.bool()
        for tensor, copy in zip(before, copies, strict=True):
            tensor.copy_(torch.where(skips, copy, tensor))

    def _muon_tensors(self) -> list[Tensor]:
        """Return the weights that Muon is about to change, and their momenta."""
        tensors: list[Tensor] = []
        for group in self._muon.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                state = self.state[weight]
                if "momentum_buffer" not in state:
                    state["momentum_buffer"] = torch.zeros_like(weight)
                tensors += [weight, state["momentum_buffer"]]
        return tensors
