"""Translation of lines: tokens, batches of similar length, generation, and text again.

A line that is longer than the model reads is translated in pieces. A piece ends after a sentence if possible, else
after another punctuation mark, at a blank, or between two characters.

The batch size of generation depends on the device, and is halved when memory runs out.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np
import torch

from interlace.core.errors import SettingsError
from interlace.core.ragged import IntArray, Ragged
from interlace.data.sampling import batches_by_length
from interlace.data.tokenizer_files import tokenizer_errors
from interlace.data.vocab import Vocab
from interlace.models.backbone import eval_mode
from interlace.models.search import (
    Hypotheses,
    TokenConstraints,
    beam_search,
    encode_source,
    encoder_inputs,
)
from interlace.models.seq2seq import Seq2Seq
from interlace.models.settings import SearchSettings
from interlace.text import Text
from interlace.text.scripts import UNSPACED, scripts_of

log = logging.getLogger(__name__)

# by device: source tokens of a batch with padding, times the beam size; scores of the vocabulary in a step
MAX_TOKENS = {"cpu": 1 << 14, "cuda": 1 << 16}
MAX_SCORES = {"cpu": 1 << 27, "cuda": 1 << 29}

_CLOSING = re.escape("\"'”“’‘»«)]}」』）】〉》")


def _after(ascii_marks: str, other_marks: str) -> re.Pattern[str]:
    """Return a pattern of marks and the blanks after them; ASCII marks need a blank."""
    ascii_break = rf"[{re.escape(ascii_marks)}][{_CLOSING}]*(?=\s)"
    other_break = rf"[{re.escape(other_marks)}][{_CLOSING}]*"
    return re.compile(rf"({ascii_break}|{other_break})\s*")


_BREAKS = {  # the lower the key, the better is a break between the end of group 1 and the end of the match
    2: re.compile(r"()\s+"),
    1: _after(",;:", "،؛、，；：—–"),
    0: _after(".!?", "…。．！？｡।॥؟۔։።"),
}
_NO_BREAK = 3
_WITHIN_CHARACTER = 4


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

        tokens: maximum source tokens of a batch, with padding, times the beam size; None: 16,384, and 65,536 on a
            GPU.
        max_length: maximum tokens of a source without specials; None: what the model reads.
        """
        self.model = model
        self.vocab = vocab
        self.source = source
        self.target = target
        self.settings = search or SearchSettings()
        self.prefix = vocab.target(target)
        self.max_length = model.traits.max_length - 2
        if max_length is not None:
            self.max_length = min(self.max_length, max_length)
        self.max_target = model.max_target_length - len(self.prefix)
        self.constraints = TokenConstraints.of(vocab, model.vocab_size)
        beam = self.settings.beam
        device = model.device.type
        self.tokens = max(1, (tokens or MAX_TOKENS[device]) // beam)
        self.rows = max(1, MAX_SCORES[device] // (model.vocab_size * beam))

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
            self._joined(parts, count)
            for parts, count in zip(translations, unknown, strict=True)
        ]

    def _pieces(self, lines: Sequence[str]) -> tuple[Ragged, IntArray]:
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
        waiting = batches_by_length(ids.lengths, self.tokens, self.rows)
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
                        for batch in batches_by_length(
                            ids.lengths[untranslated], self.tokens, self.rows
                        )
                    ]
                    continue
                for row, translation in zip(
                    rows.tolist(), self._decoded(hypotheses, limits), strict=True
                ):
                    translations[row] = translation
        return translations

    def _halve(self, ids: Ragged, rows: IntArray) -> None:
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

    def _generate(self, ids: Ragged, limits: IntArray) -> Hypotheses:
        inputs = encoder_inputs(self.model, ids, self.vocab, self.source)
        state = encode_source(self.model, inputs, self.target)
        prefix = torch.tensor(self.prefix, device=self.model.device)
        first = state.first_tokens(prefix, len(ids))
        return beam_search(
            state,
            first,
            torch.from_numpy(limits),
            self.constraints,
            self.settings.beam,
            self.settings.length_penalty,
            forced=len(self.prefix) - 1,
        )

    def _decoded(self, hypotheses: Hypotheses, limits: IntArray) -> Iterator[LineTranslation]:
        """Yield the best hypothesis of each piece as text."""
        ids = [row.tolist() for row in hypotheses.best()]
        with tokenizer_errors():
            texts = self.vocab.tokenizer.decode_batch(ids)
        logprobs = hypotheses.logprobs[:, 0].tolist()
        for text, row, logprob, limit in zip(
            texts,
            ids,
            logprobs,
            limits.tolist(),
            strict=True,
        ):
            counted = len(row) + len(self.prefix)
            yield LineTranslation(
                text.replace("\n", " ").strip(),
                score=logprob / counted**self.settings.length_penalty,
                logprob=logprob,
                length=len(row) + 1,
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


def split_line(line: str, starts: IntArray, limit: int) -> list[str]:
    """Return the line in non-empty pieces of at most `limit` tokens, without blanks at their ends.

    A piece ends at the last of the best breaks in its last two thirds.

    starts: (n,) index of the first character of each token.
    """
    ranks = np.full(len(line) + 1, _NO_BREAK)
    for rank, pattern in _BREAKS.items():
        for match in pattern.finditer(line):
            ranks[match.end(1) : match.end() + 1] = rank
    token_ranks = ranks[starts]
    token_ranks[1:][starts[1:] == starts[:-1]] = _WITHIN_CHARACTER
    pieces = []
    begin = 0  # index of a piece's first token
    begin_character = 0
    while begin < len(starts):
        stop = begin + limit
        if stop < len(starts):
            last_thirds = token_ranks[begin + max(1, limit // 3) : stop + 1]
            stop -= int(last_thirds[::-1].argmin())
        stop_character = int(starts[stop]) if stop < len(starts) else len(line)
        pieces.append(line[begin_character:stop_character].strip())
        begin = stop
        begin_character = stop_character
    return [piece for piece in pieces if piece]


def join_pieces(translations: list[str], language: str) -> str:
    """Return the translations of a line's pieces as one line of the language."""
    scripts = scripts_of(language)
    separator = "" if scripts and scripts <= UNSPACED else " "
    return separator.join(translations)
