"""The record of a training run, `run.json`: versions, hardware, timings, the text that was read and its shares."""

from __future__ import annotations

import os
import platform
from collections import Counter
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from interlace import __version__
from interlace.data.cache import content_key
from interlace.data.corpus import ParallelCorpus
from interlace.experiments.sections import AlignSettings
from interlace.experiments.word_alignment import needs
from interlace.training.diagnostics import UNIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.experiments.prepare import AnyCorpus, Materials
    from interlace.experiments.recipe import CorpusGroup, Recipe
    from interlace.training.loop import Progress, Training

DIGEST = "BLAKE2b, 128 bit"  # of files


def run_record(
    recipe: Recipe,
    training: Training,
    progress: Progress,
    seconds: dict[str, float],
    rows: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """Return the content of `run.json`, except its `data`.

    rows: of `metrics.jsonl`.
    """
    steps = [row for row in rows if row["kind"] == "step"]
    mixture = mixture_of(steps)
    tokens = mixture["tokens"]
    total = sum(tokens.values())
    model = training.accelerator.unwrap_model(training.model)
    backbone = model.backbone
    architecture = "seq2seq" if hasattr(backbone, "decode") else "causal" if backbone.causal else "masked"
    return {
        "name": recipe.name,
        **environment(training.accelerator.device),
        "precision": training.accelerator.mixed_precision,
        "processes": training.accelerator.num_processes,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        **({"initialization": backbone.initialization} if backbone.initialization else {}),
        "steps": progress.done,
        "stopped": progress.reason,
        "tokens": total,
        "shares": {name: round(count / max(total, 1), 4) for name, count in sorted(tokens.items())},
        "mixture": mixture,
        "seconds": {**seconds, "steps": round(sum(row["seconds"] for row in steps), 3)},
        "perplexity_unit": UNIT[architecture],
        "waited": round(sum(row["waited"] for row in steps), 3),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def mixture_of(steps: Sequence[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Return what training read, from the records of its steps.

    Returns:
        `tokens`, `rows` and `steps` by objective and corpus, and tokens by `objectives` and by `languages`. If an
        objective does not report the languages of its tokens, the languages of the corpus share them evenly.
    """
    found: dict[str, Counter[str]] = {
        name: Counter() for name in ("tokens", "rows", "steps", "objectives", "languages")
    }
    for row in steps:
        name, tokens = f"{row['objective']}/{row['corpus']}", row["tokens"]
        found["tokens"][name] += tokens
        found["rows"][name] += row.get("rows", 0)
        found["steps"][name] += 1
        found["objectives"][row["objective"]] += tokens
        languages = row["corpus"].rpartition(":")[2].split("-")
        found["languages"].update(
            row.get("languages") or {language: tokens // len(languages) for language in languages}
        )
    return {name: dict(sorted(counts.items())) for name, counts in found.items()}


def data_of(recipe: Recipe, materials: Materials) -> list[dict[str, Any]]:
    """Return a row per corpus and split: files by name and hash, rows, tokens, what was left out, and the aligner."""
    rows = []
    for name, group in recipe.corpora.items():
        for corpus, key in zip([*group.languages, *group.pairs], materials.groups[name], strict=True):
            for split, built in (("train", materials.train), ("dev", materials.dev)):
                if key in built:
                    row = _data_row(recipe, group, corpus, split, built[key], materials.root)
                    if split == "train" and isinstance(built[key], ParallelCorpus) and needs(recipe, name, key):
                        row["aligner"] = (recipe.align or AlignSettings()).name
                    rows.append({"corpus": key, "group": name, **row})
    return rows


def environment(device: torch.device) -> dict[str, Any]:
    """Return versions and hardware."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return {
        "interlace": __version__,
        "python": platform.python_version(),
        "torch": version("torch"),
        "transformers": version("transformers"),
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "device": name,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n")
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _data_row(
    recipe: Recipe, group: CorpusGroup, corpus: str, split: str, built: AnyCorpus, root: Path
) -> dict[str, Any]:
    paths = [] if recipe.toy is not None else group.files(split, corpus, root)
    notes = {"empty": built.meta.get("skipped", 0), **(built.meta.get("notes") or {})}
    return {
        "split": split,
        "languages": corpus.split("-"),
        "rows": len(built),
        "subwords": sum(built.counts["subwords"].values()),
        "left_out": {what: count for what, count in notes.items() if count},
        "files": [{"name": path.name, "bytes": path.stat().st_size, "digest": content_key(path)} for path in paths],
    }
