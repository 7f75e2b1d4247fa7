"""New tokenizers of each kind and the text they are trained on.

All normalize to NFC, keep a letter and its combining marks in one piece, and give a word the same subwords at the start
of a line as inside it: replacing words and scoring input embeddings rely on that.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Literal

import numpy as np
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from interlace.core.errors import DataError
from interlace.core.randomness import Generator, Purpose, generator
from interlace.data.sampling import temperature

if TYPE_CHECKING:
    from interlace.text.normalization import Normalization

TokenizerKind = Literal["byte-bpe", "bpe"]

ROLES = {"pad": "<pad>", "unk": "<unk>", "begin": "<s>", "end": "</s>", "mask": "<mask>"}


@dataclass(frozen=True)
class SampledLines:
    """Lines of a language, and how often to read them."""

    language: str
    lines: list[str]
    copies: int


def train_tokenizer(
    kind: TokenizerKind, size: int, sampled: Sequence[SampledLines]
) -> Tokenizer:
    """Train a tokenizer, without literal `<unk>`; raise a DataError if `size` is less than the alphabet needs."""
    by_bytes = kind == "byte-bpe"
    alphabet_size = 256 if by_bytes else _count_characters(sampled) + 1  # and the blank
    min_size = alphabet_size + len(ROLES)
    if size < min_size:
        raise DataError(
            f"a vocabulary of {size} subwords is too small: {kind} needs {len(ROLES)} special tokens and an alphabet "
            f"of {alphabet_size} here, at least {min_size} in all"
        )
    special_tokens = []
    for token in ROLES.values():
        special_tokens.append(AddedToken(token, special=True, lstrip=token == ROLES["mask"]))
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=special_tokens,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()) if by_bytes else [],
        show_progress=False,
    )
    tokenizer = _byte_bpe() if by_bytes else _bpe()
    lines = chain.from_iterable(sample.lines * sample.copies for sample in sampled)
    tokenizer.train_from_iterator(map(_trainable, lines), trainer)
    tokenizer.post_processor = row_template(tokenizer, ROLES["begin"], ROLES["end"])
    return tokenizer


def _count_characters(sampled: Sequence[SampledLines]) -> int:
    characters: set[str] = set()
    for sample in sampled:
        characters.update(*sample.lines)
    return len(characters)


_MAX_WORD = 1000  # characters; learning takes time quadratic in the length of a word
_LONG_WORD = re.compile(rf"(\S{{{_MAX_WORD}}})(?=\S)")


def _trainable(line: str) -> str:
    """Return a line without `<unk>`, and with a space after every thousandth character of longer words."""
    if len(line) > _MAX_WORD:
        line = _LONG_WORD.sub(r"\1 ", line)
    return line.replace(ROLES["unk"], " ")


def word_level_tokenizer(words: Iterable[str]) -> Tokenizer:
    """Return a tokenizer with one subword for each of these words; all others are unknown."""
    names = dict.fromkeys([*ROLES.values(), *words])
    ids = {name: number for number, name in enumerate(names)}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token=ROLES["unk"]))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in ROLES.values()])
    tokenizer.post_processor = row_template(tokenizer, ROLES["begin"], ROLES["end"])
    return tokenizer


def sample_lines(
    lines_by_language: Mapping[str, Iterable[str]], alpha: float, max_lines: int
) -> list[SampledLines]:
    """Sample lines so that languages have the shares q ~ p^alpha; raise a DataError if a language has no line.

    p counts sentences (Conneau & Lample 2019, section 3.1). About as many lines are drawn as there are, at most
    `max_lines`; lines of a language whose share exceeds what it has are repeated.
    """
    pools: dict[str, list[str]] = {}
    counts: list[int] = []
    for number, (language, lines) in enumerate(lines_by_language.items()):
        pool, count = _reservoir(lines, max_lines, generator(Purpose.SAMPLE, 0, number))
        if not count:
            raise DataError(
                f"there are no lines of language {language!r} to learn a vocabulary from"
            )
        pools[language] = pool
        counts.append(count)
    drawn = min(sum(counts), max_lines)
    # of shape (languages,)
    line_counts = np.ceil(temperature(np.array(counts), alpha) * drawn).astype(int)
    sampled: list[SampledLines] = []
    for number, (language, pool) in enumerate(pools.items()):
        copies, remainder = divmod(int(line_counts[number]), len(pool))
        if copies:
            sampled.append(SampledLines(language, pool, copies))
        if remainder:
            rng = generator(
                Purpose.SAMPLE,
                0,
                number,
                1,
            )
            rows = np.sort(rng.choice(len(pool), remainder, replace=False))
            sampled.append(SampledLines(language, [pool[row] for row in rows], 1))
    return sampled


def normalization_steps(normalization: Normalization) -> list[normalizers.Normalizer]:
    """Return the steps of `normalization` other than NFC as tokenizer normalizers, in its order."""
    steps: list[normalizers.Normalizer] = []
    if normalization.lower_case:
        steps.append(normalizers.Lowercase())
    if normalization.remove_accents:
        steps += [normalizers.NFD(), normalizers.Replace(Regex(_MARKS), "")]
    if normalization.form == "NFKC":
        steps.append(normalizers.NFKC())
    elif steps and normalization.form == "NFC":
        steps.append(normalizers.NFC())
    return steps


def row_template(tokenizer: Tokenizer, begin: str, end: str) -> processors.TemplateProcessing:
    """Return `[begin] A [end]` and `[begin] A [end] B [end]` with one segment id, as `data.layout` lays rows out."""
    tokens = [(token, tokenizer.token_to_id(token)) for token in dict.fromkeys((begin, end))]
    single = f"{begin} $A {end}"
    return processors.TemplateProcessing(
        single=single, pair=f"{single} $B:0 {end}", special_tokens=tokens
    )


def _reservoir(lines: Iterable[str], size: int, rng: Generator) -> tuple[list[str], int]:
    """Return a uniform sample of non-blank lines in one pass, and their number (Li 1994, algorithm L: by skips)."""
    sample: list[str] = []
    count = 0
    weight = 1.0
    next_count = 0  # the line that replaces one of the sample
    for line in lines:
        if not line or line.isspace():
            continue
        count += 1
        if len(sample) < size:
            sample.append(line)
            if len(sample) == size:
                next_count = count
        elif count == next_count:
            sample[int(rng.integers(size))] = line
        if count == next_count:
            weight *= math.exp(math.log(1 - rng.random()) / size)
            next_count += 1 + math.floor(math.log(1 - rng.random()) / math.log1p(-weight))
    return sample, count


def _pieces(blank: str) -> str:
    """Return GPT-2's pieces with marks and joiners among letters: without them a Hindi vowel sign is its own piece."""
    letters = r"\p{L}\p{M}\x{200C}\x{200D}"
    return rf"{blank}?[{letters}]+|{blank}?\p{{N}}+|{blank}?[^\s{blank}{letters}\p{{N}}]+|{blank}|\s+"


_BYTE_PIECES = _pieces(" ")
_METASPACE_PIECES = _pieces("▁")
_FIRST_BLANKS = r"\A  +"
_MARKS = r"\p{Mn}+"
# of tokenizers that are trained here
EXPRESSIONS = frozenset({_BYTE_PIECES, _METASPACE_PIECES, _FIRST_BLANKS, _MARKS})


def _byte_bpe() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    # One blank before the line: `add_prefix_space` would split words.
    first_blank = [
        normalizers.Prepend(" "),
        normalizers.Replace(Regex(_FIRST_BLANKS), " "),
    ]
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), *first_blank])
    pieces = pre_tokenizers.Split(Regex(_BYTE_PIECES), "isolated")
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pieces, to_bytes])
    tokenizer.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    return tokenizer


def _bpe() -> Tokenizer:
    """Return a tokenizer that marks blanks by U+2581."""
    tokenizer = Tokenizer(models.BPE(unk_token=ROLES["unk"], fuse_unk=True))
    tokenizer.normalizer = normalizers.NFC()
    pieces = pre_tokenizers.Split(Regex(_METASPACE_PIECES), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), pieces])
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer
