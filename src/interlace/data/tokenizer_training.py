"""New tokenizers of each kind and the text they are trained on.

All normalize to NFC, keep a letter and its combining marks in one piece, and give a word the same subwords at the start
of a line as inside it: replacing words and scoring input embeddings rely on that.
"""

import logging
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Literal

import numpy as np
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from interlace.core.errors import DataError
from interlace.core.randomness import Generator, Purpose, generator
from interlace.data.sampling import temperature
from interlace.text.normalization import Normalization

TokenizerKind = Literal["byte-bpe", "bpe", "wordpiece", "unigram"]
SampledLines = list[tuple[str, list[str], int]]  # language, lines, how often to read them

ROLES = {"pad": "<pad>", "unk": "<unk>", "begin": "<s>", "end": "</s>", "mask": "<mask>"}

log = logging.getLogger(__name__)


def train_tokenizer(kind: TokenizerKind, size: int, sampled: SampledLines) -> Tokenizer:
    """Train a tokenizer, without literal `<unk>`; raise a DataError if `size` is less than the alphabet needs."""
    alphabet = 256
    if kind != "byte-bpe":
        characters = set(chain.from_iterable(line for _, lines, _ in sampled for line in lines))
        alphabet = (len(characters) + 1) * (2 if kind == "wordpiece" else 1)
    if size < alphabet + len(ROLES):
        raise DataError(
            f"a vocabulary of {size} subwords is too small: {kind} needs {len(ROLES)} special tokens and an alphabet "
            f"of {alphabet} here, at least {alphabet + len(ROLES)} in all"
        )
    tokenizer, trainer, options = _MAKERS[kind]()
    specials = [AddedToken(token, special=True, lstrip=token == ROLES["mask"]) for token in ROLES.values()]
    configured = trainer(vocab_size=size, special_tokens=specials, show_progress=False, **options)
    text = _shortened(line for _, lines, copies in sampled for line in lines * copies)
    tokenizer.train_from_iterator((line.replace(ROLES["unk"], " ") for line in text), configured)
    tokenizer.post_processor = row_template(tokenizer, ROLES["begin"], ROLES["end"])
    return tokenizer


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
) -> SampledLines:
    """Sample lines so that languages have the shares q ~ p^alpha; raise a DataError if a language has no line.

    p counts sentences (Conneau & Lample 2019, section 3.1). About as many lines are drawn as there are, at most
    `max_lines`; lines of a language whose share exceeds what it has are repeated.
    """
    pools, counts = {}, []
    for number, (language, lines) in enumerate(lines_by_language.items()):
        pool, count = _reservoir(lines, max_lines, generator(Purpose.SAMPLE, seed, number))
        if not count:
            raise DataError(f"there are no lines of language {language!r} to learn a vocabulary from")
        pools[language] = pool
        counts.append(count)
    wanted = np.ceil(temperature(np.array(counts), alpha) * min(sum(counts), max_lines)).astype(int)
    sampled = []
    for number, (language, pool) in enumerate(pools.items()):
        copies, rest = divmod(int(wanted[number]), len(pool))
        if copies:
            sampled.append((language, pool, copies))
        if rest:
            chosen = generator(Purpose.SAMPLE, seed, number, 1).choice(len(pool), rest, replace=False)
            sampled.append((language, [pool[index] for index in np.sort(chosen)], 1))
    return sampled


def normalization_steps(normalization: Normalization) -> list[normalizers.Normalizer]:
    """Return the steps of `normalization` other than NFC as tokenizer normalizers, in its order."""
    steps: list[normalizers.Normalizer] = [normalizers.Lowercase()] if normalization.lower_case else []
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
    return processors.TemplateProcessing(single=single, pair=f"{single} $B:0 {end}", special_tokens=tokens)


def _reservoir(lines: Iterable[str], size: int, rng: Generator) -> tuple[list[str], int]:
    """Return a uniform sample of non-blank lines in one pass, and their number (Li 1994, algorithm L: by skips)."""
    kept: list[str] = []
    count, weight, following = 0, 1.0, 0
    for line in lines:
        if not line or line.isspace():
            continue
        count += 1
        if len(kept) < size:
            kept.append(line)
            if len(kept) == size:
                following = count
        elif count == following:
            kept[int(rng.integers(size))] = line
        if count == following:
            weight *= math.exp(math.log(1 - rng.random()) / size)
            following += 1 + math.floor(math.log(1 - rng.random()) / math.log1p(-weight))
    return kept, count


def _pieces(blank: str) -> str:
    """Return GPT-2's pieces with marks and joiners among letters: without them a Hindi vowel sign is its own piece."""
    letters = r"\p{L}\p{M}\x{200C}\x{200D}"
    return rf"{blank}?[{letters}]+|{blank}?\p{{N}}+|{blank}?[^\s{blank}{letters}\p{{N}}]+|{blank}|\s+"


_BYTE_PIECES = _pieces(" ")
_METASPACE_PIECES = _pieces("▁")
_FIRST_BLANKS = r"\A  +"
_MARKS = r"\p{Mn}+"
EXPRESSIONS = frozenset({_BYTE_PIECES, _METASPACE_PIECES, _FIRST_BLANKS, _MARKS})  # of tokenizers that are trained here


def _byte_bpe() -> tuple[Tokenizer, Any, dict[str, Any]]:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence(  # one blank before the line: `add_prefix_space` would split words
        [normalizers.NFC(), normalizers.Prepend(" "), normalizers.Replace(Regex(_FIRST_BLANKS), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_BYTE_PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    return tokenizer, trainers.BpeTrainer, {"initial_alphabet": sorted(pre_tokenizers.ByteLevel.alphabet())}


def _metaspace(model: models.Model, trainer: Any, **options: Any) -> tuple[Tokenizer, Any, dict[str, Any]]:
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(), pre_tokenizers.Split(Regex(_METASPACE_PIECES), "isolated")]
    )
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer, trainer, options


def _wordpiece() -> tuple[Tokenizer, Any, dict[str, Any]]:
    tokenizer = Tokenizer(models.WordPiece(unk_token=ROLES["unk"]))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.BertNormalizer(lowercase=False, strip_accents=False)]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer, trainers.WordPieceTrainer, {}


_MAKERS: dict[
    str, Callable[[], tuple[Tokenizer, Any, dict[str, Any]]]
] = {  # of each kind: a tokenizer, its trainer, and the trainer's options
    "byte-bpe": _byte_bpe,
    "bpe": lambda: _metaspace(models.BPE(unk_token=ROLES["unk"], fuse_unk=True), trainers.BpeTrainer),
    "wordpiece": _wordpiece,
    "unigram": lambda: _metaspace(models.Unigram(), trainers.UnigramTrainer, unk_token=ROLES["unk"]),
}


_MAX_WORD = 1000  # characters; learning takes time quadratic in the length of a word
_LONG_WORD = re.compile(rf"(\S{{{_MAX_WORD}}})(?=\S)")


def _shortened(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines with a space after every thousandth character of longer words; log the number of such lines."""
    count, example = 0, ""
    for line in lines:
        found = _LONG_WORD.search(line) if len(line) > _MAX_WORD else None
        if found:
            count, example = count + 1, example or found[1][:40]
        yield _LONG_WORD.sub(r"\1 ", line) if found else line
    if count:
        text = "%d lines have words of more than %d characters, which are learned in pieces, such as %s..."
        log.warning(text, count, _MAX_WORD, example)
