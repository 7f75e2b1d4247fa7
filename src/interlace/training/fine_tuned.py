"""Fine-tuned models on disk: one folder each, which plain transformers opens where it has the same head.

    config.json, model.safetensors    the encoder with the head, as transformers' class for the task
    tokenizer.json, ...               the tokenizer
    head.safetensors                  the head as it was trained

transformers has our head for words and answers in BERT, RoBERTa and XLM, and for sequences in XLM. For sequences in
BERT and RoBERTa it has a linear layer and tanh before the classifier, which are saved with weights so small that tanh
is linear. ModernBERT and heads that read pooled states have no such class; there the folder holds the encoder with its
vocabulary head.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import transformers
from safetensors.torch import save_file
from torch import Tensor, nn

from interlace.core.display import listed
from interlace.core.errors import CheckpointError
from interlace.core.files import atomic_folder, must_be_replaceable
from interlace.core.finite import check_finite_weights
from interlace.core.json_files import JsonMapping, JsonObject, read_json
from interlace.models.backbone import Backbone, Tensors, cpu_copies
from interlace.models.checkpoint_files import CHECKPOINT_FILES, CONFIG, quiet, write_config
from interlace.models.languages import FOLDED_KEY, fold_weights
from interlace.objectives import Prepared
from interlace.scores import PER_LANGUAGE
from interlace.tasks import TaskHead
from interlace.tasks.common.classification import Classifier, Tagger
from interlace.tasks.mlqa import SpanExtractor
from interlace.training.predictions import safe_file_name

if TYPE_CHECKING:
    from interlace.training.selection import Item

FINE_TUNED = "fine-tuned"  # folder of a run
HEAD = "head.safetensors"
_KEY = "interlace_key"  # of a configuration: that of the score rows
_SCALE = 2.0**-12  # of the identity before tanh: a power of two, so that scaling does not round
_CLASSIFIERS = {  # of sequences, by family: the layer before tanh, and the classifier
    "bert": ("bert.pooler.dense", "classifier"),
    "roberta": ("classifier.dense", "classifier.out_proj"),
}


def fine_tuned_name(task: str, items: list[Item], seed: int, *, per_language: bool) -> str:
    """Return the folder name of a fine-tuned model, such as `ner.zero-shot.0` or `ner.supervised.de.0`.

    items: what the model is scored on. per_language: whether a model is selected for each of them.
    """
    setting, language = items[0]
    parts = [safe_file_name(task), safe_file_name(setting)]
    if per_language or setting in PER_LANGUAGE:
        parts.append(safe_file_name(language))
    return ".".join([*parts, str(seed)])


def is_saved(folder: Path, row: JsonMapping) -> bool:
    """Return whether the fine-tuned model that a score row of a folder names exists, and is that of the score."""
    if not row.get("fine_tuned"):
        return False
    model = folder / FINE_TUNED / Path(str(row["fine_tuned"])).name
    return bool(read_json(model / CONFIG, JsonObject, {}).get(_KEY) == row.get("key"))


def save_fine_tuned(
    folder: Path,
    backbone: Backbone,
    head: TaskHead,
    modules: nn.ModuleDict,
    prepared: Prepared,
    *,
    language: str,
    classes: Sequence[str],
    key: str,
) -> None:
    """Write a fine-tuned model, atomically; raise a CheckpointError if a weight is not finite.

    language: of the training text. classes: of the task, by number. key: of the score rows.
    """
    check_finite_weights(
        [*backbone.named_parameters(), *modules.named_parameters()],
        f"the model to write to {folder}",
    )
    must_be_replaceable(folder, CONFIG, "fine-tuned model", [HEAD, *CHECKPOINT_FILES])
    is_known = prepared.language_ids and language in backbone.traits.languages
    fold = language if is_known else None
    weights = cpu_copies(dict(modules.state_dict()), torch.float32)
    theirs = _their_head(backbone, head, weights)
    with atomic_folder(folder) as partial:
        if theirs is None:
            backbone.save_pretrained(partial, prepared.vocab, fold_language=fold)
        else:
            _save_as_theirs(partial, backbone, theirs, classes, fold)
            prepared.vocab.save_files(partial)
        save_file({name: value.contiguous() for name, value in weights.items()}, partial / HEAD)
        write_config(partial / CONFIG, {**read_json(partial / CONFIG), _KEY: key})


@dataclass(frozen=True)
class _TheirHead:
    """A head of transformers that computes the same: its auto class, weights by name, and further configuration."""

    auto_class: Any
    weights: Tensors
    config: JsonObject = field(default_factory=dict)


def _their_head(backbone: Backbone, head: TaskHead, weights: Tensors) -> _TheirHead | None:
    """Return transformers' head that equals this one; None if it has none."""
    family = backbone.family.name
    weight = weights["linear.weight"]
    bias = weights["linear.bias"]
    is_known = family in _CLASSIFIERS or family == "xlm"
    if not is_known or getattr(head, "pooling", "first") != "first":
        return None
    if type(head) is Tagger:
        auto_class: Any = transformers.AutoModelForTokenClassification
        return _TheirHead(auto_class, _linear("classifier", weight, bias))
    if type(head) is SpanExtractor:
        auto_class = transformers.AutoModelForQuestionAnswering
        return _TheirHead(auto_class, _linear("qa_outputs", weight, bias))
    if type(head) is not Classifier:
        return None
    auto_class = transformers.AutoModelForSequenceClassification
    if family == "xlm":
        config = {
            "summary_type": "first",
            "summary_use_proj": True,
            "summary_proj_to_labels": True,
            "summary_activation": None,
        }
        return _TheirHead(auto_class, _linear("sequence_summary.summary", weight, bias), config)
    dense_name, classifier_name = _CLASSIFIERS[family]
    width = backbone.width
    dense = _linear(dense_name, _SCALE * torch.eye(width), torch.zeros(width))
    return _TheirHead(auto_class, dense | _linear(classifier_name, weight / _SCALE, bias))


def _linear(name: str, weight: Tensor, bias: Tensor) -> Tensors:
    return {f"{name}.weight": weight, f"{name}.bias": bias}


def _save_as_theirs(
    folder: Path,
    backbone: Backbone,
    head: _TheirHead,
    classes: Sequence[str],
    fold: str | None,
) -> None:
    """Write the encoder with a head of transformers."""
    ours = backbone.model
    settings = {**ours.config.to_dict(), **head.config}
    if classes:
        settings["id2label"] = dict(enumerate(classes))
        settings["label2id"] = {name: number for number, name in enumerate(classes)}
    with torch.device("meta"):
        model = head.auto_class.from_config(
            type(ours.config).from_dict(settings), trust_remote_code=False
        )
    tensors: Tensors = dict(ours.state_dict())
    if fold is not None:
        tensors = fold_weights(ours, tensors, fold)
    names = set(model.state_dict())
    tensors = {name: value for name, value in tensors.items() if name in names} | head.weights
    if missing := names - set(tensors):
        raise CheckpointError(
            f"{type(model).__name__}: no weights for {listed(sorted(missing))}"
        )
    with quiet():
        model.save_pretrained(folder, state_dict=cpu_copies(tensors, torch.float32))
    config = {**read_json(folder / CONFIG), "dtype": "float32"}
    if fold:
        config[FOLDED_KEY] = fold
    write_config(folder / CONFIG, config)
