"""New subwords for an existing tokenizer, learned from the text it is to read; the old subwords keep their ids.

The training of the tokenizer is continued (Purason et al. 2025, "Teaching Old Tokenizers New Words", for BPE; here
WordPiece and Unigram too), so every new subword can be reached. It is added to the tokenizer's own model:

- BPE: merges after all others. Text is first cut as before, then merged further, so this is exact.
- WordPiece: pieces. The longest matching piece is used, so a new one is used if it is longer.
- Unigram: pieces with a score, the sum of its two parts' scores and their pointwise mutual information. The most likely
  segmentation of a word is used, so a new piece is used if it makes a word more likely.

With all three, a word without a new subword keeps its ids. Characters that the tokenizer cannot spell are added first.
A tokenizer of whole words (WordLevel) cannot be extended. Tokens added outside the model, as transformers' `add_tokens`
does, would match inside other words and before normalization, and change the ids of old text; they are not used.
"""

from __future__ import annotations

import heapq
import json
import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np
from tokenizers import Encoding, Tokenizer

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.data.encoding import BYTES
from interlace.data.tokenizer_files import tokenizer_errors
from interlace.data.tokenizer_training import sample_lines
from interlace.data.vocab import Extension, Vocab

IdPair = tuple[int, int]

MAX_LINES = 500_000
_BLANKS = "▁Ġ"  # how subwords mark a blank before them
_CONTEXT = "a "  # encoded before a word, so that it is cut as inside a line
_ENCODED_AT_ONCE = 100_000


def extend_vocab(
    vocab: Vocab,
    lines_by_language: Mapping[str, Iterable[str]],
    number: int,
    *,
    min_count: int = 1,
    alpha: float = 0.5,
    seed: int = 0,
    max_lines: int = MAX_LINES,
) -> Vocab:
    """Return the vocabulary with up to `number` more subwords of letters, listed in its `extension`.

    Lines are sampled over languages as in `Vocab.learn`. Numbers and punctuation get no new subwords.

    min_count: minimum count of a new subword in that text: rarer ones would hardly be trained.

    Raises:
        DataError: a language has no line, the tokenizer cannot be extended, or the text gives no new subword.
    """
    words: Counter[str] = Counter()  # strings between white space
    for sample in sample_lines(lines_by_language, alpha, max_lines, seed):
        counts: Counter[str] = Counter()
        for line in sample.lines:
            counts.update(line.split())
        for word, count in counts.items():
            words[word] += sample.copies * count
    state = json.loads(vocab.tokenizer.to_str())
    name = state["model"]["type"]
    if name not in _MODELS:
        known = ", ".join(_MODELS)
        raise DataError(
            f"{vocab.name}: a {name} tokenizer cannot be extended ({known} can); learn a vocabulary"
        )
    model = _MODELS[name](state)
    pieces = _learn(model, vocab, words, number, min_count)
    if not pieces:
        raise DataError(
            f"{vocab.name}: no new subword occurs {min_count} times in this text; lower vocab.extend_min_count or "
            f"remove vocab.extend"
        )
    tokenizer = model.tokenizer()
    old_ids = vocab.tokenizer.get_vocab(with_added_tokens=True)
    moved = [token for token, number in old_ids.items() if tokenizer.token_to_id(token) != number]
    if moved or tokenizer.get_vocab_size() < len(old_ids) + len(pieces):
        raise DataError(
            f"{vocab.name}: it cannot be extended: the id of {moved[:1] or 'a new subword'} changes"
        )
    return vocab.with_tokenizer(tokenizer, Extension(vocab.size, Ragged.of(pieces, dtype=np.int32)))


def _learn(
    model: _Model, vocab: Vocab, words: Counter[str], number: int, min_count: int
) -> list[tuple[int, ...]]:
    """Add new characters, then merged subwords, to the model; return the old ids that spell each of them."""
    tokenizer = vocab.tokenizer
    pieces: list[tuple[int, ...]] = []
    for character, count in _unknown_characters(tokenizer, model, words):
        if count >= min_count:
            for name in model.forms(character):
                if len(pieces) < number and name not in model.ids:
                    model.add(name, vocab.size + len(pieces))
                    pieces.append(())
    if pieces:
        tokenizer = model.tokenizer()
    unmerged = {*vocab.special_ids.tolist(), *model.added}
    runs = _runs(tokenizer, model, words, unmerged)

    def spelling(subword: int) -> tuple[int, ...]:
        return (subword,) if subword < vocab.size else pieces[subword - vocab.size]

    def join(left: int, right: int) -> int | None:
        name = model.joined(left, right)
        return None if name is None or name in model.ids else vocab.size + len(pieces)

    merges = continued_merges(list(runs), list(runs.values()), join, min_count)
    for merge in islice(merges, number - len(pieces)):
        model.add(str(model.joined(merge.left, merge.right)), merge.new, merge)
        pieces.append(spelling(merge.left) + spelling(merge.right))
    return pieces


def _encoded(tokenizer: Tokenizer, words: Counter[str]) -> Iterator[tuple[str, int, Encoding]]:
    """Yield each word with its count and its encoding after another word."""
    distinct_words = list(words)
    for first in range(0, len(distinct_words), _ENCODED_AT_ONCE):
        chunk = distinct_words[first : first + _ENCODED_AT_ONCE]
        with tokenizer_errors():
            encodings = tokenizer.encode_batch(
                [_CONTEXT + word for word in chunk], add_special_tokens=False
            )
        for word, encoding in zip(chunk, encodings, strict=True):
            yield word, words[word], encoding


def _unknown_characters(
    tokenizer: Tokenizer, model: _Model, words: Counter[str]
) -> list[tuple[str, int]]:
    """Return letters that no subword spells with their counts, the most frequent first."""
    if model.by_bytes:
        return []
    normalizer = tokenizer.normalizer
    counts: Counter[str] = Counter()
    for word, count, encoding in _encoded(tokenizer, words):
        if model.unknown not in encoding.ids and not any(map(model.is_byte, encoding.ids)):
            continue
        for character in normalizer.normalize_str(word) if normalizer is not None else word:
            if _is_letter(character) and not all(
                form in model.ids for form in model.forms(character)
            ):
                counts[character] += count
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _runs(
    tokenizer: Tokenizer, model: _Model, words: Counter[str], unmerged: set[int]
) -> Counter[tuple[int, ...]]:
    """Count runs of subwords that may be merged: those of each pre-token, up to a blank or an id of `unmerged`."""
    runs: Counter[tuple[int, ...]] = Counter()
    for _, count, encoding in _encoded(tokenizer, words):
        run: list[int] = []
        previous_pre_token = None
        subwords = zip(encoding.ids, encoding.word_ids, encoding.offsets, strict=True)
        for number, pre_token, (_, end) in subwords:
            if end < len(_CONTEXT):
                continue
            is_unmerged = number in unmerged or model.is_byte(number)
            if is_unmerged or pre_token != previous_pre_token or model.names[number][0] in _BLANKS:
                runs[tuple(run)] += count
                run = []
            if not is_unmerged:
                run.append(number)
            previous_pre_token = pre_token
        runs[tuple(run)] += count
    runs.pop((), None)
    return runs


def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LM" or character in "\u200c\u200d"  # joiners


@dataclass(frozen=True)
class Merge:
    """Two subwords that become one.

    count: how often they are adjacent.
    lift: their pointwise mutual information (natural log).
    """

    left: int
    right: int
    new: int
    count: int
    lift: float


def continued_merges(
    words: Sequence[Sequence[int]],
    counts: Sequence[int],
    join: Callable[[int, int], int | None],
    min_count: int = 1,
) -> Iterator[Merge]:
    """Yield pairs to merge, the most frequent first (Sennrich et al. 2016), down to a count of `min_count`.

    Pairs that are adjacent less often than by chance are not merged. A new subword always replaces two or more in the
    text; training a vocabulary from scratch would mostly find subwords that exist already.

    words, counts: subwords of each distinct word, within which pairs are merged, and how often it occurs.
    join: returns the id of the merged subword, or None if the two must not be merged.
    """
    state = _MergeState(words, counts)
    while True:
        pair = state.best(min_count)
        if pair is None:
            return
        lift = state.lift(pair)
        new = join(*pair) if lift > 0 else None
        if new is None:
            state.refused.add(pair)
            continue
        count = state.pairs[pair]
        state.replace(pair, new)
        yield Merge(*pair, new, count, lift)


class _MergeState:
    """Words as they are cut so far, with counts of subwords and pairs that every merge updates."""

    def __init__(self, words: Sequence[Sequence[int]], counts: Sequence[int]) -> None:
        self.words = [list(word) for word in words]
        self.counts = list(counts)
        self.subwords: Counter[int] = Counter()
        self.total = 0  # of all subwords
        self.refused: set[IdPair] = set()
        self.pairs: dict[IdPair, int] = defaultdict(int)
        self.words_of: dict[IdPair, set[int]] = defaultdict(
            set
        )  # numbers of words that hold a pair
        for number in range(len(self.words)):
            self._count(number, 1)
        self.heap = [(-count, pair) for pair, count in self.pairs.items()]
        heapq.heapify(self.heap)

    def best(self, min_count: int) -> IdPair | None:
        """Return the most frequent pair, ties by lowest ids."""
        while self.heap:
            negative_count, pair = self.heap[0]
            count = 0 if pair in self.refused else self.pairs.get(pair, 0)
            if -negative_count == count and count >= min_count:
                return pair
            heapq.heappop(self.heap)
            if count >= min_count:  # the count has fallen since it was pushed
                heapq.heappush(self.heap, (-count, pair))
        return None

    def lift(self, pair: IdPair) -> float:
        """Return the log of the pair's count over its count by chance."""
        left, right = pair
        return math.log(
            self.pairs[pair] * self.total / (self.subwords[left] * self.subwords[right])
        )

    def replace(self, pair: IdPair, new: int) -> None:
        """Merge the pair in every word that holds it."""
        touched: set[IdPair] = set()
        for number in sorted(self.words_of.pop(pair)):
            self._count(number, -1)
            word = self.words[number]
            position = 0
            while position < len(word) - 1:  # from left to right, as tokenizers do
                if (word[position], word[position + 1]) == pair:
                    word[position : position + 2] = [new]
                position += 1
            self._count(number, 1)
            touched.update(pairwise(word))
        for new_pair in touched:
            if new in new_pair:
                heapq.heappush(self.heap, (-self.pairs[new_pair], new_pair))

    def _count(self, number: int, sign: int) -> None:
        """Count the subwords and pairs of a word; a sign of -1 takes them away."""
        word = self.words[number]
        count = sign * self.counts[number]
        self.total += count * len(word)
        for subword in word:
            self.subwords[subword] += count
        for pair in pairwise(word):
            self.pairs[pair] += count
            if sign > 0:
                self.words_of[pair].add(number)


class _Model:
    """The state of a tokenizer as `tokenizers` serializes it, to which subwords are added in place."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.state = state
        self.model = state["model"]
        self.prefix = self.model.get("continuing_subword_prefix") or ""
        self.suffix = self.model.get("end_of_word_suffix") or ""
        self.names = {number: token for token, number in self.own_ids().items()}
        added = {token["id"]: token["content"] for token in state["added_tokens"]}
        self.added = set(added)
        # The ids of tokens outside the model follow from its size; inside it they do not change.
        for number, token in sorted(added.items()):
            if number not in self.names:
                self.put(token, number)
        self.ids = {token: number for number, token in self.names.items()}
        self.by_bytes = '"ByteLevel"' in json.dumps(state["pre_tokenizer"])

    def own_ids(self) -> dict[str, int]:
        """Return the ids of the subwords in the model."""
        return dict(self.model["vocab"])

    def put(self, name: str, number: int, merge: Merge | None = None) -> None:
        """Write a subword into the state; `merge` has its parts, None for a character."""
        self.model["vocab"][name] = number
        self.names[number] = name
        if merge is not None and "merges" in self.model:
            self.model["merges"].append([self.names[merge.left], self.names[merge.right]])

    def add(self, name: str, number: int, merge: Merge | None = None) -> None:
        """Add a new subword."""
        self.put(name, number, merge)
        self.ids[name] = number

    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer of this state."""
        return Tokenizer.from_str(json.dumps(self.state, ensure_ascii=False))

    @property
    def unknown(self) -> int | None:
        """The id of unknown text."""
        unknown_id: int | None = self.model.get("unk_id")
        return self.ids.get(self.model.get("unk_token") or "", unknown_id)

    def is_byte(self, number: int) -> bool:
        """Whether the subword is a byte of a character without a subword."""
        name = self.names.get(number, "")
        return len(name) == len("<0x00>") and name.startswith("<0x") and name.endswith(">")

    def forms(self, character: str) -> list[str]:
        """Return the subwords needed to spell a character in all positions."""
        forms = [character, self.prefix + character]
        return list(dict.fromkeys([*forms, *(form + self.suffix for form in forms)]))

    def joined(self, left: int, right: int) -> str | None:
        """Return the name of two subwords merged, or None if it would hold anything but letters."""
        name = self.names[left] + self.names[right].removeprefix(self.prefix)
        text = name.lstrip(_BLANKS).removeprefix(self.prefix).removesuffix(self.suffix)
        if self.by_bytes and all(
            character in BYTES for character in text
        ):  # check the bytes of whole characters
            text = bytes(BYTES[character] for character in text).decode("utf-8", "ignore")
        return name if all(map(_is_letter, text)) else None


class _Unigram(_Model):
    def own_ids(self) -> dict[str, int]:
        self.lowest = min(float(score) for _, score in self.model["vocab"])
        return {token: number for number, (token, _) in enumerate(self.model["vocab"])}

    def put(self, name: str, number: int, merge: Merge | None = None) -> None:
        entries = self.model["vocab"]
        while len(entries) < number:  # a gap between the ids of tokens outside the model
            entries.append([f"<unused{len(entries)}>", self.lowest])
        score = self.lowest  # of a character: any will do, because nothing else spells it
        if merge is not None:
            left = float(entries[merge.left][1])
            right = float(entries[merge.right][1])
            score = max(min(left + right + merge.lift, left, right), self.lowest)
        entries.append([name, score])
        self.names[number] = name


_MODELS: dict[str, type[_Model]] = {"BPE": _Model, "WordPiece": _Model, "Unigram": _Unigram}
