"""Training of objectives on random text, for benchmarks of updates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.alignment.lexicon import Lexicon
from interlace.alignment.phrases import phrase_pairs
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data import Pairs, Sentences
from interlace.data.packing import Streams
from interlace.data.sampling import BucketPlan, PackedPlan, StreamPlan
from interlace.data.tokenizer_training import ROLES, word_level_tokenizer
from interlace.data.vocab import Vocab
from interlace.models.blocks import compile_encoder, wrap_blocks
from interlace.models.build import from_shape
from interlace.models.settings import Shape
from interlace.objectives import OBJECTIVES, Resources
from interlace.objectives.common.packed_rows import PackedRow
from interlace.text.running import running_text
from interlace.training.device import accelerator_for
from interlace.training.loop import READ_EVERY, Training, TrainingModel
from interlace.training.mixture import (
    BatchPlan,
    BucketedBatches,
    Mixture,
    MixtureSource,
    StreamedBatches,
)
from interlace.training.optimizer import OptimizerSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

BASE = Shape(
    family="roberta", layers=12, width=768, heads=12, max_length=256, attention_dropout=0.0
)
MINIATURE = Shape(
    family="roberta", layers=1, width=16, heads=2, max_length=64, attention_dropout=0.0
)
LEXICON = ("en", "de")


def vocabulary(size: int) -> Vocab:
    """Return a vocabulary of words of one token."""
    words = (f"w{number}" for number in range(size - len(ROLES)))
    return Vocab(word_level_tokenizer(words), ROLES, {}, "random words")


def random_side(vocab: Vocab, lengths: np.ndarray[Any, Any], language: str) -> Sentences:
    """Return sentences of random words."""
    rng = generator(Purpose.SAMPLE, 0, LEXICON.index(language))
    drawn = rng.choice(vocab.regular_ids, lengths.sum()).astype(np.int32)
    ids = Ragged.from_lengths(drawn, lengths)
    words = Ragged(ids.columns().astype(np.int32), ids.offsets)
    return Sentences(ids, words, language)


def random_pairs(vocab: Vocab, count: int, max_length: int) -> Pairs:
    """Return pairs of sentences of equally many words, linked word by word."""
    rng = generator(Purpose.SAMPLE, 0)
    drawn = rng.gamma(4.0, max_length / 24, size=count).astype(int)
    lengths = np.clip(drawn, 4, max_length // 2 - 2)
    source = random_side(vocab, lengths, "en")
    target = random_side(vocab, lengths, "de")
    columns = source.ids.columns().astype(np.int32)
    links = Ragged.from_lengths(np.repeat(columns[:, None], 2, axis=1), lengths)
    words = vocab.tokens(range(vocab.size))
    return Pairs(
        source,
        target,
        links,
        confidence=Ragged.from_lengths(np.ones(len(columns), np.float32), lengths),
        phrases=phrase_pairs(lengths, lengths, links),
        text=(running_text(source.ids, words), running_text(target.ids, words)),
    )


def sources_of(
    names: Sequence[str],
    vocab: Vocab,
    shape: Shape,
    tokens: int,
    count: int,
    *,
    packed: bool = False,
) -> list[MixtureSource]:
    """Return the sources of objectives on random text of `count` pairs, in batches of `tokens`."""
    pairs = random_pairs(vocab, count, shape.max_length)
    entries = vocab.tokens(vocab.regular_ids[:20_000])
    translations = zip(entries[::2], entries[1::2], strict=False)
    lexicon = Lexicon.of((source, target, 1.0) for source, target in translations)
    resources = Resources(
        vocab, from_shape(shape, vocab).traits, lexicons={LEXICON: lexicon}, languages=LEXICON
    )
    sources = []
    for name in names:
        objective: Any = OBJECTIVES.build({"name": name, "max_length": shape.max_length})
        prepared = objective.prepare(resources)
        plan: BatchPlan
        if issubclass(objective.reads, Pairs):
            corpus = "en-de"
            sides = (pairs.source.lengths, pairs.target.lengths)
            if packed and objective.packs:
                lengths = objective.packed_tokens(prepared, *sides)
                plan = BucketedBatches(
                    pairs, PackedPlan(lengths, int(objective.packed_share * tokens))
                )
            else:
                costs = objective.pair_costs(*sides)
                plan = BucketedBatches(pairs, BucketPlan(costs, tokens))
        else:
            corpus = "en"
            streams = Streams(pairs.source, shape.max_length - 2, vocab.end)
            plan = StreamedBatches(streams, StreamPlan(len(streams), tokens, shape.max_length))
        sources.append(MixtureSource(name, corpus, objective, prepared, plan))
    return sources


def training_of(
    sources: Sequence[MixtureSource],
    vocab: Vocab,
    shape: Shape,
    last: int,
    precision: str = "auto",
    *,
    compiled: bool = False,
    cuda_graphs: bool = False,
    row: PackedRow | None = None,
) -> Training:
    """Return a training of `last` updates with random weights; row: of packed batches."""
    backbone = from_shape(shape, vocab)
    accelerator = accelerator_for(precision)
    settings = OptimizerSettings(schedule="constant", warmup=0)
    objectives = {source.objective: source.learner for source in sources}
    whole = TrainingModel(backbone, objectives, 0)
    if row is not None:
        backbone.max_packed_length = row.max_length
    wrap_blocks(backbone, checkpointing=False, compiled=compiled)
    if compiled and row is not None:
        compile_encoder(backbone, cuda_graphs=cuda_graphs)
    model = accelerator.prepare(whole)
    return Training(
        model=model,
        mixture=Mixture(sources, 0),
        optimizer=settings.build(model),
        settings=settings,
        accelerator=accelerator,
        last=last,
        read_every=READ_EVERY,
        row=row,
    )


def row_of(vocab: Vocab, shape: Shape, tokens: int) -> PackedRow:
    """Return the shape of packed batches of `tokens`."""
    first_position = from_shape(shape, vocab).traits.first_position
    return PackedRow(tokens, shape.max_length, vocab.pad, first_position)
