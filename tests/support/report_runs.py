"""Run folders as a finished run leaves them, small and believable."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import save_file

if TYPE_CHECKING:
    from pathlib import Path

LANGUAGES = ("en", "de", "hi")
# task, language: without and with parallel text
TRANSFER = {
    "pos": {"en": (97.4, 97.1), "de": (81.2, 90.3), "hi": (41.0, 71.9)},
}
LEXICON = "dog Hund कुत्ता|cat Katze बिल्ली|house Haus घर|water Wasser पानी|bread Brot रोटी|red rot लाल|big groß बड़ा"


def _recipe(name: str, seed: int, tlm: bool) -> dict[str, Any]:
    objectives: dict[str, Any] = {"mlm": {"weight": 1.0, "mask_rate": "0.15"}}
    if tlm:
        objectives["tlm"] = {"weight": 1.0, "restart_positions": True}
    return {
        "name": name,
        "about": "Translations by turns." if tlm else "Monolingual text alone.",
        "seed": seed,
        "data": {"root": "world", "languages": list(LANGUAGES)},
        "objectives": objectives,
        "train": {"steps": 1200, "learning_rate": 5e-4},
        "evaluate": {"tasks": ["pos", "xnli"], "source": "en", "seeds": 3},
    }


def _metrics(rng: np.random.Generator, tlm: bool) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for step in range(10, 1201, 10):
        objective = "tlm" if tlm and step % 20 else "mlm"
        loss = 1.9 + 6.2 * float(np.exp(-step / 260)) + float(rng.normal(0, 0.12))
        lines.append(
            {"kind": "step", "step": step, "objective": objective, "losses": {objective: loss}}
        )
        if step % 100 == 0:
            scores = {f"perplexity/{language}": 7.5 + 800 / step for language in LANGUAGES}
            lines.append({"kind": "evaluation", "step": step, "scores": scores})
    return lines


def _scores(rng: np.random.Generator, gain: float) -> list[dict[str, Any]]:
    rows = []
    for task, languages in TRANSFER.items():
        for language, (low, high) in languages.items():
            for seed in range(3):
                value = round(low + gain * (high - low) + float(rng.normal(0, 0.8)), 2)
                tuning = {"learning_rate": 1e-4}
                rows.append(score(language, value, seed, task=task, seconds=3.2, tuning=tuning))
    return rows


def write_words(folder: Path, gain: float = 0.5) -> Path:
    """Add words with vectors before and after training to a run."""
    rng = np.random.default_rng(round(gain * 100))
    concepts = []
    for concept in LEXICON.split("|"):
        concepts.append(dict(zip(LANGUAGES, concept.split(), strict=True)))
    shape = (len(concepts), len(LANGUAGES), 8)
    vectors = rng.normal(0, 0.3, shape) + gain * rng.normal(0, 1.0, (len(concepts), 1, 8))
    before = np.random.default_rng(0).normal(0, 0.3, shape)
    arrays = {
        "before": np.float32(before).reshape(-1, 8),
        "after": np.float32(vectors).reshape(-1, 8),
    }
    save_file(arrays, folder / "words.safetensors", {"concepts": json.dumps(concepts)})
    return folder


def _samples(tlm: bool) -> list[dict[str, Any]]:
    english = "<s> the big [M] sees a small cat . </s>".split()
    german = "der große Hund sieht eine [M] Katze . </s>".split()
    lines = {"reads": english, "predicts": ["", "", "", "dog"]}
    samples = [{"objective": "mlm", "corpus": "en", "lines": lines}]
    if tlm:
        lines = {"reads": english + german, "predicts": [""] * 15 + ["kleine"]}
        samples.append({"objective": "tlm", "corpus": "en-de", "lines": lines})
    return samples


def write_run(
    folder: Path, name: str, *, gain: float, seed: int = 1, tlm: bool = False
) -> Path:
    """A finished run; `gain` from 0 to 1 says how far its scores stand above plain masked language modelling."""
    rng = np.random.default_rng([7, round(gain * 100), seed, 0])
    folder.mkdir(parents=True)
    shares = {f"mlm/{language}": 1 / 3 for language in LANGUAGES}
    facts = {
        "interlace": "0.1.0", "device": "cpu", "parameters": 1_384_112, "finished": "2025-11-21T05:45:02+00:00",
        "steps": 1200, "seconds": {"training": 128.8, "evaluation": 41.7}, "tokens": 4_915_200, "shares": shares,
    }  # fmt: skip
    parts = {
        "recipe": _recipe(name, seed, tlm),
        "run": facts,
        "samples": _samples(tlm),
        "scores": _scores(rng, gain),
    }
    for part, content in parts.items():
        text = json.dumps(content, ensure_ascii=False)
        (folder / f"{part}.json").write_text(text, encoding="utf-8")
    lines = [json.dumps(line) for line in _metrics(rng, tlm)]
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def score(language: str, value: float, seed: int = 0, **more: Any) -> dict[str, Any]:
    """An entry of `scores.json`."""
    entry = {"task": "pos", "metric": "accuracy", "unit": "%", "source": "en", "n": 100}
    return {**entry, "language": language, "score": value, "seed": seed, **more}


def bare_run(
    folder: Path, name: str, scores: list[dict[str, Any]], seed: int = 1, **recipe: Any
) -> Path:
    """A run folder with a recipe and scores; without a name, the folder of a checkpoint's scores."""
    folder.mkdir(parents=True)
    if name:
        (folder / "recipe.json").write_text(json.dumps({"name": name, "seed": seed, **recipe}))
    (folder / "scores.json").write_text(json.dumps(scores))
    return folder
