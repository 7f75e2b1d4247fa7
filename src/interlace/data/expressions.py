"""Regular expressions of a tokenizer, which may be anybody's: well-known ones, and what bounds the others.

The library gives an expression up after ten million steps at one place of a text, and then panics. Steps at all places
together are not limited: an expression that tries each place to the end of the line takes time quadratic in its length.
"""

import json
import os
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer
from tokenizers.pre_tokenizers import Split

from interlace.core.errors import DataError
from interlace.core.guarded import guarded_results
from interlace.data.tokenizer_training import EXPRESSIONS

SECONDS = 5.0  # of computing, for all tried texts
_MAX_EXPRESSIONS = 50
_MAX_CHARACTERS = 10_000  # of an expression
_LENGTH = 1000  # of a tried text
_CONTRACTIONS = "'s|'t|'re|'ve|'m|'ll|'d"
_CASELESS = f"(?i:{_CONTRACTIONS})"
_SIGNS_AND_SPACES = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"

XLM_WORDS = r"\p{N}+(?:[.,]\p{N}+)*|[\p{L}\p{M}]+|[^\s\p{L}\p{M}\p{N}]"
KNOWN_EXPRESSIONS = (
    EXPRESSIONS
    | {
        XLM_WORDS,
        " {2,}",  # tokenizers of sentencepiece
        r"\s+",
        r"[\r\n]",
        "[0-9][0-9][0-9]",  # Falcon
        rf"{_CONTRACTIONS}| ?\p{{L}}+| ?\p{{N}}+| ?[^\s\p{{L}}\p{{N}}]+|\s+(?!\S)|\s+",  # GPT-2
        rf"{_CONTRACTIONS}|[\p{{L}}]+|[\p{{N}}]|[^\s\p{{L}}\p{{N}}]+",  # CLIP
        r" ?[^(\s|[.,!?…。，、।۔،])]+",  # BLOOM
        rf"{_CASELESS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}|{_SIGNS_AND_SPACES}",  # cl100k, Llama 3
        rf"{_CASELESS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}|{_SIGNS_AND_SPACES}",  # Qwen2
    }
)


def check_expressions(tokenizer: Tokenizer, path: Path) -> None:
    """Raise a DataError that names an expression which fails, or takes long, on a text of 1,000 characters.

    Well-known expressions are not tried: a child process takes half a second to start.
    """
    parts = (tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder)
    states = [json.loads(part.__getstate__()) for part in parts if part is not None]
    unknown = sorted(set(_expressions(states)) - KNOWN_EXPRESSIONS)
    if len(unknown) > _MAX_EXPRESSIONS:
        raise DataError(
            f"{path}: {len(unknown):,} regular expressions; expected at most {_MAX_EXPRESSIONS}"
        )
    for expression in unknown:
        if len(expression) > _MAX_CHARACTERS:
            found = f"a regular expression of {len(expression):,} characters"
            raise DataError(f"{path}: {found}; expected at most {_MAX_CHARACTERS:,}")
    if unknown:
        _try_all(unknown, path)


def _try_all(expressions: list[str], path: Path) -> None:
    faults = guarded_results(try_expression, expressions, SECONDS)
    faults.append(f"takes more than {SECONDS:g} seconds on short texts")
    for expression, fault in zip(expressions, faults, strict=False):
        if fault:
            raise DataError(f"{path}: its regular expression {expression[:100]!r} {fault}")


def _expressions(state: Any) -> Iterator[str]:
    """Yield the regular expressions in the state of parts of a tokenizer."""
    if isinstance(state, list):
        for value in state:
            yield from _expressions(value)
    if isinstance(state, dict):
        for key, value in state.items():
            if key == "Regex":
                yield str(value)
            else:
                yield from _expressions(value)


def try_expression(expression: str) -> str:
    """Return how an expression fails on a text of 1,000 characters, or an empty string; for a child process."""
    # where the library writes what it did when it panicked
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    find = Split(Regex(expression), "isolated").pre_tokenize_str
    for text in _hard_texts(expression):
        try:
            find(text)
        except BaseException as error:  # noqa: BLE001 - a panic is no Exception
            return f"fails on a text of {_LENGTH:,} characters, {text[:20]!r}...: {error}"
    return ""


_USUAL = "a0 \n.é日ा_"
_MAX_REPEATED = 30  # characters of an expression
_MAX_PAIRED = 5


def _hard_texts(expression: str) -> Iterator[str]:
    """Yield texts of some 1,000 characters on which a slow expression fails: repeated characters, alone and in pairs.

    Behind them stand endings that end a match late. Some hold all characters of the expression, since the library skips
    places after which a character that each match needs does not follow.
    """
    characters = "".join(sorted(set(expression)))
    letters = [character for character in characters if character.isalnum()]
    pairs = map("".join, permutations(letters[:_MAX_PAIRED], 2))
    beginning = "".join(character for character in expression if character.isalnum())[:_LENGTH]
    for unit in dict.fromkeys([*_USUAL, *characters[:_MAX_REPEATED], *pairs]):
        repeated = unit * (_LENGTH // len(unit))
        for end in ("!", "a", "0", f"!{characters}", f" {characters}!"):
            yield repeated + end
            yield beginning + repeated + end
