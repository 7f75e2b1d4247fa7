"""What a run was: versions, hardware, timings, realised shares; and how two recipes differ."""

from __future__ import annotations

import os
import platform
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from interlace import __version__
from interlace.core.errors import InterlaceError
from interlace.experiments.recipe import Recipe
from interlace.training.diagnostics import UNIT
from interlace.training.run_folder import RECIPE, read_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from interlace.models.backbone import Backbone
    from interlace.training.loop import Progress, Training


def describe(
    recipe: Recipe,
    training: Training,
    progress: Progress,
    seconds: dict[str, float],
    rows: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """The content of `run.json`."""
    taken = [row for row in rows if row["kind"] == "step"]
    realised = mixture_of(taken)
    tokens = realised["tokens"]
    total = sum(tokens.values())
    model = training.accelerator.unwrap_model(training.model)
    return {
        "name": recipe.name,
        **environment(training.accelerator.device),
        "precision": training.accelerator.mixed_precision,
        "processes": training.accelerator.num_processes,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        **({"initialization": model.backbone.initialization} if model.backbone.initialization else {}),
        "steps": progress.done,
        "stopped": progress.reason,
        "tokens": total,
        "shares": {name: round(count / max(total, 1), 4) for name, count in sorted(tokens.items())},
        "mixture": realised,
        "seconds": {**seconds, "steps": round(sum(row["seconds"] for row in taken), 3)},
        "perplexity_unit": UNIT[_reading(model.backbone)],
        "waited": round(sum(row["waited"] for row in taken), 3),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _reading(backbone: Backbone) -> str:
    """How a model reads, as units of perplexity are told."""
    return "seq2seq" if hasattr(backbone, "decode") else "causal" if backbone.causal else "masked"


def mixture_of(steps: Sequence[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """What training really read, from the records of its steps.

    Returns:
        `tokens`, `rows` and `steps` by objective and corpus, and tokens by `objectives` and by `languages`. Where an
        objective does not tell the language of its subwords, those of its corpus share them evenly.
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


def environment(device: torch.device) -> dict[str, Any]:
    """Versions and hardware."""
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
    """The processor's name where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n")
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


_NOT_TRAINED_BY = ("about", "published", "changes", "evaluate")


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """`key: old -> new` for each leaf in which two recipes differ, but for what training does not read."""
    before, after = (
        {key: value for key, value in _leaves(recipe) if key.partition(".")[0] not in _NOT_TRAINED_BY}
        for recipe in (old, new)
    )
    return [
        f"{key} was {before.get(key)!r}, is {after.get(key)!r}"
        for key in dict.fromkeys([*before, *after])
        if before.get(key) != after.get(key)
    ]


def _leaves(data: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(data, dict) and data:
        for key, value in data.items():
            yield from _leaves(value, f"{path}.{key}" if path else key)
    else:
        yield path, data


# FROM _ancestry:
# What a run goes on from: its weights have read the text of the runs before it, and of a public model's who knows.


@dataclass(frozen=True)
class Lineage:
    """recipes: of the run, and then of those it goes on from. unknown: starts of whose text nothing is known here."""

    recipes: list[Recipe]
    unknown: list[str]

    @classmethod
    def of(cls, recipe: Recipe) -> Lineage:
        """Follow the starts of encoder, decoder and table as long as each is what a run folder holds."""
        recipes, unknown = [recipe], list[str]()
        for each in recipes:  # which grows
            for start in _starts(each):
                before = _recipe_of(start)
                if before is None:
                    unknown.append(start)
                elif before not in recipes:
                    recipes.append(before)
        return cls(recipes, list(dict.fromkeys(unknown)))


def _starts(recipe: Recipe) -> Iterator[str]:
    """Where weights were taken from."""
    decoder = recipe.model.decoder
    for settings in (recipe.model, decoder) if decoder else (recipe.model,):
        if settings.start is not None and settings.take != "none":
            yield settings.start
    if recipe.model.vectors is not None:
        yield recipe.model.vectors


def _recipe_of(start: str) -> Recipe | None:
    """The recipe of the run whose model or vectors these are; None where no run has them, or it cannot be read."""
    path = Path(start).expanduser().resolve().parent / RECIPE
    try:
        found = read_json(path) if Path(start).expanduser().is_dir() else None
        return None if found is None else Recipe.read(found, str(path))
    except InterlaceError:
        return None
