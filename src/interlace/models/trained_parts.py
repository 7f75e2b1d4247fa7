"""Which weights continued pre-training changes: frozen parts, and low-rank adapters (LoRA, Hu et al. 2022) by peft."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import nn

from interlace.core.errors import MissingDependencyError, SettingsError, did_you_mean
from interlace.core.randomness import Purpose, torch_seed
from interlace.models.backbone import Backbone, parts_of
from interlace.models.settings import LoraSettings, ModelSettings, chosen_layers

_ATTENTION = re.compile(r"\b(attentions?|attn)\b")
_IN_LAYER = re.compile(r"\.\d+\.")


def select_trained_parts(backbone: Backbone, settings: ModelSettings, seed: int) -> None:
    """Freeze parts of a model and add adapters, as the settings say, in place.

    Raises:
        SettingsError: the model lacks a layer or has no matrix to adapt, or nothing is left to train.
        MissingDependencyError: adapters need peft.
    """
    depth = int(backbone.model.config.num_hidden_layers)
    if settings.lora is not None:
        _add_adapters(backbone, settings.lora, seed)
        chosen = chosen_layers(settings.lora.train, depth, "model.lora.train")
    else:
        chosen = chosen_layers(settings.freeze, depth, "model.freeze")
    parts = parts_of(backbone) if chosen else {}
    for parameter in (parameter for part in chosen for parameter in parts[part]):
        parameter.requires_grad = settings.lora is not None
    if not any(parameter.requires_grad for parameter in backbone.parameters()):
        raise SettingsError(f"model.freeze = {settings.freeze} leaves nothing to train")


def _add_adapters(backbone: Backbone, settings: LoraSettings, seed: int) -> None:
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError as error:
        raise MissingDependencyError("model.lora", "peft", "lora") from error
    model = backbone.model
    kinds: dict[str, list[str]] = {"attention": [], "feed_forward": []}
    for name, module in model.base_model.named_modules():
        if isinstance(module, nn.Linear) and _IN_LAYER.search(name):
            for kind in ("attention" if _ATTENTION.search(name) else "feed_forward", name.rpartition(".")[2]):
                kinds.setdefault(kind, []).append(name)
    for target in settings.targets:
        if target not in kinds:
            raise SettingsError(f"model.lora.targets: no linear layer {target!r}{did_you_mean(target, kinds)}")
    names = sorted({f"{model.base_model_prefix}.{name}" for target in settings.targets for name in kinds[target]})
    config = LoraConfig(r=settings.rank, lora_alpha=settings.alpha, lora_dropout=settings.dropout, target_modules=names)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch_seed(Purpose.INIT, seed, step=2))
        inject_adapter_in_model(config, model)


def merge_adapters(backbone: Backbone) -> Backbone:
    """Add the adapters to the weights that they adapt, in place; return the model without adapters."""
    model: Any = backbone.model
    for name, module in list(model.named_modules()):
        if hasattr(module, "get_base_layer"):
            module.merge()
            parent, _, child = name.rpartition(".")
            setattr(model.get_submodule(parent), child, module.get_base_layer())
    return backbone
