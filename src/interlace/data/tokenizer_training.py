"""New tokenizers of each kind and the text they are trained on.

All normalize to NFC, keep a letter and its combining marks in one piece, and give a word the same subwords at the start
of a line as inside it: replacing words and scoring input embeddings rely on that.
"""

import logging
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

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
from interlace.text.normalization import Normalization

TokenizerKind = Literal["byte-bpe", "bpe", "wordpiece", "unigram"]

ROLES = {"pad": "<pad>", "unk": "<unk>", "begin": "<s>", "end": "</s>", "mask": "<mask>"}

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SampledLines:
    """Lines of a language, and how often to read them."""

    language: str
    lines: list[str]
    copies: int


def train_tokenizer(kind: TokenizerKind, size: int, sampled: Sequence[SampledLines]) -> Tokenizer:
    """Train a tokenizer, without literal `<unk>`; raise a DataError if `size` is less than the alphabet needs."""
    alphabet = _alphabet_size(kind, sampled)
    if size < alphabet + len(ROLES):
        raise DataError(
            f"a vocabulary of {size} subwords is too small: {kind} needs {len(ROLES)} special tokens and an alphabet "
            f"of {alphabet} here, at least {alphabet + len(ROLES)} in all"
        )
    specials = [
        AddedToken(token, special=True, lstrip=token == ROLES["mask"]) for token in ROLES.values()
    ]
    tokenizer, trainer = _MAKERS[kind](
        vocab_size=size, special_tokens=specials, show_progress=False
    )
    lines = chain.from_iterable(sample.lines * sample.copies for sample in sampled)
    tokenizer.train_from_iterator(
        (line.replace(ROLES["unk"], " ") for line in _shortened(lines)), trainer
    )
    tokenizer.post_processor = row_template(tokenizer, ROLES["begin"], ROLES["end"])
    return tokenizer


def _alphabet_size(kind: TokenizerKind, sampled: Sequence[SampledLines]) -> int:
    """Return the subwords that spell all characters of the text."""
    if kind == "byte-bpe":
        return 256
    characters: set[str] = set()
    for sample in sampled:
        for line in sample.lines:
            characters.update(line)
    blank = 1
    return (len(characters) + blank) * (2 if kind == "wordpiece" else 1)


def word_level_tokenizer(words: Iterable[str]) -> Tokenizer:
    """Return a tokenizer with one subword for each of these words; all others are unknown."""
    ids = {name: number for number, name in enumerate(dict.fromkeys([*ROLES.values(), *words]))}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token=ROLES["unk"]))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in ROLES.values()])
    tokenizer.post_processor = row_template(tokenizer, ROLES["begin"], ROLES["end"])
    return tokenizer


def sample_lines(
    lines_by_language: Mapping[str, Iterable[str]], alpha: float, max_lines: int, seed: int
) -> list[SampledLines]:
    """Sample lines so that languages have the shares q ~ p^alpha; raise a DataError if a language has no line.

    p counts sentences (Conneau & Lample 2019, section 3.1). About as many lines are drawn as there are, at most
    `max_lines`; lines of a language whose share exceeds what it has are repeated.
    """
    pools: dict[str, list[str]] = {}
    counts: list[int] = []
    for number, (language, lines) in enumerate(lines_by_language.items()):
        pool, count = _reservoir(lines, max_lines, generator(Purpose.SAMPLE, seed, number))
        if not count:
            raise DataError(
                f"there are no lines of language {language!r} to learn a vocabulary from"
            )
        pools[language] = pool
        counts.append(count)
    drawn = min(sum(counts), max_lines)
    line_counts = np.ceil(temperature(np.array(counts), alpha) * drawn).astype(int)  # (languages,)
    sampled: list[SampledLines] = []
    for number, (language, pool) in enumerate(pools.items()):
        copies, remainder = divmod(int(line_counts[number]), len(pool))
        if copies:
            sampled.append(SampledLines(language, pool, copies))
        if remainder:
            rng = generator(Purpose.SAMPLE, seed, number, 1)
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
    return (
        rf"{blank}?[{letters}]+|{blank}?\p{{N}}+|{blank}?[^\s{blank}{letters}\p{{N}}]+|{blank}|\s+"
    )


_BYTE_PIECES = _pieces(" ")
_METASPACE_PIECES = _pieces("▁")
_FIRST_BLANKS = r"\A  +"
_MARKS = r"\p{Mn}+"
EXPRESSIONS = frozenset(
    {_BYTE_PIECES, _METASPACE_PIECES, _FIRST_BLANKS, _MARKS}
)  # of tokenizers that are trained here


def _byte_bpe(**options: Any) -> tuple[Tokenizer, trainers.Trainer]:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = (
        normalizers.Sequence(  # one blank before the line: `add_prefix_space` would split words
            [
                normalizers.NFC(),
                normalizers.Prepend(" "),
                normalizers.Replace(Regex(_FIRST_BLANKS), " "),
            ]
        )
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_BYTE_PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    return tokenizer, trainers.BpeTrainer(
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), **options
    )


def _bpe(**options: Any) -> tuple[Tokenizer, trainers.Trainer]:
    return _metaspace(models.BPE(unk_token=ROLES["unk"], fuse_unk=True)), trainers.BpeTrainer(
        **options
    )


def _unigram(**options: Any) -> tuple[Tokenizer, trainers.Trainer]:
    return _metaspace(models.Unigram()), trainers.UnigramTrainer(unk_token=ROLES["unk"], **options)


def _metaspace(model: models.Model) -> Tokenizer:
    """Return a tokenizer that marks blanks by U+2581."""
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(), pre_tokenizers.Split(Regex(_METASPACE_PIECES), "isolated")]
    )
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer


def _wordpiece(**options: Any) -> tuple[Tokenizer, trainers.Trainer]:
    tokenizer = Tokenizer(models.WordPiece(unk_token=ROLES["unk"]))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.BertNormalizer(lowercase=False, strip_accents=False)]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer, trainers.WordPieceTrainer(**options)


_Maker = Callable[..., tuple[Tokenizer, trainers.Trainer]]  # takes options of the trainer
_MAKERS: dict[str, _Maker] = {
    "byte-bpe": _byte_bpe,
    "bpe": _bpe,
    "wordpiece": _wordpiece,
    "unigram": _unigram,
}


_MAX_WORD = 1000  # characters; learning takes time quadratic in the length of a word
_LONG_WORD = re.compile(rf"(\S{{{_MAX_WORD}}})(?=\S)")


def _shortened(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines with a space after every thousandth character of longer words; log the number of such lines."""
    count = 0
    example = ""
    for line in lines:
        long_word = _LONG_WORD.search(line) if len(line) > _MAX_WORD else None
        if long_word is None:
            yield line
            continue
        count += 1
        example = example or long_word[1][:40]
        yield _LONG_WORD.sub(r"\1 ", line)
    if count:
        text = "%d lines have words of more than %d characters, which are learned in pieces, such as %s..."
        log.warning(text, count, _MAX_WORD, example)
