"""The model card: `model/README.md`, written from a run's own records through `huggingface_hub` and a Jinja template.

Paths of the machine are reduced to file names, and text from recipes and files is escaped for Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from typing_extensions import TypedDict

from interlace.core.files import atomic, user_path
from interlace.core.json_files import checked, json_record, read_json
from interlace.core.markup import code_span, markdown_text
from interlace.core.store import leaves
from interlace.experiments.recipe import Recipe, directions, tokenizer_of
from interlace.experiments.run_record import DIGEST
from interlace.experiments.score_store import scores_of_model
from interlace.models.families import SEQ2SEQ
from interlace.readers import is_hub
from interlace.readers.common.hub import HubAddress
from interlace.scores import ZERO_SHOT, ScoreEntry, setting_name
from interlace.training.run_folder import RECIPE, RUN, SCORES, read_run

if TYPE_CHECKING:
    from huggingface_hub import EvalResult, ModelCardData

CARD = "README.md"
PLACE = "FOLDER-OR-HUB-NAME"
_TEMPLATE = Path(__file__).with_name("card.md.jinja")


@json_record
class _Trained(TypedDict):
    steps: int
    tokens: int
    parameters: int


def write_card(into: Path, about: dict[str, Any] | None = None) -> Path | None:
    """Write the card of a finished run into its model folder; write it again after an evaluation, with scores.

    about: the content of its `run.json`, if that is not written yet. None without a model or a record of its training.
    """
    about = about or read_run(into)
    if not (into / "model" / "config.json").is_file() or not (into / RECIPE).is_file() or not about:
        return None
    with atomic(into / "model" / CARD) as partial:
        partial.write_text(card_text(into, about), encoding="utf-8")
    return into / "model" / CARD


def card_text(into: Path, about: dict[str, Any], place: str = PLACE, license_id: str = "") -> str:
    """Return the card of a finished run.

    place: the hub name of the model, if it has one. license_id: the hub's identifier; default: the recipe's.
    """
    from huggingface_hub import ModelCard

    about = checked(about, _Trained, str(into / RUN))
    recipe = Recipe.read(read_json(into / RECIPE, dict[str, Any], {}), RECIPE)
    license_id = license_id or recipe.export.license
    config = read_json(into / "model" / "config.json", dict[str, Any])
    rows = [
        {**row, "task": f"{row['task']}, {setting_name(row)}".removesuffix(f", {ZERO_SHOT}")}
        for row in scores_of_model(into, plain(read_json(into / SCORES, list[ScoreEntry], [])))
        if row["score"] is not None
    ]
    versions = ("interlace", "python", "torch", "transformers", "device", "finished")
    context = {
        **_model(recipe, config, about),
        **_data(recipe, about),
        **_training(recipe, about),
        **_scores(rows),
        "versions": [
            f"{name} {markdown_text(str(about[name]))}" for name in versions if about.get(name)
        ],
        "place": place,
        "license": license_id,
    }
    metadata = _metadata(recipe, config, rows, license_id)
    card = ModelCard.from_template(metadata, template_path=str(_TEMPLATE), **context)
    return re.sub(r"\n{3,}", "\n\n", card.content).rstrip() + "\n"


def plain(data: Any) -> Any:
    """Return data with all text escaped for Markdown, also inside lists and mappings."""
    if isinstance(data, str):
        return markdown_text(data)
    if isinstance(data, dict):
        return {plain(key): plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [plain(value) for value in data]
    return data


def leaf(value: Any) -> str:
    """Return a value as text, not escaped; of a path only the last part."""
    if isinstance(value, str):
        return value.rstrip("/\\").replace("\\", "/").rpartition("/")[2]
    if isinstance(value, list | tuple):
        return ", ".join(map(leaf, value))
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def mean_and_spread(values: Sequence[float]) -> str:
    """Return `81.3 ± 0.4` for several values, one value alone, or an empty string."""
    if len(values) < 2:
        return "".join(f"{value:.4g}" for value in values)
    return f"{mean(values):.4g} ± {stdev(values):.2g}"


def _metadata(
    recipe: Recipe, config: dict[str, Any], rows: list[dict[str, Any]], license_id: str
) -> ModelCardData:
    from huggingface_hub import ModelCardData

    codes = dict.fromkeys(language.partition("_")[0].lower() for language in recipe.languages)
    results = list(_results(rows))
    return ModelCardData(
        license=license_id or None,
        datasets=_datasets(recipe) or None,
        language=[code for code in codes if re.fullmatch(r"[a-z]{2,3}", code)] or None,
        base_model=_base(recipe),
        library_name="interlace" if config.get("model_type") == SEQ2SEQ[1] else "transformers",
        pipeline_tag="translation"
        if recipe.seq2seq
        else "text-generation"
        if recipe.causal
        else "fill-mask",
        tags=[
            "interlace",
            "cross-lingual",
            *(plain(name).replace("_", "-") for name in recipe.objectives),
        ],
        **({"model_name": plain(recipe.name), "eval_results": results} if results else {}),
    )


def _datasets(recipe: Recipe) -> list[str]:
    """Return the hub names of the data sets with training text."""
    patterns = [
        pattern for group in recipe.corpora.values() for pattern in group.train if is_hub(pattern)
    ]
    addresses = [HubAddress.parse(pattern) for pattern in patterns]
    named = [one.repository for one in addresses if not one.is_folder and "{" not in one.repository]
    return list(dict.fromkeys(named))


def _results(rows: list[dict[str, Any]]) -> Iterator[EvalResult]:
    """Yield the mean over seeds of each task, metric and language."""
    from huggingface_hub import EvalResult

    by_place: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        by_place.setdefault((row["task"], row["metric"], row["language"]), []).append(
            float(row["score"])
        )
    for (task, metric, language), scores in by_place.items():
        yield EvalResult(
            task_type=task,
            dataset_type=task,
            dataset_name=f"{task} ({language})",
            dataset_config=language,
            metric_type=metric,
            metric_value=round(mean(scores), 4),
        )


def _base(recipe: Recipe) -> str | None:
    """Return the hub name of the base model; a local folder is not named."""
    start = recipe.model.start
    local = start is None or user_path(start).exists()
    if local or not re.fullmatch(r"[\w][\w.-]*(/[\w][\w.-]*)?", str(start)):
        return None
    return start


def _model(recipe: Recipe, config: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    """Return the template values of initialization, loading code and vocabulary."""
    learned = list(directions(recipe)) if recipe.seq2seq else None
    start = recipe.model.start
    tokenizer = tokenizer_of(recipe)
    xlm = config.get("model_type") == "xlm"
    encoder = config.get("encoder", {})
    decoder = config.get("decoder", {})
    roberta = "roberta" in str(
        decoder.get("model_type")
    )  # reserves positions up to that of the padding
    reserved = int(decoder.get("pad_token_id") or 0) + 1 if roberta else 0
    rows = (
        config.get("interlace_languages")
        or config.get("lang2id")
        or encoder.get("interlace_languages")
        or {}
    )
    has_languages = not xlm or (config.get("use_lang_emb", True) and config.get("n_langs", 1) > 1)
    return {
        "name": plain(recipe.name),
        "description": plain(recipe.about),
        "recipe_languages": plain(recipe.languages),
        "base": _base(recipe),
        "start": None if start is None else code_span(leaf(start)),
        "decoder": _decoder(recipe),
        "vectors": about.get("initialization", {}).get("vectors"),
        "auto_class": "AutoModelForCausalLM" if recipe.causal else "AutoModelForMaskedLM",
        "directions": None if learned is None else ["-".join(direction) for direction in learned],
        "example": (learned or [(recipe.languages[0], recipe.languages[-1])])[0],
        "max_new_tokens": min(100, int(decoder.get("max_position_embeddings", 101)) - reserved - 1),
        "language_rows": sorted(plain(rows).items(), key=lambda pair: pair[1])
        if has_languages
        else [],
        "language_argument": "langs" if xlm else "token_type_ids",
        "vocab": recipe.vocab,
        "tokenizer": None if tokenizer is None else code_span(leaf(tokenizer)),
    }


def _decoder(recipe: Recipe) -> str:
    """Return the initialization of a decoder that has its own; otherwise an empty string."""
    decoder = recipe.model.decoder
    if not recipe.seq2seq or decoder is None:
        return ""
    if decoder.shape is not None or decoder.take == "none":
        shared = (
            decoder.embeddings == "shared"
            and recipe.model.start is not None
            and recipe.model.take != "none"
        )
        if shared:
            return "random; embeddings shared with the encoder"
        return "random"
    what = "" if decoder.take == "whole" else "embeddings of "
    if decoder.start is not None:
        return f"{what}{code_span(leaf(decoder.start))}"
    return ""


def _data(recipe: Recipe, about: dict[str, Any]) -> dict[str, Any]:
    entries = about.get("data", [])
    rows = []
    for entry in entries:
        files = [
            f"{code_span(file['name'])} ({file['bytes']:,} bytes, {markdown_text(file['digest'])})"
            for file in entry["files"]
        ]
        split = "held-out" if entry["split"] == "dev" else "training"
        left_out = [
            f"{markdown_text(what)}: {count:,}" for what, count in entry["left_out"].items()
        ]
        rows.append(
            [
                markdown_text(f"{'-'.join(entry['languages'])} ({split})"),
                f"{entry['rows']:,}",
                f"{entry['subwords']:,}",
                ", ".join(left_out) or "none",
                "<br>".join(files) or "interlace's toy corpus",
            ]
        )
    return {
        "digest": DIGEST,
        "data": rows,
        "filters": [
            f"{code_span(name)}{_settings(values)}" for name, values in recipe.filters.items()
        ],
        "aligners": list(
            dict.fromkeys(code_span(entry["aligner"]) for entry in entries if "aligner" in entry)
        ),
        "aligner_settings": "" if recipe.align is None else _settings(recipe.align.settings),
    }


def _settings(values: dict[str, Any]) -> str:
    text = ", ".join(markdown_text(f"{key} = {leaf(value)}") for key, value in leaves(values))
    return f" ({text})" if text else ""


def _training(recipe: Recipe, about: dict[str, Any]) -> dict[str, Any]:
    train = recipe.train
    optimizer = recipe.train.optimizer
    warmup = optimizer.warmup_steps(train.steps)
    facts = {
        "steps": f"{about['steps']:,}"
        + (f" ({markdown_text(about['stopped'])})" if about.get("stopped") else ""),
        "tokens": f"{about['tokens']:,}",
        "tokens per update, with padding": f"{train.tokens_per_update:,}",
        "optimizer": f"AdamW, betas {', '.join(map(str, optimizer.betas))}, weight decay {optimizer.weight_decay}",
        "learning rate": f"{optimizer.learning_rate:g}, {optimizer.schedule}, {warmup:,} steps of warm-up",
        "precision": markdown_text(str(about.get("precision") or train.precision)),
        "seed": str(recipe.seed),
        "parameters, with training heads": f"{about['parameters']:,}",
    }
    tokens = about.get("mixture", {}).get("objectives", {})
    total = max(sum(tokens.values()), 1)
    rows = []
    for name, entry in recipe.objectives.items():
        objective = recipe.objective(name)
        default = dict(leaves(type(objective)().dump()))
        own = {key: value for key, value in leaves(objective.dump()) if value != default.get(key)}
        own |= {"corpora": ", ".join(entry.corpora)} if entry.corpora else {}
        settings = (
            ", ".join(markdown_text(f"{key} = {leaf(value)}") for key, value in own.items())
            or "default"
        )
        summary = markdown_text((type(objective).__doc__ or "").strip().partition("\n")[0])
        rows.append(
            [
                code_span(name),
                summary,
                entry.weight,
                f"{100 * tokens.get(name, 0) / total:.1f} %",
                settings,
            ]
        )
    return {"training": list(facts.items()), "objectives": rows}


def _scores(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a table row per task and metric, and a column per language."""
    if not rows:
        return {}
    languages = list(dict.fromkeys(row["language"] for row in rows))
    table = [["task", "metric", "seeds", *languages]]
    for task, metric in dict.fromkeys((row["task"], row["metric"]) for row in rows):
        own = [row for row in rows if (row["task"], row["metric"]) == (task, metric)]
        unit = f" ({own[0]['unit']})" if own[0].get("unit") else ""
        cells = [
            [float(row["score"]) for row in own if row["language"] == language]
            for language in languages
        ]
        seeds = str(len({row.get("seed", 0) for row in own}))
        table.append([task, f"{metric}{unit}", seeds, *map(mean_and_spread, cells)])
    sources = list(dict.fromkeys(str(row.get("source", "")) for row in rows))
    return {"scores": table, "sources": sources, "contamination": list(_contamination(rows))}


def _contamination(rows: list[dict[str, Any]]) -> Iterator[list[str]]:
    """Yield task, exact copies and overlaps in percent: the maximum over languages."""
    found = [(row["task"], row["contamination"]) for row in rows if row.get("contamination")]
    for task in dict.fromkeys(task for task, _ in found):
        own = [facts for name, facts in found if name == task]
        yield [
            task,
            *(f"{max(facts.get(kind) or 0 for facts in own):.1f}" for kind in ("exact", "ngram")),
        ]
