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
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from tokenizers import Tokenizer

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.data.encoding import BYTES
from interlace.data.tokenizer_training import sample_lines
from interlace.data.vocab import Extension

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tokenizers import Encoding

    from interlace.data.tokenizer_training import SampledLines
    from interlace.data.vocab import Vocab

IdPair = tuple[int, int]

MAX_LINES = 500_000
_BLANKS = "▁Ġ"  # how subwords mark a blank before them
_JOINERS = "\u200c\u200d"
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

    Args:
        vocab: the vocabulary to extend; its ids do not change.
        lines_by_language: a stream of lines per language.
        number: maximum of new subwords; little text may give fewer.
        min_count: minimum count of a new subword in that text: rarer ones would hardly be trained.
        alpha: exponent of language sampling.
        seed: random seed of language sampling.
        max_lines: maximum of lines per language in memory.

    Raises:
        DataError: a language has no line, the tokenizer cannot be extended, or the text gives no new subword.
    """
    sampled = sample_lines(lines_by_language, alpha, max_lines, seed)
    state = json.loads(vocab.tokenizer.to_str())
    name = state["model"]["type"]
    if name not in _MODELS:
        known = ", ".join(_MODELS)
        raise DataError(
            f"{vocab.name}: a {name} tokenizer cannot be extended ({known} can); learn a vocabulary instead"
        )
    model = _MODELS[name](state)
    pieces = _learn(model, vocab, _word_counts(sampled), number, min_count)
    if not pieces:
        raise DataError(
            f"{vocab.name}: no new subword occurs {min_count} times in this text; lower vocab.extend_min_count or "
            f"remove vocab.extend"
        )
    extension = Extension(vocab.size, Ragged.of(pieces, dtype=np.int32))
    return vocab.with_tokenizer(_checked(vocab, model, len(pieces)), extension)


def _learn(model: _Model, vocab: Vocab, words: Counter[str], number: int, min_count: int) -> list[tuple[int, ...]]:
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
        tokenizer = Tokenizer.from_str(model.text())
    runs = _runs(tokenizer, model, words, special=set(vocab.special_ids.tolist()))

    def spelling(subword: int) -> tuple[int, ...]:
        return (subword,) if subword < vocab.size else pieces[subword - vocab.size]

    def join(left: int, right: int) -> int | None:
        name = model.joined(left, right)
        return None if name is None or name in model.ids else vocab.size + len(pieces)

    for merge in islice(continued_merges([*runs], [*runs.values()], join, min_count), number - len(pieces)):
        model.add(str(model.joined(merge.left, merge.right)), merge.new, merge)
        pieces.append(spelling(merge.left) + spelling(merge.right))
    return pieces


def _checked(vocab: Vocab, model: _Model, added: int) -> Tokenizer:
    """Return the extended tokenizer after checking that no id has changed."""
    tokenizer = Tokenizer.from_str(model.text())
    old = vocab.tokenizer.get_vocab(with_added_tokens=True)
    moved = [token for token, number in old.items() if tokenizer.token_to_id(token) != number]
    if moved or tokenizer.get_vocab_size() < len(old) + added:
        raise DataError(
            f"{vocab.name}: this tokenizer cannot be extended: the id of {moved[:1] or 'a new subword'} changes"
        )
    return tokenizer


# Text as the tokenizer cuts it.


def _word_counts(sampled: SampledLines) -> Counter[str]:
    """Count the strings between white space."""
    counts: Counter[str] = Counter()
    for _, lines, copies in sampled:
        found = Counter(word for line in lines for word in line.split())
        for word, count in found.items():
            counts[word] += copies * count
    return counts


def _encoded(tokenizer: Tokenizer, words: Counter[str]) -> Iterator[tuple[str, int, Encoding]]:
    """Yield each word with its count and its encoding after another word."""
    every = list(words)
    for first in range(0, len(every), _ENCODED_AT_ONCE):
        chunk = every[first : first + _ENCODED_AT_ONCE]
        found = tokenizer.encode_batch([_CONTEXT + word for word in chunk], add_special_tokens=False)
        for word, encoding in zip(chunk, found, strict=True):
            yield word, words[word], encoding


def _unknown_characters(tokenizer: Tokenizer, model: _Model, words: Counter[str]) -> list[tuple[str, int]]:
    """Return letters that no subword spells with their counts, the most frequent first."""
    if model.by_bytes:
        return []
    normalizer = tokenizer.normalizer
    found: Counter[str] = Counter()
    for word, count, encoding in _encoded(tokenizer, words):
        if model.unknown in encoding.ids or any(model.is_byte(number) for number in encoding.ids):
            for character in normalizer.normalize_str(word) if normalizer is not None else word:
                if _is_letter(character) and not all(form in model.ids for form in model.forms(character)):
                    found[character] += count
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))


def _runs(tokenizer: Tokenizer, model: _Model, words: Counter[str], special: set[int]) -> Counter[tuple[int, ...]]:
    """Count runs of subwords that may be merged."""
    runs: Counter[tuple[int, ...]] = Counter()
    for _, count, encoding in _encoded(tokenizer, words):
        for run in _runs_of(encoding, model, special):
            runs[run] += count
    return runs


def _runs_of(encoding: Encoding, model: _Model, special: set[int]) -> Iterator[tuple[int, ...]]:
    """Yield the subwords of each pre-token; a blank begins another run."""
    run: list[int] = []
    last = None
    for number, owner, (_, end) in zip(encoding.ids, encoding.word_ids, encoding.offsets, strict=True):
        if end < len(_CONTEXT):
            continue
        apart = number in special or number in model.added or model.is_byte(number)
        if run and (apart or owner != last or model.names[number][0] in _BLANKS):
            yield tuple(run)
            run = []
        if not apart:
            run.append(number)
        last = owner
    if run:
        yield tuple(run)


def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LM" or character in _JOINERS


# Byte-pair encoding continued from the tokenizer's own cuts.


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

    Args:
        words: subwords of each distinct word, within which pairs are merged.
        counts: count of each word.
        join: returns the id of the merged subword, or None if the two must not be merged.
        min_count: minimum count of a pair.
    """
    state = _MergeState(words, counts)
    while (pair := state.best(min_count)) is not None:
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
        self.where: dict[IdPair, set[int]] = defaultdict(set)
        for number in range(len(self.words)):
            self._count(number, 1)
        self.heap = [(-count, pair) for pair, count in self.pairs.items()]
        heapq.heapify(self.heap)

    def best(self, min_count: int) -> IdPair | None:
        """Return the most frequent pair, ties by lowest ids."""
        while self.heap:
            count, pair = self.heap[0]
            now = 0 if pair in self.refused else self.pairs.get(pair, 0)
            if -count == now and now >= min_count:
                return pair
            heapq.heappop(self.heap)
            if now >= min_count:  # the count has fallen since it was pushed
                heapq.heappush(self.heap, (-now, pair))
        return None

    def lift(self, pair: IdPair) -> float:
        """Return the log of the pair's count over its count by chance."""
        left, right = (self.subwords[part] for part in pair)
        return math.log(self.pairs[pair] * self.total / (left * right))

    def replace(self, pair: IdPair, new: int) -> None:
        """Merge the pair in every word that holds it."""
        touched: set[IdPair] = set()
        for number in sorted(self.where.pop(pair)):
            self._count(number, -1)
            self.words[number] = _merged(self.words[number], pair, new)
            self._count(number, 1)
            touched.update(pairwise(self.words[number]))
        for other in touched:
            if new in other:
                heapq.heappush(self.heap, (-self.pairs[other], other))

    def _count(self, number: int, sign: int) -> None:
        word, count = self.words[number], sign * self.counts[number]
        self.total += count * len(word)
        for subword in word:
            self.subwords[subword] += count
        for pair in pairwise(word):
            self.pairs[pair] += count
            if sign > 0:
                self.where[pair].add(number)


def _merged(word: list[int], pair: IdPair, new: int) -> list[int]:
    """Return the word with the pair merged from left to right, as tokenizers do."""
    left, right = pair
    merged: list[int] = []
    place, last = 0, len(word) - 1
    while place <= last:
        if place < last and word[place] == left and word[place + 1] == right:
            merged.append(new)
            place += 2
        else:
            merged.append(word[place])
            place += 1
    return merged


# How a subword is added to each kind of model.


class _Model(ABC):
    """A tokenizer's state as `tokenizers` serializes it, to which subwords are added in place."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.state = state
        self.model = state["model"]
        self.names = {number: token for token, number in self._own().items()}
        added = {token["id"]: token["content"] for token in state["added_tokens"]}
        self.added = set(added)
        # The ids of tokens outside the model follow from its size; inside it they do not change.
        for number, token in sorted(added.items()):
            if number not in self.names:
                self._put(token, number)
        self.ids = {token: number for number, token in self.names.items()}
        self.by_bytes = '"ByteLevel"' in json.dumps(state["pre_tokenizer"])

    @abstractmethod
    def _own(self) -> dict[str, int]:
        """Return the model's vocabulary."""

    def _put(self, name: str, number: int) -> None:
        self.model["vocab"][name] = number
        self.names[number] = name

    def add(self, name: str, number: int, merge: Merge | None = None) -> None:
        """Add a subword with its id; `merge` has its parts, None for a character."""
        del merge  # used by BPE and Unigram
        self._put(name, number)
        self.ids[name] = number

    @property
    def unknown(self) -> int | None:
        """The id of unknown text."""
        own: int | None = self.model.get("unk_id")
        return self.ids.get(self.model.get("unk_token") or "", own)

    def text(self) -> str:
        """Return the serialized tokenizer."""
        return json.dumps(self.state, ensure_ascii=False)

    def forms(self, character: str) -> list[str]:
        """Return the subwords needed to spell a character in all positions."""
        return [character]

    def joined(self, left: int, right: int) -> str | None:
        """Return the name of two subwords merged, or None if it would hold anything but letters."""
        name = self.names[left] + self.inside(self.names[right])
        bare = self.bare(name)
        if self.by_bytes and all(character in BYTES for character in bare):  # check the bytes of whole characters
            bare = bytes(BYTES[character] for character in bare).decode("utf-8", "ignore")
        return name if all(_is_letter(character) for character in bare) else None

    def inside(self, name: str) -> str:
        """Return a subword's name without the prefix of continued words."""
        return name

    def bare(self, name: str) -> str:
        """Return a subword's name without all marks of position."""
        return name.lstrip(_BLANKS)

    def is_byte(self, number: int) -> bool:
        """Whether the subword is a byte of a character without a subword."""
        name = self.names.get(number, "")
        return len(name) == len("<0x00>") and name.startswith("<0x") and name.endswith(">")


class _Bpe(_Model):
    def _own(self) -> dict[str, int]:
        return dict(self.model["vocab"])

    def add(self, name: str, number: int, merge: Merge | None = None) -> None:
        super().add(name, number)
        if merge is not None:
            self.model["merges"].append([self.names[merge.left], self.names[merge.right]])

    def forms(self, character: str) -> list[str]:
        suffix, prefix = self.model.get("end_of_word_suffix"), self.model.get("continuing_subword_prefix")
        forms = [character, f"{prefix}{character}"] if prefix else [character]
        return [*forms, *(form + suffix for form in forms)] if suffix else forms

    def inside(self, name: str) -> str:
        return name.removeprefix(self.model.get("continuing_subword_prefix") or "")

    def bare(self, name: str) -> str:
        suffix = self.model.get("end_of_word_suffix") or ""
        return self.inside(name.lstrip(_BLANKS)).removesuffix(suffix)


class _WordPiece(_Model):
    def _own(self) -> dict[str, int]:
        return dict(self.model["vocab"])

    def forms(self, character: str) -> list[str]:
        return [character, self.model["continuing_subword_prefix"] + character]

    def inside(self, name: str) -> str:
        return name.removeprefix(self.model["continuing_subword_prefix"])

    def bare(self, name: str) -> str:
        return self.inside(name)


class _Unigram(_Model):
    def _own(self) -> dict[str, int]:
        self.lowest = min(float(score) for _, score in self.model["vocab"])
        return {token: number for number, (token, _) in enumerate(self.model["vocab"])}

    def _put(self, name: str, number: int, score: float | None = None) -> None:
        entries = self.model["vocab"]
        while len(entries) < number:  # a gap between the ids of tokens outside the model
            entries.append([f"<unused{len(entries)}>", self.lowest])
        entries.append([name, self.lowest if score is None else score])
        self.names[number] = name

    def add(self, name: str, number: int, merge: Merge | None = None) -> None:
        score = self.lowest  # of a character: any will do, because nothing else spells it
        if merge is not None:
            left, right = (float(self.model["vocab"][part][1]) for part in (merge.left, merge.right))
            score = max(min(left + right + merge.lift, left, right), self.lowest)
        self._put(name, number, score)
        self.ids[name] = number


_MODELS: dict[str, type[_Model]] = {"BPE": _Bpe, "WordPiece": _WordPiece, "Unigram": _Unigram}
