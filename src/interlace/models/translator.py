"""Translation of lines: tokens, batches of similar length, generation, and text again.

A line that is longer than the model reads is translated in pieces. A piece ends after a sentence if possible, else
after another punctuation mark, at a blank, or between two characters.

The batch size of generation is fixed on a CPU; on a GPU it follows the free memory. Half of that is for caches and a
quarter for scores of the vocabulary; the rest is for temporary tensors. All figures are for float32.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np
import torch
from numpy.typing import NDArray

from interlace.core.errors import SettingsError
from interlace.core.ragged import Ragged
from interlace.data.tokenizer_files import tokenizer_errors
from interlace.data.vocab import Vocab
from interlace.models.search import (
    Hypotheses,
    TokenConstraints,
    beam_search,
    encode_source,
    encoder_inputs,
    eval_mode,
    greedy_search,
)
from interlace.models.seq2seq import Seq2Seq
from interlace.models.settings import SearchSettings
from interlace.text import Text
from interlace.text.scripts import UNSPACED, scripts_of

log = logging.getLogger(__name__)

TOKENS = 16_384
SCORES = 1 << 27
MAX_SCORES = 1 << 30  # CUDA kernels index elements with 31 bits
_FLOAT = 4  # bytes
_COPIES = 4  # of all scores at the peak: the head's output, normalized ones, and two temporary

_SENTENCE_END = frozenset(".!?…。．！？｡।॥؟۔։።")
_CLAUSE_END = frozenset(",;:،؛、，；：—–")
_CLOSING = frozenset("\"'”“’‘»«)]}」』）】〉》")
_LATE = 3  # a mark counts in the last two thirds of a piece


@dataclass(frozen=True)
class LineTranslation:
    """The translation of a line.

    score: log-probability divided by the length penalty; of a line in pieces, the mean of the pieces.
    logprob: sum over all tokens and end tokens. length: their number. full: whether it has the maximum length.
    pieces: number of pieces that the line was split into; 0 where there was nothing to translate.
    unknown: number of unknown tokens in the line.
    """

    text: str
    score: float = 0.0
    logprob: float = 0.0
    length: int = 0
    full: bool = False
    pieces: int = 1
    unknown: int = 0


class Translator:
    """A model in one direction."""

    def __init__(
        self,
        model: Seq2Seq,
        vocab: Vocab,
        source: str,
        target: str,
        search: SearchSettings | None = None,
        *,
        tokens: int | None = None,
        max_length: int | None = None,
    ) -> None:
        """Prepare translation; raise a DataError if the vocabulary has no token for the target language.

        tokens: maximum source tokens of a batch, with padding, times the beam size; None: 16,384, and on a GPU as
            many as fit into memory.
        max_length: maximum tokens of a source without specials; None: what the model reads.
        """
        self.model = model
        self.vocab = vocab
        self.source = source
        self.target = target
        self.settings = search or SearchSettings()
        self.first = vocab.target(target)
        self.max_length = model.traits.max_length - 2
        if max_length is not None:
            self.max_length = min(self.max_length, max_length)
        self.max_target = model.max_target_length - 1
        self.constraints = TokenConstraints.of(vocab, model.vocab_size)
        budget = BatchBudget.of(model)
        beam = self.settings.beam
        self.tokens = max(1, (budget.tokens if tokens is None else tokens) // beam)
        self.rows = max(1, budget.scores // (model.vocab_size * beam))

    def lines(self, lines: Sequence[str]) -> list[LineTranslation]:
        """Translate lines, in order, long ones in pieces; raise a CheckpointError if the model's scores are NaN."""
        pieces, line_numbers = self._pieces(lines)
        translations: list[list[LineTranslation]] = [[] for _ in lines]
        for line_number, translation in zip(
            line_numbers.tolist(), self._translated(pieces), strict=True
        ):
            translations[line_number].append(translation)
        lines_of_unknown = line_numbers[pieces.rows()[pieces.flat == self.vocab.unk]]
        unknown = np.bincount(lines_of_unknown, minlength=len(lines)).tolist()
        return [
            self._joined(parts, count) for parts, count in zip(translations, unknown, strict=True)
        ]

    def _pieces(self, lines: Sequence[str]) -> tuple[Ragged, NDArray[np.int64]]:
        """Return the tokens of each non-empty piece of each line, and the line of each piece.

        Blanks around a line are removed, because a vocabulary may have tokens for them.
        """
        lines = [line.strip() for line in lines]
        ids = self.vocab.encode(lines, language=self.source).ids
        line_numbers = np.arange(len(lines))
        is_long = ids.lengths > self.max_length
        if is_long.any():
            pieces = []
            counts = []
            for line, long in zip(lines, is_long.tolist(), strict=True):
                parts = self._split(line) if long else [line]
                pieces += parts
                counts.append(len(parts))
            ids = self.vocab.encode(pieces, language=self.source).ids
            line_numbers = np.repeat(line_numbers, counts)
        nonempty = np.flatnonzero(ids.lengths)
        return ids.take(nonempty), line_numbers[nonempty]

    def _split(self, line: str, limit: int | None = None) -> list[str]:
        """Return the pieces of a line; a piece that is still too long, as its tokens may change, is split again."""
        if limit is None:
            limit = self.max_length
        _, spans = self.vocab.encode_with_offsets(Text.of([line], self.source))
        starts = spans.flat[:, 0].astype(np.int64)  # first character of each token
        if len(starts) <= self.max_length or len(line) == 1:
            return [line]
        pieces = []
        for piece in split_line(line, starts, limit):
            pieces += self._split(piece, max(1, limit - 1))
        return pieces

    def _translated(self, ids: Ragged) -> list[LineTranslation]:
        """Return the translation of each piece, generated in batches of similar length."""
        translations = [LineTranslation("")] * len(ids)
        waiting = batches(ids.lengths, self.tokens, self.rows)
        with eval_mode(self.model):
            while waiting:
                rows = waiting.pop(0)
                limits = self.settings.limits(ids.lengths[rows], self.max_target)
                try:
                    hypotheses = self._generate(ids.take(rows), limits)
                except torch.OutOfMemoryError:
                    hypotheses = None  # continue outside of `except`, where the tensors of the search are freed
                if hypotheses is None:
                    self._halve(ids, rows)
                    untranslated = np.concatenate([rows, *waiting])
                    waiting = [
                        untranslated[batch]
                        for batch in batches(ids.lengths[untranslated], self.tokens, self.rows)
                    ]
                    continue
                for row, translation in zip(
                    rows.tolist(), self._decoded(hypotheses, limits), strict=True
                ):
                    translations[row] = translation
        return translations

    def _halve(self, ids: Ragged, rows: NDArray[np.int64]) -> None:
        """Halve the batch size after a batch did not fit into memory; raise an error if it was a single piece."""
        if len(rows) == 1:
            raise SettingsError(
                f"a sentence of {ids.lengths[rows[0]]} tokens with a beam of {self.settings.beam} does not fit into "
                "the free memory; lower the beam size"
            )
        torch.cuda.empty_cache()
        half = len(rows) // 2
        self.tokens = half * (int(ids.lengths[rows].max()) + 2)
        log.info("batch size reduced to %d sentences: out of memory", half)

    def _generate(self, ids: Ragged, limits: NDArray[np.int64]) -> Hypotheses:
        inputs = encoder_inputs(self.model, ids, self.vocab, self.source)
        state = encode_source(self.model, inputs, self.target)
        first = torch.full((len(ids),), self.first, device=self.model.device)
        search = (state, first, torch.from_numpy(limits), self.constraints)
        if self.settings.beam == 1:
            return greedy_search(*search)
        return beam_search(*search, self.settings.beam, self.settings.length_penalty)

    def _decoded(
        self, hypotheses: Hypotheses, limits: NDArray[np.int64]
    ) -> Iterator[LineTranslation]:
        """Yield the best hypothesis of each piece as text."""
        ids = [row.tolist() for row in hypotheses.best()]
        with tokenizer_errors():
            texts = self.vocab.tokenizer.decode_batch(ids)
        logprobs = hypotheses.logprobs[:, 0].tolist()
        for text, row, logprob, limit in zip(texts, ids, logprobs, limits.tolist(), strict=True):
            length = len(row) + 1
            yield LineTranslation(
                text.replace("\n", " ").strip(),
                score=logprob / length**self.settings.length_penalty,
                logprob=logprob,
                length=length,
                full=len(row) >= limit,
            )

    def _joined(self, parts: list[LineTranslation], unknown: int) -> LineTranslation:
        """Return the translation of a line from those of its pieces."""
        if not parts:
            return LineTranslation("", pieces=0)
        if len(parts) == 1:
            return replace(parts[0], unknown=unknown)
        return LineTranslation(
            join_pieces([part.text for part in parts], self.target),
            score=fmean(part.score for part in parts),
            logprob=sum(part.logprob for part in parts),
            length=sum(part.length for part in parts),
            full=any(part.full for part in parts),
            pieces=len(parts),
            unknown=unknown,
        )


def batches(lengths: NDArray[np.int64], tokens: int, rows: int) -> list[NDArray[np.int64]]:
    """Return indices of each batch, longest first: at most `rows`, and at most `tokens` with padding, or one."""
    order = np.argsort(-lengths, kind="stable")
    indices = []
    while len(order):
        longest = int(lengths[order[0]]) + 2
        count = max(1, min(rows, tokens // longest))
        indices.append(order[:count])
        order = order[count:]
    return indices


@dataclass(frozen=True)
class BatchBudget:
    """Limits of a batch.

    tokens: padded source tokens, times the beam size. scores: vocabulary scores of all sequences at once.
    """

    tokens: int = TOKENS
    scores: int = SCORES

    @classmethod
    def of(cls, model: Seq2Seq) -> BatchBudget:
        """Return the budget of a model on its device."""
        device = model.device
        if device.type != "cuda":
            return cls()
        reserved = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        free = torch.cuda.mem_get_info(device)[0] + reserved
        return cls.within(
            free, cache_bytes(model.width, int(model.decoder.config.num_hidden_layers))
        )

    @classmethod
    def within(cls, free: int, token: int) -> BatchBudget:
        """Return the budget of `free` bytes, where a source token takes `token` bytes in a hypothesis.

        At least that of a CPU, as the estimate for a token is high.
        """
        scores = free // 4 // (_FLOAT * _COPIES)
        return cls(max(TOKENS, free // 2 // token), min(max(SCORES, scores), MAX_SCORES))


def cache_bytes(width: int, layers: int) -> int:
    """Return the bytes that generation takes for a source token of a hypothesis.

    Each decoder layer holds a key and a value of three generated tokens (a translation may be half as long again, and
    space is allocated ahead), and of the source token; everything twice while sequences are reordered. An encoder layer
    at work holds its input, attention, and a feed-forward state of four times the width.
    """
    generated = 2 * 2 * 3 * layers
    source = 2 * 2 * layers
    encoder = 12
    return _FLOAT * width * (generated + source + encoder)


def split_line(line: str, starts: NDArray[np.int64], limit: int) -> list[str]:
    """Return the line in non-empty pieces of at most `limit` tokens, without blanks at their ends.

    starts: (n,) index of the first character of each token.
    """
    pieces = []
    begin = 0  # index of a piece's first token
    begin_character = 0
    while len(starts) - begin > limit:
        stop = _end_of_piece(line, starts, begin, limit)
        stop_character = int(starts[stop])
        pieces.append(line[begin_character:stop_character].strip())
        begin = stop
        begin_character = stop_character
    pieces.append(line[begin_character:].strip())
    return [piece for piece in pieces if piece]


def _end_of_piece(line: str, starts: NDArray[np.int64], begin: int, limit: int) -> int:
    """Return the index after the last token of the piece that starts at token `begin`."""
    earliest = begin + max(1, limit // _LATE)
    stops = [stop for stop in range(begin + limit, begin, -1) if starts[stop] > starts[stop - 1]]
    for marks in (_SENTENCE_END, _CLAUSE_END, None):
        for stop in stops:
            if stop >= earliest and _is_boundary(
                line, int(starts[begin]), int(starts[stop]), marks
            ):
                return stop
    return stops[0] if stops else begin + limit


def join_pieces(translations: list[str], language: str) -> str:
    """Return the translations of a line's pieces as one line of the language."""
    scripts = scripts_of(language)
    separator = "" if scripts and scripts <= UNSPACED else " "
    return separator.join(translations)


def _is_boundary(line: str, first: int, start: int, marks: frozenset[str] | None) -> bool:
    """Return whether a piece from character `first` may end before `start`: after one of `marks`; None: at a blank.

    Only the end of the piece is read, because a line may be a whole document.
    """
    last = _rstrip(line, first, start, str.isspace)
    spaced = last < start or line[start : start + 1].isspace()
    if marks is None:
        return spaced
    last = _rstrip(line, first, last, _CLOSING.__contains__)
    return last > first and line[last - 1] in marks and (spaced or not line[last - 1].isascii())


def _rstrip(line: str, first: int, stop: int, is_stripped: Callable[[str], bool]) -> int:
    """Return the end of `line[first:stop]` without characters to strip at its end."""
    while stop > first and is_stripped(line[stop - 1]):
        stop -= 1
    return stop
