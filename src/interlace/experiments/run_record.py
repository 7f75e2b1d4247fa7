"""What `run.json` says of a finished run: its training, its data, and the software and hardware."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import torch

from interlace.core import VERSION
from interlace.core.json_files import JsonObject
from interlace.core.system import processor_name
from interlace.data.cache import content_key
from interlace.experiments.recipe import Recipe
from interlace.experiments.sections import AlignSettings
from interlace.experiments.workspace import Workspace
from interlace.readers import is_hub
from interlace.readers.common.hub import stored_files
from interlace.training.loop import Progress, Training
from interlace.training.run_folder import training_seconds


def run_record(
    recipe: Recipe, training: Training, progress: Progress, metrics: Path
) -> JsonObject:
    """Return the content of `run.json`, except its `data` and its `model_key`; metrics: the file of all updates."""
    total = progress.tokens.total()
    shares: dict[str, float] = {}
    for name, count in sorted(progress.tokens.items()):
        shares[name] = round(count / max(total, 1), 4)
    model = training.accelerator.unwrap_model(training.model)
    perplexity_unit = "per masked subword"
    if recipe.seq2seq:
        perplexity_unit = "per subword written"
    elif recipe.causal:
        perplexity_unit = "per subword"
    return {
        "name": recipe.name,
        **environment(training.accelerator.device),
        "precision": training.accelerator.mixed_precision,
        "processes": training.accelerator.num_processes,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "steps": progress.done,
        "stopped": progress.reason,
        "tokens": total,
        "shares": shares,
        "seconds": {"training": round(training_seconds(metrics), 3)},
        "perplexity_unit": perplexity_unit,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def data_of(workspace: Workspace) -> list[JsonObject]:
    """Return a row per corpus and split: files by name and hash, rows, tokens, what was left out, and the aligner."""
    recipe = workspace.recipe
    rows = []
    for name, (group, corpus) in workspace.names.items():
        for split, corpora in (("train", workspace.train), ("dev", workspace.dev)):
            if name not in corpora:
                continue
            built = corpora[name]
            paths = []
            if recipe.toy is None:
                paths = recipe.corpora[group].files(split, corpus, workspace.root)
            row: JsonObject = {
                "corpus": name,
                "split": split,
                "languages": corpus.split("-"),
                "rows": len(built),
                "subwords": sum(built.counts["subwords"].values()),
                "left_out": built.meta["notes"],
                "files": [_file_record(path) for path in paths],
            }
            if split == "train" and recipe.annotations(name) - {"text"}:
                row["aligner"] = (recipe.align or AlignSettings()).name
            rows.append(row)
    return rows


def _file_record(path: Path) -> JsonObject:
    return {
        "name": str(path) if is_hub(path) else path.name,
        "bytes": sum(file.stat().st_size for file in stored_files(path)),
        "digest": content_key(path),
    }


def environment(device: torch.device) -> JsonObject:
    """Return versions and hardware."""
    return {
        "interlace": VERSION,
        "python": platform.python_version(),
        "torch": version("torch"),
        "transformers": version("transformers"),
        "platform": platform.platform(),
        "processor": processor_name(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
    }
