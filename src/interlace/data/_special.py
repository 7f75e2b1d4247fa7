"""Special tokens by their role, as Hugging Face tokenizers name them in their configuration."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from interlace.core.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tokenizers import Tokenizer

# What the configuration calls each role, the first present one counts: XLM has both `cls` and `bos`, and reads `cls`.
KEYS = {
    "pad": ("pad_token",),
    "unk": ("unk_token",),
    "begin": ("cls_token", "bos_token"),
    "end": ("sep_token", "eos_token"),
    "mask": ("mask_token",),
}
# What they are called where no configuration says so.
_USUAL = {
    "pad": ("[PAD]", "<pad>"),
    "unk": ("[UNK]", "<unk>"),
    "begin": ("[CLS]", "<s>", "[BOS]", "<bos>"),
    "end": ("[SEP]", "</s>", "[EOS]", "<eos>"),
    "mask": ("[MASK]", "<mask>"),
}
CONFIG_FILES = ("special_tokens_map.json", "tokenizer_config.json")  # later ones win
# Keys by which a configuration names Python code, or a kernel of the hub, for transformers to fetch and run.
_CODE_KEYS = {"auto_map", "_auto_class", "custom_pipelines", "use_kernels", "kernel_config"}
_CODE_KEYS |= {
    f"{prefix}{part}_implementation{suffix}"
    for prefix in ("", "_")
    for part in ("attn", "experts")
    for suffix in ("", "_internal")
}


def read_config(folder: Path) -> dict[str, Any]:
    """The tokenizer's configuration as its folder states it; empty where it holds none.

    Raises:
        DataError: a file is damaged; names it and the place.
    """
    merged: dict[str, Any] = {}
    for name in CONFIG_FILES:
        path = folder / name
        if not path.is_file():
            continue
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise DataError(f"{path}: damaged JSON: {error}") from error
        merged.update({key: value for key, value in data.items() if value is not None})
    return dict(without_code(merged))


def without_code(config: Any) -> Any:
    """A copy of a configuration, and of those inside it, without the keys that name code to run."""
    if isinstance(config, dict):
        return {key: without_code(value) for key, value in config.items() if key not in _CODE_KEYS}
    return [without_code(value) for value in config] if isinstance(config, list) else config


def special_tokens(tokenizer: Tokenizer, config: Mapping[str, Any]) -> dict[str, str]:
    """Role -> token, for the roles that the tokenizer fills: by its configuration, else by the usual names."""
    found: dict[str, str] = {}
    for role, keys in KEYS.items():
        named = [content(config[key]) for key in keys if config.get(key)]
        for token in [*named, *_USUAL[role]]:
            if tokenizer.token_to_id(token) is not None:
                found[role] = token
                break
    return found


def role_config(special: Mapping[str, str]) -> dict[str, str]:
    """The configuration keys that name these roles; begin and end under both of their names."""
    return {key: special[role] for role, keys in KEYS.items() if role in special for key in keys}


def content(token: Any) -> str:
    """A token as a configuration writes it: a string, or a mapping with `content`."""
    return str(token["content"]) if isinstance(token, dict) else str(token)
