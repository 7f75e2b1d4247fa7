"""Run folders as a finished run leaves them, small and believable, and sections of a report about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from safetensors.numpy import save_file

from interlace.report import sections
from interlace.report.runs import read_runs
from interlace.report.section import Section

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LANGUAGES = ("en", "de", "es", "tr", "hi", "zh")
TRANSFER = {  # task, language: without and with parallel text
    "pos": {"en": (97.4, 97.1), "de": (81.2, 90.3), "es": (84.9, 91.2), "tr": (48.3, 76.6), "hi": (41.0, 71.9),
            "zh": (44.5, 68.2)},
    "xnli": {"en": (78.6, 78.2), "de": (62.1, 69.9), "es": (66.0, 67.1), "tr": (49.4, 61.8), "hi": (45.2, 58.0),
             "zh": (51.7, 60.9)},
}  # fmt: skip
LEXICON = """
dog Hund perro köpek कुत्ता 狗|cat Katze gato kedi बिल्ली 猫
house Haus casa ev घर 房子|water Wasser agua su पानी 水
bread Brot pan ekmek रोटी 面包|red rot rojo kırmızı लाल 红
big groß grande büyük बड़ा 大|small klein pequeño küçük छोटा 小
see sehen ver görmek देखना 看见|eat essen comer yemek खाना 吃
sleep schlafen dormir uyumak सोना 睡觉|yesterday gestern ayer dün कल 昨天
city Stadt ciudad şehir शहर 城市|friend Freund amigo arkadaş दोस्त 朋友
three drei tres üç तीन 三|never nie nunca asla कभी 从不
table Tisch mesa masa मेज़ 桌子|book Buch libro kitap किताब 书
"""


def _recipe(name: str, seed: int, tlm: bool) -> dict[str, Any]:
    objectives: dict[str, Any] = {"mlm": {"weight": 1.0, "mask_rate": "0.15", "max_length": 128}}
    if tlm:
        objectives["tlm"] = {"weight": 1.0, "mask_rate": "0.15", "restart_positions": True}
    return {
        "name": name,
        "about": "Masked language modelling, and translations by turns." if tlm else "Monolingual text alone.",
        "seed": seed,
        "data": {"root": "world", "languages": list(LANGUAGES), "text": "text/train.{language}.txt",
                 "parallel": "parallel/train.en-{language}" if tlm else None, "alpha": 0.7},
        "vocab": {"size": 6000, "kind": "byte-bpe", "alpha": 0.5},
        "model": {"shape": {"family": "bert", "layers": 3, "width": 128, "heads": 4, "feed_forward": 512,
                            "dropout": 0.1}, "languages": "none"},
        "objectives": objectives,
        "train": {"steps": 1200, "tokens_per_update": 4096, "learning_rate": 5e-4, "schedule": "linear",
                  "warmup_steps": 100, "weight_decay": 0.01, "precision": "float32"},
        "evaluate": {"tasks": ["pos", "xnli"], "source": "en", "seeds": 3},
    }  # fmt: skip


def _metrics(rng: np.random.Generator, tlm: bool) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    objectives = ["mlm", "tlm"] if tlm else ["mlm"]
    for step in range(10, 1201, 10):
        objective = objectives[int(rng.integers(len(objectives)))]
        base = (1.9 if objective == "mlm" else 1.1) + 6.2 * float(np.exp(-step / 260))
        language = LANGUAGES[int(rng.integers(len(LANGUAGES)))]
        corpus = language if objective == "mlm" else f"en-{LANGUAGES[1 + int(rng.integers(5))]}"
        lines.append({
            "kind": "step", "step": step, "objective": objective, "corpus": corpus,
            "losses": {objective: round(base + float(rng.normal(0, 0.12)), 4)}, "tokens": 4096,
            "learning_rate": 5e-4 * min(step / 100, 1), "seconds": 0.11, "gradient_norm": 1.2,
        })  # fmt: skip
        if step % 100 == 0:
            ends = {
                language: 7.5 + 1.1 * index + (1.2 if tlm else 0)
                for index, language in enumerate(LANGUAGES)
            }
            scores = {
                f"perplexity/{k}": v + 700 * float(np.exp(-step / 150)) for k, v in ends.items()
            }
            scores["perplexity/mean"] = float(np.mean(list(scores.values())))
            lines.append({"kind": "evaluation", "step": step, "scores": scores})
    return lines


def _scores(rng: np.random.Generator, gain: float) -> list[dict[str, Any]]:
    return [
        {"task": task, "metric": "accuracy", "unit": "%", "language": language, "source": "en", "seed": seed,
         "score": round(low + gain * (high - low) + float(rng.normal(0, 0.8)), 2), "n": 1000,
         "scores": {}, "seconds": 3.2, "tuning": {"learning_rate": 1e-4}}
        for task, languages in TRANSFER.items()
        for language, (low, high) in languages.items()
        for seed in range(3)
    ]  # fmt: skip


def write_words(folder: Path, gain: float = 0.5) -> Path:
    """Add words with vectors before and after training to a run."""
    rng = np.random.default_rng(round(gain * 100))
    lexicon = [
        concept.split() for line in LEXICON.strip().split("\n") for concept in line.split("|")
    ]
    concepts = [dict(zip(LANGUAGES, words, strict=True)) for words in lexicon]
    own, home = (
        rng.normal(0, 1.0, (len(concepts), 1, 8)),
        rng.normal(0, 1.6, (1, len(LANGUAGES), 8)),
    )
    before, after = (
        np.float32(own * near + home + rng.normal(0, 0.14, (len(concepts), 6, 8)))
        for near in (0, gain)
    )
    vectors = {"before": before.reshape(-1, 8), "after": after.reshape(-1, 8)}
    save_file(vectors, folder / "words.safetensors", {"concepts": json.dumps(concepts)})
    return folder


def _row(text: str, changed: list[int], at: dict[int, str], second: str = "") -> dict[str, Any]:
    first, tokens = text.split(), [*text.split(), *second.split()]
    sides = [int(index >= len(first)) for index in range(len(tokens))]
    return {
        "tokens": tokens,
        "changed": changed,
        "targets": list(at.values()),
        "at": list(at),
        "sides": sides,
    }


def _samples(tlm: bool) -> list[dict[str, Any]]:
    english = "<s> the big <mask> sees a small cat near the house . </s> Anna never <mask> bread in table city . </s>"
    mlm = [
        {"objective": "mlm", "corpus": "en",
         "rows": [_row(english, [3, 15, 18], {3: "dog", 8: "near", 15: "eats", 18: "the"})]},
        {"objective": "mlm", "corpus": "hi",
         "rows": [_row("<s> बड़ा कुत्ता <mask> बिल्ली को देखता है । </s>", [3], {3: "छोटी"})]},
    ]  # fmt: skip
    two = _row("<s> the big <mask> sees a small cat . </s>", [3, 15], {3: "dog", 15: "kleine"},
               "der große Hund sieht eine <mask> Katze . </s>")  # fmt: skip
    return [*mlm, {"objective": "tlm", "corpus": "en-de", "rows": [two]}] if tlm else mlm


def write_run(folder: Path, name: str, *, gain: float, seed: int = 1, tlm: bool = False) -> Path:
    """A finished run; `gain` from 0 to 1 says how far its scores stand above plain masked language modelling."""
    rng = np.random.default_rng([7, round(gain * 100), seed, 0])
    folder.mkdir(parents=True)
    shares = {f"mlm/{language}": 0.5 / 6 if tlm else 1 / 6 for language in LANGUAGES}
    shares |= {f"tlm/en-{language}": 0.1 for language in LANGUAGES[1:]} if tlm else {}
    facts = {
        "name": name, "interlace": "0.1.0", "python": "3.12.4", "torch": "2.13.0", "transformers": "5.23.0",
        "platform": "Linux x86_64", "processor": "Xeon, 2 cores", "threads": 2, "device": "cpu",
        "parameters": 1_384_112, "started": "2025-11-21T05:42:10+00:00", "finished": "2025-11-21T05:45:02+00:00",
        "seconds": {"vocabulary": 2.1, "data": 3.4, "training": 128.8 + 10 * tlm, "evaluation": 41.7},
        "tokens": 4_915_200, "shares": shares,
    }  # fmt: skip
    parts = {
        "recipe": _recipe(name, seed, tlm),
        "run": facts,
        "samples": _samples(tlm),
        "scores": _scores(rng, gain),
    }
    for part, content in parts.items():
        (folder / f"{part}.json").write_text(
            json.dumps(content, ensure_ascii=False), encoding="utf-8"
        )
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


def change(folder: Path, name: str, edit: Callable[[Any], Any]) -> None:
    """Edit a JSON file of a run folder."""
    path = folder / name
    path.write_text(
        json.dumps(edit(json.loads(path.read_text(encoding="utf-8")))), encoding="utf-8"
    )


def section(module: str, runs: Sequence[Any], title: str) -> Section:
    """The section of a function of `sections` whose title contains these words; without a body if there is none."""
    read = read_runs(runs) if isinstance(runs[0], Path) else runs
    found = [each for each in getattr(sections, module)(read) if title in each.title]
    return found[0] if found else Section(title, "", Markup())
