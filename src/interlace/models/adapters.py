"""Low-rank adapters of encoders (LoRA, Hu et al. 2022), by the package peft."""

import re
from typing import Any

import torch
from torch import nn

from interlace.core.errors import SettingsError, dependency_errors, did_you_mean
from interlace.core.randomness import Purpose, torch_seed
from interlace.models.backbone import Backbone, parts_of
from interlace.models.settings import LoraSettings

_IN_LAYER = re.compile(r"\.\d+\.")  # of the name of a module
_ATTENTION = re.compile(r"\b(attentions?|(self_)?attn)\b")


def add_adapters(backbone: Backbone, settings: LoraSettings, seed: int) -> None:
    """Freeze a model, except `lora.train`, and add adapters to its linear layers, in place.

    Raises:
        SettingsError: the model has no such layers.
        MissingDependencyError: peft is not installed.
    """
    with dependency_errors("model.lora"):
        from peft import LoraConfig, inject_adapter_in_model
    model = backbone.model
    config = LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=_target_modules(model, settings.targets),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch_seed(Purpose.INIT, seed, step=2))
        inject_adapter_in_model(config, model)
    parts = parts_of(backbone)
    for name in settings.train:
        for parameter in parts[name]:
            parameter.requires_grad = True


def merge_adapters(backbone: Backbone) -> Backbone:
    """Add the adapters to the weights that they adapt, in place; return the model without adapters."""
    model: Any = backbone.model
    for name, module in list(model.named_modules()):
        if hasattr(module, "get_base_layer"):
            module.merge()
            parent, _, child = name.rpartition(".")
            setattr(model.get_submodule(parent), child, module.get_base_layer())
    return backbone


def _target_modules(model: Any, targets: list[str]) -> list[str]:
    """Return the full names of the linear layers that the targets name: by kind, or by the end of the name."""
    names: dict[str, list[str]] = {"attention": [], "feed_forward": []}
    for name, module in model.base_model.named_modules():
        if isinstance(module, nn.Linear) and _IN_LAYER.search(name):
            kind = "attention" if _ATTENTION.search(name) else "feed_forward"
            full_name = f"{model.base_model_prefix}.{name}"
            names[kind].append(full_name)
            names.setdefault(name.rpartition(".")[2], []).append(full_name)
    wanted: set[str] = set()
    for target in targets:
        if target not in names:
            raise SettingsError(
                f"model.lora.targets: no linear layer {target!r}{did_you_mean(target, names)}"
            )
        wanted.update(names[target])
    return sorted(wanted)
