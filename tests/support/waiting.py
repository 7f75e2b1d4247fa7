"""Counts reads of a device."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Waiting(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts what would wait for a GPU: reads of a number, and indices whose number depends on values."""

    READS = (
        "aten._local_scalar_dense",
        "aten.nonzero",
        "aten.masked_select",
        "aten.unique",
        "aten._unique2",
    )

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        at = args[1] if str(func).startswith("aten.index.") else []
        masks = any(each is not None and each.dtype == torch.bool for each in at)
        if str(func).startswith(self.READS) or masks:
            self.found.append(str(func))
        return func(*args, **(kwargs or {}))
