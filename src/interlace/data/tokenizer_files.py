"""Tokenizers from a folder, a file or the Hugging Face hub, with their special tokens."""

import builtins
import json
import re
import string
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
)

from interlace.core.errors import DataError, InterlaceError, dependency_errors
from interlace.core.files import must_exist, must_not_be_special, nearest_folder, user_path
from interlace.core.json_files import (
    JsonMapping,
    JsonObject,
    check_folder,
    check_size,
    read_json,
)
from interlace.data.expressions import KNOWN_EXPRESSIONS, XLM_WORDS, check_expressions
from interlace.data.tokenizer_training import row_template
from interlace.data.translation_layouts import LAYOUT_KEY, OURS, layout_name
from interlace.text.lines import read_lines

_FILE = "tokenizer.json"
_MODEL_FILE = "config.json"
# All files of tokenizers, also of those without `tokenizer.json`; `config.json` has the model type.
_PATTERNS = ["*.json", "*.txt", "*.model"]
_CONFIG_FILES = ("special_tokens_map.json", "tokenizer_config.json")  # later ones override

# The configuration keys of each role; the first present one counts: XLM has both `cls` and `bos`, and uses `cls`.
_ROLE_KEYS = {
    "pad": ("pad_token",),
    "unk": ("unk_token",),
    "begin": ("cls_token", "bos_token"),
    "end": ("sep_token", "eos_token"),
    "mask": ("mask_token",),
}
_USUAL_TOKENS = {  # for tokenizers without a configuration
    "pad": ("[PAD]", "<pad>"),
    "unk": ("[UNK]", "<unk>"),
    "begin": ("[CLS]", "<s>", "[BOS]", "<bos>"),
    "end": ("[SEP]", "</s>", "[EOS]", "<eos>"),
    "mask": ("[MASK]", "<mask>", "<extra_id_0>"),  # T5's mark of a missing span
}

# Keys by which a configuration names Python code, or a kernel of the hub, for transformers to fetch and run.
_CODE_KEY = re.compile(
    r"auto_map|_auto_class|custom_pipelines|use_kernels|kernel_config|_?(attn|experts)_implementation(_internal)?"
)
# Transformers opens any of its classes that a configuration names, also models; only these are allowed.
_TOKENIZER_CLASS = re.compile(r"\w*(Tokenizer(Fast)?|Backend)")


def find_tokenizer(name: str) -> tuple[Tokenizer, JsonObject]:
    """Return a tokenizer and its configuration; raise a DataError if it is missing, damaged, useless or only slow."""
    tokenizer, config = _open_tokenizer(name)
    with tokenizer_errors(name):
        _check_encoding(tokenizer, special_tokens(tokenizer, config).get("unk", ""), name)
    return tokenizer, config


def _open_tokenizer(name: str) -> tuple[Tokenizer, JsonObject]:
    path = user_path(name)
    if path.is_file():
        return _read_tokenizer(path), _read_config(path.parent)
    if path.is_dir():
        return _open_folder(path)
    return _open_folder(download(name, _PATTERNS, "folder or tokenizer"))


_TRIED_TOKENS = 1000


def _check_encoding(tokenizer: Tokenizer, unknown: str, name: str) -> None:
    """Raise a DataError if all texts become the same known tokens, such as none.

    Tried are the texts of 1,000 tokens of the vocabulary.
    """
    size = tokenizer.get_vocab_size()
    tokens = [[number] for number in range(0, size, size // _TRIED_TOKENS + 1)]
    texts = [text for text in tokenizer.decode_batch(tokens) if text.strip()]
    unknown_id = tokenizer.token_to_id(unknown)
    known_rows: set[tuple[int, ...]] = set()
    for encoding in tokenizer.encode_batch(texts, add_special_tokens=False):
        known_rows.add(tuple(number for number in encoding.ids if number != unknown_id))
    if len(known_rows) < 2:
        message = "the tokenizer encodes all texts of its own tokens alike: to nothing, or to the unknown token"
        raise DataError(f"{name}: {message}; see its normalizer, pre-tokenizer and vocabulary")


def download(name: str, patterns: list[str], what: str = "folder") -> Path:
    """Return the folder of a hub repository's files: downloaded, or from the cache if the hub cannot be reached.

    what: says what is missing if `name` can only be a path: its parent exists, or no repository has such a name.
    """
    path = user_path(name)
    must_not_be_special(path, what)
    is_path = name.startswith((".", "/", "~")) or name.count("/") > 1
    if is_path or ("/" in name and path.parent.is_dir()):
        must_exist(path, what)
    with dependency_errors(f"{name!r} of the Hugging Face hub"):
        import huggingface_hub
        from huggingface_hub import errors
    from interlace.core.hub import download_bar, failure, hub_or_cache

    root = Path(path.parts[0]) if path.parts else path
    hint = "" if root.exists() else nearest_folder(root)
    try:
        with hub_or_cache():
            folder = huggingface_hub.snapshot_download(
                name,
                allow_patterns=patterns,
                ignore_patterns=["*/*"],
                tqdm_class=download_bar(name),
            )
    except errors.RepositoryNotFoundError as error:
        # also for one that its authors grant access to
        raise DataError(
            f"{name!r}: no such folder, and the Hugging Face hub refuses it: no such repository, or a private or gated "
            f"one: get access on its page, then run `hf auth login`{hint}"
        ) from error
    except (errors.HfHubHTTPError, OSError, ValueError) as error:
        raise DataError(
            f"{name!r}: no such folder, not in the cache (HF_HOME), and {failure(error)}. Where there is a network, "
            f"run `hf download {name} --local-dir FOLDER` (huggingface-cli in old versions), and give FOLDER "
            f"instead{hint}"
        ) from error
    return Path(folder)


def special_tokens(tokenizer: Tokenizer, config: JsonMapping) -> dict[str, str]:
    """Return role -> token by the configuration, else by usual names; roles without a token are missing."""
    special: dict[str, str] = {}
    for role, keys in _ROLE_KEYS.items():
        named = [_content(config[key]) for key in keys if config.get(key)]
        for token in [*named, *_USUAL_TOKENS[role]]:
            if tokenizer.token_to_id(token) is not None:
                special[role] = token
                break
    return special


def role_config(special: Mapping[str, str]) -> dict[str, str]:
    """Return the configuration keys of these roles; begin and end under both of their names."""
    config: dict[str, str] = {}
    for role, token in special.items():
        config.update(dict.fromkeys(_ROLE_KEYS[role], token))
    return config


def without_code(config: Any) -> Any:
    """Return a copy of a configuration, nested ones included, without the keys that name code to run."""
    if isinstance(config, dict):
        return {
            key: without_code(value)
            for key, value in config.items()
            if not _CODE_KEY.fullmatch(str(key))
        }
    if isinstance(config, list):
        return [without_code(value) for value in config]
    return config


@contextmanager
def no_prompts() -> Iterator[None]:
    """Make `input` raise: transformers asks on standard input whether to run a checkpoint's code."""

    def refuse(prompt: object = "", /) -> NoReturn:
        raise EOFError(str(prompt))

    ask = builtins.input
    builtins.input = refuse
    try:
        yield
    finally:
        builtins.input = ask


def _open_folder(folder: Path) -> tuple[Tokenizer, JsonObject]:
    config = _read_config(check_folder(folder, _PATTERNS))
    if (folder / _FILE).is_file():
        return _read_tokenizer(folder / _FILE), config
    xlm_files = [folder / name for name in (_XLM_VOCAB, _XLM_MERGES, "config.json")]
    if all(path.is_file() for path in xlm_files):
        model_config = read_json(folder / "config.json", JsonObject)
        if model_config.get("model_type") == "xlm":
            config = {**_XLM_ROLES, **config}
            return _build_xlm(folder, config), config
    return _converted(folder), config


def _read_tokenizer(path: Path) -> Tokenizer:
    check_size(path)
    try:
        return _checked(Tokenizer.from_file(str(path)), path)
    except (KeyboardInterrupt, SystemExit, InterlaceError):
        raise
    except BaseException as error:
        # the Rust library raises plain Exception, and where it panics a BaseException
        raise DataError(
            f"{path}: not a tokenizer that this version of `tokenizers` reads: {error}"
        ) from error


def _checked(tokenizer: Tokenizer, path: Path) -> Tokenizer:
    """Return a tokenizer of untrusted files without padding and truncation; raise a DataError for what is unbounded."""
    tokenizer.no_padding()  # its length may be any
    tokenizer.no_truncation()
    check_expressions(tokenizer, path)
    _check_growth("normalizer", tokenizer.normalizer, path)
    _check_growth("decoder", tokenizer.decoder, path)
    _check_template(tokenizer.post_processor, path)
    tokenizer.encode("a", "b")  # by its template, which may name a token that it lacks
    return tokenizer


@contextmanager
def tokenizer_errors(name: str = "") -> Iterator[None]:
    """Convert what the Rust library raises for text: plain Exception, and where it panics a BaseException.

    name: of the tokenizer, where the caller does not add it to the message.
    """
    try:
        yield
    except BaseException as error:
        if type(error) is not Exception and type(error).__name__ != "PanicException":
            raise
        reason = str(error).partition("\n")[0]
        where = f"{name}: " if name else ""
        message = f"the tokenizer fails on this text: {reason}; see the regular expressions of its {_FILE}"
        raise DataError(where + message) from error


_SAMPLE = "The cat's 2 dogs: naïve ÉTÉ, q vw xyz jk; Москва 日本語 हिन्दी عربي "
_MAX_GROWTH = 8  # times; characters of a text that is tried
_MIN_TRIED = 8


def _check_growth(part: str, component: Any, path: Path) -> None:
    """Raise a DataError if a normalizer or decoder makes a short text much longer: each of 60 steps may double it.

    Tried are a sample, each of its and of ASCII's characters, and the texts that the component itself names.
    """
    if component is None:
        return
    steps = _steps(json.loads(component.__getstate__()))
    short_texts = [_SAMPLE, *sorted({*_SAMPLE, *string.printable})]
    for step in steps:
        pattern = step.get("pattern") or {}
        named_texts = (pattern.get("String"), step.get("content"), step.get("prepend"))
        short_texts += filter(None, named_texts)
    originals = [text * (_MIN_TRIED // len(text) + 1) for text in short_texts]
    texts = originals
    probe = json.loads(Tokenizer(models.BPE()).to_str())
    for step in steps:
        tried = Tokenizer.from_str(json.dumps(probe | {part: step}))
        if part == "normalizer":
            texts = [tried.normalizer.normalize_str(text) for text in texts]
        else:
            texts = [tried.decoder.decode([text]) for text in texts]
        for original, text in zip(originals, texts, strict=True):
            if len(text) > _MAX_GROWTH * len(original):
                fault = f"its {part} makes {len(text):,} characters of {len(original)}"
                raise DataError(
                    f"{path}: {fault}; expected at most {_MAX_GROWTH} times as many"
                )
    _check_insertions(part, steps, path)


def _check_insertions(part: str, steps: list[JsonObject], path: Path) -> None:
    """Raise a DataError if regular expressions may insert much text: they can match between any two characters.

    `(?=.{2000})` matches only in texts that are longer than those tried.
    """
    growth = 1
    for step in steps:
        expression = (step.get("pattern") or {}).get("Regex")
        if expression is not None and expression not in KNOWN_EXPRESSIONS:
            growth *= 1 + len(step.get("content", ""))
    if growth > _MAX_GROWTH:
        fault = (
            f"the regular expressions of its {part} may make a text {growth:,} times as long"
        )
        raise DataError(f"{path}: {fault}; expected at most {_MAX_GROWTH} times")


def _check_template(processor: Any, path: Path) -> None:
    """Raise a DataError if a template of single texts drops or repeats the text, also without special tokens."""
    if processor is None:
        return
    for step in _steps(json.loads(processor.__getstate__())):
        if step["type"] == "TemplateProcessing":
            texts = [part["Sequence"]["id"] for part in step["single"] if "Sequence" in part]
            if texts != ["A"]:
                raise DataError(
                    f"{path}: post_processor: the template `single` has the texts {texts}; expected A once"
                )


def _steps(part: JsonObject) -> list[JsonObject]:
    """Return the steps of a normalizer, a decoder or a post-processor, in order."""
    if part["type"] != "Sequence":
        return [part]
    steps = []
    for key in ("normalizers", "decoders", "processors"):
        for inner_part in part.get(key, []):
            steps += _steps(inner_part)
    return steps


def _read_config(folder: Path) -> JsonObject:
    merged: JsonObject = {}
    for name in _CONFIG_FILES:
        if (folder / name).is_file():
            data = read_json(folder / name, JsonObject)
            merged.update({key: value for key, value in data.items() if value is not None})
    model: JsonObject = {}
    if (folder / _MODEL_FILE).is_file():
        model = read_json(folder / _MODEL_FILE, JsonObject)
    layout = layout_name(merged, model)
    merged.pop(LAYOUT_KEY, None)
    if layout != OURS:
        merged[LAYOUT_KEY] = layout
    return dict(without_code(merged))


def _content(token: Any) -> str:
    """Return a token of a configuration: a string, or a mapping with `content`."""
    if isinstance(token, dict):
        return str(token.get("content"))
    return str(token)


def _converted(folder: Path) -> Tokenizer:
    """Return a tokenizer without `tokenizer.json`, as transformers builds it."""
    from transformers import AutoTokenizer

    model_folder = folder / "model"
    if (model_folder / _FILE).is_file():
        raise DataError(
            f"{folder}: holds no {_FILE}; if it is a run, give its model, {model_folder}"
        )
    _check_class(folder)
    try:
        with no_prompts():
            opened: Any = AutoTokenizer.from_pretrained(
                folder, local_files_only=True, trust_remote_code=False
            )
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise DataError(
            f"{folder}: holds no {_FILE}, and transformers opens no tokenizer there: {reason}. Python code of a "
            f"checkpoint is never run; where you trust it, convert its tokenizer to a {_FILE}"
        ) from error
    backend: Any = getattr(opened, "backend_tokenizer", None)
    tokens: set[str] = set()
    if isinstance(backend, Tokenizer):
        tokens = set(backend.get_vocab(with_added_tokens=False))
    if not tokens - set(opened.all_special_tokens):
        raise DataError(
            f"{folder}: holds no fast tokenizer; put the checkpoint's own {_FILE} next to its weights"
        )
    with tokenizer_errors(str(folder)):
        return _checked(backend, folder)


def _check_class(folder: Path) -> None:
    """Raise a DataError if a configuration names a class of transformers that is no tokenizer."""
    for path in (folder / "config.json", folder / "tokenizer_config.json"):
        if path.is_file():
            name = read_json(path, JsonObject).get("tokenizer_class")
            if name is not None and not _TOKENIZER_CLASS.fullmatch(str(name)):
                raise DataError(
                    f"{path}: tokenizer_class: expected a tokenizer of transformers (found {name!r})"
                )


# XLM's own vocabulary files, for which transformers has only a slow tokenizer that runs Moses, jieba and others by
# language. Ours finds words by one rule for all languages: letters with their marks, numbers, and single other signs.

_XLM_VOCAB = "vocab.json"
_XLM_MERGES = "merges.txt"
_XLM_END = "</w>"
_XLM_ROLES = {  # the defaults of transformers; `</s>` both begins and ends a row, as in XLM's code
    "bos_token": "<s>",
    "cls_token": "</s>",
    "sep_token": "</s>",
    "pad_token": "<pad>",
    "unk_token": "<unk>",
    "mask_token": "<special1>",
}


def _build_xlm(folder: Path, config: JsonObject) -> Tokenizer:
    """Return XLM's tokenizer; merges whose result is not in the vocabulary are dropped, so that parts stay known."""
    vocab = read_json(folder / _XLM_VOCAB, dict[str, int])
    roles = {key: _content(config[key]) for key in _XLM_ROLES}
    merges: list[tuple[str, str]] = []
    for line in read_lines(folder / _XLM_MERGES):
        parts = line.split()
        if line.startswith("#version") or len(parts) < 2:  # other lines hold a count
            continue
        left, right = parts[:2]
        if {left, right, left + right} <= vocab.keys():
            merges.append((left, right))
    try:
        model = models.BPE(
            vocab,
            merges,
            unk_token=roles["unk_token"],
            end_of_word_suffix=_XLM_END,
        )
    except Exception as error:  # the Rust library raises plain Exception
        raise DataError(f"{folder / _XLM_VOCAB}: not a vocabulary of XLM: {error}") from error
    tokenizer = Tokenizer(model)
    if config.get("do_lowercase_and_remove_accent", True):
        steps = [
            normalizers.Lowercase(),
            normalizers.NFD(),
            normalizers.Replace(Regex(r"\p{Mn}+"), ""),
        ]
        tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(XLM_WORDS), "removed", invert=True)
    tokenizer.decoder = decoders.BPEDecoder(_XLM_END)
    special = [
        token for token in vocab if token in roles.values() or token.startswith("<special")
    ]
    tokenizer.add_special_tokens(
        [AddedToken(token, special=True, normalized=False) for token in special]
    )
    tokenizer.post_processor = row_template(tokenizer, roles["cls_token"], roles["sep_token"])
    return tokenizer
