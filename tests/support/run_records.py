"""What a run left in its folder, and a way to stop one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from safetensors.torch import load_file

from interlace.experiments.recipe import read_recipe

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torch import Tensor

    from interlace.training.steps import TrainingStep


ABOUT = {
    "steps": 20, "stopped": "", "tokens": 5000, "processes": 2, "parameters": 1234567,
    "perplexity_unit": "per masked subword", "precision": "bf16", "interlace": "0.1.0",
    "mixture": {"objectives": {"mlm": 1000, "alm": 4000}},
    "data": [{
        "corpus": "en-de", "split": "train", "languages": ["en", "de"], "rows": 1200,
        "subwords": 34567, "left_out": {"empty": 2, "dropped by ratio": 30}, "aligner": "gibbs",
        "files": [{"name": "train.en", "bytes": 999, "digest": "abc"}],
    }],
}  # fmt: skip
METRICS = [
    {"kind": "step", "step": 1},
    {
        "kind": "evaluation",
        "step": 10,
        "scores": {"perplexity/en": 9.0, "perplexity/mean": 9.0},
    },
    {
        "kind": "evaluation",
        "step": 20,
        "scores": {"perplexity/en": 12.5, "perplexity/mean": 12.5},
    },
]


def run_of(
    folder: Path,
    name: str = "adapt/mbert:alm",
    config: dict[str, Any] | None = None,
    **changes: str,
) -> Path:
    """Write the records of a run as they lie in its folder; `export__license="mit"` changes a key of the recipe."""
    (folder / "model").mkdir(parents=True)
    recipe = read_recipe(
        name, {key.replace("__", "."): value for key, value in changes.items()}
    )
    (folder / "recipe.json").write_text(json.dumps(recipe.dump()))
    (folder / "run.json").write_text(json.dumps(ABOUT))
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in METRICS))
    (folder / "model" / "config.json").write_text(
        json.dumps({"model_type": "bert", **(config or {})})
    )
    return folder


class StoppedError(Exception):
    """Stands for a signal or a person."""


def stop_at(number: int) -> Callable[[TrainingStep], None]:
    """Return what stops a run after a step."""

    def watch(step: TrainingStep) -> None:
        if step.index == number:
            raise StoppedError

    return watch


def about(run: Path) -> dict[str, Any]:
    """Return what `run.json` says."""
    found: dict[str, Any] = json.loads((run / "run.json").read_text())
    return found


def records(run: Path, kind: str) -> list[dict[str, Any]]:
    """Return the lines of `metrics.jsonl` of a kind."""
    rows = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return [row for row in rows if row["kind"] == kind]


def weights(run: Path, step: int | None = None) -> dict[str, Tensor]:
    """Return the weights of the exported model, or of a checkpoint."""
    folder = run / "model" if step is None else run / "checkpoints" / f"step-{step:08}"
    return load_file(folder / "model.safetensors")
