"""Writing a backbone as an ordinary checkpoint, whole or not at all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from transformers import AutoModelForCausalLM

from interlace.core.errors import CheckpointError
from interlace.data._special import without_code
from interlace.models._decoder import as_decoder
from interlace.models._quiet import quiet
from interlace.models.languages import FOLDED, fold
from interlace.text.lines import atomic_folder, must_be_replaceable

if TYPE_CHECKING:
    from pathlib import Path

    import torch
    from torch import Tensor

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone


def export(backbone: Backbone, folder: Path, vocab: Vocab, *, fold_language: str | None, dtype: torch.dtype) -> Path:
    """See `Backbone.save_pretrained`."""
    must_be_replaceable(folder, "config.json", "checkpoint")
    tensors: dict[str, Tensor] = dict(backbone.model.state_dict())
    if fold_language is not None:
        tensors = fold(backbone.model, tensors, fold_language)
    tensors = cast({**backbone.carried, **tensors}, dtype)
    try:
        with atomic_folder(folder) as partial:
            changes = _save(backbone, partial, tensors)
            _amend(partial / "config.json", {"dtype": str(dtype).removeprefix("torch."), **changes}, fold_language)
            vocab.save_files(partial)
    except OSError as error:
        raise CheckpointError(f"{folder}: cannot be written: {error.strerror or error}") from error
    return folder


def _save(backbone: Backbone, folder: Path, tensors: dict[str, Tensor]) -> dict[str, Any]:
    """Write weights and configuration; returns what the configuration must say besides.

    A causal model gets the class that plain transformers opens for causal language modelling.
    """
    model: Any = backbone.model
    changes: dict[str, Any] = {}
    if backbone.causal and backbone.family.name == "modernbert":
        model, tensors = as_decoder(model, tensors)
    elif backbone.causal and backbone.family.name == "xlm":
        changes = {"causal": True}
    elif backbone.causal:
        kind: Any = AutoModelForCausalLM._model_mapping[type(model.config)]  # noqa: SLF001 - the one place that knows
        changes = {"is_decoder": True, "architectures": [kind.__name__]}
    with quiet():
        model.save_pretrained(folder, state_dict=tensors)
    return changes


def cast(tensors: dict[str, Tensor], dtype: torch.dtype) -> dict[str, Tensor]:
    """Copies on the CPU in `dtype`; tied weights stay tied, so that they are written once."""
    made: dict[tuple[Any, ...], Tensor] = {}
    cast = {}
    for name, tensor in tensors.items():
        key = (tensor.data_ptr(), tensor.shape, tensor.dtype)
        if key not in made:
            made[key] = tensor.detach().to("cpu", dtype if tensor.is_floating_point() else tensor.dtype)
        cast[name] = made[key]
    return cast


def _amend(path: Path, changes: dict[str, Any], fold_language: str | None) -> None:
    """Say in the written configuration what was done to the weights."""
    config = without_code(json.loads(path.read_text(encoding="utf-8")))
    config.update(changes)
    if fold_language is not None:
        config[FOLDED] = fold_language
    path.write_text(json.dumps(config, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
