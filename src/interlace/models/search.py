"""Generation: models that have encoded a batch of sources, and beam search over them.

A search steps through a `ModelState`, or anything else with its `step` and `select`.
Sequences end at different times. Finished ones leave the batch, so none costs more than its own length; on a GPU, where
to look costs more than a step, every few steps (`steps_between_reads`). Results do not depend on it.

Beam search follows XLM: each source has K live beams and the K best finished hypotheses. At each step the 2K best
continuations are candidates, so K beams stay alive however many end; a candidate that ends counts if fewer than K
better ones continue. Greedy search, a beam of 1, has one candidate.

Legend: B sources of a batch, L tokens of the longest source, R sequences in generation, G live beams of a source (1 at
first, then K), K beam size, C candidates, N hypotheses of a source, T tokens of the longest hypothesis, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch.nn.functional import pad

from interlace.core.errors import CheckpointError
from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.data.vocab import Frame, Vocab
    from interlace.models.backbone import Tensors
    from interlace.models.decoder import KVCache
    from interlace.models.pretrained_decoder import PretrainedCache
    from interlace.models.seq2seq import Seq2Seq

NEVER = float("-inf")
READ_EVERY = 8  # steps on a GPU
# scores of sums of log-probabilities and a length
Penalized = Callable[["Tensor", int], "Tensor"]


@dataclass(frozen=True)
class TokenConstraints:
    """Which tokens may be generated.

    end: ends a sequence. pad: fills sequences up. banned_ids: ids that are never generated.
    """

    end: int
    pad: int
    banned_ids: tuple[int, ...] = ()

    @classmethod
    def of(cls, vocab: Vocab, rows: int) -> TokenConstraints:
        """Return those of a vocabulary: no special token except the end, and no id beyond the vocabulary.

        rows: number of the model's token embeddings.
        """
        banned = {*vocab.special_ids.tolist(), *range(vocab.size, rows)} - {vocab.end}
        return cls(vocab.end, vocab.pad, tuple(sorted(banned)))


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """Hypotheses of each source, best first.

    ids: (B, N, T) their tokens, without the first one and the end; padded.
    lengths: (B, N) their lengths; -1 where a source has fewer than N hypotheses.
    logprobs: (B, N) float32 sums of log-probabilities, the end included; -inf where there is none.
    """

    ids: Tensor
    lengths: Tensor
    logprobs: Tensor

    def best(self) -> Ragged:
        """Return the best hypothesis of each source, int64."""
        lengths = self.lengths[:, 0].cpu().numpy().clip(0)
        ids = self.ids[:, 0].cpu().numpy()
        return Ragged.from_lengths(ids[np.arange(ids.shape[1]) < lengths[:, None]], lengths)


@dataclass(frozen=True)
class ModelState:
    """A model with its cache.

    languages: (R,) language id that each sequence is written in, or None where the decoder takes none.
    """

    model: Seq2Seq
    cache: KVCache | PretrainedCache
    languages: Tensor | None

    def step(self, tokens: Tensor) -> Tensor:
        """Return (R, V) float32 scores of the next token, given the (R,) tokens chosen last.

        The caller may modify the result. The cache grows in place.
        """
        return self.model.step(self.cache, tokens, self.languages)

    def first_tokens(self, prefix: Tensor, rows: int) -> Tensor:
        """Read all but the last of the (P,) tokens before a sentence in each of R `rows`; return the last, (R,)."""
        for token in prefix[:-1]:
            self.step(token.expand(rows))
        return prefix[-1].expand(rows)

    def select(
        self, rows: Tensor, per_source: int = 1, sources: Tensor | None = None
    ) -> ModelState:
        """Return the state of the (R',) named sequences; one may be named more than once, or not at all.

        per_source: number of adjacent sequences of each source in the result.
        sources: (S',) the sources in the result; None: all.
        """
        languages = None if self.languages is None else self.languages[rows]
        return ModelState(self.model, self.cache.select(rows, per_source, sources), languages)


def encode_source(model: Seq2Seq, inputs: Mapping[str, Tensor], target: str) -> ModelState:
    """Encode a batch of (B, L) inputs and return the state to generate the language `target` from.

    model: in its current mode.
    """
    mask = inputs.get("attention_mask")
    with torch.no_grad():
        cache = model.start(model.encode(dict(inputs)), None if mask is None else mask.bool())
    languages = None
    if model.decoder_language_input is not None:
        ids = inputs["input_ids"]
        languages = torch.full((len(ids),), model.traits.language_id(target), device=ids.device)
    return ModelState(model, cache, languages)


def encoder_inputs(model: Seq2Seq, ids: Ragged, vocab: Vocab, source: str) -> Tensors:
    """Return encoder inputs for tokens without specials, which are added, on the model's device."""
    padded = torch.from_numpy(ids.padded(vocab.pad).astype("int64", copy=False))
    lengths = torch.from_numpy(ids.lengths)
    inputs = add_specials(padded, lengths, vocab.frame(source), vocab.pad)
    traits = model.traits
    if traits.has_languages:
        language = traits.language_id(source)
        inputs[str(traits.language_input)] = torch.full_like(inputs["input_ids"], language)
    return {name: tensor.to(model.device) for name, tensor in inputs.items()}


def add_specials(ids: Tensor, lengths: Tensor, frame: Frame, pad: int) -> Tensors:
    """Return padded (B, L) tokens of (B,) lengths with a frame around each row, and a mask if lengths differ."""
    rows = torch.arange(len(ids), device=ids.device)
    begin = len(frame.before)
    ends = begin + lengths
    lengths = ends + len(frame.after)
    columns = torch.arange(begin + ids.shape[1] + len(frame.after), device=ids.device)
    filled = ids.new_full((len(rows), len(columns)), pad)
    filled[:, begin : begin + ids.shape[1]] = ids
    for column, token in enumerate(frame.before):
        filled[:, column] = token
    for offset, token in enumerate(frame.after):
        filled[rows, ends + offset] = token
    inputs = {"input_ids": filled}
    if bool((lengths != len(columns)).any()):
        inputs["attention_mask"] = (columns < lengths[:, None]).long()
    return inputs


def steps_between_reads(device: torch.device) -> int:
    """Return after how many steps a search looks at what is finished."""
    return 1 if device.type == "cpu" else READ_EVERY


@torch.no_grad()
def beam_search(
    state: ModelState,
    first: Tensor,
    limits: Tensor,
    constraints: TokenConstraints,
    width: int,
    penalty: float = 1.0,
    forced: int = 0,
) -> Hypotheses:
    """Return the best `width` hypotheses of each source, ordered by penalized score; fewer where there are no more.

    A source is finished once no live beam would be among the best K if it ended next. A beam of 1 is greedy search: it
    takes the most likely token at each step, the lowest id among equals, and ends with the first end token.
    Raise a CheckpointError if scores are NaN.

    state: a batch of encoded sources. first: (B,) first token of each sequence: the target language.
    limits: (B,) maximum length of each sequence. constraints: which tokens may be generated.
    width: K. penalty: exponent of the length, with the end token, that divides a log-probability before hypotheses are
        ranked (XLM: 1; 0 compares sums).
    forced: number of tokens before a sentence that count in its length, as transformers counts a `forced_bos_token_id`.
    """
    candidate_count = 2 * width
    if width == 1:
        candidate_count = 1
        penalty = 0.0  # no hypothesis is likelier than the one that it begins with
    every = steps_between_reads(first.device)
    wait = every == 1
    penalized = partial(_penalized, exponent=penalty, forced=forced)
    mask = _ConstraintMask(constraints, limits.to(first.device))
    max_length = max(limits.tolist(), default=0)
    results = _FinishedBeams.none(len(first), width, max_length, first.device)
    search = _UnfinishedSources.all(results)
    tokens = first  # (B * G,) last token of each live beam
    while len(search.numbers):
        scores = state.step(tokens)
        candidates = _Candidates.of(scores, search.live, mask, candidate_count, wait=wait)
        search, sequences = search.extended(candidates, penalized, wait=wait)
        length = search.live.length
        remaining = None  # indices of sources, or None: all
        if length % every == 0 or length > max_length:
            mask.check()
            remaining = search.store_done(results)
        if remaining is not None:
            search = search.take(remaining)
            mask.take(remaining)
            sequences = sequences[remaining]
        if width > 1 or remaining is not None:  # a single beam keeps its position
            state = state.select(sequences.view(-1), width, remaining)
        tokens = search.live.ids[:, :, -1].reshape(-1)
    return results.hypotheses(constraints.pad)


class _Candidates(NamedTuple):
    """The C best continuations of each source, best first; among equals that of the better beam comes first.

    sums: (B, C) log-probabilities, -inf where there are fewer. tokens: next token. parents: index of the beam that is
    continued. ends: whether it ends here.
    """

    sums: Tensor
    tokens: Tensor
    parents: Tensor
    ends: Tensor

    @classmethod
    def of(
        cls, scores: Tensor, live: _LiveBeams, mask: _ConstraintMask, count: int, *, wait: bool
    ) -> _Candidates:
        """Return `count` candidates from (B * G, V) scores of the next token.

        Of K = 2 beams with sums -1 and -2, let the next tokens a and b have log-probabilities -1 and -3 after the first
        beam, -0.5 and -4 after the second. The candidates are a after the first (sum -2), a after the second (-2.5), b
        after the first (-4) and b after the second (-6).
        """
        log_totals = mask.log_normalizer(scores)  # (B * G,)
        mask.apply(scores, live.length)
        values, ids = top_k(scores, count, wait=wait)  # (B * G, min(C, V))
        sources = len(live.sums)
        choices = ids.shape[1]
        sums = values - log_totals[:, None] + live.sums.view(-1, 1)
        sums, order = sums.view(sources, -1).sort(dim=1, descending=True, stable=True)
        sums = sums[:, :count]
        order = order[:, :count]
        tokens = ids.view(sources, -1).gather(1, order)
        ends = (tokens == mask.end) & (sums > NEVER)
        missing = (0, count - order.shape[1])
        return cls(
            sums=pad(sums, missing, value=NEVER),
            tokens=pad(tokens, missing),
            parents=pad(order // choices, missing),
            ends=pad(ends, missing),
        )


class _LiveBeams(NamedTuple):
    """Hypotheses that are still extended.

    sums: (B, G) log-probabilities, best first; -inf where there are fewer than G. ids: (B, G, T) their tokens.
    """

    sums: Tensor
    ids: Tensor

    @property
    def length(self) -> int:
        """Number of tokens of each."""
        return int(self.ids.shape[2])

    def take(self, sources: Tensor) -> _LiveBeams:
        """Return the beams of some sources, given by indices."""
        return _LiveBeams(self.sums[sources], self.ids[sources])

    def extended(self, candidates: _Candidates) -> tuple[_LiveBeams, Tensor]:
        """Return the K best candidates that do not end, and (B, K) indices of the beams that they extend.

        There are always K of 2K: each of at most K beams ends in one way only.
        """
        width = max(1, candidates.ends.shape[1] // 2)
        # of shape (B, K)
        continuing = candidates.ends.to(torch.int8).argsort(dim=1, stable=True)[:, :width]
        parents = candidates.parents.gather(1, continuing)
        tokens = candidates.tokens.gather(1, continuing)
        ids = torch.cat([_chosen(self.ids, parents), tokens[:, :, None]], dim=2)
        return _LiveBeams(candidates.sums.gather(1, continuing), ids), parents


class _FinishedBeams(NamedTuple):
    """The K best finished hypotheses of each source, best first.

    scores: (B, K) by which they are ordered; -inf where there are fewer. logprobs, lengths: (B, K), the end not
    counted in the length. ids: (B, K, T), zero after each.
    """

    scores: Tensor
    logprobs: Tensor
    lengths: Tensor
    ids: Tensor

    @classmethod
    def none(
        cls, sources: int, width: int, max_length: int, device: torch.device
    ) -> _FinishedBeams:
        """Return no hypotheses, for the start of the search."""
        never = torch.full((sources, width), NEVER, device=device)
        return cls(
            scores=never,
            logprobs=never.clone(),
            lengths=torch.full((sources, width), -1, device=device),
            ids=torch.zeros((sources, width, max_length), dtype=torch.int64, device=device),
        )

    def take(self, rows: Tensor) -> _FinishedBeams:
        """Return the hypotheses of some sources, given by indices or a mask."""
        return _FinishedBeams(*(tensor[rows] for tensor in self))

    def put(self, rows: Tensor, beams: _FinishedBeams) -> None:
        """Replace the hypotheses of some sources."""
        for tensor, new in zip(self, beams, strict=True):
            tensor[rows] = new

    def updated(
        self,
        candidates: _Candidates,
        live: _LiveBeams,
        penalized: Penalized,
        done: Tensor,
        *,
        wait: bool,
    ) -> _FinishedBeams:
        """Return the best of these and of the candidates that end here, with fewer than K better ones that continue.

        done: (B,) sources that take no more. wait: look first whether there are any.
        """
        width = self.scores.shape[1]
        better_continuing = (~candidates.ends).cumsum(1)
        finishing = candidates.ends & (better_continuing < width) & ~done[:, None]
        if wait and not bool(finishing.any()):
            return self
        logprobs = candidates.sums.masked_fill(~finishing, NEVER)
        lengths = torch.full_like(candidates.tokens, live.length)  # (B, C)
        new = _FinishedBeams(
            scores=penalized(logprobs, live.length),
            logprobs=logprobs,
            lengths=lengths.masked_fill(~finishing, -1),
            ids=pad(
                _chosen(live.ids, candidates.parents), (0, self.ids.shape[2] - live.length)
            ),
        )
        merged = [torch.cat(pair, dim=1) for pair in zip(self, new, strict=True)]
        order = merged[0].sort(dim=1, descending=True, stable=True).indices
        best = order[:, :width]  # (B, K)
        return _FinishedBeams(*(_chosen(tensor, best) for tensor in merged))

    def hypotheses(self, pad_id: int) -> Hypotheses:
        """Return all of them, padded."""
        longest = max(self.lengths.flatten().tolist(), default=0)
        columns = torch.arange(longest, device=self.ids.device)
        padding = columns >= self.lengths[:, :, None]
        ids = self.ids[:, :, :longest].masked_fill(padding, pad_id)
        return Hypotheses(ids, self.lengths, self.logprobs)


class _UnfinishedSources(NamedTuple):
    """The B sources that are still searched.

    numbers: (B,) of the sources in the whole batch. done: (B,) whether a source takes no more hypotheses.
    """

    numbers: Tensor
    live: _LiveBeams
    finished: _FinishedBeams
    done: Tensor

    @classmethod
    def all(cls, results: _FinishedBeams) -> _UnfinishedSources:
        """Return all sources, each with one live beam without tokens."""
        sources = len(results.scores)
        device = results.scores.device
        sums = torch.zeros((sources, 1), device=device)
        return cls(
            numbers=torch.arange(sources, device=device),
            live=_LiveBeams(sums, results.ids[:, :1, :0]),
            finished=results,
            done=torch.zeros(sources, dtype=torch.bool, device=device),
        )

    def extended(
        self, candidates: _Candidates, penalized: Penalized, *, wait: bool
    ) -> tuple[_UnfinishedSources, Tensor]:
        """Return the sources after a step, and (B, K) indices of the sequences that it extends."""
        finished = self.finished.updated(candidates, self.live, penalized, self.done, wait=wait)
        live, parents = self.live.extended(candidates)
        next_scores = penalized(live.sums[:, 0], live.length)
        # negated, so that a source at its limit is finished whatever its scores are
        done = self.done | ~(finished.scores[:, -1] < next_scores)
        beams = self.live.sums.shape[1]  # G
        rows = torch.arange(len(done), device=done.device)[:, None]
        return _UnfinishedSources(self.numbers, live, finished, done), rows * beams + parents

    def store_done(self, results: _FinishedBeams) -> Tensor | None:
        """Put the hypotheses of sources that are done into `results`; return indices of the others, or None for all."""
        if not bool(self.done.any()):
            return None
        results.put(self.numbers[self.done], self.finished.take(self.done))
        return (~self.done).nonzero()[:, 0]

    def take(self, sources: Tensor) -> _UnfinishedSources:
        """Return some of the sources, given by indices."""
        return _UnfinishedSources(
            numbers=self.numbers[sources],
            live=self.live.take(sources),
            finished=self.finished.take(sources),
            done=self.done[sources],
        )


def _penalized(sums: Tensor, length: int, *, exponent: float, forced: int) -> Tensor:
    """Return the scores by which hypotheses of `length` tokens and the end are ranked, from their log-probabilities."""
    return sums / torch.full_like(sums, length + 1 + forced) ** exponent


def _chosen(tensor: Tensor, indices: Tensor) -> Tensor:
    """Return (B, N, ...) the beams of (B, M, ...) that (B, N) indices name."""
    rows = torch.arange(len(indices), device=indices.device)[:, None]
    return tensor[rows, indices]


class _ConstraintMask:
    """Masks scores of tokens that a sequence may not continue with.

    limits: (B,) the maximum length of the sequences of each source.
    """

    def __init__(self, constraints: TokenConstraints, limits: Tensor) -> None:
        self.end = constraints.end
        self.limits = limits
        self._min_limit = min(limits.tolist(), default=0)
        banned = torch.tensor(constraints.banned_ids, dtype=torch.int64)
        self._banned = banned.to(limits.device)
        self._has_nan = torch.zeros((), dtype=torch.bool, device=limits.device)

    def log_normalizer(self, scores: Tensor) -> Tensor:
        """Return (R,) the logarithm of the softmax denominator of (R, V) scores."""
        total = scores.logsumexp(1)
        self._has_nan |= total.isnan().any()
        return total

    def check(self) -> None:
        """Raise an error if scores were NaN."""
        if bool(self._has_nan):
            raise CheckpointError(
                "the model's scores are NaN; its weights are damaged, or training diverged"
            )

    def apply(self, scores: Tensor, length: int) -> None:
        """Set (R, V) scores to -inf, in place, where a sequence of `length` tokens may not continue.

        A sequence of maximum length can only end.
        """
        scores[:, self._banned] = NEVER
        if length >= self._min_limit:
            end_scores = scores[:, self.end].clone()
            beams = len(scores) // len(self.limits)
            is_full = (self.limits <= length).repeat_interleave(beams)
            scores.masked_fill_(is_full[:, None], NEVER)
            scores[:, self.end] = end_scores

    def take(self, sources: Tensor) -> None:
        """Keep some of the sources, given by indices."""
        self.limits = self.limits[sources]
        self._min_limit = min(self.limits.tolist(), default=0)


def top_k(scores: Tensor, count: int, *, wait: bool = True) -> tuple[Tensor, Tensor]:
    """Return the (R, K) highest of (R, V) scores in descending order, and their ids; the lowest id among equals.

    `torch.topk` does not order equal scores, and its choice among them depends on the shape of the batch. So of the
    scores 3, 5, 5, 3 and a count of 3, the ids are 1, 2, 0.

    wait: look whether it had a choice; else correct its choice in any case.
    """
    if count == 1:
        ids = scores.argmax(1, keepdim=True)
        return scores.gather(1, ids), ids
    if count < scores.shape[1]:
        values, ids = scores.topk(count + 1)
        last = values[:, -2]
        tied = (last == values[:, -1]) & (last > NEVER)
        values = values[:, :-1]
        ids = ids[:, :-1]
        if not wait or bool(tied.any()):
            ids = _with_lowest_ids(scores, values, ids)
    else:
        values, ids = scores.topk(scores.shape[1])
    ids, order = ids.sort(dim=1)
    values, order = values.gather(1, order).sort(dim=1, descending=True, stable=True)
    return values, ids.gather(1, order)


def _with_lowest_ids(scores: Tensor, values: Tensor, ids: Tensor) -> Tensor:
    """Return the (R, K) ids with those of the lowest value replaced by the lowest ids that have it in `scores`.

    values: (R, K) scores of the ids, in descending order.
    """
    size = scores.shape[1]
    count = values.shape[1]
    last = values[:, -1:]
    numbers = torch.arange(size, device=scores.device)
    equal = torch.where(scores == last, numbers, size).topk(count, largest=False).values
    above = (values > last).sum(1, keepdim=True)
    turn = torch.arange(count, device=scores.device)
    # no score equals NaN
    lowest = equal.gather(1, (turn - above).clamp(min=0)).clamp(max=size - 1)
    return torch.where(turn < above, ids, lowest)
