"""A smaller vocabulary: the tokens of an existing tokenizer that text needs.

Removing them from multilingual models is by Abdaoui et al. (2020), "Load What You Need: Smaller Versions of
Multilingual BERT". Here the text keeps its segmentation exactly, because every rule that took part in it stays:

- Unigram: the most likely segmentation has kept pieces alone, and without the others no other one is more likely.
  A piece of the lowest score stays, since the score of unknown characters is relative to it.
- BPE: the subwords that text is cut into stay, with those from which they are merged, and their merges. A merge that
  was never applied can be missed.
- WordPiece: the longest match stays the longest. Of a word that becomes unknown, all pieces stay that could match.

Other text has the same tokens where these were kept, and shorter ones elsewhere: all single characters of the scripts
of the text stay, and bytes. Characters of other scripts become unknown if the tokenizer has no bytes. With
`keep="characters"`, all tokens stay that consist of characters of the text, so that all text of these characters keeps
its segmentation, at the price of a larger vocabulary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from typing import Literal

import numpy as np
from tokenizers import Tokenizer

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.data.encoding import BYTES
from interlace.data.tokenizer_files import tokenizer_errors
from interlace.data.tokenizer_state import TokenizerState
from interlace.data.vocab import Origin, Vocab
from interlace.text.scripts import script_of

Kept = Literal["text", "characters"]

_LINES_AT_ONCE = 10_000
_MIN_SCRIPT = 0.001  # share of the text's characters; text has single words of other scripts


def trim_vocab(vocab: Vocab, lines: Iterable[str], keep: Kept = "text") -> Vocab:
    """Return the vocabulary with only the tokens that text needs; its `origin` lists them. Special tokens stay.

    keep: "text", tokens of these lines; "characters", also all others that consist of characters of these lines.

    Raises:
        DataError: the lines have no token, or the tokenizer does not allow other ids.
    """
    state = TokenizerState(vocab.tokenizer)
    used_ids, characters = _usage(vocab, state, lines)
    if not used_ids:
        raise DataError(f"{vocab.name}: no text to trim the vocabulary by")
    kept_ids = used_ids | _always(vocab, state) | _single_characters(vocab, state, characters)
    if keep == "characters":
        kept_ids |= _consisting_of(vocab, state, characters)
    if state.kind == "BPE":
        kept_ids |= _merged_parts(state, kept_ids)
    kept = np.array(sorted(kept_ids), np.int64)
    tokenizer = state.reduced(kept.tolist())
    for new_number, number in enumerate(kept.tolist()):
        if tokenizer.id_to_token(new_number) != state.names[number]:
            raise DataError(
                f"{vocab.name}: this tokenizer cannot be trimmed: it orders its tokens"
            )
    return vocab.with_tokenizer(tokenizer, Origin(vocab.size, kept, Ragged.of([])))


def _usage(
    vocab: Vocab, state: TokenizerState, lines: Iterable[str]
) -> tuple[set[int], Counter[str]]:
    """Return the ids that segment the lines, with those that unknown words could match, and counts of characters."""
    is_used = np.zeros(vocab.size, np.bool_)
    characters: Counter[str] = Counter()
    unknown_words: set[str] = set()
    iterator = iter(lines)
    while chunk := list(islice(iterator, _LINES_AT_ONCE)):
        ids = vocab.encode(chunk).ids
        is_used[ids.flat] = True
        characters.update(_normalized(vocab.tokenizer, "\n".join(chunk)))
        if state.kind == "WordPiece":
            is_unknown = ids.flat == state.unknown
            for line in np.unique(ids.rows()[is_unknown]):
                unknown_words |= _unknown_words(vocab.tokenizer, chunk[line], state.unknown)
    used_ids = set(np.flatnonzero(is_used).tolist())
    for word in unknown_words:
        used_ids.update(_matching(state, word))
    return used_ids, characters


def _normalized(tokenizer: Tokenizer, text: str) -> str:
    if tokenizer.normalizer is None:
        return text
    with tokenizer_errors():
        return str(tokenizer.normalizer.normalize_str(text))


def _unknown_words(tokenizer: Tokenizer, line: str, unknown: int | None) -> set[str]:
    """Return the words of a line that a WordPiece model cannot segment."""
    words = [_normalized(tokenizer, line)]
    if tokenizer.pre_tokenizer is not None:
        words = [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(words[0])]
    unknown_words = set()
    for word in words:
        tokens = tokenizer.model.tokenize(word)
        if any(token.id == unknown for token in tokens):
            unknown_words.add(word)
    return unknown_words


def _matching(state: TokenizerState, word: str) -> Iterator[int]:
    """Yield the ids of all WordPiece pieces that match somewhere in a word."""
    if len(word) > state.model["max_input_chars_per_word"]:
        return  # unknown whatever pieces there are
    for start in range(len(word)):
        prefix = state.prefix if start else ""
        for end in range(start + 1, len(word) + 1):
            piece = prefix + word[start:end]
            number = state.ids.get(piece)
            if number is not None:
                yield number


def _always(vocab: Vocab, state: TokenizerState) -> set[int]:
    """Return the ids that stay whatever the text is: of special tokens, bytes, and a piece with the lowest score."""
    with_template = vocab.tokenizer.encode("", "").ids
    ids = {*vocab.special_ids.tolist(), *state.no_text, *with_template}
    if vocab.surfaces.by_bytes:
        for name in BYTES:
            if name in state.ids:
                ids.add(state.ids[name])
    if state.kind == "Unigram":
        scores = [score for _, score in state.model["vocab"]]
        lowest = min(scores)
        ids.add(scores.index(lowest))
    if state.unknown is not None:
        ids.add(state.unknown)
    return ids & state.names.keys()


def _single_characters(
    vocab: Vocab, state: TokenizerState, characters: Counter[str]
) -> set[int]:
    """Return the ids of single characters of the scripts of the text, and of parts of a character."""
    counts: Counter[str] = Counter()
    for character, count in characters.items():
        counts[script_of(character)] += count
    min_count = _MIN_SCRIPT * counts.total()
    scripts = {script for script, count in counts.items() if count >= min_count}
    ids = set()
    for number in state.names:
        text = _text_of(vocab, number)
        if len(text) <= 1 and scripts.issuperset(map(script_of, text)):
            ids.add(number)
    return ids


def _consisting_of(vocab: Vocab, state: TokenizerState, characters: Counter[str]) -> set[int]:
    """Return the ids of tokens that consist of these characters, and of parts of others."""
    ids = set()
    for number in state.names:
        if characters.keys() >= set(_text_of(vocab, number)):
            ids.add(number)
    return ids


def _text_of(vocab: Vocab, number: int) -> str:
    """Return the whole characters of a token, without blanks."""
    return vocab.surfaces.spellings[number].decode(errors="ignore")


def _merged_parts(state: TokenizerState, ids: Iterable[int]) -> set[int]:
    """Return the ids from which BPE merges these: in a word, a subword is merged as it is by itself."""
    ranks = {(left, right): rank for rank, (left, right) in enumerate(state.model["merges"])}
    parts = set()
    for number in ids:
        names = _symbols(state, state.names[number])
        parts.update(names)
        while len(names) > 1:
            pairs = list(pairwise(names))
            pair_ranks = [ranks.get(pair, len(ranks)) for pair in pairs]
            place = pair_ranks.index(min(pair_ranks))
            if pairs[place] not in ranks:
                break
            merged = state.merged(*pairs[place])
            names[place : place + 2] = [merged]
            parts.add(merged)
    return {state.ids[name] for name in parts if name in state.ids}


def _symbols(state: TokenizerState, name: str) -> list[str]:
    """Return the characters of a BPE subword, with the marks of their place in a word, before any merge."""
    prefix = state.prefix if name.startswith(state.prefix) else ""
    suffix = state.suffix if name.endswith(state.suffix) else ""
    end = len(name) - len(suffix)
    characters = name[len(prefix) : end]
    symbols = [state.prefix + character for character in characters]
    if not symbols:
        return [name]
    symbols[0] = prefix + characters[0]
    symbols[-1] += suffix
    return symbols
