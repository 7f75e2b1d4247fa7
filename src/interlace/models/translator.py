"""From lines of one language to lines of another: subwords, batches of like length, a search, and text again.

Legend: B rows of a batch, V vocabulary.

How much a search takes on at once: a fixed amount, and on a GPU as much as there is memory for.

Of the memory that is free, a half is for what is kept of each subword and a quarter for scores of the vocabulary. The
last quarter is for what comes and goes. All figures are for float32, so less precise arithmetic has room to spare.

Lines that are longer than a model reads, in pieces that it does.

A piece ends where a sentence does, else at another mark, else at a blank, else between two characters: the best of
these that comes late enough.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
import torch

from interlace.core.errors import DataError, SettingsError
from interlace.core.randomness import Purpose, generator
from interlace.models.decoding import EnsembleState, TokenConstraints, encode_source, encoder_inputs, eval_mode
from interlace.models.generation import SearchSettings
from interlace.text import Text
from interlace.text.scripts import UNSPACED, scripts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from interlace.core.ragged import Ragged
    from interlace.data.vocab import Vocab
    from interlace.models.decoding import DecodingState, Hypotheses
    from interlace.models.seq2seq import Seq2Seq


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Hypothesis:
    """A translation.

    score: by which it is ordered, its log-probability divided by the length's penalty; of a line in pieces, their mean.
    logprob: of all its subwords and ends. length: their number. full: whether it is as long as it might be.
    """

    text: str
    score: float
    logprob: float
    length: int
    full: bool = False


@dataclass(frozen=True)
class Translation:
    """What was found for a line, best first; a line without a subword has one empty hypothesis.

    pieces: into how many the line was cut; 0 where there was nothing to translate.
    unknown: subwords of the line that stand for what the vocabulary cannot spell.
    """

    hypotheses: tuple[Hypothesis, ...]
    pieces: int = 1
    unknown: int = 0

    @property
    def text(self) -> str:
        """The best one."""
        return self.hypotheses[0].text


class LongLineError(DataError):
    """A line is longer than the model reads; `line` is its number, from 0."""

    def __init__(self, line: int, length: int, most: int) -> None:
        super().__init__(f"line {line + 1}: {length} subwords, but the model reads at most {most}")
        self.line, self.length, self.most = line, length, most


class Translator:
    """One model, or several with one vocabulary as an ensemble, in one direction."""

    def __init__(
        self,
        models: Sequence[Seq2Seq],
        vocab: Vocab,
        source: str,
        target: str,
        search: SearchSettings | None = None,
        *,
        rows: int | None = None,
        tokens: int | None = None,
        longest: int | None = None,
    ) -> None:
        """Make ready; nothing is translated yet.

        Args:
            models: the models; their vocabulary is `vocab`.
            vocab: with a special subword for the target.
            source: the language that is read.
            target: the language that is written.
            search: how.
            rows: most rows of a batch; none: as `tokens` allows.
            tokens: most subwords of the sources of a batch, with padding, times the beam; none: 16,384, and on a GPU
                as many as there is memory for.
            longest: most subwords of a source without specials; none: what the models read.

        Raises:
            DataError: the vocabulary has no subword for the target.
        """
        self.models, self.vocab, self.source, self.target = tuple(models), vocab, source, target
        self.settings = SearchSettings() if search is None else search
        self.first = vocab.target(target)
        self._reading = _verbatim(vocab)
        self.longest = min(model.traits.max_length - 2 for model in models)
        self.longest = self.longest if longest is None else min(self.longest, longest)
        self.most = min(model.longest_target - 1 for model in models)
        table = max(model.vocab_size for model in models)
        self.rules = TokenConstraints.of(vocab, table, unknown=self.settings.unknown)
        budget = BatchBudget.of(self.models)
        self.tokens = max(1, (budget.tokens if tokens is None else tokens) // self.settings.width)
        allowed = max(1, budget.scores // (table * self.settings.width))
        self.rows = allowed if rows is None else min(rows, allowed)

    def lines(self, lines: Sequence[str], first: int = 0, *, cut: bool = True) -> list[Translation]:
        """Translations of lines, in order.

        Args:
            lines: of the source language.
            first: the number of the first of them, from 0; draws hang on it.
            cut: whether lines longer than the model reads are translated in pieces.

        Raises:
            LongLineError: a line is longer, and is not to be cut.
            CheckpointError: the model computes no numbers.
        """
        parts, owners = self._parts(lines, first, cut=cut)
        made = self._translated(parts, owners + first)
        starts = np.searchsorted(owners, np.arange(len(lines) + 1)).tolist()
        strange = np.bincount(owners[parts.rows()[parts.flat == self.vocab.unk]], minlength=len(lines)).tolist()
        return [self._whole(made[starts[row] : starts[row + 1]], strange[row]) for row in range(len(lines))]

    def _parts(self, lines: Sequence[str], first: int, *, cut: bool) -> tuple[Ragged, NDArray[np.int64]]:
        """A row of subwords for each piece of each line that has any, and which line it is of.

        Blanks around a line are left out: a vocabulary may have a subword for them.
        """
        lines = [line.strip() for line in lines]
        ids = self._reading.encode(lines, language=self.source).ids
        long = np.flatnonzero(ids.lengths > self.longest).tolist()
        if long and not cut:
            raise LongLineError(first + long[0], int(ids.lengths[long[0]]), self.longest)
        owners = np.flatnonzero(ids.lengths)
        if not long:
            return ids.take(owners), owners
        whole = [[line] for line in lines]
        for row in long:
            whole[row] = self._cut(lines[row])
        flat = self._reading.encode([piece for parts in whole for piece in parts], language=self.source).ids
        numbers = np.repeat(np.arange(len(lines)), [len(parts) for parts in whole])
        said = np.flatnonzero(flat.lengths)
        return flat.take(said), numbers[said]

    def _cut(self, line: str, most: int | None = None) -> list[str]:
        """The pieces of a line; one that is still too long by itself, for its subwords change, is cut again."""
        most = self.longest if most is None else most
        _, spans = self._reading.encode_with_offsets(Text.of([line], self.source))
        starts = spans.flat[:, 0].astype(np.int64)
        if len(starts) <= self.longest or len(line) == 1:
            return [line]
        return [part for piece in split_line(line, starts, most) for part in self._cut(piece, max(1, most - 1))]

    def _translated(self, ids: Ragged, numbers: NDArray[np.int64]) -> list[list[Hypothesis]]:
        """Hypotheses of each row, a batch of like length at a time."""
        made: list[list[Hypothesis]] = [[] for _ in range(len(ids))]
        waiting = self._batches(ids, np.arange(len(ids)))
        with eval_mode(*self.models):
            while waiting:
                rows = waiting.pop()
                limits = self.settings.limits(ids.lengths[rows], self.most)
                try:
                    found = self._search(ids.take(rows), limits, self._draws(limits, numbers, rows))
                except torch.OutOfMemoryError:
                    found = None  # outside of `except`, where what the search holds is free again
                if found is None:
                    self._take_less(ids, rows)
                    waiting = self._batches(ids, np.concatenate([rows, *waiting]))
                    continue
                for row, hypotheses in zip(rows.tolist(), self._read(found, limits), strict=True):
                    made[row] = hypotheses
        return made

    def _batches(self, ids: Ragged, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The batches that these rows come in, the last one first."""
        return [rows[part] for part in batches(ids.lengths[rows], self.tokens, self.rows)][::-1]

    def _take_less(self, ids: Ragged, rows: NDArray[np.int64]) -> None:
        """From here on half of what did not fit into memory.

        Raises:
            SettingsError: it was a single row.
        """
        if len(rows) == 1:
            message = f"a sentence of {ids.lengths[rows[0]]} subwords and a beam of {self.settings.width}"
            raise SettingsError(f"{message} do not fit into the memory that is free; a smaller beam needs less")
        torch.cuda.empty_cache()
        half = len(rows) // 2
        self.tokens = half * (int(ids.lengths[rows].max()) + 2)
        log.info("%s sentences at once do not fit into memory; going on with %s", f"{len(rows):,}", f"{half:,}")

    def _search(self, ids: Ragged, limits: NDArray[np.int64], draws: torch.Tensor | None) -> Hypotheses:
        read_by = [
            encode_source(model, encoder_inputs(model, ids, self.vocab, self.source), self.target)
            for model in self.models
        ]
        decoding: DecodingState = read_by[0] if len(read_by) == 1 else EnsembleState(tuple(read_by))
        first = torch.full((len(ids),), self.first, device=self.models[0].device)
        return self.settings.search(decoding, first, torch.from_numpy(limits), self.rules, draws)

    def _draws(
        self, limits: NDArray[np.int64], numbers: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> torch.Tensor | None:
        """Of each row by the number of its line and, behind it, of its piece."""
        if not self.settings.sample:
            return None
        width = int(limits.max()) + 1
        firsts = np.searchsorted(numbers, numbers[rows])
        keys = zip(numbers[rows].tolist(), (rows - firsts).tolist(), strict=True)
        drawn = [generator(Purpose.DECODE, self.settings.seed, line, piece).random(width) for line, piece in keys]
        return torch.from_numpy(np.array(drawn, np.float32))

    def _read(self, found: Hypotheses, limits: NDArray[np.int64]) -> Iterator[list[Hypothesis]]:
        """Text of what was found, a list a row."""
        lengths, logprobs = found.lengths.cpu().numpy(), found.logprobs.cpu().numpy()
        kept = lengths[:, : self.settings.n_best] >= 0
        rows, ranks = np.nonzero(kept)
        ids = found.ids.cpu().numpy()
        said = [ids[row, rank, : lengths[row, rank]].tolist() for row, rank in zip(rows, ranks, strict=True)]
        hidden = not self.settings.unknown  # nothing special is ever said, but the unknown where that is asked for
        texts = iter(self.vocab.tokenizer.decode_batch(said, skip_special_tokens=hidden))
        for row in range(len(lengths)):
            yield [
                self._hypothesis(next(texts), float(logprobs[row, rank]), int(lengths[row, rank]), int(limits[row]))
                for rank in range(int(kept[row].sum()))
            ]

    def _hypothesis(self, text: str, logprob: float, length: int, limit: int) -> Hypothesis:
        line = " ".join(text.split("\n")).strip()
        return Hypothesis(line, self.settings.compared.score(logprob, length + 1), logprob, length + 1, length >= limit)

    def _whole(self, parts: list[list[Hypothesis]], unknown: int) -> Translation:
        """Of a line, from the hypotheses of its pieces: rank for rank, a piece that has too few gives its last.

        The mean of the pieces' scores falls with the rank as each of them does; a score of the whole might not.
        """
        if not parts:
            return Translation((Hypothesis("", 0.0, 0.0, 0),), 0)
        if len(parts) == 1:
            return Translation(tuple(parts[0]), unknown=unknown)
        hypotheses = []
        for rank in range(max(map(len, parts))):
            chosen = [part[min(rank, len(part) - 1)] for part in parts]
            logprob, length = sum(one.logprob for one in chosen), sum(one.length for one in chosen)
            text = join_pieces([one.text for one in chosen], self.target)
            score = fmean(one.score for one in chosen)
            hypotheses.append(Hypothesis(text, score, logprob, length, any(one.full for one in chosen)))
        return Translation(tuple(hypotheses), len(parts), unknown)


def _verbatim(vocab: Vocab) -> Vocab:
    """The vocabulary, but that a `</s>` or `<2de>` that stands in a line is text like any other."""
    tokenizer = type(vocab.tokenizer).from_str(vocab.tokenizer.to_str())
    tokenizer.encode_special_tokens = True
    return vocab.with_tokenizer(tokenizer, vocab.extension)


def batches(lengths: NDArray[np.int64], tokens: int, rows: int) -> Iterator[NDArray[np.int64]]:
    """Rows of each batch, the longest first: at most `rows`, and at most `tokens` subwords with padding, or one row."""
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        count = max(1, min(rows, tokens // (int(lengths[order[start]]) + 2)))
        yield order[start : start + count]
        start += count


TOKENS = 16_384


SCORES = 1 << 27


MOST_SCORES = 1 << 30  # kernels count numbers in 31 bits


_FLOAT = 4


_COPIES = 4  # of all scores, at their most: as the head makes them, normalised, and two on the way


@dataclass(frozen=True)
class BatchBudget:
    """What a batch may be made of.

    tokens: padded subwords of its sources, times the beam. scores: of the vocabulary, of all rows, at once.
    """

    tokens: int = TOKENS
    scores: int = SCORES

    @classmethod
    def of(cls, models: Sequence[Seq2Seq]) -> BatchBudget:
        """That of models where they are."""
        device = models[0].device
        if device.type != "cuda":
            return cls()
        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        free = torch.cuda.mem_get_info(device)[0] + kept
        return cls.within(free, sum(map(_bytes, models)), len(models))

    @classmethod
    def within(cls, free: int, token: int, models: int = 1) -> BatchBudget:
        """That of so many free bytes; never less than on a CPU, for what a subword takes is reckoned high.

        Args:
            free: bytes.
            token: bytes that are kept of a source's subword in a hypothesis, in all models.
            models: how many score at once.
        """
        tokens = free // 2 // token
        scores = free // 4 // (_FLOAT * _COPIES * models)
        return cls(max(TOKENS, tokens), min(max(SCORES, scores), MOST_SCORES))


def cache_bytes(width: int, layers: int) -> int:
    """Bytes that a search keeps of a source's subword in a hypothesis.

    In each decoder layer a key and a value of what is said, for three subwords a source's subword, as a translation
    may be half as long again and room is made ahead; and of the source. All of it stands twice while rows are
    reordered. An encoder layer at work holds its input, what attends, and four times that between.
    """
    said, source, encoder = 2 * 2 * 3 * layers, 2 * 2 * layers, 12
    return _FLOAT * width * (said + source + encoder)


def _bytes(model: Seq2Seq) -> int:
    return cache_bytes(model.width, int(model.decoder.config.num_hidden_layers))


_SENTENCE = frozenset(".!?…。．！？｡।॥؟۔։።")


_PART = frozenset(",;:،؛、，；：—–")


_CLOSING = frozenset("\"'”“’‘»«)]}」』）】〉》")


_LATE = 3  # a mark counts in the last two thirds of a piece


def split_line(line: str, starts: NDArray[np.int64], most: int) -> list[str]:
    """The line cut into pieces of at most `most` subwords, blanks at their ends left out; none is empty.

    Args:
        line: the line.
        starts: (n,) the character with which each of its subwords begins.
        most: subwords of a piece.
    """
    places: list[int] = starts.tolist()
    cuts, begin = [0], 0
    while len(places) - begin > most:
        end = _cut(line, places, begin, begin + most)
        cuts.append(places[end])
        begin = end
    cut = [line[start:stop].strip() for start, stop in zip(cuts, [*cuts[1:], len(line)], strict=True)]
    return [piece for piece in cut if piece]


def join_pieces(translations: list[str], language: str) -> str:
    """The translations of a line's pieces as one line of this language."""
    scripts = scripts_of(language)
    return ("" if scripts and scripts <= UNSPACED else " ").join(translations)


def _cut(line: str, starts: list[int], begin: int, end: int) -> int:
    """The subword with which the next piece begins, behind `begin` and not behind `end`."""
    late = begin + max(1, (end - begin) // _LATE)
    places = [place for place in range(end, begin, -1) if starts[place] > starts[place - 1]]
    for at_mark in (_SENTENCE, _PART, None):
        for place in places:
            if place >= late and _is_good(line, starts[begin], starts[place], at_mark):
                return place
    return places[0] if places else end


def _is_good(line: str, first: int, start: int, marks: frozenset[str] | None) -> bool:
    """Whether a piece from character `first` may end before `start`: behind one of these marks; none: at a blank.

    Only the piece is looked at, and of it blanks and closing marks from the end: a line may be a whole document.
    """
    last = _before(line, first, start, str.isspace)
    spaced = last < start or line[start : start + 1].isspace()
    if marks is None:
        return spaced
    last = _before(line, first, last, _CLOSING.__contains__)
    return last > first and line[last - 1] in marks and (spaced or not line[last - 1].isascii())


def _before(line: str, first: int, stop: int, is_left_out: Callable[[str], bool]) -> int:
    """Where the characters of `line[first:stop]` end that are not left out at its end."""
    while stop > first and is_left_out(line[stop - 1]):
        stop -= 1
    return stop
