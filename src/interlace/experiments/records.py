"""The records of a run: its recipe and state, `run.json`, its lineage, and the metadata of a translation model."""

from __future__ import annotations

import json
import logging
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any, NotRequired

import torch
from safetensors.torch import save_file
from typing_extensions import TypedDict

from interlace import __version__
from interlace.core.display import listed
from interlace.core.errors import InterlaceError, RunError, SettingsError
from interlace.core.files import atomic, user_path
from interlace.core.finite import check_finite_weights
from interlace.core.json_files import json_record, read_json, write_json
from interlace.core.registry import plugin_files
from interlace.core.store import leaves
from interlace.data.cache import content_key
from interlace.data.vocab import Vocab
from interlace.experiments.recipe import Recipe, max_source_lengths
from interlace.experiments.score_store import folder_key
from interlace.experiments.sections import AlignSettings
from interlace.experiments.workspace import Workspace
from interlace.models.backbone import Backbone
from interlace.readers import is_hub
from interlace.readers.common.hub import stored_files
from interlace.text.normalization import Normalization
from interlace.training import checkpoint
from interlace.training.loop import Progress, Training
from interlace.training.run_folder import CODE, RECIPE, RUN, RUN_STATE, read_run

log = logging.getLogger(__name__)
_UNIT = {"masked": "per masked subword", "causal": "per subword", "seq2seq": "per subword written"}  # of `perplexity`

DIGEST = "BLAKE2b, 128 bit"  # of files
METADATA = "interlace.json"
_LAYERS = "1_WeightedLayerPooling"
_WEIGHTS = "1_WordWeights"
_POOLING = "1_Pooling"
_NORM = "2_Normalize"


@json_record
class RunState(TypedDict):
    """The content of `run_state.json`: what must not change when a run is resumed."""

    vocabulary: str
    initialization: dict[str, Any]
    text: NotRequired[dict[str, list[str]]]  # hashes of the files of each corpus and split


def is_finished(into: Path) -> bool:
    """Return whether the run is finished."""
    return bool(read_run(into).get("finished"))


def finished_recipe(run: Path) -> Recipe | None:
    """Return the recipe of a finished run, or raise a RunError; None if the folder is not a run's."""
    found = read_json(run / RECIPE, dict[str, Any], None)
    if found is None:
        return None
    if not is_finished(run):
        raise RunError(f"{run}: this run is not finished; resume it with `interlace pretrain`")
    try:
        return Recipe.read(found, str(run / RECIPE))
    except SettingsError as error:
        own = [f"--code {path}" for path in sorted((run / CODE).glob("*.py")) if path.name not in plugin_files()]
        raise SettingsError(f"{error}; it was trained with {' '.join(own)}: add this" if own else str(error)) from error


def check_export(run: Path, exported: Path) -> None:
    """Raise a RunError if the model or the vectors of a finished run are missing, or not those that were exported."""
    key = read_run(run).get("model_key")
    if exported.is_dir() and (key is None or folder_key(exported) == key):
        return
    if exported.is_dir():
        what = "changed since the run finished"
    else:
        what = "missing, although the run is finished"
    if checkpoint.steps_in(run / "checkpoints"):
        again = "exports the last checkpoint again"
    else:
        again = "trains it again"
    cure = f"restore it, or remove {run / RUN} and rerun `interlace pretrain`, which {again}"
    raise RunError(f"{exported}: {what}; {cure}")


def claim_folder(recipe: Recipe, into: Path) -> None:
    """Write the recipe and plugins' files into a run's folder; raise a RunError if it holds a run of another recipe.

    A run without a checkpoint may change its recipe and plugins; it starts over. A run may get more steps if neither
    its learning rates nor its draws depend on their number; it resumes from its last checkpoint, also if it was
    finished. The plugins' files of a finished run are kept.
    """
    found = read_json(into / RECIPE, dict[str, Any], None)
    dumped = recipe.dump()
    if found is not None:
        try:
            stored = Recipe.read(found).dump()  # with the defaults of settings that are newer than the run
        except InterlaceError as error:
            if type((found.get("train") or {}).get("steps")) is not int:
                raise RunError(f"{into / RECIPE}: damaged: {error}; choose another folder") from error
            stored = found
        changed = differences(stored, dumped)
        if changed:
            if is_finished(into) or checkpoint.steps_in(into / "checkpoints"):
                more = {**stored, "train": {**stored["train"], "steps": recipe.train.steps}}
                if not differences(more, dumped):
                    hint = _extension(into, stored["train"]["steps"], recipe)
                else:
                    hint = ""
                if hint is not None:
                    text = "; ".join(changed[:5])
                    raise RunError(f"{into} holds a run of another recipe: {text}; {hint}choose another folder")
                _store_code(into)
                log.info("extending the run from %s steps", stored["train"]["steps"])
                (into / RUN).unlink(missing_ok=True)  # before the recipe: the run is unfinished from here on
            else:
                log.info("%s holds a run without a checkpoint; restarting it with the changed recipe", into)
    if not is_finished(into):
        _store_code(into)
    if found != dumped:
        write_json(into / RECIPE, dumped)


def _store_code(into: Path) -> None:
    """Copy the plugins' files into a run's folder; those of a run with a checkpoint must be the same."""
    started = bool(checkpoint.steps_in(into / "checkpoints"))
    for name, path in plugin_files().items():
        copy = into / CODE / name
        content = path.read_bytes()
        if started and copy.is_file() and copy.read_bytes() != content:
            hint = f"resume with --code {copy}, or choose another folder"
            raise RunError(f"{into}: the run was started with another version of --code {path}; {hint}")
        with atomic(copy) as partial:
            partial.write_bytes(content)


def _extension(into: Path, steps: int, recipe: Recipe) -> str | None:
    """Return None if more steps can extend the run in a folder, else what prevents it."""
    train = recipe.train
    if recipe.embeddings is not None or read_run(into).get("stopped"):
        return "only a run that was not stopped early can be extended; "
    if train.steps < steps:
        return "only more steps can extend it; "
    if not train.optimizer.can_extend(steps, train.steps):
        what = f"schedule = {train.optimizer.schedule!r}, warmup = {train.optimizer.warmup}"
        return f"more steps would change the learning rates of past steps ({what}); "
    if train.patience and steps % train.evaluate_every:
        return f"early stopping would not have evaluated at step {steps}; "
    return None


def check_run_state(into: Path, vocab: Vocab, data: Sequence[dict[str, Any]], backbone: Backbone) -> None:
    """Store the vocabulary, initialization and text of a new run; raise a RunError if those of a resumed one differ.

    Rows of the checkpoints would belong to other tokens. A resumed run takes the stored record of its initialization.

    data: the rows of `data_of`.
    """
    text = {f"{row['corpus']} ({row['split']})": [file["digest"] for file in row["files"]] for row in data}
    found: RunState | None = read_json(into / RUN_STATE, RunState, None, remedy="choose another folder for the run")
    if found is None or not checkpoint.steps_in(into / "checkpoints"):
        state = {"vocabulary": vocab.fingerprint, "initialization": backbone.initialization, "text": text}
        write_json(into / RUN_STATE, state)
        return
    if found["vocabulary"] != vocab.fingerprint:
        raise RunError(
            f"{into}: the checkpoints of this run use another vocabulary than {vocab.name} has now; restore the old "
            "tokenizer (or the text it was learned from), or choose another folder"
        )
    changed = [name for name, digests in found.get("text", {}).items() if text.get(name) != digests]
    if changed:
        hint = "restore it, or choose another folder"
        raise RunError(f"{into}: the text of {listed(changed)} has changed since the run began; {hint}")
    backbone.initialization = found["initialization"]


def run_id(recipe: Recipe, into: Path) -> str:
    """Return the id of a run that has begun: a hash of its seed, vocabulary, initialization and text."""
    state = read_json(into / RUN_STATE, RunState, remedy="choose another folder for the run")
    content = json.dumps({"seed": recipe.seed, **state}, sort_keys=True)
    return blake2b(content.encode(), digest_size=16).hexdigest()


def run_record(recipe: Recipe, training: Training, progress: Progress, seconds: dict[str, float]) -> dict[str, Any]:
    """Return the content of `run.json`, except its `data` and its `model_key`."""
    totals = progress.totals
    total = sum(totals.tokens.values())
    seconds = {**seconds, "steps": round(totals.seconds, 3)}
    model = training.accelerator.unwrap_model(training.model)
    backbone = model.backbone
    if hasattr(backbone, "decode"):
        architecture = "seq2seq"
    else:
        architecture = "causal" if backbone.causal else "masked"
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
        "shares": {name: round(count / max(total, 1), 4) for name, count in sorted(totals.tokens.items())},
        "mixture": totals.mixture,
        "seconds": seconds,
        "perplexity_unit": _UNIT[architecture],
        "waited": round(totals.waited, 3),
        "speed": totals.speed,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def data_of(workspace: Workspace) -> list[dict[str, Any]]:
    """Return a row per corpus and split: files by name and hash, rows, tokens, what was left out, and the aligner.

    Training text of a derived language also has the shares of `DerivedSubwords`.
    """
    recipe = workspace.recipe
    rows: list[dict[str, Any]] = []
    for name, (group, corpus) in workspace.names.items():
        for split, corpora in (("train", workspace.train), ("dev", workspace.dev)):
            if name not in corpora:
                continue
            built = corpora[name]
            left_out = {"empty": built.meta.get("skipped", 0), **(built.meta.get("notes") or {})}
            if recipe.toy is not None:
                paths = []
            else:
                paths = recipe.corpora[group].files(split, corpus, workspace.root)
            row: dict[str, Any] = {
                "corpus": name,
                "group": group,
                "split": split,
                "languages": corpus.split("-"),
                "rows": len(built),
                "subwords": sum(built.counts["subwords"].values()),
                "left_out": {reason: count for reason, count in left_out.items() if count},
                "files": [_file_record(path) for path in paths],
            }
            if split == "train" and corpus in workspace.derived:
                row["derived"] = workspace.derived[corpus]._asdict()
            if split == "train" and workspace.annotations(name):
                row["aligner"] = (recipe.align or AlignSettings()).name
            rows.append(row)
    return rows


def _file_record(path: Path) -> dict[str, Any]:
    return {
        "name": str(path) if is_hub(path) else path.name,
        "bytes": sum(file.stat().st_size for file in stored_files(path)),
        "digest": content_key(path),
    }


def environment(device: torch.device) -> dict[str, Any]:
    """Return versions and hardware."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n")
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = [platform.processor()]
    return {
        "interlace": __version__,
        "python": platform.python_version(),
        "torch": version("torch"),
        "transformers": version("transformers"),
        "platform": platform.platform(),
        "processor": next(filter(None, names), platform.machine()),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
    }


@dataclass(frozen=True)
class Lineage:
    """recipes: of the run and of the runs that it continues. unknown: starting points of unknown training text."""

    recipes: list[Recipe]
    unknown: list[str]

    @classmethod
    def of(cls, recipe: Recipe) -> Lineage:
        """Follow the starting points of encoder, decoder and embeddings through run folders."""
        recipes = [recipe]
        unknown = list[str]()
        for each in recipes:  # grows inside the loop
            for start in starting_points(each):
                before = _recipe_of(start)
                if before is None:
                    unknown.append(start)
                elif before not in recipes:
                    recipes.append(before)
        return cls(recipes, list(dict.fromkeys(unknown)))


def starting_points(recipe: Recipe) -> list[str]:
    """Return the folders or names of what encoder, decoder and embeddings start from."""
    model = recipe.model
    starts = []
    if model.take != "none":
        starts.append(model.start)
    if model.decoder is not None and model.decoder.take != "none":
        starts.append(model.decoder.start)
    starts.append(model.vectors)
    return [start for start in starts if start]


def run_of(start: str) -> Path:
    """Return the folder of the run that a model or vectors would belong to."""
    return user_path(start).resolve().parent


def _recipe_of(start: str) -> Recipe | None:
    """Return the recipe of the run that a model or vectors belong to; None if there is no readable one."""
    path = run_of(start) / RECIPE
    try:
        if user_path(start).is_dir():
            found = read_json(path, dict[str, Any], None)
        else:
            found = None
        return None if found is None else Recipe.read(found, str(path))
    except InterlaceError:
        return None


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return `key was old, is new` for each setting of training in which two recipes differ."""
    ignored = ("about", "published", "changes", "evaluate")
    harmless = {"train.trackers", "train.checkpoint_every", "train.keep"}
    before, after = (
        {key: value for key, value in leaves(recipe) if key.partition(".")[0] not in ignored and key not in harmless}
        for recipe in (old, new)
    )
    return [
        f"{key} was {before.get(key)!r}, is {after.get(key)!r}"
        for key in dict.fromkeys([*before, *after])
        if before.get(key) != after.get(key)
    ]


@dataclass(frozen=True)
class ModelMetadata:
    """The directions that a model learned, and the normalization of its training text; stored with its weights.

    name: of its recipe. max_source_lengths: by direction, such as `en-de`, the maximum tokens of a source sentence in
    training, without special tokens.
    """

    name: str
    normalization: Normalization
    max_source_lengths: Mapping[str, int]

    @classmethod
    def of(cls, recipe: Recipe) -> ModelMetadata:
        """Return the metadata of a recipe's model."""
        return cls(recipe.name, recipe.normalization, max_source_lengths(recipe))

    @classmethod
    def read(cls, folder: Path) -> ModelMetadata | None:
        """Return the metadata in a model's folder; None for models of other libraries."""
        remedy = "copy the model again, or remove the file"
        found: ModelMetadata | None = read_json(folder / METADATA, cls, None, remedy=remedy)
        return found

    def write(self, folder: Path) -> None:
        """Write the metadata into a model's folder."""
        lengths = dict(self.max_source_lengths)
        data = {"name": self.name, "normalization": self.normalization.dump(), "max_source_lengths": lengths}
        write_json(folder / METADATA, data)

    def check_direction(self, source: str, target: str) -> None:
        """Raise a SettingsError if the direction was not learned; it names those that were."""
        if f"{source}-{target}" not in self.max_source_lengths:
            known = listed(self.max_source_lengths)
            if known:
                trained = f"it learned {known}"
            else:
                trained = "none of its objectives translates"
            raise SettingsError(
                f"{self.name!r} was not trained to translate {source}-{target}: {trained}; --force translates anyway"
            )


def save_model(backbone: Backbone, vocab: Vocab, recipe: Recipe, folder: Path) -> None:
    """Write a model as a self-contained folder, with metadata if it translates, else for sentence-transformers.

    Raise a CheckpointError if a weight is not finite.
    """
    check_finite_weights(backbone.named_parameters(), f"the model to write to {folder}")
    backbone.save_pretrained(folder, vocab, fold_language=recipe.export.fold_language)
    if recipe.seq2seq:
        ModelMetadata.of(recipe).write(folder)
    else:
        write_sentence_modules(folder, backbone, vocab, *sentence_vectors(recipe, backbone))


def sentence_vectors(recipe: Recipe, backbone: Backbone) -> tuple[int, int]:
    """Return the layer of sentence vectors, and the maximum length in tokens, by the recipe's task `retrieval`."""
    task: Any = recipe.evaluate.task("retrieval")
    return task.layer_of(int(backbone.model.config.num_hidden_layers)), task.max_length


def write_sentence_modules(folder: Path, backbone: Backbone, vocab: Vocab, layer: int, max_length: int) -> None:
    """Write the files by which sentence-transformers opens a model with the sentence vectors of retrieval.

    The vector is the mean of a layer's states without special tokens, with length 1; a module computes each part.
    `WordWeights` gives special tokens the weight 0. The layer is the last one of a model that is opened without the
    layers above it, so one copy of the weights serves both; ModernBERT's last layer is followed by a norm that the
    states below lack, so there `WeightedLayerPooling` takes the layer from the whole model.

    layer: 0 the embeddings. max_length: of a sequence, in tokens.
    """
    depth = int(backbone.model.config.num_hidden_layers)
    width = backbone.width
    modules = {"Transformer": "", "WordWeights": _WEIGHTS, "Pooling": _POOLING, "Normalize": _NORM}
    transformer: dict[str, Any] = {"max_seq_length": min(max_length, backbone.traits.max_length)}
    names = [""] * max(vocab.size, backbone.vocab_size)  # of the special tokens alone; the others have the weight 1
    for number in (vocab.begin, vocab.end, vocab.pad):
        names[number] = str(vocab.tokenizer.id_to_token(number))
    weights = {name: 0.0 for name in names if name}
    configs: dict[str, Any] = {
        _WEIGHTS: {"vocab": names, "word_weights": weights, "unknown_word_weight": 1.0},
        _POOLING: {
            "word_embedding_dimension": width,
            "pooling_mode_mean_tokens": True,
            "pooling_mode_cls_token": False,
        },
        _NORM: {},
    }
    if layer < depth and backbone.family.name == "modernbert":
        modules = {"Transformer": "", "WeightedLayerPooling": _LAYERS, **modules}
        configs[_LAYERS] = {"word_embedding_dimension": width, "num_hidden_layers": depth, "layer_start": layer}
        transformer["config_args"] = {"output_hidden_states": True}
    elif layer < depth:
        transformer["config_args"] = {"num_hidden_layers": layer}
    for path, config in configs.items():
        write_json(folder / path / "config.json", config)
    if _LAYERS in configs:
        chosen = torch.eye(1, depth + 1 - layer)[0]
        save_file({"layer_weights": chosen}, folder / _LAYERS / "model.safetensors", metadata={"format": "pt"})
    listed = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (kind, path) in enumerate(modules.items())
    ]
    write_json(folder / "sentence_bert_config.json", transformer)
    write_json(folder / "modules.json", listed)
