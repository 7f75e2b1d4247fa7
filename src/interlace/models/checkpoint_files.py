"""The files of a checkpoint: found on disk or on the Hugging Face hub, checked, read and written."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Required

from pydantic import Field
from typing_extensions import TypedDict

from interlace.core.errors import CheckpointError, DataError, InterlaceError, did_you_mean
from interlace.core.files import must_not_be_special, user_path
from interlace.core.json_files import (
    JsonMapping,
    JsonObject,
    check_folder,
    json_record,
    read_json,
)
from interlace.core.names import file_in
from interlace.models.families import MODEL_TYPES, SEQ2SEQ

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.core.ragged import IntArray


CONFIG = "config.json"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
GENERATION_CONFIG = "generation_config.json"
COMPANIONS = (  # patterns of files beside weights, configuration and tokenizer: card, modules of sentence vectors
    "README.md",
    "interlace.json",
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "[0-9]_*/config.json",
    "[0-9]_*/model.safetensors",
)
CHECKPOINT_FILES = (  # patterns of all that we write into a checkpoint's folder
    CONFIG,
    WEIGHTS,
    INDEX,
    "model-*-of-*.safetensors",
    GENERATION_CONFIG,
    "tokenizer.json",
    "tokenizer_config.json",
    "origin.json",
    *COMPANIONS,
)


def find_checkpoint(start: str | Path) -> Path:
    """Return the folder of a checkpoint, downloaded from the Hugging Face hub unless `start` is a local path."""
    from interlace.data.tokenizer_files import download

    path = user_path(start)
    if path.is_dir():
        return check_folder(path)
    must_not_be_special(path, "checkpoint")
    if path.exists():
        raise CheckpointError(
            f"{path}: is a file; a checkpoint is a folder with {CONFIG} and {WEIGHTS}"
        )
    try:
        return download(str(start), ["*.json", "*.safetensors", "*.txt", "*.model"])
    except DataError as error:
        raise CheckpointError(str(error)) from error


_Size = Annotated[int, Field(ge=1, le=1 << 24)]
_Layers = Annotated[int, Field(ge=1, le=1000)]


@json_record
class ModelConfig(TypedDict, total=False):
    """The keys of `config.json` by which weights are allocated, in the terms of all families."""

    model_type: Required[str]
    num_hidden_layers: _Layers
    n_layers: _Layers
    vocab_size: _Size
    n_words: _Size
    hidden_size: _Size
    emb_dim: _Size
    dim: _Size
    hidden_dim: _Size
    input_embedding_size: _Size
    output_embedding_size: _Size
    intermediate_size: _Size
    max_position_embeddings: _Size
    num_attention_heads: _Size
    n_heads: _Size
    encoder_layers: _Layers
    decoder_layers: _Layers
    num_layers: _Layers
    num_decoder_layers: _Layers
    d_model: _Size
    d_ff: _Size
    d_kv: _Size
    encoder_ffn_dim: _Size
    decoder_ffn_dim: _Size
    num_heads: _Size
    encoder_attention_heads: _Size
    decoder_attention_heads: _Size
    relative_attention_num_buckets: _Size
    n_positions: _Size
    encoder: ModelConfig
    decoder: ModelConfig


@json_record
class _Index(TypedDict):
    weight_map: dict[str, str]


def read_config(folder: Path) -> JsonObject:
    """Return the configuration of a model that can be a backbone as plain data, without keys that name code to run."""
    from interlace.data.tokenizer_files import without_code

    path = folder / CONFIG
    must_not_be_special(path)
    if not path.is_file():
        inner = folder / "model" / CONFIG
        hint = f"; did you mean {inner.parent}?" if inner.is_file() else ""
        raise CheckpointError(f"{folder}: not a checkpoint, it has no {CONFIG}{hint}")
    config = read_json(
        path, ModelConfig, remedy="expected a model's configuration", error=CheckpointError
    )
    if config.get("quantization_config"):
        raise CheckpointError(
            f"{path}: its weights are quantised; start from the original checkpoint"
        )
    models = [config]
    if config["model_type"] == SEQ2SEQ:
        models = [
            config.get(side, {"model_type": "missing"}) for side in ("encoder", "decoder")
        ]
    for model in models:
        kind = model["model_type"]
        if kind not in MODEL_TYPES:
            raise CheckpointError(
                f"{path}: a {kind!r} model cannot be a backbone{did_you_mean(kind, MODEL_TYPES)}"
            )
    return dict(without_unused(without_code(config)))


# Keys of a configuration that shape what transformers builds around an encoder, which is not read here.
UNUSED_KEYS = {
    "num_labels",
    "id2label",
    "label2id",
    "problem_type",
    "classifier_dropout",
    "chunk_size_feed_forward",
}


def without_unused(config: Any) -> Any:
    """Return a copy of a configuration, those of both sides included, without keys that no encoder here uses."""
    if not isinstance(config, dict):
        return config
    return {
        key: without_unused(value) for key, value in config.items() if key not in UNUSED_KEYS
    }


_TOKEN_ID = re.compile(r"\w+_token_id|(bos|eos|pad|unk|mask)_index")


def renumber_tokens(config: Any, kept: IntArray) -> Any:
    """Return a copy of a configuration, nested ones included, with the new ids of its tokens.

    kept: (K,) as in `Origin`. A token that was not kept becomes None.
    """
    new_ids = {number: new for new, number in enumerate(kept.tolist())}
    return _renumbered(config, new_ids)


def _renumbered(config: Any, new_ids: Mapping[int, int]) -> Any:
    if isinstance(config, list):
        return [_renumbered(value, new_ids) for value in config]
    if not isinstance(config, dict):
        return config
    renumbered = {}
    for key, value in config.items():
        if not _TOKEN_ID.fullmatch(key):
            renumbered[key] = _renumbered(value, new_ids)
        elif isinstance(value, list):
            renumbered[key] = [new_ids.get(number) for number in value]
        else:
            renumbered[key] = new_ids.get(value)
    return renumbered


def write_config(path: Path, config: JsonMapping) -> None:
    """Write a configuration, without keys that name code to run."""
    from interlace.data.tokenizer_files import without_code

    text = json.dumps(without_code(dict(config)), indent=2, sort_keys=True, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


_WEIGHT_TYPES = ("F16", "BF16", "F32", "F64")
# of old checkpoints, which are no weights
_NUMBERS = re.compile(r"(.+\.)?(position|token_type)_ids")


def weight_files(folder: Path) -> dict[str, Path]:
    """Return the file of each weight, after checking that every file is complete, holds floats, and is no pickle."""
    from safetensors import SafetensorError, safe_open

    file_of: dict[str, Path] = {}
    for path in _shards(folder):
        try:
            with safe_open(path, "pt") as file:
                for name in file.keys():  # noqa: SIM118 - no mapping
                    kind = file.get_slice(name).get_dtype()
                    if kind not in _WEIGHT_TYPES and not _NUMBERS.fullmatch(name):
                        expected = ", ".join(_WEIGHT_TYPES)
                        raise CheckpointError(
                            f"{path}: {name} has values of {kind}, expected one of {expected}"
                        )
                    file_of[name] = path
        except FileNotFoundError as error:
            raise CheckpointError(
                f"{path}: missing, though {INDEX} names it; copy the whole checkpoint"
            ) from error
        except (SafetensorError, OSError) as error:
            raise CheckpointError(
                f"{path}: damaged or truncated ({error}); copy or write it again"
            ) from error
    return file_of


def read_weights(files: Mapping[str, Path], names: Collection[str]) -> dict[str, Tensor]:
    """Return the named weights."""
    from safetensors import safe_open

    tensors = {}
    for name in sorted(names):
        with safe_open(files[name], "pt") as file:
            tensors[name] = file.get_tensor(name)
    return tensors


def iter_weights(folder: Path) -> Iterator[tuple[str, Tensor]]:
    """Yield (name, weight) of all weights, one in memory at a time."""
    files = weight_files(folder)
    for name in files:
        yield name, read_weights(files, [name])[name]


@contextmanager
def opening(folder: Path) -> Iterator[None]:
    """Convert any error of transformers about a folder to a CheckpointError that names it."""
    try:
        yield
    except (InterlaceError, MemoryError):
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        raise CheckpointError(f"{folder}: cannot be opened: {reason}") from error


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress progress bars, reports, warnings and prompts of transformers within the context."""
    from transformers.utils import logging as transformers_logging

    from interlace.data.tokenizer_files import no_prompts

    switches: Any = transformers_logging  # they have no type hints
    level = switches.get_verbosity()
    bars = switches.is_progress_bar_enabled()
    switches.set_verbosity(logging.CRITICAL)
    switches.disable_progress_bar()
    try:
        with no_prompts():
            yield
    finally:
        switches.set_verbosity(level)
        if bars:
            switches.enable_progress_bar()


def _shards(folder: Path) -> list[Path]:
    check_folder(folder)
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    if (folder / INDEX).is_file():
        shards = read_json(folder / INDEX, _Index, error=CheckpointError)["weight_map"].values()
        return [file_in(folder, shard) for shard in sorted(set(shards))]
    problem = f"no {WEIGHTS}"
    if any(folder.glob("*.bin")):
        problem = "its weights are pickles (*.bin), which are never read"
    raise CheckpointError(
        f"{folder}: {problem}; convert a checkpoint of pickles with from_pretrained and save_pretrained of "
        "transformers' AutoModelForMaskedLM or AutoModelForSeq2SeqLM"
    )
