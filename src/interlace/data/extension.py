"""New subwords for an existing tokenizer, learned from the text it is to read; the old subwords keep their ids.

The training of the tokenizer is continued (Purason et al. 2025, "Teaching Old Tokenizers New Words", for BPE; here
WordPiece and Unigram too), so every new subword can be reached: pairs of subwords that are adjacent most often are
merged. A new subword is added to the tokenizer's own model:

- BPE: merges after all others. Text is first cut as before, then merged further, so this is exact.
- WordPiece: pieces. The longest matching piece is used, so a new one is used if it is longer.
- Unigram: pieces with the score of their less likely part. The most likely segmentation of a word is used, and a new
  piece is more likely than its parts.

With all three, a word without a new subword keeps its ids. Characters that the tokenizer cannot spell are added first.
A tokenizer of whole words (WordLevel) cannot be extended. Tokens added outside the model, as transformers' `add_tokens`
does, would match inside other words and before normalization, and change the ids of old text; they are not used.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from tokenizers import Encoding, Regex, Tokenizer, models, pre_tokenizers, trainers

from interlace.core.errors import DataError
from interlace.data.tokenizer_files import tokenizer_errors
from interlace.data.tokenizer_state import TokenizerState
from interlace.data.tokenizer_training import sample_lines
from interlace.data.vocab import Vocab

Subwords = tuple[int, ...]

_MAX_LINES = 500_000
_KINDS = ("BPE", "WordPiece", "Unigram")
_LETTERS = r"[\p{L}\p{M}\x{200C}\x{200D}]+"  # with marks and joiners
_BLANKS = "▁ "  # what normalizers put before a word
_CONTEXT = "a "  # encoded before a word, so that it is cut as inside a line
_ENCODED_AT_ONCE = 100_000
# the character that stands for the first subword while merges are learned
_FIRST_SIGN = 0x10000


def extend_vocab(
    vocab: Vocab,
    lines_by_language: Mapping[str, Iterable[str]],
    number: int,
    *,
    min_count: int = 10,
    alpha: float = 0.5,
) -> Vocab:
    """Return the vocabulary with up to `number` more subwords of letters, listed in its `origin`.

    Lines are sampled over languages as in `Vocab.learn`. Numbers and punctuation get no new subwords.

    min_count: minimum count of a new subword in that text: rarer ones would hardly be trained.

    Raises:
        DataError: a language has no line, the tokenizer cannot be extended, or the text gives no new subword.
    """
    words: Counter[str] = Counter()
    split = pre_tokenizers.Split(Regex(_LETTERS), "removed", invert=True).pre_tokenize_str
    for sample in sample_lines(lines_by_language, alpha, _MAX_LINES):
        tokens = Counter(chain.from_iterable(map(str.split, sample.lines)))
        for token, count in tokens.items():
            for word, _ in split(token):
                words[word] += sample.copies * count
    model = TokenizerState(vocab.tokenizer)
    if model.kind not in _KINDS:
        raise DataError(
            f"{vocab.name}: a {model.kind} tokenizer cannot be extended ({', '.join(_KINDS)} can); learn a vocabulary"
        )
    pieces = _learn(
        model,
        vocab,
        words,
        number,
        min_count,
    )
    if not pieces:
        raise DataError(
            f"{vocab.name}: no new subword occurs {min_count} times in this text; remove vocab.extend"
        )
    tokenizer = model.tokenizer()
    old_ids = vocab.tokenizer.get_vocab(with_added_tokens=True)
    moved = [
        token for token, old_id in old_ids.items() if tokenizer.token_to_id(token) != old_id
    ]
    if moved or tokenizer.get_vocab_size() < len(old_ids) + len(pieces):
        raise DataError(
            f"{vocab.name}: this tokenizer cannot be extended: ids of its tokens change"
        )
    return vocab.with_new_tokens(tokenizer, pieces)


def _learn(
    model: TokenizerState,
    vocab: Vocab,
    words: Counter[str],
    number: int,
    min_count: int,
) -> list[Subwords]:
    """Add new characters, then merged subwords, to the model; return the old ids that spell each of them."""
    tokenizer = vocab.tokenizer
    pieces: list[Subwords] = []
    for character, count in _unknown_characters(tokenizer, model, words):
        for name in model.forms(character):
            if count >= min_count and len(pieces) < number and name not in model.ids:
                model.add(name, vocab.size + len(pieces))
                pieces.append(())
    if pieces:
        tokenizer = model.tokenizer()
    runs = _runs(tokenizer, model, words)
    # the subword that each run of subwords is merged to
    number_of: dict[Subwords, int] = {(subword,): subword for run in runs for subword in run}
    for left, right in _merges(runs, len(number_of) + 2 * number, min_count):
        if left not in number_of or right not in number_of or len(pieces) == number:
            continue
        parts = (number_of[left], number_of[right])
        joined = model.merged(model.names[parts[0]], model.names[parts[1]])
        if joined not in model.ids:
            number_of[left + right] = vocab.size + len(pieces)
            model.add(joined, vocab.size + len(pieces), parts)
            pieces.append(tuple(subword for subword in left + right if subword < vocab.size))
    return pieces


def _merges(
    runs: Mapping[Subwords, int], size: int, min_count: int
) -> Iterator[tuple[Subwords, Subwords]]:
    """Yield the pairs of runs that BPE merges, the most frequent first (Sennrich et al. 2016).

    runs: runs of subwords with their counts. Each subword is a character, its sign, for the library.
    """
    alphabet = sorted(set(chain.from_iterable(runs)))
    sign_of = {subword: chr(_FIRST_SIGN + index) for index, subword in enumerate(alphabet)}

    def words() -> Iterator[str]:
        for run, count in runs.items():
            word = "".join(sign_of[subword] for subword in run)
            yield f"{word} " * count

    def run_of(word: str) -> Subwords:
        return tuple(alphabet[ord(sign) - _FIRST_SIGN] for sign in word)

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(vocab_size=size, min_frequency=min_count, show_progress=False)
    tokenizer.train_from_iterator(words(), trainer)
    state = json.loads(tokenizer.to_str())
    for left, right in state["model"]["merges"]:
        yield run_of(left), run_of(right)


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
    tokenizer: Tokenizer, model: TokenizerState, words: Counter[str]
) -> list[tuple[str, int]]:
    """Return letters that no subword spells with their counts, the most frequent first."""
    counts: Counter[str] = Counter()
    for word, count, encoding in _encoded(tokenizer, words):
        if model.no_text.isdisjoint(encoding.ids):
            continue
        normalizer = tokenizer.normalizer
        text = word if normalizer is None else normalizer.normalize_str(word)
        for character in text.strip(_BLANKS):
            if not model.ids.keys() >= set(model.forms(character)):
                counts[character] += count
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _runs(
    tokenizer: Tokenizer, model: TokenizerState, words: Counter[str]
) -> Counter[Subwords]:
    """Count runs of subwords that may be merged: those of each pre-token, up to what is no text."""
    runs: Counter[Subwords] = Counter()
    for _, count, encoding in _encoded(tokenizer, words):
        run: list[int] = []
        previous_pre_token = None
        subwords = zip(
            encoding.ids,
            encoding.word_ids,
            encoding.offsets,
            strict=True,
        )
        for number, pre_token, (_, end) in subwords:
            if end < len(_CONTEXT):
                continue
            if number in model.no_text or pre_token != previous_pre_token:
                runs[tuple(run)] += count
                run = []
            if number not in model.no_text:
                run.append(number)
            previous_pre_token = pre_token
        runs[tuple(run)] += count
    runs.pop((), None)
    return runs
