"""The model card: `model/README.md`, written from a run's own records through `huggingface_hub` and a Jinja template.

Paths of the machine are reduced to file names, and text from recipes and files is escaped for Markdown.
"""

from __future__ import annotations

import re
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from typing_extensions import TypedDict

from interlace.core.files import atomic, user_path
from interlace.core.json_files import JsonObject, checked, json_record, read_json
from interlace.core.markup import markdown_text
from interlace.data.cache import DIGEST
from interlace.experiments.recipe import Recipe, max_source_lengths, tokenizer_of
from interlace.experiments.run import Run
from interlace.models.families import LANGUAGES_KEY, MODEL_TYPES
from interlace.scores import ZERO_SHOT, ScoreEntry, setting_name
from interlace.training.run_folder import RECIPE, RUN, SCORES, read_run, read_scores

if TYPE_CHECKING:
    from huggingface_hub import ModelCardData

CARD = "README.md"
_TEMPLATE = Path(__file__).with_name("card.md.jinja")


@json_record
class _Trained(TypedDict):
    steps: int
    tokens: int
    parameters: int


def write_card(into: Path, about: JsonObject | None = None) -> None:
    """Write the card of a finished run into its model folder; write it again after an evaluation, with scores.

    about: the content of its `run.json`, if that is not written yet. Without it or a model, nothing is written.
    """
    about = about or read_run(into)
    if about and (into / RECIPE).is_file() and (into / "model" / "config.json").is_file():
        with atomic(into / "model" / CARD) as partial:
            partial.write_text(card_text(into, about), encoding="utf-8")


def card_text(into: Path, about: JsonObject) -> str:
    """Return the card of a finished run."""
    from huggingface_hub import ModelCard

    about = checked(about, _Trained, str(into / RUN))
    recipe = Recipe.read(Run(into).stored_recipe or {}, RECIPE)
    config = read_json(into / "model" / "config.json", JsonObject)
    content = {
        "name": plain(recipe.name),
        "about": plain(recipe.about),
        "languages": plain(recipe.languages),
        "base": _base(recipe),
        "start": plain(leaf(recipe.model.start or "")),
        "tokenizer": plain(leaf(tokenizer_of(recipe) or "")),
        "recipe": plain(recipe.dump()),
        "run": plain(about),
        "weights": {plain(name): entry.weight for name, entry in recipe.objectives.items()},
        "scores": _scores(into),
        "digest": DIGEST,
        **_loading(recipe, config),
    }
    card = ModelCard.from_template(
        _metadata(recipe, config),
        template_path=str(_TEMPLATE),
        **content,
    )
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


def leaf(path: str) -> str:
    """Return the last part of a path."""
    return path.rstrip("/\\").replace("\\", "/").rpartition("/")[2]


def _base(recipe: Recipe) -> str | None:
    """Return the hub name of the base model; a local folder is not named."""
    start = recipe.model.start
    if start is None or user_path(start).exists():
        return None
    is_hub_name = re.fullmatch(r"[\w][\w.-]*(/[\w][\w.-]*)?", start)
    return start if is_hub_name else None


def _loading(recipe: Recipe, config: JsonObject) -> JsonObject:
    """Return the template values of the code that loads the model."""
    kind = config.get("model_type")
    is_causal = recipe.causal and kind != "modernbert"
    encoder = config.get("encoder", {})
    language_ids = {**config, **encoder}.get(LANGUAGES_KEY, {})
    if not language_ids and config.get("n_langs", 1) > 1:
        language_ids = config.get("lang2id", {})
    language_ids = dict(sorted(language_ids.items(), key=lambda item: int(item[1])))
    lengths = max_source_lengths(recipe) if recipe.seq2seq else {}
    return {
        "auto_class": "AutoModelForCausalLM" if is_causal else "AutoModelForMaskedLM",
        "is_translation": recipe.seq2seq,
        "is_published": recipe.seq2seq and kind in MODEL_TYPES,
        "model_type": plain(kind),
        "directions": list(lengths),
        "max_new_tokens": max(lengths.values(), default=0),
        "language_argument": "langs" if kind == "xlm" else "token_type_ids",
        "language_ids": plain(language_ids),
    }


def _scores(into: Path) -> list[list[str]]:
    """Return a table row for each task, setting, metric and language: the mean over seeds; all text is escaped."""
    groups: dict[tuple[str, ...], list[float]] = {}
    entries = checked(plain(read_scores(into)), list[ScoreEntry], str(into / SCORES))
    for row in entries:
        if row["score"] is not None:
            task = f"{row['task']}, {setting_name(row)}".removesuffix(f", {ZERO_SHOT}")
            metric = f"{row['metric']} ({row.get('unit', '')})".removesuffix(" ()")
            groups.setdefault((task, metric, row["language"]), []).append(row["score"])
    rows = []
    for names, values in groups.items():
        deviation = f" ± {stdev(values):.2g}" if len(values) > 1 else ""
        rows.append([*names, str(len(values)), f"{mean(values):.4g}{deviation}"])
    return rows


def _metadata(recipe: Recipe, config: JsonObject) -> ModelCardData:
    from huggingface_hub import ModelCardData

    from interlace.objectives.common.sentence_vectors import SentenceVectorObjective

    codes = dict.fromkeys(language.partition("_")[0].lower() for language in recipe.languages)
    pipeline_tag = "fill-mask"
    if recipe.causal:
        pipeline_tag = "text-generation"
    if recipe.seq2seq:
        pipeline_tag = "translation"
    trained = [recipe.objective(name) for name in recipe.objectives]
    if any(isinstance(objective, SentenceVectorObjective) for objective in trained):
        pipeline_tag = "sentence-similarity"
    objectives = [plain(name).replace("_", "-") for name in recipe.objectives]
    is_modernbert_decoder = config.get("decoder", {}).get("model_type") == "modernbert"
    return ModelCardData(
        language=[code for code in codes if re.fullmatch(r"[a-z]{2,3}", code)] or None,
        base_model=_base(recipe),
        library_name="interlace" if is_modernbert_decoder else "transformers",
        pipeline_tag=pipeline_tag,
        tags=["interlace", "cross-lingual", *objectives],
    )
