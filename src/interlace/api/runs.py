"""The Python API of models: pre-train, evaluate, encode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlace.core.errors import SettingsError
from interlace.core.files import must_exist
from interlace.core.json_files import JsonMapping, JsonObject
from interlace.core.store import merged
from interlace.experiments.evaluate import evaluate as evaluate_target
from interlace.experiments.evaluate import target_of
from interlace.experiments.pretrain import pretrain as pretrain_recipe
from interlace.experiments.recipe import Recipe, read_recipe, score_languages
from interlace.scores import ScoreTable, table_of_entries
from interlace.text.lines import write_lines
from interlace.training.run_folder import RECIPE, check_folder

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from interlace.api.alignment import ParallelText
    from interlace.core.ragged import FloatArray

TEXT = "text"  # folder of the pairs in a run's folder


@dataclass(frozen=True)
class FinishedRun:
    """A finished run: its folder holds recipe, records, scores and `model/`, an ordinary Hugging Face checkpoint."""

    path: Path

    @cached_property
    def model(self) -> PreTrainedModel:
        """The model as transformers opens it."""
        from transformers import AutoModel, AutoModelForMaskedLM, AutoModelForSeq2SeqLM

        from interlace.models.build import parsed_config
        from interlace.models.checkpoint_files import opening, quiet, read_config, weight_files

        folder = must_exist(self.path / "model" / "config.json", "finished run").parent
        settings = read_config(folder)
        weight_files(folder)  # checks them
        architectures = str(settings.get("architectures"))
        model_class: Any = AutoModel
        if "ForMaskedLM" in architectures:
            model_class = AutoModelForMaskedLM
        elif "ForConditionalGeneration" in architectures:
            model_class = AutoModelForSeq2SeqLM
        with opening(folder), quiet():
            model: PreTrainedModel = model_class.from_pretrained(
                folder, config=parsed_config(settings, folder), trust_remote_code=False
            )
        return model

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """The tokenizer as transformers opens it."""
        from transformers import AutoTokenizer

        from interlace.data.tokenizer_files import find_tokenizer

        folder = self.path / "model"
        find_tokenizer(str(folder))  # checks its files
        return AutoTokenizer.from_pretrained(folder, trust_remote_code=False)

    def __str__(self) -> str:
        return str(self.path)


def pretrain(
    start: str,
    pairs: ParallelText | None = None,
    *,
    objectives: Sequence[str] | Mapping[str, float | JsonMapping] = (),
    steps: int | None = None,
    output: Path | str,
    settings: JsonMapping | None = None,
) -> FinishedRun:
    """Pre-train by a recipe, or continue a checkpoint on sentence pairs; the same call resumes an interrupted run.

    start: a recipe (`"tiny/mlm"`, `"mine.toml"`) where no pairs are given; else a checkpoint: a folder or a hub name.
    pairs: the text to continue the checkpoint on. steps: number of updates; default: the recipe's, 1,000 with pairs.
    objectives: names, or name -> weight, or name -> settings; default: `mlm` and `alm`.
    output: the run's folder. settings: further keys of the recipe, nested as in TOML.

    Raises:
        SettingsError: a key or value is wrong. DataError: a file or checkpoint is missing.

    >>> run = pretrain("tiny/mlm", steps=1000, output="runs/mlm")  # doctest: +SKIP
    """
    into = Path(output)
    changes = dict(settings or {})
    if steps is not None:
        changes = merged(changes, {"train": {"steps": steps}})
    if pairs is None:
        if objectives:
            raise SettingsError(
                "objectives: a recipe names its own; give pairs to continue a checkpoint on them"
            )
        recipe = Recipe.read(merged(read_recipe(start).dump(), changes), start)
    else:
        recipe = Recipe.read(
            merged(
                _recipe_of(
                    start,
                    pairs,
                    objectives,
                    into,
                ),
                changes,
            ),
            "pretrain",
        )
        check_folder(into, RECIPE)
        for language, lines in zip(pairs.languages, pairs.lines(), strict=True):
            write_lines(into / TEXT / f"train.{language}", lines)
    from interlace.training.bars import training_bar

    with training_bar(recipe.name) as watch:
        pretrain_recipe(recipe, into, watch)
    return FinishedRun(into)


def _recipe_of(
    start: str,
    pairs: ParallelText,
    objectives: Sequence[str] | Mapping[str, float | JsonMapping],
    into: Path,
) -> JsonObject:
    """Return a recipe that continues the checkpoint on the pairs, which are expected below the run's folder."""
    languages = pairs.languages
    entries: JsonObject = {}
    given = ([objectives] if isinstance(objectives, str) else objectives) or ("mlm", "alm")
    for name in given:
        value = given[name] if isinstance(given, Mapping) else 1
        if isinstance(value, Mapping):
            entry = dict(value)
        else:
            entry = {"weight": value}
        entries[name] = entry
    train = ["train.{source}", "train.{target}"]
    return {
        "name": into.name,
        "data_root": str((into / TEXT).resolve()),
        "word_tokenizer": pairs.word_tokenizer,
        "corpora": {"pairs": {"pairs": ["-".join(languages)], "train": train}},
        "model": {"start": start},
        "objectives": entries,
        "train": {"optimizer": {"learning_rate": 5e-5, "warmup": 1000}},
    }


def evaluate(
    model: FinishedRun | Path | str,
    tasks: Sequence[str] = (),
    languages: Sequence[str] = (),
    *,
    seeds: int | None = None,
    recipe: str | None = None,
    output: Path | str | None = None,
    data: Path | str | None = None,
    settings: JsonMapping | None = None,
) -> ScoreTable:
    """Return the scores of a run, or of any checkpoint; a row has attributes, and `to_pandas()` gives a data frame.

    model: a finished run, a folder or a hub name. tasks: names of tasks; default: the recipe's.
    languages: to score by all tasks, besides the source language; default: those of the recipe and its tasks.
    seeds: number of fine-tunings of a task; default: the recipe's. recipe: settings of the tasks; default: the run's.
    output: folder of the scores; default: the run's, or `evaluations/OWNER--NAME` of a checkpoint.
    data: folder of the tasks' files; default: the recipe's. settings: further keys of the recipe.

    Raises:
        DataError: test files are missing. SettingsError: no such task, or a value is wrong. CheckpointError: the model
            is missing or damaged.
    """
    into = None if output is None else Path(output)
    target = target_of(
        str(model),
        read_recipe(recipe) if recipe else None,
        into,
    )
    changes = dict(settings or {}) | ({} if data is None else {"data_root": str(data)})
    tasks, languages = (
        [each] if isinstance(each, str) else each for each in (tasks, languages)
    )
    if changes:
        target = replace(
            target, recipe=Recipe.read(merged(target.recipe.dump(), changes), "evaluate")
        )
    if languages:
        target = replace(target, recipe=score_languages(target.recipe, languages))
    from interlace.training.bars import fine_tuning_bar

    with fine_tuning_bar() as watch:
        rows = evaluate_target(target, tasks, seeds, watch)
    return table_of_entries(
        rows, str(target.into), label=target.recipe.name, system=target.recipe.name
    )


def encode(
    model: FinishedRun | Path | str,
    sentences: Sequence[str],
    *,
    language: str = "",
    layer: int | None = None,
    normalize: bool = True,
) -> FloatArray:
    """Return (n, width) sentence vectors: those that the model was trained for, or the mean of a layer's states.

    model: a finished run, a folder or a hub name. sentences: n strings.
    language: of the sentences, for models with language embeddings. layer: 0 the embeddings, -1 the last; default: as
    in the task `retrieval`, the vectors that the model was trained for, without any the layer two thirds up.
    normalize: to length 1.

    Raises:
        SettingsError: the model has no such layer. CheckpointError: it is missing or damaged.
    """
    from interlace.core.bars import watching
    from interlace.core.neighbors import unit
    from interlace.experiments.sentence_encoder import SentenceEncoder

    if isinstance(sentences, str) or not len(sentences):
        raise SettingsError(f"sentences: expected a list of strings, found {sentences!r:.80}")
    with watching():
        vectors = SentenceEncoder(str(model), layer).vectors(sentences, language)
    return unit(vectors) if normalize else vectors
